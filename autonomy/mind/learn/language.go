package learn

import (
	_ "embed" // embeds the words
	"slices"
	"strings"
	"unicode"

	"hob/platform/text/textnorm"
)

//go:embed texts/languages.txt
var languagesText string

func readLanguages() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for line := range strings.Lines(languagesText) {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "#" {
			words := map[string]bool{}
			for _, w := range f[1:] {
				words[w] = true
			}
			out[f[0]] = words
		}
	}
	return out
}

// scripts maps scripts to the languages that they identify. Kana comes before the characters that
// Japanese shares with Chinese.
var scripts = []struct {
	lang  string
	table *unicode.RangeTable
}{
	{"ja", unicode.Hiragana},
	{"ja", unicode.Katakana},
	{"ko", unicode.Hangul},
	{"zh", unicode.Han},
	{"ru", unicode.Cyrillic},
	{"el", unicode.Greek},
	{"ar", unicode.Arabic},
	{"he", unicode.Hebrew},
	{"hi", unicode.Devanagari},
	{"th", unicode.Thai},
}

// guessLanguage guesses the language of text. It returns an ISO 639-1 code, or "" if the language
// is unknown.
func (l *Learner) guessLanguage(text string) string {
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "")
	}
	letters, of := 0, map[string]int{}
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if r < 0x250 { // the letter is Latin
			continue
		}
		for _, s := range scripts {
			if unicode.Is(s.table, r) {
				of[s.lang]++
				break
			}
		}
	}
	for _, s := range scripts {
		if n := of[s.lang]; n*3 > letters || s.lang == "ja" && n > 0 {
			return s.lang
		}
	}
	best, second, lang := 0, 0, ""
	words := slices.Compact(slices.Sorted(slices.Values(textnorm.FoldedWords(text)))) // count each word once
	for code, known := range l.languages {
		n := 0
		for _, w := range words {
			if known[w] {
				n++
			}
		}
		switch {
		case n > best:
			best, second, lang = n, best, code
		case n > second:
			second = n
		}
	}
	if best < 2 || best == second {
		return ""
	}
	return lang
}
