package claim

import (
	"slices"
	"strings"
	"unicode"
)

// Kind is what is said to have been done.
type Kind uint8

// The kinds of claims.
const (
	Sent    Kind = iota + 1 // something reached a person or a service
	Changed                 // something was saved, made or changed
	Deleted                 // something is gone
)

// Claim is one statement that something was done.
type Claim struct {
	Kind Kind
	// Phrase is the clause that says so, as it stands in the answer.
	Phrase string
	// Language is the one it was made in: "en", "de", "fr", "es", "it", "nl", "pt".
	Language string
	// Earlier: it speaks of a time before this answer.
	Earlier bool
	// State: it tells how something stands or what will happen ("your reminder is set",
	// "the alarm will ring at 7"). What was read may bear it out.
	State bool
	// Owned: the subject is the user's ("your reminder") or Hob's own promise.
	Owned bool
	// Complete: the whole answer says that what was asked for is done ("All set!").
	Complete bool
	// Family is what kind of thing it is about.
	Family Family
	// Impersonal: it does not say who did it ("the mail has been sent"). In an
	// answer about what was read or asked it may be somebody else.
	Impersonal bool
}

// Family is a kind of things.
type Family uint8

// The families. A call of another family does not bear a claim out.
const (
	AnyFamily Family = iota
	Plan             // reminders, alarms, events, tasks
	Text             // files, notes
)

// Find returns the claims of an answer in their order. request is what the user asked:
// a text that the answer hands over unquoted ("Here is the letter:") is exempt if the
// user asked for one. Claims before and behind it count all the same.
func Find(answer, request string) []Claim {
	own := ownWords(answer, asksForText(request))
	if !worth(own) {
		return complete(answer, own)
	}
	var out []Claim
	for _, s := range sentences(own) {
		if strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") {
			continue // a question; or what is claimed follows in the answer itself
		}
		all := split(s)
		for _, l := range languages() {
			if !slices.ContainsFunc(all, l.verb) && !l.mayState(all) {
				continue
			}
			if found := l.sentence(s, all); len(found) > 0 {
				out = append(out, found...)
				break
			}
		}
	}
	if len(out) == 0 {
		return complete(answer, own)
	}
	return out
}

// worth reports whether any language's verbs occur at all: most answers claim
// nothing, and are done with here.
func worth(text string) bool {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), apart) {
		for _, l := range languages() {
			if l.verb(w) || l.telling[w] {
				return true
			}
		}
	}
	return false
}
