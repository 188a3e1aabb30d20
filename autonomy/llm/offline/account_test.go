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
