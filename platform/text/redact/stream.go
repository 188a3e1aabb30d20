package redact

// Stream redacts known secrets in a text that arrives in chunks, also across
// chunk borders. It is not safe for concurrent use.
type Stream struct {
	set  *Set
	held string
}

// Stream begins one.
func (s *Set) Stream() *Stream { return &Stream{set: s} }

// Push takes a piece and returns what may be shown: everything but an end that
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

// End returns the remaining buffered text.
func (x *Stream) End() string {
	out := x.set.Known(x.held)
	x.held = ""
	return out
}
