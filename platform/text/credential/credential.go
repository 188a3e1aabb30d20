// Package credential finds credentials in prose: "the wifi password is hunter2",
// "Türcode 4711", "API key: ...". Package redact detects key formats and known
// secrets; this package interprets the sentence around a value.
//
// A Viewer decides who may read such a text. It reveals a credential only if the
// user asked for it by name: with a word of its subject ("wifi") and one of its
// kind ("password"). The memory tools, the prompt and `hob memory search` use it.
//
// False positives are preferred: they cost only a note that something was
// omitted. Not detected are values written as words ("four seven one one"); IBANs
// are not credentials.
package credential

import (
	"slices"
	"strings"

	"hob/platform/text/redact"
)

// Mark replaces an omitted credential value in a text.
const Mark = "[withheld]"

// maxQuestion is the maximum number of bytes of a question to read.
const maxQuestion = 4000

// Kind is a set of kinds of credentials.
type Kind uint8

// The kinds.
const (
	Password Kind = 1 << iota
	Code
	Key
	Phrase

	// AnyKind is the kind of a credential that is recognized only by its shape, and of words such
	// as "login" in a question.
	AnyKind = Password | Code | Key | Phrase
)

// Credential is a credential found in a text.
type Credential struct {
	Kind Kind
	// Subjects are the words that distinguish this credential from others, folded: "wifi", "bank".
	Subjects []string
	// From and To bound its value in the text, in bytes.
	From, To int
}

// Viewer is the reader of a text. The zero value may read no credential.
type Viewer struct {
	all   bool
	words []string
}

// Everything returns a Viewer that sees every text unchanged: for indexes,
// exports and other code that displays the text to no one.
func Everything() Viewer { return Viewer{all: true} }

// ReadsAll reports whether v is Everything.
func (v Viewer) ReadsAll() bool { return v.all }

// AskedBy returns a Viewer for the credentials that the texts ask for by name.
// Pass only what the user said in a private conversation, never model output.
func AskedBy(texts ...string) Viewer {
	return Viewer{words: slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return strings.TrimSpace(s) == "" })}
}

// Show returns a text as v may read it. It replaces credentials that were not
// asked for by Mark. ok is false if the text has credentials and v asked for none
// of them: omit the whole text then. heading is the title above the text, such as
// a note's, and may name the subject.
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
	slices.SortFunc(out, func(a, b Credential) int { return a.From - b.From })
	return slices.CompactFunc(out, func(a, b Credential) bool { return a.From == b.From }) // two windows may find the same credential
}

// addShaped adds credentials that redact recognizes by their shape and that no sentence names.
// Their position is unknown, so the value is the complete text.
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
