package goals

import (
	"context"
	"strings"
	"testing"
	"time"

	"hob/platform/provenance"
)

// ruleFacts holds the data that the rules read.
type ruleFacts struct {
	tasks []Task
	fired time.Time
	known string
}

func (w ruleFacts) Tasks(context.Context) ([]Task, error) { return w.tasks, nil }

func (w ruleFacts) Fired(_ context.Context, words string) (Firing, bool, error) {
	return Firing{ID: "w1", Title: "PDF files in ~/Downloads", At: w.fired}, strings.Contains(words, "Downloads"), nil
}

func (w ruleFacts) Known(_ context.Context, words string) (Fact, bool, error) {
	return Fact{ID: "f1", Text: w.known}, w.known != "" && containsAll(w.known, words), nil
}

func (w ruleFacts) Understands(words string) bool { return strings.HasPrefix(words, "list") }

func TestFollow(t *testing.T) {
	made := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	late := ruleFacts{tasks: []Task{{ID: "t1", Title: "pay the rent", Overdue: true, Source: provenance.Outside}, {ID: "t2", Title: "call Ada"}}}
	none := ruleFacts{}
	for _, tc := range []struct {
		name, goal, success string
		world               ruleFacts
		seen                string
		after               time.Duration
		want                Verdict
		text                string // part of the text that is sent, done or given as the reason
	}{
		{"holds, notify", "when a task is overdue then tell me", "", late, "", 0, DoIt, `overdue: "pay the rent"`},
		{"holds, act", "Whenever a task is overdue, list my tasks", "", late, "", 0, DoIt, "list my tasks"},
		{"reported before", "when a task is overdue then tell me", "", late, "t1", 0, Defer, "already"},
		{"does not hold", "if a task is overdue, tell me", "", none, "", 0, Defer, "the condition does not hold"},
		{"more than", "when more than 1 task is open then list my tasks", "", late, "", 0, DoIt, "list"},
		{"not more than", "when more than 2 tasks are open then list my tasks", "", late, "", 0, Defer, "the condition does not hold"},
		{"none left", "as soon as no tasks are left, tell me", "", none, "", 0, DoIt, "no open task"},
		{"named task", "once the task pay the rent is done then tell me", "", ruleFacts{tasks: []Task{{ID: "t1", Title: "pay the rent", Done: true}}}, "", 0, DoIt, "pay the rent"},
		{"watcher fired since", "when the watcher on ~/Downloads fires then list my files", "", ruleFacts{fired: made.Add(time.Minute)}, "", time.Hour, DoIt, "list my files"},
		{"watcher fired before", "when the watcher on ~/Downloads fires then list my files", "", ruleFacts{fired: made.Add(-time.Minute)}, "", time.Hour, Defer, "the condition does not hold"},
		{"fact", "when you know that the invoice is paid then tell me", "", ruleFacts{known: "the invoice of March is paid"}, "", 0, DoIt, "I know: the invoice"},
		{"no fact", "when you know that the invoice is paid then tell me", "", none, "", 0, Defer, "the condition does not hold"},
		{"each review", "list my tasks", "", none, "", 0, DoIt, "list my tasks"},
		{"until a day, before", "list my tasks until Friday", "", none, "", time.Hour, DoIt, "list my tasks"},
		{"until a day, after", "list my tasks until Friday", "", none, "", 7 * 24 * time.Hour, Complete, "past Friday"},
		{"until a condition", "when a task is overdue then tell me, until no tasks are left", "", none, "", 0, Complete, "no open task"},
		{"success", "list my tasks", "all tasks are done", none, "", 0, Complete, "all tasks are done"},
		{"success in unsupported words", "list my tasks", "I am happy", none, "", 0, DoIt, "list"},
		{"beyond the condition", "when the moon is blue then tell me", "", none, "", 0, Defer, "cannot check whether"},
		{"beyond the action", "find a cheaper phone contract", "", none, "", 0, Defer, "do not know how to do"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := Goal{Description: tc.goal, Success: tc.success, Seen: tc.seen, Every: 3600, CreatedAt: made}
			d, err := DecideByRule(t.Context(), g, tc.world, made.Add(tc.after))
			if err != nil || d.Verdict != tc.want || !strings.Contains(d.Told+" "+d.Action+" "+d.Reason, tc.text) {
				t.Errorf("DecideByRule = %+v, %v", d, err)
			}
		})
	}
	t.Run("the user is notified once of an unsupported goal", func(t *testing.T) {
		g := Goal{Description: "find a cheaper phone contract", Every: 3600, CreatedAt: made}
		first, err := DecideByRule(t.Context(), g, none, made)
		if err != nil || !strings.Contains(first.Told, "only with a language model") {
			t.Fatalf("DecideByRule = %+v, %v", first, err)
		}
		g.Seen = first.Seen
		if again, err := DecideByRule(t.Context(), g, none, made); err != nil || again.Told != "" {
			t.Errorf("DecideByRule = %+v, %v", again, err)
		}
	})
	t.Run("a quoted text keeps its provenance", func(t *testing.T) {
		d, err := DecideByRule(t.Context(), Goal{Description: "when a task is overdue then tell me", Every: 3600, CreatedAt: made}, late, made)
		if err != nil || !d.Source.Tainted() {
			t.Errorf("DecideByRule = %+v, %v", d, err)
		}
	})
}
