package analyzer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// token is a lower-case part of a text, with its accents.
type token struct {
	text   string
	script script
	whole  bool // several words joined by punctuation, such as a file name
	part   bool // one of the words in such a joined token
	pair   bool // a pair of characters in a script that does not separate words
	second bool // a single character of such a script
}

// script is a class of scripts whose words are split in the same way.
type script int

const (
	inLatin script = iota
	inCyrillic
	inUkrainian // Cyrillic letters that do not occur in Russian
	inArabic
	inDense // a script that does not separate words
	inOther
)

func (s script) languageOf(ofLatin string) string {
	switch s {
	case inLatin:
		return ofLatin
	case inCyrillic:
		return "ru"
	case inArabic:
		return "ar"
	}
	return ""
}

func scriptOf(r rune) script {
	switch {
	case r < 0x250:
		return inLatin
	case r >= 0x400 && r < 0x530:
		if strings.ContainsRune("іїєґ", r) {
			return inUkrainian
		}
		return inCyrillic
	case r < 0x600:
		return inOther
	case unicode.Is(unicode.Arabic, r):
		return inArabic
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー':
		return inDense
	case unicode.Is(unicode.Latin, r):
		return inLatin
	}
	return inOther
}

// splitter splits text into tokens. run is the current word, whose letters belong to one class of
// script.
type splitter struct {
	out    []token
	s      string
	begin  int // start of the run; -1 for none
	kind   script
	quote  bool // the run follows an apostrophe
	whole  int  // start of the words joined by punctuation; -1 if there are none
	joined int  // number of the joined words
	first  int  // index of the first token of the joined words
}

// tokenizeText returns the tokens of text, in order.
func tokenizeText(text string) []token {
	if len(text) > maxText {
		text = text[:maxText]
	}
	p := splitter{s: normalizeText(text), begin: -1, whole: -1}
	for i, r := range p.s {
		p.stepRune(i, r)
	}
	p.endRun(len(p.s))
	p.endWhole(len(p.s))
	return p.out
}

// normalizeText returns s in lower case, with compatibility forms (full width, ligatures)
// normalized as by NFKC.
func normalizeText(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.ToLower(norm.NFKC.String(strings.ToValidUTF8(s, "\uFFFD")))
		}
	}
	return strings.ToLower(s)
}

func (p *splitter) stepRune(i int, r rune) {
	switch {
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		k := inLatin
		if r >= utf8.RuneSelf {
			k = scriptOf(r)
		}
		p.addLetter(i, k)
	case unicode.IsMark(r) && p.begin >= 0: // a mark belongs to the preceding letter
	case r == '\'' || r == '’':
		p.endRun(i)
		p.endWhole(i)
		p.quote = true
	case strings.ContainsRune("-._@/:+#", r) && p.begin >= 0: // the character may join the current run to the next one
		p.endRun(i)
	default:
		was := p.begin
		p.endRun(i)
		if was >= 0 || p.whole >= 0 {
			p.endWhole(i)
		}
		p.quote = false
	}
}

func (p *splitter) addLetter(i int, k script) {
	if p.begin >= 0 && (k == inDense) != (p.kind == inDense) {
		p.endRun(i)
	}
	if p.begin < 0 {
		p.begin, p.kind = i, k
		if p.whole < 0 {
			p.whole, p.first = i, len(p.out)
		}
		return
	}
	if k == inUkrainian || p.kind == inLatin && k != inLatin { // the letter is only used in Ukrainian, or the run began with a digit or a Latin letter
		p.kind = k
	}
}

// endRun ends the run before i.
func (p *splitter) endRun(i int) {
	if p.begin < 0 {
		return
	}
	w := p.s[p.begin:i]
	p.begin = -1
	p.joined++
	quote := p.quote
	p.quote = false
	if quote && w == "s" { // a possessive
		return
	}
	if p.kind == inDense {
		p.emitBigrams(w)
		return
	}
	p.out = append(p.out, token{text: truncateWord(w), script: p.kind})
}

// endWhole ends the sequence of words joined by punctuation before i.
func (p *splitter) endWhole(i int) {
	if p.whole >= 0 && p.joined > 1 {
		w := strings.TrimRight(p.s[p.whole:i], "-._@/:+#'’ \t\n")
		if len(w) <= maxTerm && !strings.ContainsFunc(w, func(r rune) bool { return scriptOf(r) == inDense && unicode.IsLetter(r) }) {
			for k := p.first; k < len(p.out); k++ {
				p.out[k].part = true
			}
			p.out = append(p.out, token{text: w, whole: true})
		}
	}
	p.whole, p.joined = -1, 0
}

// emitBigrams emits the bigrams and the single characters of w.
func (p *splitter) emitBigrams(w string) {
	r := []rune(w)
	for i := range r {
		p.out = append(p.out, token{text: string(r[i]), script: inDense, second: true, pair: len(r) > 1})
		if i+1 < len(r) {
			p.out = append(p.out, token{text: string(r[i : i+2]), script: inDense, pair: true})
		}
	}
}

// truncateWord truncates a long word at a character boundary.
func truncateWord(w string) string {
	if len(w) <= maxTerm {
		return w
	}
	n := maxTerm
	for n > 0 && !utf8.RuneStart(w[n]) {
		n--
	}
	return w[:n]
}

// letters that Unicode does not decompose into a letter and a mark
var letters = strings.NewReplacer("ß", "ss", "ł", "l", "ø", "o", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i", "ð", "d", "þ", "th")

// foldAccents removes accents.
func foldAccents(w string) string {
	ascii := true
	for i := range len(w) {
		if w[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return w
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(w) {
		if r < 0x300 || r > 0x36f { // in other scripts, a mark makes a different letter
			b.WriteRune(asciiDigit(r))
		}
	}
	return truncateWord(letters.Replace(norm.NFC.String(b.String())))
}

// asciiDigit returns the ASCII form of a decimal digit of another script.
func asciiDigit(r rune) rune {
	for _, zero := range [...]rune{0x660, 0x6f0, 0x966, 0x9e6, 0xe50} {
		if r >= zero && r < zero+10 {
			return '0' + r - zero
		}
	}
	return r
}
