package knowledge

import (
	_ "embed" // embeds the word lists
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"

	"hob/platform/text/textnorm"
)

//go:embed asked.txt
var askedText string

// questionWords holds the folded word lists used to interpret questions.
type questionWords struct {
	nothing, little, before, time, number, rule, asks map[string]bool
	marks                                             map[string]uint8    // bit mask of the lists that contain the word, so that one lookup is sufficient
	base                                              map[string]string   // base form of an irregular form
	forms                                             map[string][]string // all forms of a word, including the word itself
}

// Bits in questionWords.marks.
const (
	tellsNothing = 1 << iota
	tellsTime
	tellsNumber
	tellsRule
)

var loadQuestionWords = sync.OnceValue(func() questionWords {
	l := questionWords{nothing: map[string]bool{}, little: map[string]bool{}, before: map[string]bool{}, time: map[string]bool{}, number: map[string]bool{}, rule: map[string]bool{}, asks: map[string]bool{}, base: map[string]string{}, forms: map[string][]string{}}
	sets := map[string]map[string]bool{"[nothing]": l.nothing, "[little]": l.little, "[before]": l.before, "[time]": l.time, "[number]": l.number, "[rule]": l.rule, "[asks]": l.asks}
	var set map[string]bool
	for line := range strings.Lines(askedText) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case strings.HasPrefix(f[0], "["):
			set = sets[f[0]] // nil for the section that contains irregular forms
		case set != nil:
			for _, w := range f {
				set[w] = true
			}
		default:
			for entry := range strings.SplitSeq(line, ";") {
				if f := strings.Fields(entry); len(f) > 1 {
					l.forms[f[0]] = f
					for _, w := range f[1:] {
						l.base[w] = f[0]
					}
				}
			}
		}
	}
	l.marks = map[string]uint8{}
	for bit, set := range map[uint8]map[string]bool{tellsNothing: l.nothing, tellsTime: l.time, tellsNumber: l.number, tellsRule: l.rule} {
		for w := range set {
			l.marks[w] |= bit
		}
	}
	return l
})

// term is one word of a search query.
type term struct {
	text   string // folded word
	stem   string
	forms  []string // irregular forms
	dense  bool     // the word is in a script without spaces between words
	whole  bool     // a name with punctuation; its parts are separate terms, and only the index can match the complete name
	weight float64  // inverse document frequency
	bit    uint64   // bit index in TermMatch.Has
}

func newTerm(folded string) term {
	base := folded
	if b, ok := loadQuestionWords().base[folded]; ok {
		base = b
	}
	return term{text: folded, stem: stemEnglish(base), forms: loadQuestionWords().forms[base], dense: isUnsegmentedScript(folded)}
}

func stemEnglish(w string) string {
	if len(w) < 3 || !utf8.ValidString(w) {
		return w
	}
	env := snowballstem.NewEnv(w)
	english.Stem(env)
	return env.Current()
}

// isUnsegmentedScript reports whether w contains a script that writes words without spaces.
func isUnsegmentedScript(w string) bool {
	for _, r := range w {
		if r >= 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			return true
		}
	}
	return false
}

// Two stems are similar if akinSame leading bytes agree and at most akinRest bytes differ.
const (
	akinSame = 5
	akinRest = 3
)

// matchWeight returns how well w matches the term: 1 for the same word or stem, the value form for
// a similar stem, otherwise 0. It runs for each word of hundreds of rows and therefore stems only
// words that can match.
func (t *term) matchWeight(w string, form float64) float64 {
	if w == t.text || len(t.forms) > 0 && slices.Contains(t.forms, w) {
		return 1
	}
	same := 0
	for same < len(w) && same < len(t.stem) && w[same] == t.stem[same] {
		same++
	}
	if same < 2 || same < len(t.stem)-1 && same < akinSame {
		return 0
	}
	s := stemEnglish(w)
	if s == t.stem {
		return 1
	}
	if same >= akinSame && max(len(s), len(t.stem))-same <= akinRest {
		return form
	}
	return 0
}

// tokenizeFolded splits text into folded words. Unlike textnorm.FoldedWords it keeps a possessive "s" as a word of
// one letter. The words share the memory of the folded text.
func tokenizeFolded(text string) []string { return appendTokens(nil, text) }

func appendTokens(out []string, text string) []string {
	text = textnorm.Fold(text)
	out = slices.Grow(out, len(text)/5+1)
	start := -1
	for i, r := range text {
		in := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if r >= utf8.RuneSelf {
			in = unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		}
		switch {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			out = append(out, text[start:i])
			start = -1
		}
	}
	if start >= 0 {
		out = append(out, text[start:])
	}
	return out
}
