package actionclaims

import (
	"slices"
	"strings"
	"unicode"
)

// Kind is the kind of a claimed action.
type Kind uint8

// Kinds of claims.
const (
	Sent    Kind = iota + 1 // something was sent to a person or a service
	Changed                 // something was saved, created or changed
	Deleted                 // something was deleted
)

// Claim is one statement that something was done.
type Claim struct {
	Kind Kind
	// Phrase is the clause that makes the claim, verbatim from the answer.
	Phrase string
	// Language is the language of the claim: "en", "de", "fr", "es", "it", "nl" or "pt".
	Language string
	// Earlier reports whether the claim refers to a time before this answer.
	Earlier bool
	// State reports whether the claim is a statement about a state or the future ("your reminder is
	// set", "the alarm will ring at 7"). Text that was read may support it.
	State bool
	// Owned reports whether the subject belongs to the user ("your reminder"), or the claim is
	// Hob's own promise.
	Owned bool
	// Complete reports whether the whole answer only says that something is complete ("All set!").
	Complete bool
	// Family is the family of the claimed item.
	Family Family
	// Impersonal reports whether the claim names no actor ("the mail has been sent"). In an answer
	// to a question or about text that was read, the actor may be another person.
	Impersonal bool
}

// Family is a kind of items.
type Family uint8

// Families of items. A call for another family does not support a claim.
const (
	AnyFamily Family = iota
	Plan             // reminders, alarms, events and tasks
	Text             // files and notes
)

// Find returns the claims in an answer, in order. request is the user's message. If the user asked
// for a written text, unquoted text in the answer ("Here is the letter:") is exempt. Claims before
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

// mayContainClaim reports whether text contains any verb that claims use, in any language. Most
// answers contain none and need no further analysis.
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
