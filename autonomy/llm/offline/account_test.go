package offline

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// extraWords may change what a sentence means, wherever they stand.
var extraWords = []string{"not", "7", "saturday", "unless", "except", "last", "every", "never", "if", "without", "until", "half", "second"}

// TestAccount_ExtraWordChangesThePlan inserts a word into sentences that Hob acts on. If the plan stays the same, Hob
// did not account for that word.
func TestAccount_ExtraWordChangesThePlan(t *testing.T) {
	g := New(Options{}).grammar()
	now := corpusTime(t)
	outcomeOf := func(text string) (string, bool) {
		p := g.planRequests(text, now, 0)
		if p.outcome != act || !g.changesRecords(p) {
			return "", false
		}
		said := describePlan(p) + p.say
		if p.question != nil {
			said += p.question.text
		}
		return said, true
	}
	corpus := slices.DeleteFunc(readCorpus(t, "testdata/corpus.tsv"), func(s sample) bool {
		_, acts := outcomeOf(s.sentence)
		_, reason := g.planWithoutReason(g.parseSentence(s.sentence, now), 0) // a reason may be of any words
		return !acts || reason
	})
	r := rand.New(rand.NewPCG(20, 11))
	for range 1500 {
		s := pickOne(r, corpus).sentence
		extra := pickOne(r, extraWords)
		words := strings.Fields(s)
		text := strings.Join(slices.Insert(slices.Clone(words), r.IntN(len(words)+1), extra), " ")
		want, _ := outcomeOf(s)
		if got, acts := outcomeOf(text); acts && got == want && !isHarmless(strings.ToLower(s), extra) {
			t.Errorf("%q leads to the same plan as %q: %s", text, s, got)
		}
	}
}

// isHarmless reports whether a word does not change the meaning of a sentence: "until" before the new time of a record,
// "every" in a recurrence, the day that the sentence names anyway.
func isHarmless(sentence, extra string) bool {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(sentence, w) })
	}
	switch extra {
	case "until":
		return has("move", "push", "due", "reschedule", "train", "tell me that again", "meeting", "delete lunch")
	case "every", "if":
		return has("every", "weekdays", "when anything")
	case "last":
		return has("mail", "sunday", "notification")
	case "saturday":
		return has("saturday", "weekend", "in 3 days")
	case "7":
		return has("this morning")
	}
	return false
}

// A list of mails shows sender, subject and time on one line each, and no ids.
func TestListMails_ShowsSenderSubjectAndTime(t *testing.T) {
	p, _ := listMails("no unread mail", nil)
	if got, want := p.format(noMail), "You have no unread mail."; got != want {
		t.Errorf("without mail: %q, want %q", got, want)
	}
	bea := "From: Bea <bea@test.local>\nSubject: Lunch\nDate: today at 07:09\nId: test/1/2/INBOX\nMarks: unread\nShall we meet\nat 12?"
	if got, want := p.format(bea), "You have 1 mail: Bea <bea@test.local>, “Lunch” (today at 07:09, unread): Shall we meet at 12?"; got != want {
		t.Errorf("one mail: %q, want %q", got, want)
	}
	want := "You have 2 mails:\n- Bea <bea@test.local>, “Lunch” (today at 07:09, unread): Shall we meet at 12?\n- Al <al@test.local>, “Hi” (yesterday)"
	if got := p.format(bea + "\n---\nFrom: Al <al@test.local>\nSubject: Hi\nDate: yesterday\nId: test/1/1/INBOX"); got != want {
		t.Errorf("two mails: %q, want %q", got, want)
	}
	if got := p.format("a result of another form"); got != "a result of another form" {
		t.Errorf("another form: %q", got)
	}
}
