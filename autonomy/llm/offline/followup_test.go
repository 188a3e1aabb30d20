package offline

import (
	"strings"
	"testing"

	"hob/autonomy/llm"
)

func TestFollowUps(t *testing.T) {
	tests := []struct {
		name    string
		said    []string // all but the last must be answered with a question
		want    []string // calls of the last one
		answers string   // instead of calls: a part of the last answer
	}{
		{"time of a reminder", []string{"remind me to call mum", "tomorrow at 9"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call mum"}`}, ""},
		{"time in a sentence", []string{"remind me to call mum", "oh, in 20 minutes please"}, []string{`create_reminder{"at":"2026-03-04T10:35:00+02:00","text":"call mum"}`}, ""},
		{"a recurrence", []string{"remind me to stretch", "every weekday at 11"}, []string{`create_reminder{"every":"0 11 * * 1-5","text":"stretch"}`}, ""},
		{"hour of a known day", []string{"remind me tomorrow to call mum", "at 9"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call mum"}`}, ""},
		{"bare hour", []string{"remind me on Friday to call mum", "17:30"}, []string{`create_reminder{"at":"2026-03-06T17:30:00+02:00","text":"call mum"}`}, ""},
		{"another day after all", []string{"remind me tomorrow to call mum", "on Friday at 9"}, []string{`create_reminder{"at":"2026-03-06T09:00:00+02:00","text":"call mum"}`}, ""},
		{"day, then hour", []string{"remind me to call mum", "tomorrow", "at 9"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call mum"}`}, ""},
		{"what to be reminded of", []string{"remind me tomorrow at 9", "to water the plants"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"water the plants"}`}, ""},
		{"the rest of a reminder", []string{"remind me", "to stretch in 5 minutes"}, []string{`create_reminder{"at":"2026-03-04T10:20:00+02:00","text":"stretch"}`}, ""},
		{"text, then time", []string{"set a reminder", "stretch", "in 5 minutes"}, []string{`create_reminder{"at":"2026-03-04T10:20:00+02:00","text":"stretch"}`}, ""},
		{"a task", []string{"add a task", "buy milk tomorrow"}, []string{`create_task{"due":"2026-03-05","title":"buy milk"}`}, ""},
		{"a note", []string{"take a note", "the boiler hums"}, []string{`create_note{"text":"the boiler hums"}`}, ""},
		{"a fact", []string{"remember this", "I like tea"}, []string{`remember{"text":"I like tea"}`}, ""},
		{"an expense", []string{"log an expense", "12 on lunch"}, []string{`log_expense{"amount":12,"category":"lunch"}`}, ""},
		{"a habit", []string{"log a habit", "reading"}, []string{`log_habit{"habit":"reading"}`}, ""},
		{"a folder", []string{"search my files for invoice", "~/Documents"}, []string{`search_files{"path":"~/Documents","query":"invoice"}`}, ""},
		{"a well-known folder", []string{"search my files for invoice", "in my downloads folder"}, []string{`search_files{"path":"~/Downloads","query":"invoice"}`}, ""},
		{"what to watch", []string{"watch a folder", "~/Downloads"}, []string{`create_watcher{"config":{"path":"~/Downloads"},"kind":"file"}`}, ""},
		{"contents of a file", []string{"create a file ~/Documents/plan.txt", "buy paint"}, []string{`write_file{"content":"buy paint","path":"~/Documents/plan.txt"}`}, ""},
		{"which reminder", []string{"cancel a reminder", "the stretch one"}, []string{`cancel_reminder{"reminder":"stretch one"}`}, ""},
		{"yes to a reminder", []string{"call mum tomorrow at 9", "yes please"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call mum"}`}, ""},
		{"no to a reminder", []string{"call mum tomorrow at 9", "no"}, nil, "changed nothing"},
		{"one of two dates", []string{"add a task to pay by 03/04/2026", "3 April 2026"}, []string{`create_task{"due":"2026-04-03","title":"pay"}`}, ""},
		{"the second of two dates", []string{"add a task to pay by 03/04/2026", "the second one"}, []string{`create_task{"due":"2026-03-04","title":"pay"}`}, ""},
		{"never mind", []string{"remind me to call mum", "never mind"}, nil, "changed nothing"},
		{"something else", []string{"remind me to call mum", "list my tasks"}, []string{`list_tasks{}`}, ""},
		{"a late answer", []string{"remind me to call mum", "soon", "at 5pm"}, []string{`create_reminder{"at":"2026-03-04T17:00:00+02:00","text":"call mum"}`}, ""},
		{"no answer at all", []string{"remind me to call mum", "the blue one"}, nil, "When should I remind you?"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := talk(t)
			for _, s := range tc.said[:len(tc.said)-1] {
				if calls := c.hear(s); len(calls) > 0 || !strings.HasSuffix(strings.TrimSpace(c.say()), "?") {
					t.Fatalf("%q was not asked back: %v %q", s, calls, c.say())
				}
			}
			want(t, c.hear(tc.said[len(tc.said)-1]), tc.want...)
			if !strings.Contains(c.say(), tc.answers) {
				t.Errorf("said %q", c.say())
			}
		})
	}
}

func TestFollowUpAfterACallInTheSameTurn(t *testing.T) {
	c := talk(t)
	want(t, c.hear("add a task to buy milk and remind me to cook"), `create_task{"title":"buy milk"}`)
	c.result("Added.")
	want(t, c.hear("at 6pm"), `create_reminder{"at":"2026-03-04T18:00:00+02:00","text":"cook"}`)
}

func TestAnAnswerNeedsItsQuestion(t *testing.T) {
	c := talk(t)
	c.hear("remind me to call mum")
	c.messages[1] = llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "Something else?"}}}
	if calls := c.hear("tomorrow at 9"); len(calls) > 0 {
		t.Errorf("an old question was answered: %v", calls)
	}
}
