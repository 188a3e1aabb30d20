package apps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"hob/platform/host/browser/apps"
	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

func TestScripts(t *testing.T) { osruntest.Check(t, apps.Scripts()...) }

// TestLint_DetectsBrokenScripts checks that the linter detects each broken script.
func TestLint_DetectsBrokenScripts(t *testing.T) {
	for _, s := range apps.Scripts() {
		s.Text = strings.Replace(s.Text, "main(request) {", "main(request)", 1)
		if len(osruntest.Lint(s)) == 0 {
			t.Errorf("Lint reports nothing for the broken script %s", s.Name)
		}
	}
}

type obj = map[string]any

func mustApp(name string) apps.App {
	a, ok := apps.AppByName(name)
	if !ok {
		panic(name)
	}
	return a
}

// shown and secrets are scripts of tabs.js in the form in which a page receives them.
const (
	shown   = `(function () { var b = document.body; return b ? b.innerText.slice(0, 400000) : ""; })()`
	secrets = `(function () { var out = [], all = document.querySelectorAll("input[type=password]"); for (var i = 0; i < all.length && i < 50; i++) if (all[i].value) out.push(all[i].value.slice(0, 1000)); return JSON.stringify(out); })()`
)

// buildSafari returns the part of Safari's dictionary that the scripts use: a tab has a name, an index
// and text, and a window has a current tab. The settings window has no tabs (developer.apple.com,
// Safari.sdef). "do JavaScript" fails with error 8 if it is disabled.
func buildSafari(windows ...obj) obj {
	return obj{"running": true, "root": obj{"windows": windows}, "dict": obj{
		"Application": obj{"properties": []string{"name"}, "elements": obj{"windows": "Window", "documents": "Document"}, "commands": []string{"doJavaScript"}},
		"Window":      obj{"properties": []string{"id", "index", "currentTab"}, "elements": obj{"tabs": "Tab"}, "objects": obj{"currentTab": "Tab"}},
		"Settings":    obj{"properties": []string{"id", "index"}, "elements": obj{}},
		"Tab":         obj{"properties": []string{"name", "url", "index", "text"}, "elements": obj{}, "commands": []string{"close"}},
		"Document":    obj{"properties": []string{"url"}, "elements": obj{}},
	}}
}

// buildChrome returns the dictionary of Chromium (chrome/browser/ui/cocoa/applescript/scripting.sdef):
// tabs and windows have ids, and a window has a mode. "execute" fails with error 12 if it is
// disabled (error_applescript.h).
func buildChrome(windows ...obj) obj {
	return obj{"running": true, "root": obj{"windows": windows}, "dict": obj{
		"Application": obj{"properties": []string{"name"}, "elements": obj{"windows": "Window"}},
		"Window":      obj{"properties": []string{"id", "index", "mode", "activeTabIndex"}, "elements": obj{"tabs": "Tab"}},
		"Tab":         obj{"properties": []string{"id", "title", "url"}, "elements": obj{}, "commands": []string{"close", "execute", "select"}},
	}}
}

func buildWindow(id int, mode string, front int, tabs ...obj) obj {
	for i, t := range tabs {
		t["__class"], t["index"] = "Tab", i+1
	}
	w := obj{"__class": "Window", "id": id, "index": 1, "mode": mode, "activeTabIndex": front, "tabs": tabs}
	if front > 0 {
		w["currentTab"] = obj{"__class": "Tab", "index": front}
	}
	return w
}

func buildTab(id, title, url string) obj {
	return obj{"id": id, "title": title, "name": title, "url": url, "text": "Text of " + title, "__values": obj{
		shown: "Shown of " + title, secrets: `["hunter2\"x"]`, "1+1": 2, "leak": `say hunter2"x`, "deep": obj{"pw": `hunter2"x`},
	}}
}

// startMac returns a Mac with both browsers. Chrome's front window is private, and Safari's front window
// shows the settings.
func startMac(t *testing.T) (*osruntest.Mac, *apps.Apps) {
	m := osruntest.NewMac(t, obj{"apps": obj{
		"com.apple.Safari":  buildSafari(obj{"__class": "Settings", "id": 4}, buildWindow(5, "", 2, buildTab("", "Eins", "https://one.example/"), buildTab("", "Zwei", "https://two.example/?s=1")), buildWindow(6, "", 1, buildTab("", "Drei", "https://three.example/"))),
		"com.google.Chrome": buildChrome(buildWindow(1, "incognito", 1, buildTab("9", "Geheim", "https://secret.example/")), buildWindow(2, "normal", 2, buildTab("11", "A", "https://a.example/"), buildTab("12", "B", "https://b.example/"))),
	}})
	return m, apps.New(m, apps.Options{})
}

// TestRead_RedactionTerminates checks that a page whose password fields contain the letters of "[secret]"
// cannot make the result of a script grow without limit.
func TestRead_RedactionTerminates(t *testing.T) {
	page := buildTab("11", "A", "https://a.example/")
	page["__values"] = obj{secrets: "[" + strings.Repeat(`"e",`, 49) + `"e.[s]"]`, "leak": "te e.[s] exs"}
	m := osruntest.NewMac(t, obj{"apps": obj{"com.google.Chrome": buildChrome(buildWindow(2, "normal", 1, page))}})
	a := apps.New(m, apps.Options{})
	x, err := a.Get(t.Context(), mustApp("chrome"), "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Execute(t.Context(), mustApp("chrome"), x, "leak"); err != nil || got.Text != "t[secret] [secret] [secret]xs" {
		t.Errorf("%.200q, %v", got.Text, err)
	}
}

func formatTabs(l apps.List) string {
	var out []string
	for _, x := range l.Tabs {
		s := fmt.Sprintf("%s %s %s", x.ID, x.Title, x.URL)
		if x.Active {
			s += " *"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestListing(t *testing.T) {
	m, a := startMac(t)
	for name, want := range map[string]string{
		"safari": "5.1 Eins https://one.example/, 5.2 Zwei https://two.example/?s=1 *, 6.1 Drei https://three.example/",
		"chrome": "2.11 A https://a.example/, 2.12 B https://b.example/ *",
	} {
		l, err := a.List(t.Context(), mustApp(name))
		if err != nil || formatTabs(l) != want {
			t.Errorf("%s: %s, %v", name, formatTabs(l), err)
		}
		if hidden := map[string]int{"safari": 0, "chrome": 1}[name]; l.Hidden != hidden {
			t.Errorf("%s: %d windows are hidden", name, l.Hidden)
		}
	}
	if e := strings.Join(m.Events(), "\n"); strings.Contains(e, "launch") {
		t.Error(e)
	}
	if got, err := a.Get(t.Context(), mustApp("chrome"), "2.11"); err != nil || got.Title != "A" {
		t.Error(got, err)
	}
	for _, id := range []string{"1.9", "2.13", "nonsense"} { // the second one is private
		if got, err := a.Get(t.Context(), mustApp("chrome"), id); osrun.KindOf(err) != osrun.NotFound {
			t.Error(id, got, err)
		}
	}
}

// TestFront checks that an empty id selects the active tab of the front window that shows pages.
func TestFront(t *testing.T) {
	_, a := startMac(t)
	for name, want := range map[string]string{"safari": "Zwei", "chrome": "B"} {
		if got, err := a.Get(t.Context(), mustApp(name), ""); err != nil || got.Title != want || !got.Active {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestList_TenThousandTabs(t *testing.T) {
	var many []obj
	for i := range 10_000 {
		many = append(many, buildTab(fmt.Sprint(i), "Seite", "https://many.example/"+strings.Repeat("x", 100)))
	}
	m := osruntest.NewMac(t, obj{"apps": obj{"com.google.Chrome": buildChrome(buildWindow(1, "normal", 9_000, many...))}})
	a := apps.New(m, apps.Options{})
	l, err := a.List(t.Context(), mustApp("chrome"))
	if err != nil || len(l.Tabs) != apps.MaxTabs || l.Total != 10_000 {
		t.Errorf("%d of %d tabs, %v", len(l.Tabs), l.Total, err)
	}
	if e := m.Events(); len(e) > 10 {
		t.Errorf("%d events", len(e))
	}
	if got, err := a.Get(t.Context(), mustApp("chrome"), ""); err != nil || got.ID != "1.8999" {
		t.Error(got, err)
	}
}

func TestActs(t *testing.T) {
	m, a := startMac(t)
	ctx := t.Context()
	for name, tc := range map[string]struct{ id, text, left, front, want string }{
		"safari": {"5.1", "Text of Eins", "world.apps['com.apple.Safari'].root.windows[1].tabs.length", "world.apps['com.apple.Safari'].root.windows[1].currentTab.name", `"Eins"`},
		"chrome": {"2.11", "Shown of A", "world.apps['com.google.Chrome'].root.windows[1].tabs.length", "world.apps['com.google.Chrome'].root.windows[1].activeTabIndex", "1"},
	} {
		b := mustApp(name)
		x, err := a.Get(ctx, b, tc.id)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.Read(ctx, b, x); err != nil || got.Text != tc.text || got.Cut {
			t.Errorf("%s: Read = %+v, %v", name, got, err)
		}
		for code, want := range map[string]string{"1+1": "2", "leak": "say [secret]", "deep": `{"pw":"[secret]"}`, "nothing": ""} {
			if got, err := a.Execute(ctx, b, x, code); err != nil || got.Text != want {
				t.Errorf("%s: %s: %q, %v", name, code, got.Text, err)
			}
		}
		if err := a.Switch(ctx, b, x); err != nil || m.EvalWorld(tc.front) != tc.want {
			t.Errorf("%s: in front is %s, %v", name, m.EvalWorld(tc.front), err)
		}
		gone := x
		gone.URL = "https://other.example/"
		for what, err := range map[string]error{"close": a.Close(ctx, b, gone), "switch": a.Switch(ctx, b, gone), "read": keepError(a.Read(ctx, b, gone)), "execute": keepError(a.Execute(ctx, b, gone, "1+1"))} {
			if osrun.KindOf(err) != osrun.Changed || osrun.IsUncertain(err) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if err := a.Close(ctx, b, x); err != nil || m.EvalWorld(tc.left) != "1" {
			t.Errorf("%s: %s tabs remain, %v", name, m.EvalWorld(tc.left), err)
		}
		opened, err := a.Open(ctx, b, "https://new.example/")
		if err != nil || m.EvalWorld(tc.left) != "2" {
			t.Errorf("%s: Open = %+v, %v", name, opened, err)
		}
		if got, err := a.Get(ctx, b, opened.ID); err != nil || got.URL != "https://new.example/" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if ran := m.EvalWorld("world.apps['com.google.Chrome'].root.windows[0].tabs[0].__ran === undefined"); ran != "true" {
		t.Error("a script ran in a private tab")
	}
}

func keepError[T any](_ T, err error) error { return err }

// TestOpen_StartsAWindow opens a page when the browser is not running or has only private windows.
func TestOpen_StartsAWindow(t *testing.T) {
	for name, world := range map[string]obj{"safari": buildSafari(), "chrome": buildChrome(), "arc": buildChrome(buildWindow(1, "incognito", 1, buildTab("9", "x", "https://x.example/")))} {
		world["running"] = false
		id := map[string]string{"safari": "com.apple.Safari", "chrome": "com.google.Chrome", "arc": "company.thebrowser.Browser"}[name]
		m := osruntest.NewMac(t, obj{"apps": obj{id: world}})
		a := apps.New(m, apps.Options{})
		if _, err := a.List(t.Context(), mustApp(name)); osrun.KindOf(err) != osrun.NotRunning || len(m.Opened()) != 0 {
			t.Errorf("%s: List started the browser: %v", name, err)
		}
		_, err := a.Open(t.Context(), mustApp(name), "https://new.example/")
		if world := m.EvalWorld("world.apps[" + string(quoteJSON(id)) + "].root"); !strings.Contains(world, "https://new.example/") || len(m.Opened()) != 1 {
			t.Errorf("%s: %s, %v", name, world, err)
		}
	}
}

func quoteJSON(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
}

// TestFailures checks that errors are in English in every system language, and that a failed read
// never returns an empty list.
func TestFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		fault string
		as    int
		kind  osrun.Kind
		says  string
	}{
		"not allowed":       {"get app.windows.id", -1743, osrun.Denied, "Privacy_Automation"},
		"not yet asked":     {"get app.windows.id", -1744, osrun.Denied, "Automation"},
		"no answer":         {"tabs", -1712, osrun.Timeout, "macOS dialog"},
		"the browser ended": {"tabs", -600, osrun.NotRunning, "open it first"},
		"refused in part":   {"tabs.url", -1743, osrun.Denied, "Automation"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, b := range []string{"safari", "chrome"} {
				m, a := startMac(t)
				m.Fail(tc.fault, tc.as)
				l, err := a.List(t.Context(), mustApp(b))
				if osrun.KindOf(err) != tc.kind || l.Tabs != nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "Programm") {
					t.Errorf("%s: List = %+v, %v", b, l, err)
				}
			}
		})
	}
	m, a := startMac(t)
	if _, err := a.List(t.Context(), mustApp("brave")); osrun.KindOf(err) != osrun.NotInstalled {
		t.Error(err)
	}
	for b, tc := range map[string]struct {
		id, app, says string
		number        int
	}{"safari": {"5.1", "com.apple.Safari", "Developer", 8}, "chrome": {"2.11", "com.google.Chrome", "View, Developer", 12}} {
		x, err := a.Get(t.Context(), mustApp(b), tc.id)
		if err != nil {
			t.Fatal(err)
		}
		m.EvalWorld(fmt.Sprintf("world.apps[%q].scripts = %d", tc.app, tc.number))
		if _, err := a.Execute(t.Context(), mustApp(b), x, "1+1"); osrun.KindOf(err) != osrun.SetupRequired || osrun.IsUncertain(err) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "Allow JavaScript from Apple Events") {
			t.Errorf("%s: Execute = %v", b, err)
		}
	}
	busy := apps.New(m, apps.Options{Taken: func(title string) bool { return title == "Google Chrome" }})
	if _, err := busy.List(t.Context(), mustApp("chrome")); osrun.KindOf(err) != osrun.Busy {
		t.Error(err)
	}
	if l, err := busy.List(t.Context(), mustApp("safari")); err != nil || len(l.Tabs) == 0 {
		t.Error(l, err)
	}
}

// TestCalls_EndWithoutAnswer checks that a browser that does not respond blocks no call forever, and that the
// outcome of the call is reported as unknown.
func TestCalls_EndWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, a := startMac(t)
		x, err := a.Get(t.Context(), mustApp("chrome"), "2.11")
		if err != nil {
			t.Fatal(err)
		}
		m.Hang("close app")
		err = a.Close(context.Background(), mustApp("chrome"), x)
		if osrun.KindOf(err) != osrun.Timeout || !osrun.IsUncertain(err) {
			t.Error(err)
		}
	})
}
