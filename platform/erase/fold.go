package erase

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded is a text prepared for comparison, with the original position of each
// byte.
type folded struct {
	text []byte
	at   []int // nil: each byte from its own place
}

func (f folded) index(text string, from int) int {
	if from >= len(f.text) {
		return -1
	}
	i := bytes.Index(f.text[from:], []byte(text))
	if i < 0 {
		return -1
	}
	return from + i
}

func (f folded) origin(i int) int {
	if f.at == nil {
		return i
	}
	return f.at[i]
}

// alone reports whether no letter or digit touches a part.
func (f folded) alone(i, j int) bool {
	before, _ := utf8.DecodeLastRune(f.text[:i])
	after, _ := utf8.DecodeRune(f.text[j:])
	return !wordy(before) && !wordy(after)
}

// inNumber reports whether a digit touches a part.
func (f folded) inNumber(i, j int) bool {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	return i > 0 && digit(f.text[i-1]) || j < len(f.text) && digit(f.text[j])
}

func wordy(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// fold lower-cases, removes accents and invisible characters, and collapses white
// space. at holds the original positions of b's bytes; nil means that they are
// b's indexes.
func fold(b []byte, at []int) folded {
	if at == nil && plain(b) {
		return folded{text: bytes.ToLower(b)}
	}
	f := folded{text: make([]byte, 0, len(b)), at: make([]int, 0, len(b)+1)}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 { // invalid UTF-8 is compared unchanged
			f.add(b[i:i+1], where(at, i))
		} else {
			f.rune(r, where(at, i))
		}
		i += n
	}
	f.at = append(f.at, where(at, len(b)))
	return f
}

// plain reports whether folding only lower-cases.
func plain(b []byte) bool {
	for i, c := range b {
		if c >= utf8.RuneSelf || c < ' ' || c == 0x7f || c == ' ' && i > 0 && b[i-1] == ' ' {
			return false
		}
	}
	return true
}

func where(at []int, i int) int {
	if at == nil {
		return i
	}
	return at[i]
}

func (f *folded) add(b []byte, from int) {
	for _, c := range b {
		f.text = append(f.text, c)
		f.at = append(f.at, from)
	}
}

// typed returns the ASCII form of a typographic character.
func typed(r rune) rune {
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

func (f *folded) rune(r rune, from int) {
	switch {
	case unicode.IsSpace(r):
		if n := len(f.text); n == 0 || f.text[n-1] != ' ' {
			f.add([]byte{' '}, from)
		}
		return
	case r == 0xad, unicode.Is(unicode.Cf, r), r >= 0x300 && r <= 0x36f:
		return
	case r < utf8.RuneSelf:
		f.add([]byte{byte(unicode.ToLower(r))}, from)
		return
	}
	for _, d := range norm.NFKD.String(string(typed(r))) {
		if d < 0x300 || d > 0x36f {
			f.add(utf8.AppendRune(nil, unicode.ToLower(d)), from)
		}
	}
}
