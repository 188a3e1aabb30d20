package actionclaims

import (
	"slices"
	"strings"
	"unicode"
)

// Kind is the kind of a claimed action.
type Kind uint8

// The kinds of claims.
const (
	Sent    Kind = iota + 1 // something reached a person or a service
	Changed                 // something was saved, created or changed
	Deleted                 // something was deleted
)

// Claim is one statement that something was done.
type Claim struct {
	Kind Kind
	// Phrase is the claiming clause, verbatim from the answer.
	Phrase string
	// Language is the language of the claim: "en", "de", "fr", "es", "it", "nl", "pt".
	Language string
	// Earlier: the claim refers to a time before this answer.
	Earlier bool
	// State marks a statement about a state or the future ("your reminder is set", "the alarm
	// will ring at 7"). Text that was read may support it.
	State bool
	// Owned: the subject is the user's ("your reminder") or Hob's own promise.
	Owned bool
	// Complete means that the whole answer only reports completion ("All set!").
	Complete bool
	// Family is the family of the claimed item.
	Family Family
	// Impersonal means that the claim names no actor ("the mail has been sent"). In an answer
	// about texts read or questions, the actor may be another person.
	Impersonal bool
}

// Family is a kind of items.
type Family uint8

// The families. A call of another family does not support a claim.
const (
	AnyFamily Family = iota
	Plan             // reminders, alarms, events, tasks
	Text             // files, notes
)

// Find returns the claims of an answer, in order. request is the user's message: an unquoted
// text in the answer ("Here is the letter:") is exempt if the user asked for one. Claims before
// and after it count.
func Find(answer, request string) []Claim {
	own := ownWords(answer, asksForText(request))
	if !mayContainClaim(own) {
		return parseCompletion(answer, own)
	}
	var out []Claim
	for _, s := range splitSentences(own) {
		if strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") {
			continue // a question, or the answer itself contains the claimed item
		}
		all := splitWords(s)
		for _, l := range languages() {
			if !slices.ContainsFunc(all, l.isVerb) && !l.mayState(all) {
				continue
			}
			if found := l.findSentenceClaims(s, all); len(found) > 0 {
				out = append(out, found...)
				break
			}
		}
	}
	if len(out) == 0 {
		return parseCompletion(answer, own)
	}
	return out
}

// mayContainClaim reports whether any language's verbs occur at all: most answers contain none,
// and need no further analysis.
func mayContainClaim(text string) bool {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), apart) {
		for _, l := range languages() {
			if l.isVerb(w) || l.telling[w] {
				return true
			}
		}
	}
	return false
}
