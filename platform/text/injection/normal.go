package injection

import (
	_ "embed" // the table
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Normal normalizes a text: NFKC, no invisible characters, look-alikes folded to
// Latin letters, no accents, lower case. unseen is text written in invisible
// characters (Unicode tags). Normal is idempotent.
func Normal(text string) (plain, unseen string) {
	if isPlainASCII(text) {
		return strings.ToLower(text), ""
	}
	var b, tags strings.Builder
	b.Grow(len(text))
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(text, " ")) {
		switch {
		case r >= 0xE0020 && r <= 0xE007E:
			tags.WriteRune(r - 0xE0000)
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
		case unicode.IsControl(r), unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(foldConfusable(unicode.ToLower(foldConfusable(r))))
		}
	}
	plain = b.String()
	if !norm.NFKD.IsNormalString(plain) { // two that met when what stood between them went
		plain = norm.NFKD.String(plain)
	}
	return plain, strings.ToLower(tags.String())
}

func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] < ' ' && s[i] != '\n' && s[i] != '\t' {
			return false
		}
	}
	return true
}

// foldConfusable folds letters of other scripts that look like Latin ones, and a few
// symbols (after the confusables of Unicode UTS 39). It also folds them within
// words of their own script, which the word lists do not contain.
func foldConfusable(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r >= 0x1F130 && r <= 0x1F149: // squared letters
		return 'a' + r - 0x1F130
	case r >= 0x1F150 && r <= 0x1F169:
		return 'a' + r - 0x1F150
	case r >= 0x1F170 && r <= 0x1F189:
		return 'a' + r - 0x1F170
	case r >= 0x1F1E6 && r <= 0x1F1FF: // regional indicators
		return 'a' + r - 0x1F1E6
	}
	if l, ok := confusables()[r]; ok {
		return l
	}
	return r
}

//go:embed confusables.txt
var confusableText string

// confusables maps letters to the Latin letters they look like.
var confusables = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for line := range strings.Lines(confusableText) {
		r := []rune(strings.TrimSpace(line))
		for _, x := range r[2:] {
			if x >= 0x80 {
				m[x] = r[0]
			}
		}
	}
	return m
})
