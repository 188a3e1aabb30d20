package doctor

import (
	"strings"
	"testing"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

// TestScripts checks the findings on a Mac on which Mail rejects scripts, Notes does not respond,
// Contacts is not running, and access to reminders is denied.
func TestScripts(t *testing.T) {
	dict := map[string]any{"Application": map[string]any{"properties": []string{}, "elements": map[string]string{"accounts": "Account", "folders": "Folder"}}}
	world := map[string]any{
		"apps": map[string]any{
			"com.apple.mail":        map[string]any{"running": true, "dict": dict, "root": map[string]any{"accounts": []any{map[string]any{"__class": "Account"}}}},
			"com.apple.Notes":       map[string]any{"running": true, "dict": dict, "root": map[string]any{"folders": []any{}}},
			"com.apple.AddressBook": map[string]any{"running": false},
		},
		"eventkit": map[string]any{"status": []int{3, 2}, "calendars": []any{}, "events": []any{}, "reminders": []any{}},
	}
	m := osruntest.NewMac(t, world)
	find := func(list []Check, part string) Check {
		t.Helper()
		for _, c := range list {
			if strings.Contains(c.Cause, part) {
				return c
			}
		}
		t.Fatalf("no finding contains %q: %+v", part, list)
		return Check{}
	}
	list := scriptsOf(t.Context(), m, osrun.JavaScript)
	if c := find(list, "osascript works"); c.State != OK || !strings.Contains(c.Cause, "accessible apps: Mail, Notes, Calendar") || !strings.Contains(c.Cause, "not running: Contacts") {
		t.Errorf("%+v", c)
	}
	if c := find(list, "Reminders does not accept scripts"); c.State != Fail || !strings.Contains(c.Remedy, "Reminders") || !strings.Contains(c.Link, "Privacy_Reminders") {
		t.Errorf("%+v", c)
	}
	m.Fail("com.apple.mail count app.accounts", -1743)
	c := find(scriptsOf(t.Context(), m, osrun.JavaScript), "Mail does not accept scripts")
	if c.State != Fail || !strings.Contains(c.Cause, "-1743") || !strings.Contains(c.Remedy, "Automation") || c.Link != "x-apple.systempreferences:com.apple.preference.security?Privacy_Automation" {
		t.Errorf("%+v", c)
	}
}
