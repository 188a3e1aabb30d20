package dateparse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one word, one run of digits or one other character in a sentence.
type token struct {
	text       string // lower case, without apostrophes
	start, end int    // bytes in the sentence
	n          int    // numeric value of a run of digits; -1 for any other token
	glued      bool   // no white space before the token
	word       bool
	capital    bool // the first letter is upper case
}

// tokenizeSentence splits a sentence into tokens. It drops whitespace; token.glued records where
// there was none.
func tokenizeSentence(s string) []token {
	var toks []token
	space := true
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.IsSpace(r) {
			space = true
			i += size
			continue
		}
		t := token{start: i, n: -1, glued: !space}
		switch {
		case r >= '0' && r <= '9':
			t.end = i + countDigits(s[i:])
			t.text = s[i:t.end]
			t.n = smallInt(t.text)
		case unicode.IsLetter(r) || r == '_':
			t.end = i + countLetters(s[i:])
			t.text = foldText(s[i:t.end])
			t.word = true
			t.capital = unicode.IsUpper(r)
		default:
			t.end = i + size
			t.text = foldPunct(r, s[i:t.end])
		}
		toks = append(toks, t)
		i = t.end
		space = false
	}
	return toks
}

func countDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// countLetters returns the length of the word at the start of s, including apostrophes
// that have a letter on both sides.
func countLetters(s string) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r == '\'' || r == '’' {
			next, _ := utf8.DecodeRuneInString(s[n+size:])
			if n == 0 || !unicode.IsLetter(next) {
				break
			}
		} else if !unicode.IsLetter(r) && r != '_' && !unicode.IsMark(r) {
			break
		}
		n += size
	}
	return n
}

func foldText(s string) string {
	s = strings.ToLower(s)
	if strings.ContainsAny(s, "'’") {
		s = strings.NewReplacer("'", "", "’", "").Replace(s)
	}
	return s
}

// foldPunct returns the ASCII form of typographic dashes, quotes and colons, and s for other
// characters.
func foldPunct(r rune, s string) string {
	switch r {
	case '–', '—', '−', '‐', '‑':
		return "-"
	case '“', '”', '″':
		return `"`
	case '’', '′', '‘':
		return "'"
	case '：':
		return ":"
	}
	return s
}

func smallInt(s string) int {
	if len(s) > 8 {
		return -1
	}
	n := 0
	for _, c := range []byte(s) {
		n = n*10 + int(c-'0')
	}
	return n
}
