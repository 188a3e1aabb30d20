package config

import (
	"fmt"
	"strings"
)

// Error is one mistake in the configuration, with its position and the remedy.
type Error struct {
	File string
	Line int    // 0 when the mistake has no place in the file
	Key  string // the dotted key, "" for a file that cannot be read at all
	Msg  string
}

func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&s, ":%d", e.Line)
	}
	s.WriteString(": ")
	if e.Key != "" {
		s.WriteString(e.Key + ": ")
	}
	s.WriteString(e.Msg)
	return s.String()
}

// Errors lists all mistakes, in order of line.
type Errors []*Error

func (e Errors) Error() string {
	var lines []string
	for _, x := range e {
		lines = append(lines, x.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As each mistake.
func (e Errors) Unwrap() []error {
	var out []error
	for _, x := range e {
		out = append(out, x)
	}
	return out
}

func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}
