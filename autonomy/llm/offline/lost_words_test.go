package offline

import (
	"strings"
	"testing"
)

// TestPlan_KeepsEveryWord checks that no word before a time is lost: it is in the text of a record, or Hob asks.
func TestPlan_KeepsEveryWord(t *testing.T) {
	for _, tc := range []struct {
		said, question string
		want           []string
	}{
		{"remind me to take the chicken out at 16.00 and put the oven on at 17.00", "", []string{
			`create_reminder{"at":"2026-03-04T16:00:00+02:00","text":"take the chicken out"}`, `create_reminder{"at":"2026-03-04T17:00:00+02:00","text":"put the oven on"}`,
		}},
		{"don't let me forget the parents' evening next Tuesday at 6.10 pm", "Tue 10 Mar at 18:10 of “the parents' evening”?", nil},
		{"remind me to take the bins out at 7pm", "", []string{`create_reminder{"at":"2026-03-04T19:00:00+02:00","text":"take the bins out"}`}},
		{"Remind me in an hour and a quarter to take the lasagne out of the freezer.", "", []string{`create_reminder{"at":"2026-03-04T11:30:00+02:00","text":"take the lasagne out of the freezer"}`}},
		{"remind me about the allotment evening next Tuesday at 6.10 pm", "“the allotment”?", nil},
		{"remind me in a day or two to call mum", "?", nil},
		{"remind me to put the oven on at 6pm for the roast", "", []string{`create_reminder{"at":"2026-03-04T18:00:00+02:00","text":"put the oven on for the roast"}`}},
	} {
		c := newConversation(t)
		expectCalls(t, c.hearText(tc.said), tc.want...)
		if len(tc.want) == 0 && !strings.HasSuffix(c.lastText(), tc.question) {
			t.Errorf("%q: reply %q, want %q", tc.said, c.lastText(), tc.question)
		}
	}
}

// TestPlan_FindsLostWords checks the search for words that a plan has lost.
func TestPlan_FindsLostWords(t *testing.T) {
	g, now := New(testOptions("")).grammar(), corpusTime(t)
	for _, tc := range [][3]string{
		{"remind me to put the oven on at 17:00", "put the oven", "on"},
		{"remind me to take the bins out at 7pm", "take the bins", "out"},
		{"remind me to feed Biscuit and the rabbit at 7pm", "feed Biscuit", "rabbit"},
		{"set me up a reminder on Friday at 6 to put the oven on", "put the oven on", ""},
		{"give me a heads up at 5pm to leave", "leave", ""},
		{"please remnid me at 5pm to call mum", "call mum", ""},
	} {
		p, _ := planCall("create_reminder", argsOf("text", tc[1], "at", "2026-03-04T17:00:00+02:00"))
		p.intent = g.intentNamed("reminder.add")
		if got := (&planReview{g: g, s: g.parseSentence(tc[0], now), p: p}).findLostWord(); got != tc[2] {
			t.Errorf("%q as %q: lost %q, want %q", tc[0], tc[1], got, tc[2])
		}
	}
}

// TestDialogue_AsksBeforeOldChanges checks messages that may mean the last turn instead of the last action, and a record
// after a correction that Hob could not use.
func TestDialogue_AsksBeforeOldChanges(t *testing.T) {
	for _, tc := range []struct {
		said []string
		want string // the last question
	}{
		{[]string{"spent 62 at asda", "and 9.50 on a kebab dont tell ines", "how much have i spent today", "undo that"}, "Should I undo that?"},
		{[]string{"remind me to get chips at 6pm", "forget the chips"}, "Should I cancel the reminder “get chips”?"},
		{[]string{"Remind me on the 15th to pay the piano teacher £36.", "It's £38 now.", "And do it every month."}, "of “pay the piano teacher £36”?"},
	} {
		c := newConversation(t)
		for i, said := range tc.said {
			calls := c.hearText(said)
			if i == len(tc.said)-1 {
				expectCalls(t, calls)
			} else if len(calls) > 0 {
				c.answerCalls("OK")
			}
		}
		if !strings.HasSuffix(c.lastText(), tc.want) {
			t.Errorf("%q: reply %q, want %q", tc.said, c.lastText(), tc.want)
		}
		if calls := c.hearText("yes"); len(calls) == 0 {
			t.Errorf("%q, yes: reply %q, want calls", tc.said, c.lastText())
		}
	}
}
