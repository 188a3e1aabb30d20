package offline

import (
	"strings"
	"testing"
	"time"
)

// TestDialogue_NamesTheRecord checks messages that name a record, a day or a sum of the conversation in other words.
func TestDialogue_NamesTheRecord(t *testing.T) {
	tests := []struct {
		name, first, result, second string
		want                        []string
	}{
		{"other minutes of a timer", "set a timer for the pasta, 11 minutes", "OK", "make that 9", []string{`update_reminder{"at":"2026-03-04T10:24:00+02:00","reminder":"pasta"}`}},
		{"then", "what day's the 19th?", "", "put haircut in for then at 10", nil},
		{"the note", "note: idea for a song", "OK", `add "strings at the end" to it`, []string{`append_note{"note":"idea for a song","text":"strings at the end"}`}},
		{"a task by another name", "add a task to call the bank", "OK", "remind me to do it at 5pm", []string{`create_reminder{"at":"2026-03-04T17:00:00+02:00","text":"call the bank"}`}},
		{"an expense or a task", "i need to ring the school", "OK", "add £12 school trip too", nil},
		{"a reason first", "remind me at 5pm to pick up Liam", "OK", "actually Mike's getting him, scrap that", []string{`cancel_reminder{"reminder":"pick up Liam"}`}},
		{"only some days", "set an alarm for 7am tomorrow", "OK", "weekdays only", []string{`update_reminder{"every":"0 7 * * 1-5","reminder":"alarm"}`}},
		{"the reminder at a time", "hello", "", "cancel the 7 one", []string{"list_reminders{}"}},
		{"the reminder at a time moves", "hello", "", "change the 9am one to half 9", []string{"list_reminders{}"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := newConversation(t)
			if calls := c.hear(tc.first); len(calls) > 0 {
				for range calls {
					c.result(tc.result)
				}
			}
			want(t, c.hear(tc.second), tc.want...)
		})
	}
}

func TestDialogue_AnswersInWords(t *testing.T) {
	for _, tc := range [][3]string{
		{"how many weeks til christmas", "and til easter?", "weeks and"},
		{"how far away is dec 20th", "and how long is that in weeks", "41 weeks and 4 days"},
		{"what day's the 19th?", "put haircut in for then at 10", "Should I remind you Thu 19 Mar at 10:00 of “haircut”?"},
		{"what time is it", "put dentist in for tuesday 9am", "of “dentist”?"},
		{"what time is it", "schedule a call with marcus friday 2-3", "Fri 6 Mar at 14:00 of “a call with marcus (14:00–15:00)”?"},
		{"schedule a call with marcus friday 2-3", "move it an hour later", "Fri 6 Mar at 15:00"},
		{"what time is it", "remind me every 45 minutes until 5pm to stretch", "That is 9 reminders of “stretch”, the first today at 11:00, the last today at 17:00."},
		{"what's the time", "in new york?", "in New York"},
		{"water the plants every third day", "starting friday", "of “water the plants”?"},
		{"what time is it", "dinner's at 7", "today at 19:00 of “dinner”?"},
		{"was ist 18 mal 7", "combien font 3,5 fois 2", "3,5 fois 2 = 7"},
		{"hola", "cuánto es el 21% de 350", "el 21% de 350 = 73,5"},
	} {
		c := newConversation(t)
		c.hear(tc[0])
		want(t, c.hear(tc[1]))
		if !strings.Contains(c.say(), tc[2]) {
			t.Errorf("%q, %q: %s, want %q", tc[0], tc[1], c.say(), tc[2])
		}
	}
}

// TestQuestion_TonightKeepsTheEvening: "at 8" after "tonight" is 8 in the evening.
func TestQuestion_TonightKeepsTheEvening(t *testing.T) {
	g, late := New(testOptions("")).grammar(), corpusTime(t).Add(13*time.Hour)
	p := g.planRequests("remind me to take the bins out tonight", late, 0)
	if p.question == nil {
		t.Fatalf("the plan is %s, want a question", describe(p))
	}
	wish, _ := p.question.complete("at 8")
	if got := describe(g.planRequests(wish, late, 0)); got != `create_reminder {"at":"2026-03-05T20:00:00+02:00","text":"take the bins out"}` {
		t.Errorf("%q leads to %s", wish, got)
	}
}

func TestFollowUps_BothWhileAQuestionIsOpen(t *testing.T) {
	c := newConversation(t)
	c.hear("remind me to call mum at 5pm")
	c.result("OK")
	c.hear("remind me to call dad at 6pm")
	c.result("OK")
	want(t, c.hear("remind me to stretch"))
	want(t, c.hear("cancel them both"), `cancel_reminder{"reminder":"call mum"}`, `cancel_reminder{"reminder":"call dad"}`)
}
