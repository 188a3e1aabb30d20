package tools

import (
	"strings"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"golang.org/x/text/unicode/norm"
)

// maxBytes is the maximum length of an indexed word.
const maxBytes = 64

// splitWords splits a text at all characters except letters and digits, and inside camelCase. It
// returns lower-case words without accents. It omits numbers, single letters and overlong words,
// because they do not distinguish tools.
func splitWords(s string) []string {
	var out []string
	var b strings.Builder
	var last rune
	number := true
	flush := func() {
		if b.Len() > 1 && b.Len() <= maxBytes && !number {
			out = append(out, b.String())
		}
		b.Reset()
		number = true
	}
	for _, r := range norm.NFD.String(contractions.Replace(s)) {
		switch {
		case unicode.Is(unicode.Mn, r): // an accent that NFD has separated from its letter
			continue
		case r == 'ß':
			b.WriteString("ss")
			last = r
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r), unicode.IsUpper(r) && unicode.IsLower(last):
			flush()
		}
		last = r
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			number = number && unicode.IsDigit(r)
			b.WriteRune(unicode.ToLower(r))
		}
	}
	flush()
	return out
}

// contractions joins the halves of a contraction, because "can't" must not match "can".
var contractions = strings.NewReplacer("n't", "nt", "n\u2019t", "nt", "N'T", "NT")

// normalizeName returns only the letters and digits of a name, so that "readFile", "read-file" and
// "read_file" are equal.
func normalizeName(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// stemEnglish reduces an English word to the stem that its forms share (Porter2, "the English
// Snowball stemmer"), so that "reminders" matches "remind". The table of synonyms contains the
// words of other languages.
func stemEnglish(w string) string {
	if len(w) < 3 {
		return w
	}
	env := snowballstem.NewEnv(w)
	english.Stem(env)
	return env.Current()
}
