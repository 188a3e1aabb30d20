package erase

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldedText is text that was folded for comparison, with the original position of each byte.
type foldedText struct {
	text []byte
	at   []int // nil if each byte is at its original position
}

func (f foldedText) indexFrom(text string, from int) int {
	if from >= len(f.text) {
		return -1
	}
	i := bytes.Index(f.text[from:], []byte(text))
	if i < 0 {
		return -1
	}
	return from + i
}

func (f foldedText) originOf(i int) int {
	if f.at == nil {
		return i
	}
	return f.at[i]
}

// isWholeWord reports whether no letter or digit is adjacent to the range [i, j).
func (f foldedText) isWholeWord(i, j int) bool {
	before, _ := utf8.DecodeLastRune(f.text[:i])
	after, _ := utf8.DecodeRune(f.text[j:])
	return !isWordRune(before) && !isWordRune(after)
}

// inNumber reports whether a digit is adjacent to the range [i, j).
func (f foldedText) inNumber(i, j int) bool {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	return i > 0 && digit(f.text[i-1]) || j < len(f.text) && digit(f.text[j])
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// foldBytes converts b to lower case, removes accents and invisible characters, and collapses
// whitespace. at contains the original positions of the bytes of b, or is nil if these are their
// indexes in b.
func foldBytes(b []byte, at []int) foldedText {
	if at == nil && isASCIIOnly(b) {
		return foldedText{text: bytes.ToLower(b)}
	}
	f := foldedText{text: make([]byte, 0, len(b)), at: make([]int, 0, len(b)+1)}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 { // leave invalid UTF-8 unchanged
			f.addBytes(b[i:i+1], originAt(at, i))
		} else {
			f.addRune(r, originAt(at, i))
		}
		i += n
	}
	f.at = append(f.at, originAt(at, len(b)))
	return f
}

// isASCIIOnly reports whether b is plain ASCII, for which folding only changes letters to lower
// case.
func isASCIIOnly(b []byte) bool {
	for i, c := range b {
		if c >= utf8.RuneSelf || c < ' ' || c == 0x7f || c == ' ' && i > 0 && b[i-1] == ' ' {
			return false
		}
	}
	return true
}

func originAt(at []int, i int) int {
	if at == nil {
		return i
	}
	return at[i]
}

func (f *foldedText) addBytes(b []byte, from int) {
	for _, c := range b {
		f.text = append(f.text, c)
		f.at = append(f.at, from)
	}
}

// asciiPunctuation returns the ASCII form of a typographic character.
func asciiPunctuation(r rune) rune {
	switch r {
	case '’', '‘', '‚', 'ʼ':
		return '\''
	case '“', '”', '„', '«', '»':
		return '"'
	case '‐', '‑', '‒', '–', '—', '−':
		return '-'
	}
	return r
}

func (f *foldedText) addRune(r rune, from int) {
	switch {
	case unicode.IsSpace(r):
		if n := len(f.text); n == 0 || f.text[n-1] != ' ' {
			f.addBytes([]byte{' '}, from)
		}
		return
	case r == 0xad, unicode.Is(unicode.Cf, r), r >= 0x300 && r <= 0x36f:
		return
	case r < utf8.RuneSelf:
		f.addBytes([]byte{byte(unicode.ToLower(r))}, from)
		return
	}
	for _, d := range norm.NFKD.String(string(asciiPunctuation(r))) {
		if d < 0x300 || d > 0x36f {
			f.addBytes(utf8.AppendRune(nil, unicode.ToLower(d)), from)
		}
	}
}
