package browser

import (
	"strings"
	"unicode"
)

// Kind is the category of an error. Callers use it to decide how to handle the error.
type Kind uint8

// Kinds of errors.
const (
	NotInstalled Kind = iota + 1 // no browser is installed
	NotStarted                   // the browser did not start properly
	NoTab                        // the tab does not exist, or there are no tabs
	NotFound                     // the element does not exist on the page
	Changed                      // the page has changed
	Refused                      // the address or field is forbidden
	Busy                         // the page does not respond
	Crashed                      // the page or the browser crashed
	Unreachable                  // the server at the address did not respond
	Script                       // the caller's script failed
	TooMany                      // too many tabs are open
)

// Error is the error of a call.
type Error struct {
	Kind    Kind
	Message string
	Remedy  string // optional
	// Quoted means that the message contains untrusted text from a page.
	Quoted bool
	Err    error
}

func (e *Error) Error() string {
	if e.Remedy != "" {
		return e.Message + "; " + e.Remedy
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// sanitizeLine returns text from a page as one line of at most most runes. It removes control and
// invisible characters and replaces whitespace with spaces.
func sanitizeLine(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
