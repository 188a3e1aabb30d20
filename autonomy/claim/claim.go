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
	// Impersonal: it does not say who did it ("the mail has been sent"). In an
	// answer about what was read or asked it may be somebody else.
	Impersonal bool
}

// Find returns the claims of an answer in their order.
func Find(answer string) []Claim {
	if !worth(answer) {
		return nil
	}
	var out []Claim
	for _, s := range sentences(ownWords(answer)) {
		if strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") {
			continue // a question; or what is claimed follows in the answer itself
		}
		all := split(s)
		for _, l := range languages() {
			if !slices.ContainsFunc(all, l.verb) {
				continue
			}
			if found := l.sentence(s, all); len(found) > 0 {
				out = append(out, found...)
				break
			}
		}
	}
	return out
}

// worth reports whether any language's verbs occur at all: most answers claim
// nothing, and are done with here.
func worth(text string) bool {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), apart) {
		for _, l := range languages() {
			if l.verb(w) {
				return true
			}
		}
	}
	return false
}
