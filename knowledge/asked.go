package knowledge

import (
	_ "embed" // the word lists
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"

	"hob/platform/phrase"
)

//go:embed asked.txt
var askedText string

// lists are the words of questions, folded.
type lists struct {
	nothing, little, before, time, number map[string]bool
	marks                                 map[string]uint8    // in which of them a word is, in one look
	base                                  map[string]string   // of an irregular form
	forms                                 map[string][]string // of a word, with itself
}

// In which lists a word is.
const (
	tellsNothing = 1 << iota
	tellsTime
	tellsNumber
)

var asked = sync.OnceValue(func() lists {
	l := lists{nothing: map[string]bool{}, little: map[string]bool{}, before: map[string]bool{}, time: map[string]bool{}, number: map[string]bool{}, base: map[string]string{}, forms: map[string][]string{}}
	sets := map[string]map[string]bool{"[nothing]": l.nothing, "[little]": l.little, "[before]": l.before, "[time]": l.time, "[number]": l.number}
	var set map[string]bool
	for line := range strings.Lines(askedText) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case strings.HasPrefix(f[0], "["):
			set = sets[f[0]] // nil for the forms
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
	for bit, set := range map[uint8]map[string]bool{tellsNothing: l.nothing, tellsTime: l.time, tellsNumber: l.number} {
		for w := range set {
			l.marks[w] |= bit
		}
	}
	return l
})

// term is a word that is looked for.
type term struct {
	text   string // folded
	stem   string
	forms  []string // irregular ones
	dense  bool     // of a script that does not part words
	whole  bool     // a name with punctuation in it; its parts are terms as well, and the index alone knows it
	weight float64  // inverse document frequency
	bit    uint64   // in WordMatch.Has
}

func newTerm(folded string) term {
	base := folded
	if b, ok := asked().base[folded]; ok {
		base = b
	}
	return term{text: folded, stem: stem(base), forms: asked().forms[base], dense: dense(folded)}
}

func stem(w string) string {
	if len(w) < 3 || !utf8.ValidString(w) {
		return w
	}
	env := snowballstem.NewEnv(w)
	english.Stem(env)
	return env.Current()
}

// dense reports whether a word is of a script that does not part words.
func dense(w string) bool {
	for _, r := range w {
		if r >= 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			return true
		}
	}
	return false
}

// akin is how much of two stems must be the same, and how much may differ.
const (
	akinSame = 5
	akinRest = 3
)

// in says how much a word of a row is the term: 1 when it is, form when it is
// only akin to it, else 0. Nothing is stemmed that cannot be it: this runs for
// each word of hundreds of rows.
func (t *term) in(w string, form float64) float64 {
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
	s := stem(w)
	if s == t.stem {
		return 1
	}
	if same >= akinSame && max(len(s), len(t.stem))-same <= akinRest {
		return form
	}
	return 0
}

// tokens cuts a text into folded words, as phrase.Split does but for the
// possessives, which are a word of one letter. They share the memory of the
// folded text.
func tokens(text string) []string { return appendTokens(nil, text) }

func appendTokens(out []string, text string) []string {
	text = phrase.Fold(text)
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
