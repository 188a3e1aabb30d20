package abilities_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/host/abilities"
	"hob/platform/host/osrun/osruntest"
	"hob/platform/host/system"
	"hob/platform/host/vault"
)

func testOptions(t *testing.T, env map[string]string) abilities.Options {
	t.Helper()
	home := filepath.Join(t.TempDir(), "ada-lovelace")
	p := system.Paths{Home: filepath.Join(home, "hob"), Data: filepath.Join(home, "hob"), Logs: filepath.Join(home, "hob", "logs"), Runtime: filepath.Join(home, "hob", "run")}
	if err := p.Ensure(); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return env[name] }
	s := vault.SecretsFor(p)
	s.Getenv = getenv
	s.Fallback = vault.New(vault.Options{Path: p.SecretsFile(), Identity: p.Identity(), Getenv: getenv})
	return abilities.Options{Paths: p, Secrets: s, Getenv: getenv, Home: home, Allow: func(abilities.Ability) bool { return true }}
}

func byName(rows []abilities.Row) map[string]abilities.Row {
	out := map[string]abilities.Row{}
	for _, r := range rows {
		out[r.Ability] = r
	}
	return out
}

// Without consent, Run shows, speaks and stores nothing.
func TestRun_DryHasNoEffect(t *testing.T) {
	o := testOptions(t, nil)
	o.Allow = nil
	for _, r := range abilities.Run(t.Context(), o) {
		if (r.Ability == "speech" || r.Ability == "keychain") && r.Result == abilities.Works && !strings.Contains(r.Detail, "nothing was") {
			t.Errorf("%+v", r)
		}
	}
	if _, err := os.Stat(o.Paths.SecretsFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a secret was stored: %v", err)
	}
}

// Runs the scripts for macOS in the test harness. Calendars and reminders answer; the other apps
// are missing. The user's text does not appear in the table.
func TestRun_TriesTheScriptsOfAMac(t *testing.T) {
	o := testOptions(t, nil)
	o.System, o.Scripts = "darwin", osruntest.NewMac(t, map[string]any{"eventkit": map[string]any{
		"status": []int{3, 3}, "calendars": []map[string]any{{"id": "c1", "title": "ada-lovelace at work"}, {"id": "l1", "title": "List", "entity": 1}},
		"events": []any{}, "reminders": []map[string]any{{"id": "r1", "title": "ada-lovelace", "calendar": "l1"}},
	}})
	rows := abilities.Run(t.Context(), o)
	got := byName(rows)
	for _, name := range []string{"calendar", "reminders"} {
		if r := got[name]; r.Result != abilities.Works || r.Detail != "answered, 1 read" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, name := range []string{"mail", "notes", "contacts", "iMessage"} {
		if r := got[name]; r.Result == abilities.Works || r.Result == abilities.Skipped || r.Detail == "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	text, err := json.Marshal(rows)
	if err != nil || strings.Contains(string(text), "ada-lovelace") || strings.Contains(string(text), o.Home) {
		t.Errorf("the table names the user: %s, %v", text, err)
	}
}
