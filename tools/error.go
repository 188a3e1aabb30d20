package tools

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"hob/platform/provenance"
)

// Error is the error of a failed call, with its reason and remedy.
type Error struct {
	Code    Code
	Message string
	Remedy  string // optional
	Err     error  // optional cause
	// Source is the provenance of Message and Remedy. It is mandatory: Tool for Hob's own text and
	// repeated arguments of the call; Outside if the message quotes other text, such as a file name
	// or a server's answer. The zero value is invalid, and SourceOf treats it as Outside.
	Source provenance.Source
}

func (e *Error) Error() string {
	s := e.Message
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Clean is trusted text for an error message: Hob's own text, names from the configuration, and
// arguments of the call. If a model repeats untrusted text in its arguments, the text is already in
// its context, so an error that repeats the arguments adds no untrusted text.
type Clean string

// CleanErr marks the complete text of an error as Clean. It is mainly used for sentinel errors and
// for errors of a parser about the arguments.
func CleanErr(err error) error {
	if err == nil {
		return nil
	}
	return cleanError{err}
}

type cleanError struct{ error }

func (e cleanError) Unwrap() error { return e.error }

// Errorf returns an Error with the given code that wraps the operands of %w. The format must be
// Hob's own text. The error is untrusted if an argument may contain untrusted text: a string that
// is not Clean, an error that is untrusted according to SourceOf, or any other value that may print
// text. Numbers, times and Clean text are safe.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err), Source: provenance.Tool}
	if _, several := err.(interface{ Unwrap() []error }); several {
		e.Err = err
	}
	for _, a := range args {
		if !isCleanArgument(a) {
			e.Source = provenance.Outside
		}
	}
	return e
}

// isCleanArgument reports whether an argument of Errorf cannot print untrusted
// text.
func isCleanArgument(a any) bool {
	switch v := a.(type) {
	case nil, Clean, Code, Effects, provenance.Source, time.Time, time.Duration, time.Weekday, time.Month:
		return true
	case error:
		return !SourceOf(v).Tainted()
	case fmt.Formatter, fmt.Stringer, fmt.GoStringer: // the value's method may print any text
		return false
	}
	switch reflect.TypeOf(a).Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.Float32, reflect.Float64:
		return true
	}
	return false
}

// Quoting marks an error as untrusted if its message quotes an untrusted source. It returns an
// error without a code unchanged, because such an error is always untrusted.
func Quoting(err error, sources ...provenance.Source) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || !provenance.Worst(sources...).Tainted() {
		return err
	}
	quoting := *e
	quoting.Source = provenance.Outside
	return &quoting
}

// SourceOf returns the provenance of an error's text. The default is Outside, unless the Source of
// an *Error or CleanErr specifies another provenance. An error that wraps such an error and adds
// text is untrusted, because the added text has no provenance.
func SourceOf(err error) provenance.Source {
	for err != nil {
		switch e := err.(type) { //nolint:errorlint // only if the text is from this error itself, not from one that it wraps
		case *Error:
			if e.Source.Tainted() {
				return provenance.Outside
			}
			return e.Source
		case cleanError:
			return provenance.Tool
		}
		if err == context.Canceled || err == context.DeadlineExceeded || err == errors.ErrUnsupported { //nolint:errorlint // only if err itself is the sentinel, see above
			return provenance.Tool
		}
		inner := errors.Unwrap(err)
		if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) == 1 {
			inner = joined.Unwrap()[0]
		}
		if inner == nil || inner.Error() != err.Error() {
			return provenance.Outside
		}
		err = inner
	}
	return provenance.Outside
}
