// Package redact removes credentials from text. It finds known secrets (Set), also in hex, base64
// or URL encoding, and credentials with a recognizable format (Shapes): API keys of common
// providers, private key blocks, tokens and card numbers. All text that leaves Hob or that Hob
// stores passes through this package: logs, prompts, transcripts, the ledger and channel messages.
//
// The package finds credentials only in encodings that it knows. An attacker who can run code can
// encode a secret in other ways. Important secrets are therefore never shown to a model.
package redact

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mark replaces redacted text.
const Mark = "[redacted]"

// Options are the options of New. The zero value is ready to use.
type Options struct {
	// IBAN enables redaction of bank account numbers. They are not credentials, and a user who pays
	// invoices that arrive by email must be able to read them.
	IBAN bool
}

// Set holds the secrets of this process. It may be used concurrently. A nil Set contains no secrets
// and detects only known formats.
type Set struct {
	opt Options

	mu    sync.Mutex
	known []string
	m     atomic.Pointer[matcher] // nil if it must be compiled from known
}

// New returns an empty set.
func New(opt Options) *Set { return &Set{opt: opt} }

// Add adds secrets. It ignores values that are too short or look like ordinary words.
func (s *Set) Add(values ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		for _, line := range append(strings.Split(v, "\n"), v) { // also add each line of a key file
			line = strings.TrimSpace(line)
			if isSearchable(line) && !slices.Contains(s.known, line) {
				s.known = append(s.known, line)
				s.m.Store(nil)
			}
		}
	}
}

// isSearchable reports whether v is specific enough to search for. Shorter values would match
// ordinary words. The minimum length is 6 characters for letters mixed with other characters; 12
// for letters only, if they are in lower case with at most one capital, or all capitals; and 8
// otherwise.
func isSearchable(v string) bool {
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
	case strings.HasPrefix(v, "-----"): // the first or last line of a key file
		return false
	case other == 0 && (lower == 0 || upper <= 1):
		return len(v) >= 12
	case other > 0 && lower+upper > 0:
		return len(v) >= 6
	}
	return len(v) >= 8
}

// compiledMatcher returns the compiled patterns. It compiles them on first use.
func (s *Set) compiledMatcher() *matcher {
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

// Known redacts the known secrets in text.
func (s *Set) Known(text string) string { return s.compiledMatcher().replaceAll(text) }

// Text redacts known secrets and text in the format of a credential.
func (s *Set) Text(text string) string {
	return redactShapes(s.compiledMatcher().replaceAll(text), s != nil && s.opt.IBAN)
}

// Holds reports whether an outgoing text contains a known secret. It also finds secrets that are
// split by spaces or separators, escaped several times, in another letter case or reversed.
func (s *Set) Holds(text string) bool {
	m := s.compiledMatcher()
	if len(m.patterns) == 0 {
		return false
	}
	return slices.ContainsFunc(decodedReadings(text), m.containsPattern)
}

// Shapes redacts text in the format of a credential.
func Shapes(text string) string { return redactShapes(text, false) }

// AddReference adds the value of a secret reference. It adds the value of an environment variable
// ("env:NAME") only if the name of the variable looks like the name of a secret, because the
// environment also contains folders and other harmless values.
func (s *Set) AddReference(ref, value string) {
	if name, env := strings.CutPrefix(ref, "env:"); env && !isSecretName(name) {
		return
	}
	s.Add(value)
}

// isSecretName reports whether an environment variable with this name usually contains a secret.
func isSecretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "HOOK"}, func(w string) bool { return strings.Contains(name, w) })
}

// Handler returns a handler that redacts secrets in log messages and attributes, including errors
// and other values.
func (s *Set) Handler(next slog.Handler) slog.Handler { return handler{s, next} }

type handler struct {
	set  *Set
	next slog.Handler
}

func (h handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.set.Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.redactAttr(a))
		return true
	})
	return h.next.Handle(ctx, out)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.redactAttr(a)
	}
	return handler{h.set, h.next.WithAttrs(clean)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.set, h.next.WithGroup(name)} }

func (h handler) redactAttr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.set.Text(v.String()))
	case slog.KindGroup:
		var list []slog.Attr
		for _, g := range v.Group() {
			list = append(list, h.redactAttr(g))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(list...)}
	case slog.KindAny:
		text := fmt.Sprintf("%+v", v.Any())
		if clean := h.set.Text(text); clean != text {
			return slog.String(a.Key, clean)
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// Stream redacts known secrets in text that arrives in chunks, including secrets that span chunks.
// It is not safe for concurrent use.
type Stream struct {
	set  *Set
	held string
}

// Stream returns a Stream that redacts the secrets of s.
func (s *Set) Stream() *Stream { return &Stream{set: s} }

// Push adds a chunk and returns the text that may be shown. It retains the end of the text if that
// may be the beginning of a secret.
func (x *Stream) Push(piece string) string {
	m := x.set.compiledMatcher()
	if len(m.patterns) == 0 {
		return piece
	}
	text := m.replaceAll(x.held + piece)
	n := m.openSuffixLen(text)
	x.held = text[len(text)-n:]
	return text[:len(text)-n]
}

// End returns the rest of the text, with known secrets redacted.
func (x *Stream) End() string {
	out := x.set.Known(x.held)
	x.held = ""
	return out
}
