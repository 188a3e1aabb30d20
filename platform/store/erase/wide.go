package erase

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// wideSigns contains one character from each page (high byte in UTF-16) that a spelling of a phrase
// may use: full-width letters, letters with accents, letter symbols, ligatures, spaces, dashes and
// invisible characters.
const wideSigns = "aāǎ\u0301\u1ebf\u1d43\u2019\u2122\u2460\u3000\ufb01\ufeff\uff21\U0001d400\U0001f130"

// readUnits records the UTF-16 pages of the characters in phrase.
func (s *Scrubber) readUnits(phrase string) {
	for _, p := range []string{phrase, strings.ToUpper(phrase), strings.ToLower(phrase)} {
		for _, f := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
			for _, u := range utf16.Encode([]rune(f.String(p))) {
				s.pages[u>>8] = true
			}
		}
	}
}

// findUTF16 searches UTF-16 in either byte order. It skips data in which no page of the phrases
// occurs.
func (s *Scrubber) findUTF16(b []byte) (out []span) {
	for shift := range 2 {
		for _, big := range []bool{false, true} {
			from := shift
			look := func(to int) {
				if to-from >= 4 {
					out = append(out, s.inWide(b[from:to], from, big)...)
				}
			}
			i := shift
			for ; i+1 < len(b); i += 2 {
				if !s.pages[utf16Unit(b[i:], big)>>8] {
					look(i)
					from = i + 2
				}
			}
			look(i)
		}
	}
	return out
}

func (s *Scrubber) inWide(b []byte, at int, big bool) []span {
	out := s.findInView(utf16View(b, at, big), 0)
	for i := range out {
		out[i].with = encodeUTF16(Mark, big)
	}
	return out
}

func utf16Unit(b []byte, big bool) uint16 {
	if big {
		return uint16(b[0])<<8 | uint16(b[1])
	}
	return uint16(b[1])<<8 | uint16(b[0])
}

// utf16View decodes UTF-16 to a view in UTF-8.
func utf16View(b []byte, shift int, big bool) decodedView {
	v := decodedView{text: make([]byte, 0, len(b)/2), at: make([]int, 0, len(b)/2+1)}
	i := 0
	for ; i+1 < len(b); i += 2 {
		r, at := rune(utf16Unit(b[i:], big)), i
		if utf16.IsSurrogate(r) && i+3 < len(b) {
			if d := utf16.DecodeRune(r, rune(utf16Unit(b[i+2:], big))); d != utf8.RuneError {
				r, i = d, i+2
			}
		}
		v.text = utf8.AppendRune(v.text, r)
		for len(v.at) < len(v.text) {
			v.at = append(v.at, at+shift)
		}
	}
	v.at = append(v.at, i+shift)
	return v
}

func encodeUTF16(s string, big bool) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return string(out)
}
