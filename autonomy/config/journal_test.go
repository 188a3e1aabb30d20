package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRevisions_RestoreTheWholeText(t *testing.T) {
	dir := t.TempDir()
	c := Revisions{Path: filepath.Join(dir, "config.toml"), Dir: filepath.Join(dir, "undo")}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(c.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep := func() string {
		t.Helper()
		name, err := c.Keep()
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	none := keep()
	const first = "\ufeff# mine\r\n[agent]\r\nname = \"A\"   # called so\r\n\r\n"
	write(first)
	before := keep()
	write("[agent]\nname = \"B\"\n")
	after := keep()
	if err := c.Put(after, before); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(c.Path); string(got) != first {
		t.Errorf("ReadFile = %q", got)
	}
	if err := c.Put(after, before); !errors.Is(err, ErrEdited) {
		t.Errorf("second Put = %v, want ErrEdited", err)
	}
	if err := c.Put(before, none); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.Path); !os.IsNotExist(err) {
		t.Errorf("Put left a file that did not exist before: %v", err)
	}
	for _, name := range []string{"", "..", "../config.toml", strings.Repeat("0", 64), before + "/x"} {
		if err := c.Put(none, name); err == nil {
			t.Errorf("Put accepted the revision %q", name)
		}
		if c.Names(name) {
			t.Errorf("Names(%q) = true", name)
		}
	}
	if fi, err := os.Stat(filepath.Join(c.Dir, before)); err != nil || fi.Mode().Perm()&0o077 != 0 {
		t.Errorf("the copy is readable by others: %v, %v", fi, err)
	}
	if err := c.Purge(); err != nil || c.Names(before) {
		t.Errorf("purged: %v", err)
	}
}

// A broken file is replaced by the last valid text, never by defaults.
func TestRevisions_LoadTheLastValidText(t *testing.T) {
	dir := t.TempDir()
	c := Revisions{Path: filepath.Join(dir, "config.toml"), Dir: filepath.Join(dir, "undo")}
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(c.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const strict, broken = "[autonomy]\nlevel = \"watch\"\n", "[autonomy]\nlevle = \"watch\"\n"
	put(broken)
	if _, err := c.LoadOrLast(); !IsMistake(err) {
		t.Errorf("LoadOrLast without a valid text = %v, want a mistake", err)
	}
	put(strict)
	valid, err := c.LoadOrLast()
	if err != nil || valid.Replaces != nil {
		t.Fatalf("%+v, %v", valid.Replaces, err)
	}
	for range 2 {
		if err := c.MarkValid(valid); err != nil {
			t.Fatal(err)
		}
	}
	none, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.MarkValid(none); err != nil { // a missing file is not a valid text
		t.Fatal(err)
	}
	put(broken)
	last, err := c.LoadOrLast()
	if err != nil || last.Autonomy.Level != "watch" || !IsMistake(last.Replaces) || !last.SameText(valid) {
		t.Errorf("LoadOrLast = %+v, %v", last, err)
	}
	// A full disk or a target that is not mounted must not lift the restrictions of the file.
	put("\n")
	if last, err := c.LoadOrLast(); err != nil || last.Autonomy.Level != "watch" || !IsMistake(last.Replaces) || !strings.Contains(last.Replaces.Error(), "the file is empty") {
		t.Errorf("an empty file: %+v, %v", last, err)
	}
	if err := errors.Join(os.Remove(c.Path), os.Symlink(filepath.Join(dir, "unmounted"), c.Path)); err != nil {
		t.Log(err)
	} else if last, err := c.LoadOrLast(); err != nil || last.Autonomy.Level != "watch" || !strings.Contains(last.Replaces.Error(), "which does not exist") {
		t.Errorf("a link without its target: %+v, %v", last, err)
	}
	if err := os.Remove(c.Path); err != nil {
		t.Fatal(err)
	}
	if defaults, err := c.LoadOrLast(); err != nil || defaults.Replaces != nil || defaults.Autonomy.Level == "watch" {
		t.Errorf("a deleted file: %+v, %v", defaults, err)
	}
	opened := "[autonomy]\nlevel = \"trusted\"\n"
	put(opened)
	started, err := c.LoadOrLast()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.MarkOpened(started), c.MarkValid(valid)); err != nil {
		t.Fatal(err)
	}
	if got := c.Substitutes(errors.New("x")); len(got) != 2 || !got[0].SameText(valid) || !got[1].SameText(started) {
		t.Errorf("substitutes: %+v", got)
	}
	put("")
	if err := c.Purge(); err != nil {
		t.Fatal(err)
	}
	if cfg, err := c.LoadOrLast(); err != nil || cfg.Replaces != nil {
		t.Errorf("an empty file without an earlier text: %v, %v", cfg, err)
	}
	put(broken)
	if err := c.Purge(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.LoadOrLast(); !IsMistake(err) {
		t.Errorf("LoadOrLast after Purge = %v, want a mistake", err)
	}
}

func TestConfig_NeedsRestartWhenSettingChanges(t *testing.T) {
	parse := func(text string) *Config {
		c, err := Parse("config.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, tc := range []struct {
		name, was, now string
		want           bool
	}{
		{"comments only", "", "# [agent]\n# model = \"auto\"\n", false},
		{"another order", "[agent]\nname = \"A\"\nmodel = \"offline\"\n", "[agent]\nmodel = \"offline\" # built in\nname = \"A\"\n", false},
		{"an MCP server", "", "[mcp.servers.x]\ncommand = \"x\"\n", false},
		{"another model", "", "[agent]\nmodel = \"offline\"\n", true},
		{"an MCP server and a level", "", "[mcp.servers.x]\ncommand = \"x\"\n[autonomy]\nlevel = \"watch\"\n", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := parse(tc.was).NeedsRestart(parse(tc.now)); got != tc.want {
				t.Errorf("NeedsRestart = %v, want %v", got, tc.want)
			}
		})
	}
}

// A file without settings that the user chose is not a damaged file.
func TestRevisions_AcceptsEmptyFileByChoice(t *testing.T) {
	dir := t.TempDir()
	c := Revisions{Path: filepath.Join(dir, "config.toml"), Dir: filepath.Join(dir, "undo")}
	put := func(text string) string {
		t.Helper()
		if err := os.WriteFile(c.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		name, err := c.Keep()
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	expectDefaults := func(what string) {
		t.Helper()
		if cfg, err := c.LoadOrLast(); err != nil || cfg.Replaces != nil || len(cfg.Members) != 0 {
			t.Errorf("%s: %+v, %v, want the defaults", what, cfg, err)
		}
	}
	const section = "[agents.research]\nabout = \"looks things up\"\n"
	setSection := func() string {
		t.Helper()
		name := put(section)
		cfg, err := c.Load()
		if err == nil {
			err = c.MarkValid(cfg)
		}
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	empty := put("")
	if err := c.Put(setSection(), empty); err != nil {
		t.Fatal(err)
	}
	expectDefaults("undo to an empty file")
	setSection()
	if err := Remove(c.Path, "agents.research"); err != nil {
		t.Fatal(err)
	}
	expectDefaults("a file whose only section was removed")
	setSection()
	if err := os.WriteFile(c.Path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Keep(); !IsMistake(err) { // a later change would make the loss permanent
		t.Errorf("a change of a file that lost its text: %v", err)
	}
}
