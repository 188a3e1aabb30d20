package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/platform/host/osrun/osruntest"
	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/pimtest"
)

// TestLists_OnARealServer tests tasks on a real server with the complete program: choosing the list for
// a new task, listing, completing, undo, and the error for an unreachable server.
func TestLists_OnARealServer(t *testing.T) {
	r := pimtest.StartRadicale(t)
	r.Make("Home")
	r.Make("Shopping")
	h := openDaemon(t, fmt.Sprintf("[pim]\nreminders = \"home/Shopping\"\n[accounts.home]\ncaldav = %q\nuser = \"tester\"\npassword = %q\n", r.URL, pimtest.Secret))
	there := func() string {
		t.Helper()
		list, err := netaccount.NewReminders(r.Account("tester"), time.UTC).FindReminders(t.Context(), false)
		failOnError(t, err)
		var out []string
		for _, x := range list {
			out = append(out, x.List+": "+x.Title)
		}
		return strings.Join(out, ", ")
	}
	if got := h.askHob("remind me to buy milk tomorrow at 9"); !strings.Contains(got, `Added "buy milk" to the list home/Shopping: tomorrow at 09:00.`) || there() != "Shopping: buy milk" {
		t.Fatal(got, there())
	}
	if got := h.askHob("undo that"); !strings.Contains(got, "Removed the item from the list.") || there() != "" {
		t.Error(got, there())
	}
	if got := h.callTool("create_reminder", `{"text":"stretch","every":"every day at 8"}`); !strings.Contains(got.Text, "I will remind you every day") || there() != "" {
		t.Errorf("repeating reminder: %+v, %s", got, there())
	}
	if got := h.callTool("create_reminder", `{"text":"call Ada","at":"in 20 minutes","in":"hob"}`); !strings.Contains(got.Text, "I will remind you") || there() != "" {
		t.Errorf("reminder in Hob's own list: %+v, %s", got, there())
	}
	if got := h.callTool("create_reminder", `{"text":"file taxes","in":"home/Home"}`); !strings.Contains(got.Text, `Added "file taxes" to the list home/Home.`) || there() != "Home: file taxes" {
		t.Errorf("%+v, %s", got, there())
	}
	if got := h.askHob("what are my reminders"); !strings.Contains(got, "call Ada") || !strings.Contains(got, "To do, on the lists of home:\n- file taxes (home)") {
		t.Error(got)
	}
	if got := h.callTool("complete_reminder", `{"reminder":"taxes"}`); !strings.Contains(got.Text, "Done: file taxes") || there() != "" {
		t.Errorf("%+v, %s", got, there())
	}
	if got := h.askHob("/undo"); there() != "Home: file taxes" { // unlike "undo that", it also undoes calls made outside this conversation
		t.Error(got, there())
	}
	if got := h.callTool("create_reminder", `{"text":"x","in":"nowhere"}`); !strings.Contains(got.Error, "available: hob, home") {
		t.Errorf("%+v", got)
	}
	r.Stop()
	if got := h.askHob("what are my reminders"); !strings.Contains(got, "call Ada") || !strings.Contains(got, "Some sources could not be read: account home") {
		t.Error(got)
	}
}

// TestLists_AppsOnAMac checks that on a Mac the lists of Reminders and the notes of Notes are read, and
// that a missing permission is reported, not taken for an empty list.
func TestLists_AppsOnAMac(t *testing.T) {
	due := time.Now().AddDate(0, 0, 1)
	mac := osruntest.NewMac(t, map[string]any{
		"eventkit": map[string]any{
			"status": []int{3, 3}, "calendars": []map[string]any{{"id": "l1", "title": "Erledigen", "entity": 1}}, "events": []any{},
			"reminders": []map[string]any{{"id": "r1", "title": "Milch", "calendar": "l1", "priority": 1, "due": map[string]any{"year": due.Year(), "month": int(due.Month()), "day": due.Day()}}},
		},
		"apps": map[string]any{"com.apple.Notes": map[string]any{
			"running": true, "root": map[string]any{"notes": []map[string]any{{"__class": "Note", "id": "x-coredata://1/p1", "name": "WLAN", "plaintext": "WLAN\nhunter2", "modificationDate": map[string]any{"$date": 1795000000000}, "passwordProtected": false}}},
			"dict": map[string]any{
				"Application": map[string]any{"properties": []string{}, "elements": map[string]any{"notes": "Note"}},
				"Note":        map[string]any{"properties": []string{"id", "name", "plaintext", "modificationDate", "passwordProtected"}, "elements": map[string]any{}},
			},
		}},
	})
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Done."}})
	h := openScriptedWith(t, t.TempDir(), model.URL, listPlayWays()[0], "", Options{Scripts: mac})
	if got := h.callTool("list_reminders", `{}`); !strings.Contains(got.Text, "- Milch (tomorrow; high priority; Erledigen in apple)") {
		t.Errorf("%+v", got)
	}
	if got := h.callTool("complete_reminder", `{"reminder":"milch"}`); !strings.Contains(got.Text, "Done: Milch") || mac.EvalWorld("world.eventkit.reminders[0].done") != "true" {
		t.Errorf("%+v", got)
	}
	if got := h.callTool("create_reminder", `{"text":"Brot","in":"apple"}`); !strings.Contains(got.Text, `Added "Brot" to the list apple.`) || !strings.Contains(mac.EvalWorld("world.eventkit.reminders[1]"), "Brot") {
		t.Errorf("%+v", got)
	}
	if got := h.callTool("list_notes", `{"query":"hunter2"}`); !strings.Contains(got.Text, "- WLAN (apple") {
		t.Errorf("%+v", got)
	}
	mac.EvalWorld("world.eventkit.status[1] = 2")
	mac.Fail("com.apple.Notes get app.notes.id", -1743)
	if got := h.callTool("list_reminders", `{}`); !strings.Contains(got.Text, "Some sources could not be read") || !strings.Contains(got.Text, "Privacy_Reminders") || strings.Contains(got.Text, "Nothing is open") {
		t.Errorf("refused: %+v", got)
	}
	if got := h.callTool("list_notes", `{}`); !strings.Contains(got.Text, "Some sources could not be read") || !strings.Contains(got.Text, "Privacy_Automation") {
		t.Errorf("refused: %+v", got)
	}
}

// TestLists_LongList checks that a repeating reminder ends with its last occurrence, and that a briefing
// lists today's reminders even if many are overdue.
func TestLists_LongList(t *testing.T) {
	r := pimtest.StartRadicale(t)
	r.Make("Home")
	day := func(n int) string { return time.Now().AddDate(0, 0, n).Format("20060102") }
	r.PutTodo("Home", "pill", "SUMMARY:Pill\nDUE;VALUE=DATE:"+day(1)+"\nRRULE:FREQ=DAILY;COUNT=2")
	for i := range 25 {
		name := fmt.Sprintf("old%d", i)
		r.PutTodo("Home", name, "SUMMARY:"+name+"\nDUE;VALUE=DATE:"+day(-i-2))
	}
	r.PutTodo("Home", "tax", "SUMMARY:Tax\nDUE;VALUE=DATE:"+day(0))
	h := openDaemon(t, fmt.Sprintf("[accounts.home]\ncaldav = %q\nuser = \"tester\"\npassword = %q\n", r.URL, pimtest.Secret))
	if got := h.callTool("daily_briefing", `{}`); !strings.Contains(got.Text, "Tax") || !strings.Contains(got.Text, "old24") || !strings.Contains(got.Text, "and 6 more") {
		t.Errorf("%+v", got)
	}
	if got := h.callTool("complete_reminder", `{"reminder":"pill"}`); !strings.Contains(got.Text, "Done: Pill") || !strings.Contains(got.Text, "It will repeat.") {
		t.Errorf("%+v", got)
	}
	if got := h.callTool("complete_reminder", `{"reminder":"pill"}`); !strings.Contains(got.Text, "Done: Pill") || strings.Contains(got.Text, "again") || strings.Contains(got.Text, "repeats") {
		t.Errorf("%+v", got)
	}
}

// TestLists_LongFolder checks that a note is found by its folder and by its title, even if many newer
// notes mention them.
func TestLists_LongFolder(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string, age time.Duration) {
		t.Helper()
		p := filepath.Join(dir, name)
		failOnError(t, os.MkdirAll(filepath.Dir(p), 0o700))
		failOnError(t, os.WriteFile(p, []byte(text), 0o600))
		at := time.Now().Add(-age)
		failOnError(t, os.Chtimes(p, at, at))
	}
	for i := range 60 {
		put(fmt.Sprintf("Daily %d.md", i), "We spoke of Atlas.", time.Duration(i)*time.Minute)
	}
	put("Work/Atlas.md", "It begins in May.", 100*time.Hour)
	h := openDaemon(t, fmt.Sprintf("[pim]\nnotes_folder = %q\n", dir))
	if got := h.callTool("list_notes", `{"in":"folder/Work"}`); !strings.Contains(got.Text, "- Atlas (Work in folder") || strings.Contains(got.Text, "Daily") {
		t.Errorf("%+v", got)
	}
	if got := h.callTool("list_notes", `{"in":"folder"}`); strings.Count(got.Text, "\n- Daily") != 20 {
		t.Errorf("%+v", got)
	}
	if got := h.callTool("read_note", `{"note":"Atlas"}`); !strings.Contains(got.Text, "It begins in May.") {
		t.Errorf("%+v", got)
	}
}

var _ pim.Reminders = (*netaccount.Reminders)(nil)
