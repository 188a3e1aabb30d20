package analyzer

import (
	"cmp"
	_ "embed" // the word list
	"slices"
	"strings"
	"sync"
)

//go:embed languages.txt
var languagesText string

// functionWords maps folded function words to the languages in which they occur.
var functionWords = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(languagesText) {
		lang, words, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, w := range strings.Fields(words) {
			if f := foldAccents(w); len(m[f]) == 0 || m[f][len(m[f])-1] != lang {
				m[f] = append(m[f], lang)
			}
		}
	}
	return m
})

// letterOf returns the language that uses a letter.
func letterOf(r rune) string {
	switch r {
	case 'ß':
		return "de"
	case 'ñ', '¿', '¡':
		return "es"
	case 'ã', 'õ':
		return "pt"
	case 'ő', 'ű':
		return "hu"
	case 'ă', 'ș', 'ț':
		return "ro"
	case 'ğ', 'ı':
		return "tr"
	case 'ł', 'ą', 'ę', 'ż', 'ź', 'ś':
		return "pl"
	case 'ř', 'ě', 'ů':
		return "cs"
	case 'ė', 'ų', 'į':
		return "lt"
	}
	return ""
}

// looked is the maximum number of words of a row that are examined to detect its language.
const looked = 300

// profile counts language indicators.
type profile struct {
	words   int
	scripts [inOther + 1]int
	score   map[string]float64
}

func (p *profile) addTokens(list []token) {
	if p.score == nil {
		p.score = map[string]float64{}
	}
	known := functionWords()
	for _, t := range list {
		if t.whole || t.part { // addresses and file names belong to no language
			continue
		}
		if p.words++; p.words > looked {
			return
		}
		p.scripts[t.script]++
		if t.script != inLatin {
			continue
		}
		f := foldAccents(t.text)
		for _, l := range known[f] {
			p.score[l] += 1 / float64(len(known[f]))
		}
		if f != t.text {
			for _, r := range t.text {
				if l := letterOf(r); l != "" {
					p.score[l] += 0.75
				}
			}
		}
	}
}

// latinLanguage returns the language of words in Latin script, or unknown if there are no
// indicators.
func (p *profile) latinLanguage() string {
	best, second, lang := 0.0, 0.0, unknown
	for l, s := range p.score {
		if s > best || s == best && l < lang {
			second, best, lang = best, s, l
		} else {
			second = max(second, s)
		}
	}
	if best < 0.5 || best <= second {
		return unknown
	}
	return lang
}

// rowLanguage returns the language of a document for the statistics.
func (p *profile) rowLanguage(ofLatin string) string {
	most := inLatin
	for s, n := range p.scripts {
		if n > p.scripts[most] {
			most = script(s)
		}
	}
	switch most {
	case inLatin:
		if p.scripts[inLatin] == 0 {
			return ""
		}
		return ofLatin
	case inCyrillic:
		return "ru"
	case inUkrainian:
		return "uk"
	case inArabic:
		return "ar"
	case inDense:
		return "cjk"
	}
	return ""
}

// IsFunctionWord reports whether a word is a function word, such as an article or a pronoun, of a
// language; if lang is "", of English.
func IsFunctionWord(w, lang string) bool {
	return slices.Contains(functionWords()[foldAccents(w)], cmp.Or(lang, unknown))
}
