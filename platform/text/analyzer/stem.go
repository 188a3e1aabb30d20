package analyzer

import (
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// unknown is the language whose stemmer is used for words of an undetected language.
const unknown = "en"

// stemWord returns the stem of a word in a language (https://snowballstem.org), or the word itself
// if there is no stemmer for the language.
func stemWord(w, lang string) string {
	if len(w) < 3 || isNumber(w) || !utf8.ValidString(w) {
		return w
	}
	f := stemmerFor(lang)
	if f == nil {
		return w
	}
	env := snowballstem.NewEnv(w)
	f(env)
	if s := env.Current(); s != "" {
		return s
	}
	return w
}

func stemmerFor(lang string) func(*snowballstem.Env) bool {
	switch lang {
	case "en":
		return english.Stem
	case "de":
		return german.Stem
	case "fr":
		return french.Stem
	case "es":
		return spanish.Stem
	case "it":
		return italian.Stem
	case "pt":
		return portuguese.Stem
	case "nl":
		return dutch.Stem
	case "sv":
		return swedish.Stem
	case "da":
		return danish.Stem
	case "no":
		return norwegian.Stem
	case "fi":
		return finnish.Stem
	case "hu":
		return hungarian.Stem
	case "ro":
		return romanian.Stem
	case "ru":
		return russian.Stem
	case "tr":
		return turkish.Stem
	case "ar":
		return arabic.Stem
	}
	return nil
}
