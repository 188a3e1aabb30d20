package templates_test

import (
	"strings"
	"testing"

	"hob/autonomy/config"
)

// TestForget checks that a reset works after forgotten text was redacted in the saved copies. If
// the redaction made a copy invalid, the reset does not use the copy.
func TestForget(t *testing.T) {
	const conf = "[agent]\nname = \"Robin\"\ntimezone = \"Europe/Berlin\"\n"
	for name, c := range map[string]struct{ phrase, edit string }{
		"an earlier value":        {"Berlin", ""},
		"and edited":              {"Berlin", "EUR"},
		"a key":                   {"timezone = ", ""},
		"a key, edited":           {"timezone = ", "EUR"},
		"a string without an end": {"Berlin\\\"", "EUR"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, conf, "Mine.\n")
			w.applyTemplate(loadBuiltin(t, "housekeeper"))
			if c.edit != "" {
				setKey(t, w, "agent.currency", c.edit)
			}
			state := w.readFile("state/state.json")
			if !strings.Contains(state, c.phrase) {
				t.Fatalf("the state does not contain the phrase: %s", state)
			}
			w.writeFile("state/state.json", strings.ReplaceAll(state, c.phrase, "[forgotten]"))
			now := w.readFile("config.toml")
			p, kept := w.applyTemplate(nil)
			if s, err := w.newHome().State(); err != nil || s.Name != "" {
				t.Errorf("%v; %q is in use", err, s.Name)
			}
			if w.readFile("SOUL.md") != "Mine.\n" {
				t.Errorf("the personality is %q", w.readFile("SOUL.md"))
			}
			if _, err := config.Load(w.filePath("config.toml")); err != nil {
				t.Error(err)
			}
			if w.readFile("config.toml") == now && (len(p.Conflicts) == 0 || len(kept) == 0) {
				t.Error("the configuration is unchanged, but no conflict is reported")
			}
		})
	}
}

// TestForget_SavedOriginal tests forgotten text that only the saved original of the file contains.
func TestForget_SavedOriginal(t *testing.T) {
	w := newFixture(t, "[autonomy]\ntick = \"17s\"\n", "")
	w.applyTemplate(loadBuiltin(t, "housekeeper"))
	w.writeFile("state/state.json", strings.ReplaceAll(w.readFile("state/state.json"), "17s", "[forgotten]"))
	now := w.readFile("config.toml")
	p, kept := w.applyTemplate(nil)
	if len(p.Conflicts) != 1 || len(kept) != 1 || w.readFile("config.toml") != now {
		t.Errorf("conflicts %+v, saved texts %q, configuration %q", p.Conflicts, kept, w.readFile("config.toml"))
	}
}
