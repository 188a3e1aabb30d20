package erase

import (
	"bytes"
	"unicode/utf8"
)

// deepest is the maximum depth of nested encodings that are decoded.
const deepest = 3

// part is the number of bytes that are scanned at a time. It is limited because scanning needs a
// multiple of that memory.
const part = 256 << 10

// maxEncodedLen returns the maximum length in bytes of an encoded phrase.
func (s *Scrubber) maxEncodedLen() int {
	if len(s.wanted) == 0 {
		return 0
	}
	return len(s.wanted[0].text)*16 + 64
}

// findSpans searches for the phrases in overlapping parts of a text. depth is the number of
// encodings within which b was found.
func (s *Scrubber) findSpans(b []byte, depth int) []span {
	if len(s.wanted) == 0 || len(b) == 0 {
		return nil
	}
	over, wide := s.maxEncodedLen(), depth < deepest && mayBeWide(b)
	size := max(part, 4*over)
	var out []span
	for from := 0; from < len(b); from += size {
		start := max(0, from-over)
		for _, f := range s.inPart(b[start:min(len(b), from+size+over)], depth, wide) {
			f.from, f.to = f.from+start, f.to+start
			if f.from >= from && f.from < from+size { // otherwise the adjacent part reports the match
				out = append(out, f)
			}
		}
	}
	if depth == 0 {
		return alignToJSON(b, out)
	}
	return out
}

// inPart searches all views of one part of the text.
func (s *Scrubber) inPart(b []byte, depth int, wide bool) (out []span) {
	parts := []span{{to: len(b)}}
	switch { // one escaped character may represent part of a phrase
	case depth > 0:
		parts = s.textStretches(b, max(s.least, coded)/2)
	case bytes.ContainsFunc(b, func(r rune) bool { return r < '\t' || r > '\r' && r < ' ' }):
		parts = s.textStretches(b, max(s.least/3, 1))
	}
	for _, t := range parts {
		seen, layers := decodedViews(b[t.from:t.to])
		for i, v := range seen {
			found := s.findInView(v, depth)
			if depth < deepest && i < min(layers, 2) {
				found = append(found, s.base64(v, depth)...)
				found = append(found, s.findInHex(v, depth)...)
			}
			for _, f := range found {
				f.from, f.to = f.from+t.from, f.to+t.from
				out = append(out, f)
			}
		}
	}
	if wide {
		out = append(out, s.findUTF16(b)...)
	}
	return out
}

// textStretches returns the parts of possibly binary data that contain text.
func (s *Scrubber) textStretches(b []byte, least int) (out []span) {
	if s.odd {
		return []span{{to: len(b)}}
	}
	from := 0
	for i := 0; i < len(b); {
		if n := textRuneLen(b[i:]); n > 0 {
			i += n
			continue
		}
		if i-from >= least {
			out = append(out, span{from: from, to: i})
		}
		i++
		from = i
	}
	if len(b)-from >= least {
		out = append(out, span{from: from, to: len(b)})
	}
	return out
}

// textRuneLen returns the length of the text character at the start of b, or 0 for binary data.
func textRuneLen(b []byte) int {
	switch c := b[0]; {
	case c >= ' ' && c < 0x7f, c >= '\t' && c <= '\r':
		return 1
	case c < utf8.RuneSelf:
		return 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		return 0
	}
	return n
}

// mayBeWide reports whether b may be UTF-16.
func mayBeWide(b []byte) bool {
	return bytes.HasPrefix(b, []byte{0xff, 0xfe}) || bytes.HasPrefix(b, []byte{0xfe, 0xff}) || bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b)
}
