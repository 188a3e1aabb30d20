// Package redact takes credentials out of texts: those that this process knows
// by their value (Set), also as hex, base64 or URL-escaped, and those that show
// by their shape what they are (Shapes): keys of the usual providers, private
// key blocks, tokens, card numbers. What leaves Hob or is written down passes
// it: logs, prompts, transcripts, the ledger, what is said on channels.
//
// It finds credentials that stand in a text. Somebody who may compute can write
// a secret in a form that no list knows, which is why a secret that matters is
// never put before a model in the first place.
package redact

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mark stands in the place of what was taken out.
const Mark = "[redacted]"

// Options of New; the zero value is useful.
type Options struct {
	// IBAN takes out bank account numbers as well. They are no credential, and
	// who pays bills by mail needs to read them.
	IBAN bool
}

// Set knows the secrets of this process. It may be used concurrently; a nil one
// knows none and finds shapes alone.
type Set struct {
	opt Options

	mu    sync.Mutex
	known []string
	m     atomic.Pointer[matcher] // nil: to be made of known
}

// New makes an empty set.
func New(opt Options) *Set { return &Set{opt: opt} }

// Add makes values known. What is too short or too plain to be told from an
// ordinary word is left out: see worth.
func (s *Set) Add(values ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		for _, line := range append(strings.Split(v, "\n"), v) { // a key file is known by its lines, too
			line = strings.TrimSpace(line)
			if worth(line) && !slices.Contains(s.known, line) {
				s.known = append(s.known, line)
				s.m.Store(nil)
			}
		}
	}
}

// worth reports whether a value can be looked for: eight characters, or six
// that are no mere word, and twelve when it is letters of one case. Anything
// less would take words out of every text.
func worth(v string) bool {
	lower, upper, other := 0, 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case 'a' <= c && c <= 'z':
			lower++
		case 'A' <= c && c <= 'Z':
			upper++
		default:
			other++
		}
	}
	switch {
	case strings.HasPrefix(v, "-----"): // the frame of a key file
		return false
	case other == 0 && (lower == 0 || upper <= 1):
		return len(v) >= 12
	case other > 0 && lower+upper > 0:
		return len(v) >= 6
	}
	return len(v) >= 8
}

// matcher returns the compiled patterns, making them when they are first used.
func (s *Set) matcher() *matcher {
	if s == nil {
		return &matcher{}
	}
	if m := s.m.Load(); m != nil {
		return m
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := newMatcher(s.known)
	s.m.Store(m)
	return m
}

// Known takes out the secrets that are known by their value.
func (s *Set) Known(text string) string { return s.matcher().replace(text) }

// Text takes out known secrets and what has the shape of one.
func (s *Set) Text(text string) string {
	return shaped(s.matcher().replace(text), s != nil && s.opt.IBAN)
}

// Holds reports whether a known secret stands in a text that is to leave,
// also when it is spread out by blanks or separators, escaped again and again,
// in other letter cases, or written backwards.
func (s *Set) Holds(text string) bool {
	m := s.matcher()
	if len(m.patterns) == 0 {
		return false
	}
	return slices.ContainsFunc(guises(text), m.found)
}

// Shapes takes out what has the shape of a credential.
func Shapes(text string) string { return shaped(text, false) }
