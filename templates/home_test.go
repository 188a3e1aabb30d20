package templates_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"hob/autonomy/config"
	"hob/templates"
)

// resourceFixture is a fake ResourceStore that stores the last DesiredState.
type resourceFixture struct{ now templates.DesiredState }

func (s *resourceFixture) Reconcile(_ context.Context, w templates.DesiredState) (templates.ApplyResult, error) {
	if !w.Dry {
		s.now = w
	}
	return templates.ApplyResult{}, nil
}

// homeFixture is a home folder with a configuration file and a personality file.
type homeFixture struct {
	t    *testing.T
	dir  string
	shop *resourceFixture
	step func(string)
}

func newFixture(t *testing.T, conf, soul string) *homeFixture {
	w := &homeFixture{t: t, dir: t.TempDir(), shop: &resourceFixture{}}
	w.writeFile("config.toml", conf)
	w.writeFile("SOUL.md", soul)
	return w
}

func (w *homeFixture) filePath(name string) string { return filepath.Join(w.dir, name) }

func (w *homeFixture) writeFile(name, text string) {
	w.t.Helper()
	var err error
	if text == "" {
		if err = os.Remove(w.filePath(name)); os.IsNotExist(err) {
			err = nil
		}
	} else {
		err = os.WriteFile(w.filePath(name), []byte(text), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *homeFixture) readFile(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.filePath(name))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(b)
}

// writeUnsynced does the same as system.WriteFile without syncing.
func writeUnsynced(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

const persona = "You are Hob.\n"

func (w *homeFixture) newHome() *templates.Installation {
	w.t.Helper()
	h, err := templates.NewHome(templates.Options{
		Dir: w.filePath("state"), Config: w.filePath("config.toml"), Soul: w.filePath("SOUL.md"), Persona: persona,
		Editor: config.Text{}, Things: w.shop, Write: writeUnsynced, Step: w.step,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// applyTemplate installs t, or resets the template in use if t is nil.
func (w *homeFixture) applyTemplate(t *templates.Template) (*templates.Plan, []string) {
	w.t.Helper()
	h := w.newHome()
	if _, _, err := h.Finish(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	p, err := h.Plan(w.t.Context(), t)
	if err != nil {
		w.t.Fatal(err)
	}
	_, kept, err := h.Apply(w.t.Context(), p)
	if err != nil {
		w.t.Fatal(err)
	}
	return p, kept
}

func loadBuiltin(t *testing.T, name string) *templates.Template {
	t.Helper()
	x, err := templates.Registry{}.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// parseTemplate returns a template that sets the keys in conf.
func parseTemplate(t *testing.T, name, soul, conf string) *templates.Template {
	t.Helper()
	x, err := templates.Parse([]byte("[template]\nname = \""+name+"\"\ndescription = \"x\"\n"+conf), []byte(soul))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// typicalConfigs returns typical configuration texts.
func typicalConfigs() map[string]string {
	return map[string]string{
		"none":         "",
		"of init":      string(config.Template()),
		"short":        "[agent]\nname = \"Robin\" # mine\n\n# about the loop\n[autonomy]\ntick = \"10s\"\nlevel = \"watch\"\n",
		"no end":       "[autonomy]\n  tick   =   \"45s\"   # odd spaces\n[agent]\nname='Robin'",
		"windows":      "[agent]\r\nname = \"Robin\"\r\n\r\n[autonomy]\r\ntick = \"10s\"\r\n",
		"with a mark":  "\ufeff[agent]\nname = \"Robin\"\n",
		"inline":       "autonomy = { tick = \"10s\", sessions = 3 }\n[agent]\nname = \"Robin\"\n",
		"dotted":       "agent.name = \"Robin\"\nautonomy.tick = \"10s\"\n",
		"comments":     "# only words\n\n# [autonomy]\n# tick = \"1s\"\n",
		"empty":        "\n",
		"long section": "[autonomy]\n# the tick\n# tick = \"30s\"\n\n# how many\nsessions = 4\n\n[web]\nlisten = \"127.0.0.1:7000\"\n",
	}
}

func TestReset_RestoresEveryByte(t *testing.T) {
	for name, conf := range typicalConfigs() {
		for _, soul := range []string{"", "I am mine.", "I am mine.\n\nTwo lines.\n"} {
			t.Run(name, func(t *testing.T) {
				w := newFixture(t, conf, soul)
				for _, x := range []string{"stock-analyst", "code-reviewer", "housekeeper", "housekeeper"} {
					w.applyTemplate(loadBuiltin(t, x))
					if got := w.readFile("SOUL.md"); got != loadBuiltin(t, x).Soul {
						t.Errorf("SOUL.md is not the text of template %s", x)
					}
					if _, err := config.Load(w.filePath("config.toml")); err != nil {
						t.Errorf("%s: Load = %v, want nil", x, err)
					}
				}
				p, _ := w.applyTemplate(nil)
				if d := cmp.Diff(conf, w.readFile("config.toml")); d != "" {
					t.Errorf("config.toml: %s", d)
				}
				if d := cmp.Diff(soul, w.readFile("SOUL.md")); d != "" {
					t.Errorf("SOUL.md: %s", d)
				}
				if len(p.Conflicts) > 0 || w.shop.now.Source != "" {
					t.Errorf("conflicts %v, resources of %q", p.Conflicts, w.shop.now.Source)
				}
			})
		}
	}
}

// TestReset_RandomRoundTrips installs and resets templates between edits. After the last reset, the files must
// contain every edit, as in a home folder in which no template was ever used.
func TestReset_RandomRoundTrips(t *testing.T) {
	names := slices.Sorted(func(yield func(string) bool) {
		for n := range typicalConfigs() {
			if !yield(n) {
				return
			}
		}
	})
	rounds := 200
	if testing.Short() {
		rounds = 40
	}
	for seed := range rounds {
		name := names[seed%len(names)]
		t.Run(fmt.Sprintf("%d %s", seed, name), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 7)) //nolint:gosec // a fixed seed makes the test repeatable
			w := newFixture(t, typicalConfigs()[name], []string{"", "I am mine.\n", "I am mine.\nAnd so on."}[r.IntN(3)])
			alone := newFixture(t, w.readFile("config.toml"), w.readFile("SOUL.md")) // gets the same edits, but no templates
			inUse := false
			for range 3 + r.IntN(10) {
				switch n := r.IntN(10); {
				case n < 3:
					w.applyTemplate(pickTemplate(t, r))
					inUse = true
				case n == 3 && inUse:
					w.applyTemplate(nil)
					inUse = false
					checkSame(t, alone, w)
				default:
					editAll(t, r, alone, w)
				}
			}
			if inUse {
				w.applyTemplate(nil)
			}
			checkSame(t, alone, w)
		})
	}
}

// checkSame compares the values in the files and the owner's comments. A section that the owner
// added while a template was in use may be at another position.
func checkSame(t *testing.T, alone, w *homeFixture) {
	t.Helper()
	if d := cmp.Diff(alone.readFile("SOUL.md"), w.readFile("SOUL.md")); d != "" {
		t.Fatalf("SOUL.md (- without templates, + after reset): %s", d)
	}
	if d := cmp.Diff(configLines(alone), configLines(w)); d != "" {
		t.Fatalf("config.toml (- without templates, + after reset): %s\ncomplete file:\n%s", d, w.readFile("config.toml"))
	}
	if d := cmp.Diff(configValues(t, alone), configValues(t, w)); d != "" {
		t.Fatalf("config.toml (- without templates, + after reset): %s\ncomplete file:\n%s", d, w.readFile("config.toml"))
	}
}

// configLines returns the meaningful lines of the configuration, sorted.
func configLines(w *homeFixture) []string {
	var out []string
	for l := range strings.Lines(w.readFile("config.toml")) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	slices.Sort(out)
	return out
}

func configValues(t *testing.T, w *homeFixture) map[string]any {
	t.Helper()
	var out map[string]any
	if err := toml.Unmarshal([]byte(strings.TrimPrefix(w.readFile("config.toml"), "\ufeff")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func pickTemplate(t *testing.T, r *rand.Rand) *templates.Template {
	all, err := templates.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	all = append(
		all,
		parseTemplate(t, "namer", "", "[config.agent]\nname = \"Sparrow\"\nmax_rounds = 5\n[config.autonomy]\nlevel = \"watch\"\n[config.budget]\ndaily_usd = 1.5\n"),
		parseTemplate(t, "quiet", "Hush.\n", "[config.notify]\nqueue_notices = false\n[config.budget]\nwarn_at = 0.25\ndaily_tokens = 1000\n"),
	)
	return all[r.IntN(len(all))]
}

// editAll makes the same edit in all worlds.
func editAll(t *testing.T, r *rand.Rand, worlds ...*homeFixture) {
	t.Helper()
	n := r.IntN(1000)
	switch r.IntN(4) {
	case 0: // a key that no template sets
		key := []string{"web.listen", "agent.currency", "notify.channel", "log.level", "knowledge.summary_keep", "files.drop"}[r.IntN(6)]
		value := map[string]string{"web.listen": fmt.Sprintf("127.0.0.1:%d", 7000+n), "agent.currency": "EUR", "notify.channel": "origin", "log.level": "debug", "knowledge.summary_keep": fmt.Sprint(2 + n%100), "files.drop": fmt.Sprintf("~/In%d", n)}[key]
		for _, w := range worlds {
			setKey(t, w, key, value)
		}
	case 1: // a key that some templates set: the owner's value stays
		for _, w := range worlds {
			setKey(t, w, "autonomy.sessions", fmt.Sprint(1+n%60))
		}
	case 2:
		for _, w := range worlds {
			if worlds[0].readFile("config.toml") != "" {
				w.writeFile("config.toml", strings.TrimRight(w.readFile("config.toml"), "\r\n")+fmt.Sprintf("\n# note %d\n", n))
			}
		}
	case 3: // add a line to the personality; if the file does not exist, to the built-in personality
		for i, w := range worlds {
			soul := w.readFile("SOUL.md")
			if i == 0 && soul == "" {
				soul = persona
			}
			if i > 0 && soul == "" {
				soul = persona
			}
			if !strings.HasSuffix(soul, "\n") {
				soul += "\n"
			}
			w.writeFile("SOUL.md", soul+fmt.Sprintf("Line %d.\n", n))
		}
	}
}

func setKey(t *testing.T, w *homeFixture, key, value string) {
	t.Helper()
	out, err := config.Text{}.Set([]byte(w.readFile("config.toml")), key, value)
	if err != nil {
		t.Fatal(err)
	}
	w.writeFile("config.toml", string(out))
}
