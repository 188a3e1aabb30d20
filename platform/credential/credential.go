// Package credential finds credentials in texts that people wrote: "the wifi password
// is hunter2", "Türcode 4711", "API key: ...". Package redact knows the shapes of keys
// and the values of known secrets; this package reads the sentence around a value.
//
// A Viewer decides who may read such a text. It shows a credential only to somebody who
// asked for it by name: with a word of its subject ("wifi") and one of its kind
// ("password"). The tools of the memory, the prompt and `hob memory search` use it.
//
// The package errs on the side of taking a text for a credential: the cost is a remark
// that something was left out. It does not find values that are spelled out in words
// ("four seven one one"), and IBANs are no credentials.
package credential

import (
	"slices"
	"strings"

	"hob/platform/redact"
)

// Mark stands for the value of a credential that was left out of a text.
const Mark = "[withheld]"

// maxQuestion is how much of a text is read for what it asks, in bytes.
const maxQuestion = 4000

// Kind is a set of kinds of credentials.
type Kind uint8

// The kinds.
const (
	Password Kind = 1 << iota
	Code
	Key
	Phrase

	// AnyKind is the kind of a text whose credential is known by its shape alone, and of
	// words such as "login" in a question.
	AnyKind = Password | Code | Key | Phrase
)

// Credential is one that stands in a text.
type Credential struct {
	Kind Kind
	// Subjects are the words that tell it from others, folded: "wifi", "bank".
	Subjects []string
	// From and To bound its value in the text, in bytes.
	From, To int
}

// Viewer is somebody to whom a text is shown. The zero value may read no credential.
type Viewer struct {
	all   bool
	words []string
}

// Everything is a Viewer that reads every text as it is: for indexes, exports and other
// code that shows the text to nobody.
func Everything() Viewer { return Viewer{all: true} }

// ReadsAll reports whether v is Everything.
func (v Viewer) ReadsAll() bool { return v.all }

// AskedBy is a Viewer who reads the credentials that the texts ask for by name. Pass
// what the owner said in a conversation of his own, and nothing that a model wrote.
func AskedBy(texts ...string) Viewer {
	return Viewer{words: slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return strings.TrimSpace(s) == "" })}
}

// Show returns a text as v may read it. Values of credentials that were not asked for
// are replaced by Mark; ok is false if the text has credentials and v asked for none of
// them: then the whole text is to be left out. heading is what stands above the text,
// such as a note's title, and may name the subject.
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
		asked, kind := question(strings.ToValidUTF8(text[:min(len(text), maxQuestion)], ""))
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
	for _, s := range sentences(text) {
		out = append(out, s.find()...)
	}
	out = append(out, shaped(text, out)...)
	if len(out) == 0 {
		return nil
	}
	above := subjects(heading)
	for i := range out {
		if len(out[i].Subjects) == 0 {
			out[i].Subjects = above
		}
	}
	slices.SortFunc(out, func(a, b Credential) int { return a.From - b.From })
	return slices.CompactFunc(out, func(a, b Credential) bool { return a.From == b.From }) // of two windows
}

// shaped adds what redact knows by its shape and no sentence named. Where in the text
// it stands is not known, so that all of the text is the value.
func shaped(text string, found []Credential) []Credential {
	rest := []byte(text)
	for _, c := range found {
		for i := c.From; i < c.To; i++ {
			rest[i] = ' '
		}
	}
	if s := string(rest); redact.Shapes(s) != s {
		return []Credential{{Kind: AnyKind, Subjects: subjects(text), To: len(text)}}
	}
	return nil
}
