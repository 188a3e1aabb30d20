package all

import (
	"testing"

	"hob/tools"
	"hob/tools/toolstest"
)

func TestConformance(t *testing.T) {
	var cases []toolstest.Case
	for _, list := range [][]toolstest.Case{fileCases(), memoryCases(), taskCases(), reminderCases(), watchCases(), countCases()} {
		cases = append(cases, list...)
	}
	toolstest.Run(t, toolstest.Suite{Open: open, Cases: cases, Ignore: []string{"watchers.next_at", "file_watches.since"}})
}

// maxCore bounds what the tools offered in every request add to its prompt, in
// bytes of name, description and schema: a quarter of it are tokens, of the
// 2,000 that "hello" may cost.
const maxCore = 4500

func TestCoreIsLean(t *testing.T) {
	total := 0
	for _, x := range open(t).Tools {
		if s := x.Spec(); s.Core {
			total += len(s.Name) + len(s.Description) + len(s.Schema)
		}
	}
	t.Logf("the core tools have %d bytes", total)
	if total > maxCore {
		t.Errorf("the core tools have %d bytes, at most %d are allowed", total, maxCore)
	}
}

func TestCatalogueFindsTools(t *testing.T) {
	c, err := tools.NewCatalogue(open(t).Tools...)
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"how much did I spend this month": "spending_summary", "log an expense": "log_expense", "throw a file away": "trash_file",
		"rename a file": "move_file", "forget a fact": "forget", "write a note": "create_note", "stop watching a folder": "cancel_watcher",
		"pause a recurring job": "pause_schedule", "did I keep up my habit streak": "habit_streak", "brief me on my day": "daily_briefing",
		"mark a task as finished": "complete_task", "postpone a task": "update_task", "which reminders are there": "list_reminders",
		"what are you doing, status": "status", "take back the last action": "undo", "search notes and tasks for something": "search_knowledge",
	} {
		found := c.Search(query, 3)
		ok := false
		for _, x := range found {
			ok = ok || x.Spec().Name == want
		}
		if !ok {
			t.Errorf("%q does not find %s", query, want)
		}
	}
}
