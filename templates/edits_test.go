package templates_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/config"
	"hob/templates"
)

// TestUse_KeepsEdits tests edits of the owner while a template is in use.
func TestUse_KeepsEdits(t *testing.T) {
	const conf = "[agent]\nname = \"Robin\"\n\n[autonomy]\ntick = \"10s\" # quick\n"
	calm := parseTemplate(t, "calm", "Be calm.\nBe kind.\nBe short.\n", "[config.autonomy]\ntick = \"5m\"\nlevel = \"watch\"\n[config.budget]\ndaily_usd = 2\n")
	for _, tc := range []struct {
		name       string
		edit       func(w *homeFixture)
		conf, soul string
		conflict   string // text that the reported conflicts must contain; "" for no conflict
		kept       string // text that a saved copy must contain
	}{
		{name: "nothing", edit: func(*homeFixture) {}, conf: conf, soul: "Mine.\n"},
		{
			name: "another key", edit: func(w *homeFixture) { setKey(t, w, "agent.max_rounds", "7") },
			conf: strings.Replace(conf, "\"Robin\"\n", "\"Robin\"\nmax_rounds = 7\n", 1), soul: "Mine.\n",
		},
		{
			name: "a key of the template", edit: func(w *homeFixture) { setKey(t, w, "autonomy.tick", "1m") },
			conf: strings.Replace(conf, "10s", "1m", 1), soul: "Mine.\n", conflict: "autonomy.tick", kept: "10s",
		},
		{
			name: "a key in a section added by the template", edit: func(w *homeFixture) { setKey(t, w, "budget.monthly_usd", "20.0") },
			conf: conf + "\n[budget]\nmonthly_usd = 20.0\n", soul: "Mine.\n",
		},
		{
			name: "a line at the end of the personality", edit: func(w *homeFixture) { w.writeFile("SOUL.md", w.readFile("SOUL.md")+"Call me Ada.\n") },
			conf: conf, soul: "Mine.\nCall me Ada.\n",
		},
		{
			name: "a line of the template's personality", edit: func(w *homeFixture) { w.writeFile("SOUL.md", "Be calm.\nBe very kind.\nBe short.\nCall me Ada.\n") },
			conf: conf, soul: "Mine.\nCall me Ada.\n", conflict: "personality", kept: "Be very kind.",
		},
		{name: "the personality is empty", edit: func(w *homeFixture) { w.writeFile("SOUL.md", "") }, conf: conf, soul: "Mine.\n"},
		{name: "the configuration is empty", edit: func(w *homeFixture) { w.writeFile("config.toml", "") }, conf: "", soul: "Mine.\n", conflict: "autonomy.tick", kept: "10s"},
		{
			name: "everything in another order",
			edit: func(w *homeFixture) {
				w.writeFile("config.toml", "[budget]\ndaily_usd = 2.0\n[autonomy]\nlevel = \"watch\"\ntick = \"5m\"\n[agent]\nname = \"Wren\"\n")
			},
			conf: "[autonomy]\ntick = \"10s\"\n[agent]\nname = \"Wren\"\n", soul: "Mine.\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t, conf, "Mine.\n")
			w.applyTemplate(calm)
			tc.edit(w)
			p, kept := w.applyTemplate(nil)
			if d := cmp.Diff(tc.conf, w.readFile("config.toml")); d != "" {
				t.Errorf("config.toml (- wanted): %s", d)
			}
			if d := cmp.Diff(tc.soul, w.readFile("SOUL.md")); d != "" {
				t.Errorf("SOUL.md (- wanted): %s", d)
			}
			said := ""
			for _, c := range p.Conflicts {
				said += c.Key + " " + c.Text + "\n"
			}
			if (tc.conflict == "") != (said == "") || !strings.Contains(said, tc.conflict) {
				t.Errorf("conflicts %q, want %q", said, tc.conflict)
			}
			all := ""
			for _, path := range kept {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				all += string(b)
			}
			if !strings.Contains(all, tc.kept) {
				t.Errorf("kept %q, want %q in it", all, tc.kept)
			}
		})
	}
}

// TestUse_LoosensNoSetting checks that a template loosens no setting, and that the owner's settings are
// shown.
func TestUse_LoosensNoSetting(t *testing.T) {
	w := newFixture(t, "[agent]\nmax_rounds = 3\n[autonomy]\nlevel = \"watch\"\ncalls_per_minute = 2\nsend_delay = \"5m\"\n[budget]\ndaily_usd = 1.0\n", "")
	before := w.readFile("config.toml")
	p, _ := w.applyTemplate(parseTemplate(t, "greedy", "", "[config.agent]\nmax_rounds = 50\nmax_tokens_per_turn = 900000\n[config.autonomy]\nlevel = \"trusted\"\ncalls_per_minute = 500\nsend_delay = \"0s\"\n[config.budget]\ndaily_usd = 0.0\nmonthly_usd = 10.0\nwarn_at = 0.0\n"))
	for _, c := range p.Settings {
		if (c.Stays == "") != (c.Key == "budget.monthly_usd") {
			t.Errorf("%s: Stays = %q", c.Key, c.Stays)
		}
	}
	if got, want := w.readFile("config.toml"), strings.Replace(before, "daily_usd = 1.0\n", "daily_usd = 1.0\nmonthly_usd = 10.0\n", 1); got != want {
		t.Errorf("the configuration is %q", got)
	}
	w = newFixture(t, "[autonomy]\ntick = \"10s\"\n", "")
	p, _ = w.applyTemplate(loadBuiltin(t, "housekeeper"))
	if len(p.Settings) != 1 || !p.Settings[0].Yours || p.Settings[0].Was != "10s" {
		t.Errorf("conflict does not name the owner's key: %+v", p.Settings)
	}
}

// TestUse_RejectsChangesAfterThePreview checks that changes after the preview are not overwritten.
func TestUse_RejectsChangesAfterThePreview(t *testing.T) {
	w := newFixture(t, "", "Mine.\n")
	h := w.newHome()
	p, err := h.Plan(t.Context(), loadBuiltin(t, "housekeeper"))
	if err != nil {
		t.Fatal(err)
	}
	w.writeFile("SOUL.md", "Mine, and newer.\n")
	if _, _, err := h.Apply(t.Context(), p); !errors.Is(err, templates.ErrChanged) {
		t.Fatalf("err = %v", err)
	}
	if w.readFile("SOUL.md") != "Mine, and newer.\n" || w.readFile("config.toml") != "" {
		t.Error("Use changed a file")
	}
}

// crashPoints returns the steps at which the tests simulate a crash.
func crashPoints() []string {
	return []string{"template.begin", "template.journal", "template.things", "template.config", "template.soul", "template.state"}
}

// TestUse_SurvivesACrash kills the process at each step. The next command must finish the change, or no file has
// changed.
func TestUse_SurvivesACrash(t *testing.T) {
	if dir := os.Getenv("TEMPLATES_CRASH_DIR"); dir != "" {
		crashAt(t, dir)
		return
	}
	const conf, soul = "[agent]\nname = \"Robin\"\n", "Mine.\n"
	for _, point := range crashPoints() {
		for _, act := range []string{"use", "reset"} {
			t.Run(act+" "+point, func(t *testing.T) {
				w := newFixture(t, conf, soul)
				if act == "reset" {
					w.applyTemplate(loadBuiltin(t, "housekeeper"))
				}
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUse_SurvivesACrash$") //nolint:gosec // this test itself
				cmd.Env = append(os.Environ(), "TEMPLATES_CRASH_DIR="+w.dir, "TEMPLATES_CRASH_AT="+point, "TEMPLATES_CRASH_ACT="+act)
				if out, err := cmd.CombinedOutput(); err == nil {
					t.Fatalf("the process did not crash: %s", out)
				}
				h := w.newHome()
				if _, _, err := h.Finish(t.Context()); err != nil {
					t.Fatal(err)
				}
				s, err := h.State()
				if err != nil {
					t.Fatal(err)
				}
				wantSoul := soul
				if s.Name != "" {
					wantSoul = loadBuiltin(t, "housekeeper").Soul
				}
				if w.readFile("SOUL.md") != wantSoul || strings.Contains(w.readFile("config.toml"), "1m") != (s.Name != "") {
					t.Errorf("template %q is in use, but the files contain %q and %q", s.Name, w.readFile("config.toml"), w.readFile("SOUL.md"))
				}
				if point != "template.begin" && (s.Name != "") != (act == "use") {
					t.Errorf("the %s was not finished", act)
				}
				if s.Name != "" {
					w.applyTemplate(nil)
				}
				if w.readFile("config.toml") != conf || w.readFile("SOUL.md") != soul {
					t.Errorf("after reset the files contain %q and %q", w.readFile("config.toml"), w.readFile("SOUL.md"))
				}
			})
		}
	}
}

// crashAt runs in a child process and kills this process at the configured step.
func crashAt(t *testing.T, dir string) {
	w := &homeFixture{t: t, dir: dir, shop: &resourceFixture{}, step: func(name string) {
		if name != os.Getenv("TEMPLATES_CRASH_AT") {
			return
		}
		me, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = me.Kill()
		}
		t.Log(err)
		select {}
	}}
	var x *templates.Template
	if os.Getenv("TEMPLATES_CRASH_ACT") == "use" {
		x = loadBuiltin(t, "housekeeper")
	}
	w.applyTemplate(x)
}

// TestUse_KeepsEditsAfterACrash checks that edits made between a crash and the next command are kept,
// whether or not the file was changed before the crash.
func TestUse_KeepsEditsAfterACrash(t *testing.T) {
	for _, point := range crashPoints()[1:] {
		t.Run(point, func(t *testing.T) {
			w := newFixture(t, "[agent]\nname = \"Robin\"\n", "Mine.\n")
			w.step = func(name string) {
				if name == point {
					panic("crash")
				}
			}
			func() {
				defer func() { _ = recover() }()
				w.applyTemplate(loadBuiltin(t, "housekeeper"))
			}()
			w.step = nil
			setKey(t, w, "agent.currency", "EUR")
			w.writeFile("SOUL.md", w.readFile("SOUL.md")+"Call me Ada.\n")
			if _, _, err := w.newHome().Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := config.Parse("config.toml", []byte(w.readFile("config.toml")))
			if err != nil || got.Agent.Currency != "EUR" || got.Autonomy.Tick.String() != "1m0s" {
				t.Errorf("%v; the configuration is %q", err, w.readFile("config.toml"))
			}
			if !strings.HasSuffix(w.readFile("SOUL.md"), "Call me Ada.\n") || !strings.HasPrefix(w.readFile("SOUL.md"), "You are the housekeeper") {
				t.Errorf("the personality is %q", w.readFile("SOUL.md"))
			}
			w.applyTemplate(nil)
			if got, want := w.readFile("SOUL.md"), "Mine.\nCall me Ada.\n"; got != want {
				t.Errorf("SOUL.md after reset = %q", got)
			}
			if got, want := w.readFile("config.toml"), "[agent]\nname = \"Robin\"\ncurrency = \"EUR\"\n"; got != want {
				t.Errorf("config.toml after reset = %q", got)
			}
		})
	}
}

// TestUse_ConflictingEditAfterACrash checks an edit after a crash that conflicts with the pending text: the
// complete edit is kept, and the conflict is reported.
func TestUse_ConflictingEditAfterACrash(t *testing.T) {
	w := newFixture(t, "[agent]\nname = \"Robin\"\n", "")
	w.step = func(name string) {
		if name == "template.things" {
			panic("crash")
		}
	}
	func() {
		defer func() { _ = recover() }()
		w.applyTemplate(parseTemplate(t, "thrift", "", "[config.budget]\ndaily_usd = 1.0\ndaily_tokens = 9000\nmonthly_usd = 9.0\n"))
	}()
	w.step = nil
	w.writeFile("config.toml", w.readFile("config.toml")+"\n[budget]\nmonthly_usd = 5.0\n")
	mine := w.readFile("config.toml")
	kept, _, err := w.newHome().Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := w.readFile("config.toml"); got != mine {
		t.Errorf("the configuration is %q", got)
	}
	if len(kept) != 1 {
		t.Fatalf("saved texts = %q, want 1", kept)
	}
	if b, err := os.ReadFile(kept[0]); err != nil || !strings.Contains(string(b), "daily_tokens = 9000") {
		t.Errorf("%v: the pending text was not saved: %q", err, b)
	}
	w.applyTemplate(nil)
	if got := w.readFile("config.toml"); got != mine {
		t.Errorf("config.toml after reset = %q", got)
	}
}

func TestCreate_AndRemove(t *testing.T) {
	s := templates.Registry{Dir: filepath.Join(t.TempDir(), "templates")}
	x := parseTemplate(t, "night-owl", "Whoo.\n", "[config.autonomy]\ntick = \"2m\"\n[[goals]]\ndescription = \"Sleep\"\n[[schedules]]\nevery = \"day at 23:00\"\nsay = \"Bed \\\"now\\\"\"\n[[watchers]]\nkind = \"file\"\nconfig = { path = \"~/Documents\", events = [\"created\"] }\n")
	if _, err := s.Create(x, writeUnsynced); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(x, writeUnsynced); !errors.Is(err, templates.ErrThere) {
		t.Errorf("second Create = %v, want ErrThere", err)
	}
	got, err := s.Find("night-owl")
	if err != nil {
		t.Fatal(err)
	}
	x.Origin, x.Path = templates.Own, filepath.Join(s.Dir, "night-owl")
	if d := cmp.Diff(x, got); d != "" {
		t.Errorf("the written text parses differently: %s", d)
	}
	for _, bad := range []string{"housekeeper", "../x", ".state", "nothing", ""} {
		if err := s.Remove(bad); err == nil {
			t.Errorf("removed %q", bad)
		}
	}
	if err := s.Remove("night-owl"); err != nil {
		t.Error(err)
	}
	if _, err := s.Find("night-owl"); !errors.Is(err, templates.ErrNotFound) {
		t.Errorf("the template exists: %v", err)
	}
}
