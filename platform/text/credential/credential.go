// Package credential finds credentials in prose: "the wifi password is hunter2", "Türcode 4711",
// "API key: ...". Package redact detects key formats and known secrets; this package interprets the
// sentence that contains a value.
//
// A Viewer determines who may read such text. It reveals a credential only if the user asked for it
// by name: with a word for its subject ("wifi") and a word for its kind ("password"). The memory
// tools, the prompt and `hob memory search` use it.
//
// False positives are preferred, because they only cause a note that something was omitted. The
// package does not detect values written as words ("four seven one one"). It does not treat IBANs
// as credentials.
package credential

import (
	"slices"
	"strings"

	"hob/platform/text/redact"
	"hob/platform/text/sorting"
)

// Mark replaces a credential value that is omitted from a text.
const Mark = "[withheld]"

// maxQuestion is the maximum number of bytes of a question that are read.
const maxQuestion = 4000

// Kind is a set of kinds of credentials.
type Kind uint8

// The kinds.
const (
	Password Kind = 1 << iota
	Code
	Key
	Phrase

	// AnyKind is the kind of a credential that is recognized only by its format, and the meaning of
	// words such as "login" in a question.
	AnyKind = Password | Code | Key | Phrase
)

// Credential is a credential found in a text.
type Credential struct {
	Kind Kind
	// Subjects are the folded words that distinguish this credential from others: "wifi", "bank".
	Subjects []string
	// From and To are the bounds of the credential's value in the text, in bytes.
	From, To int
}

// Viewer represents the reader of a text. The zero value may not read any credential.
type Viewer struct {
	all   bool
	words []string
}

// Everything returns a Viewer that may read all text. It is for indexes, exports and other code
// that does not display the text.
func Everything() Viewer { return Viewer{all: true} }

// ReadsAll reports whether v is the Viewer that Everything returns.
func (v Viewer) ReadsAll() bool { return v.all }

// AskedBy returns a Viewer for the credentials that the texts ask for by name. Pass only the user's
// messages in a private conversation, and never model output.
func AskedBy(texts ...string) Viewer {
	return Viewer{words: slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return strings.TrimSpace(s) == "" })}
}

// Show returns the text as v may read it: Mark replaces the credentials that v did not ask for. ok
// is false if the text contains credentials and v asked for none of them; the whole text must then
// be omitted. heading is the title of the text, such as the title of a note, and may name the
// subject.
func (v Viewer) Show(heading, text string) (shown string, ok bool) {
	if v.all {
		return text, true
	}
	found := Find(heading, text)
	if len(found) == 0 {
		return text, true
	}
	var b strings.Builder
	from, named := 0, false
	for _, c := range found {
		if v.askedFor(c) {
			named = true
			continue
		}
		if c.From >= from {
			b.WriteString(text[from:c.From] + Mark)
			from = c.To
		}
	}
	return b.String() + text[from:], named
}

// Hides reports whether v may not read a text at all.
func (v Viewer) Hides(heading, text string) bool {
	_, ok := v.Show(heading, text)
	return !ok
}

// askedFor reports whether one of the texts names the credential's kind and, if it has
// a subject, one of its subjects.
func (v Viewer) askedFor(c Credential) bool {
	return slices.ContainsFunc(v.words, func(text string) bool {
		asked, kind := parseQuestion(strings.ToValidUTF8(text[:min(len(text), maxQuestion)], ""))
		if kind&c.Kind == 0 {
			return false
		}
		return len(c.Subjects) == 0 || slices.ContainsFunc(c.Subjects, func(s string) bool {
			return slices.ContainsFunc(asked, func(a string) bool { return sameSubject(s, a) })
		})
	})
}

// Find returns the credentials of a text in their order.
func Find(heading, text string) []Credential {
	var out []Credential
	for _, s := range splitSentences(text) {
		out = append(out, s.findCredentials()...)
	}
	out = append(out, addShaped(text, out)...)
	if len(out) == 0 {
		return nil
	}
	above := subjectTerms(heading)
	for i := range out {
		if len(out[i].Subjects) == 0 {
			out[i].Subjects = above
		}
	}
	sorting.ByFunc(out, func(a, b Credential) int { return a.From - b.From })
	return slices.CompactFunc(out, func(a, b Credential) bool { return a.From == b.From }) // two overlapping windows may find the same credential
}

// addShaped adds credentials that redact recognizes by their format and that no sentence describes.
// Their exact position is unknown, so their value is the complete text.
func addShaped(text string, found []Credential) []Credential {
	rest := []byte(text)
	for _, c := range found {
		for i := c.From; i < c.To; i++ {
			rest[i] = ' '
		}
	}
	if s := string(rest); redact.Shapes(s) != s {
		return []Credential{{Kind: AnyKind, Subjects: subjectTerms(text), To: len(text)}}
	}
	return nil
}

// Sensitive returns the kind of secret that a text contains: a credential, a card number or an
// IBAN. The result is a noun phrase such as "a password", or "" if the text contains none. Such
// text belongs in the secret store, not in memory.
func Sensitive(text string) string {
	switch found := Find("", text); {
	case redact.HasIBAN(text):
		return "an IBAN"
	case redact.HasCard(text):
		return "a card number"
	case redact.Shapes(text) != text:
		return "an API key"
	case len(found) > 0:
		return found[0].Kind.nounPhrase()
	}
	return ""
}

// nounPhrase returns the kind as a noun phrase.
func (k Kind) nounPhrase() string {
	switch k {
	case Password:
		return "a password"
	case Code:
		return "a code or PIN"
	case Key:
		return "a key"
	case Phrase:
		return "a recovery phrase"
	}
	return "a credential"
}
