package osruntest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

// TestLint_DetectsBrokenScripts checks that the linter detects a broken script of each kind.
func TestLint_DetectsBrokenScripts(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"JXA in order":            {"x.js", "function main(r) { return r; }", ""},
		"JXA that does not parse": {"x.js", "function main(r) { return r; ", "Unexpected"},
		"JXA without main":        {"x.js", "function other(r) { return r; }", "main"},
		"JXA with console.error":  {"x.js", "function main(r) { console.error('x'); }", "console.error"},
		"JXA not ASCII":           {"x.js", "function main(r) { return 'é'; }", "ASCII"},
		"JXA with a splice":       {"x.js", "function main(r) { return '%s'; }", "%s"},
		"JXA that runs itself":    {"x.js", "function main(r) {}\nfunction run() {}", "run"},
		"AppleScript in order":    {"x.applescript", "on main(request)\n\ttell application id \"com.apple.mail\"\n\t\tif x then return 1\n\t\tif x then\n\t\t\ttry\n\t\t\t\tset y to 1\n\t\t\ton error\n\t\t\t\tset y to 2\n\t\t\tend try\n\t\tend if\n\tend tell\nend main\n", ""},
		"AppleScript, reserved":   {"x.applescript", "on main(request)\n\trepeat with item in x\n\tend repeat\nend main\n", "variable"},
		"AppleScript, open":       {"x.applescript", "on main(request)\n\tif x then\n\t\treturn 1\nend main\n", "closes no block"},
		"AppleScript, a shell":    {"x.applescript", "on main(request)\n\tdo shell script \"x\"\nend main\n", "shell"},
		"PowerShell in order":     {"x.ps1", "function Main($in) {\n  foreach ($x in $in.list) { $y = $x }\n  Answer @{ y = $y }\n}", ""},
		"PowerShell, a brace":     {"x.ps1", "function Main($in) {\n  if ($x) {\n  Answer @{ y = 1 }\n}", "{}"},
		"PowerShell, iex":         {"x.ps1", "function Main($in) {\n  iex $in.x\n  Answer 1\n}", "iex"},
		"PowerShell, null right":  {"x.ps1", "function Main($in) {\n  if ($x -eq $null) { }\n  Answer 1\n}", "-eq $null"},
		"PowerShell, no answer":   {"x.ps1", "function Main($in) {\n}", "calls Answer"},
		"no engine":               {"x.sh", "echo", "engine"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(osruntest.Lint(osrun.NewScript(c.file, c.text)), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

func TestParsePowerShell_DetectsBrokenScripts(t *testing.T) {
	good := osrun.NewScript("good.ps1", "function Main($in) {\n  Answer @{ y = 1 }\n}")
	if bad := osruntest.ParsePowerShell(t, good); len(bad) > 0 {
		t.Errorf("found %q", bad)
	}
	for _, text := range []string{"function Main($in) {\n  Answer @{ y = 1 \n}", "function Main($in) {\n  Answer @{ y = 'x }\n}", "function Main($in) {\n  if $x { Answer 1 }\n}"} {
		if bad := osruntest.ParsePowerShell(t, osrun.NewScript("bad.ps1", text)); len(bad) == 0 {
			t.Errorf("ParsePowerShell reports nothing for %q", text)
		}
	}
}

// simulateNotes returns a small Notes app in the form of its dictionary (Script Editor, Window, Library;
// "JavaScript for Automation Release Notes", developer.apple.com).
func simulateNotes(n int) map[string]any {
	list := make([]map[string]any, n)
	for i := range list {
		list[i] = map[string]any{"__class": "Note", "id": "x-coredata://1/p" + strings.Repeat("i", i%3), "name": "Einkäufe", "creationDate": map[string]any{"$date": 86_400_000}, "body": nil}
	}
	return map[string]any{"apps": map[string]any{"com.apple.Notes": map[string]any{
		"running": true, "root": map[string]any{"notes": list},
		"dict": map[string]any{
			"Application": map[string]any{"properties": []string{}, "elements": map[string]any{"notes": "Note"}},
			"Note":        map[string]any{"properties": []string{"id", "name", "creationDate", "body"}, "elements": map[string]any{}, "fixed": []string{"id", "creationDate"}},
		},
	}}}
}

// TestMac_ObjectsBehaveLikeJXA checks that the simulation handles objects as JXA does, and that typical mistakes of
// JXA scripts fail.
func TestMac_ObjectsBehaveLikeJXA(t *testing.T) {
	for name, c := range map[string]struct{ main, want string }{
		"a property is read by calling it": {"return typeof a.notes[0].name + a.notes[0].name()", `"functionEinkäufe"`},
		"bulk":                             {"return a.notes.name()", `["Einkäufe","Einkäufe"]`},
		"missing is null":                  {"return a.notes[0].body()", `null`},
		"dates":                            {"return a.notes[0].creationDate() instanceof Date && a.notes[0].creationDate().getTime()", `86400000`},
		"an array of elements has no map":  {"return a.notes.map(function (n) { return 1; })", `error -1728`},
		"a missing object":                 {"return a.notes.byId('nobody').name()", `error -1728`},
		"a specifier is resolved lazily":   {"var n = a.notes.byId('nobody'); return 1", `1`},
		"a term that the dictionary lacks": {"return a.notes[0].title()", `error -1728`},
		"whose":                            {"return a.notes.whose({ name: { _contains: 'eink' } }).length", `2`},
		"a read-only property":             {"a.notes[0].id = 'x'", `error -10006`},
		"set before the push is dropped":   {"var n = a.Note({ name: 'x' }); n.body = 'y'; a.notes.push(n); return [n.name(), n.body()]", `["x",null]`},
		"EventKit without import":          {"return $.EKEventStore", `error 0`},
		"an enumeration is a string":       {"ObjC.import('EventKit'); return typeof $.EKEventStore.authorizationStatusForEntityType(0)", `"string"`},
		"a property that the class lacks":  {"ObjC.import('EventKit'); return $.EKEventStore.alloc.init.calendarsForEntity(0)", `error 0`},
		"no lists without permission":      {"ObjC.import('EventKit'); return $.EKEventStore.alloc.init.calendarsForEntityType(0).count", `0`},
	} {
		t.Run(name, func(t *testing.T) {
			s := osrun.NewScript("x.js", "function main() { try { var a = Application('com.apple.Notes'); return (function () {"+c.main+"})(); } catch (e) { return 'error ' + (e.errorNumber || 0); } }")
			m := osruntest.NewMac(t, simulateNotes(2))
			var got any
			if err := m.Run(t.Context(), osrun.Call{Script: s}, &got); err != nil {
				t.Fatal(err)
			}
			want := strings.Trim(c.want, `"`)
			if text := strings.Trim(jsonText(t, got), `"`); text != want {
				t.Errorf("got %s, want %s", text, want)
			}
		})
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMac_RunningDoesNotStartTheApp checks that a script does not start an app. On a Mac every Apple event
// starts the app; only running() does not.
func TestMac_RunningDoesNotStartTheApp(t *testing.T) {
	world := simulateNotes(1)
	world["apps"].(map[string]any)["com.apple.Notes"].(map[string]any)["running"] = false
	s := osrun.NewScript("x.js", "function main() { return app('com.apple.Notes').notes.name(); }")
	m := osruntest.NewMac(t, world)
	simulateNotes := osrun.App{ID: "com.apple.Notes", Name: "Notes"}
	if err := m.Run(t.Context(), osrun.Call{Script: s, App: simulateNotes}, nil); osrun.KindOf(err) != osrun.NotRunning {
		t.Errorf("error %v", err)
	}
	if e := m.Events(); len(e) != 0 {
		t.Errorf("events %q", e)
	}
	var names []string
	if err := m.Run(t.Context(), osrun.Call{Script: s, App: simulateNotes, Start: true}, &names); err != nil || len(names) != 1 || len(m.Opened()) != 1 {
		t.Errorf("%q, %v, opened %q", names, err, m.Opened())
	}
}
