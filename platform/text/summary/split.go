package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/lazyregexp"
)

// Sentence is a sentence of a text, unchanged except for white space.
type Sentence struct {
	Text      string
	Heading   string // nearest heading above the sentence; "" if there is none
	Paragraph int    // number of the paragraph, from 0
	First     bool   // first sentence of its paragraph
	// Fragment is true for a line that is no sentence, such as a menu entry, a table row or a
	// caption.
	Fragment bool
}

// maxSentences limits the sentences of one text.
const maxSentences = 20_000

// Split splits a text into sentences. It expects one paragraph or item per line, headings that
// begin with "#" and items that begin with "-", as package readability writes them. Other texts may
// wrap their paragraphs: Split joins consecutive lines of similar length.
func Split(text string) (out []Sentence) {
	heading, paragraph := "", 0
	for _, line := range joinWrapped(strings.Split(text, "\n")) {
		if line == "" {
			continue
		}
		if len(out) >= maxSentences {
			return out
		}
		if h := strings.TrimLeft(line, "#"); h != line && strings.HasPrefix(h, " ") {
			heading = strings.TrimSpace(h)
			continue
		}
		line = strings.TrimSpace(itemMark.ReplaceAllString(line, ""))
		for i, s := range splitLine(line) {
			out = append(out, Sentence{Text: s, Heading: heading, Paragraph: paragraph, First: i == 0, Fragment: isFragment(s)})
		}
		paragraph++
	}
	return out
}

var (
	itemMark   = lazyregexp.New(`^(?:[-*•·]|\d{1,2}[.)])\s+`)
	linkNumber = lazyregexp.New(`\[\d{1,3}\]`)
)

// wrapWidth is the minimum length of a line, in bytes, that may continue in the next line.
const wrapWidth = 55

// joinWrapped joins the lines of wrapped paragraphs, as in plain text and PDF files.
func joinWrapped(lines []string) (out []string) {
	previous := ""
	for _, l := range lines {
		l = strings.Join(strings.Fields(linkNumber.ReplaceAllString(l, "")), " ")
		if n := len(out); n > 0 && continuesLine(out[n-1], previous, l) {
			last := out[n-1]
			if cut, ok := strings.CutSuffix(last, "-"); ok && startsLower(l) { // a word divided at the line end
				out[n-1] = cut + l
			} else {
				out[n-1] = last + " " + l
			}
		} else {
			out = append(out, l)
		}
		previous = l
	}
	return out
}

// continuesLine reports whether a line continues the paragraph so far. previous is the line before.
func continuesLine(paragraph, previous, line string) bool {
	switch {
	case paragraph == "" || line == "" || len(previous) < wrapWidth || len(previous) > 130:
		return false
	case strings.HasPrefix(line, "#") || strings.HasPrefix(paragraph, "#") || itemMark.MatchString(line) || strings.Contains(line, " | "):
		return false
	case strings.HasSuffix(previous, "-") || startsLower(line):
		return true
	}
	return !endsSentence(previous)
}

func startsLower(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(r)
}

func endsSentence(s string) bool {
	s = strings.TrimRight(s, `"'”’»)]`)
	return s != "" && strings.ContainsAny(s[max(0, len(s)-3):], ".!?:。！？…")
}

// splitLine splits one paragraph after the punctuation that ends a sentence.
func splitLine(l string) (out []string) {
	from, ended := 0, -1
	for i, r := range l {
		switch {
		case strings.ContainsRune("。！？", r):
			j := i + utf8.RuneLen(r)
			out, from, ended = appendTrimmed(out, l[from:j]), j, -1
		case strings.ContainsRune(".!?…", r):
			ended = i
		case ended >= 0 && strings.ContainsRune(`"'”’»)]`, r):
		case ended >= 0 && unicode.IsSpace(r):
			if l[ended] != '.' || isSentenceEnd(l[from:ended], l[i:]) {
				out, from = appendTrimmed(out, l[from:i]), i
			}
			ended = -1
		default:
			ended = -1
		}
	}
	return appendTrimmed(out, l[from:])
}

func appendTrimmed(out []string, s string) []string {
	if s = strings.TrimSpace(s); s != "" {
		return append(out, s)
	}
	return out
}

// abbreviations are words that a full stop follows inside a sentence.
const abbreviations = " mr mrs ms dr prof st sr jr vs etc eg ie approx inc ltd co corp no nr nos vol fig figs eq sec ch pp ed eds al cf ca bzw evtl ggf usw abb art abs str tel jan feb mar apr jun jul aug sep sept oct nov dec gen col lt sgt capt gov sen rep rev hon mt ft dept est max min mio mrd sra av pl "

// isSentenceEnd reports whether a full stop ends the sentence before it. rest begins with the white
// space after the full stop.
func isSentenceEnd(before, rest string) bool {
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, " \"'“‘«(["))
	if unicode.IsLower(next) {
		return false
	}
	word := before[strings.LastIndexFunc(before, unicode.IsSpace)+1:]
	word = strings.TrimLeft(word, `"'“‘«([`)
	switch runes := []rune(word); {
	case len(runes) == 1 && unicode.IsUpper(runes[0]): // an initial
		return false
	case strings.Contains(word, ".") && len(runes) <= 5 && !unicode.IsDigit(runes[0]): // U.S, e.g
		return unicode.IsUpper(next) && len(runes) > 3
	case len(runes) <= 2 && strings.Trim(word, "0123456789") == "" && len(runes) > 0: // an ordinal number: 3. Mai
		return !isMonthStart(strings.TrimSpace(rest))
	}
	return !strings.Contains(abbreviations, " "+strings.ToLower(word)+" ")
}

var monthStart = lazyregexp.New(`^(?i)(jan|feb|mär|mar|apr|mai|maj|jun|jul|aug|sep|okt|oct|nov|dez|dec|tammi|helmi|század|stol|jahrhundert|jh)`)

func isMonthStart(s string) bool { return monthStart.MatchString(s) }

// isFragment reports whether a line is no sentence.
func isFragment(s string) bool {
	words := len(strings.Fields(s))
	dense := utf8.RuneCountInString(s) >= 12 && words <= 2 && !isASCII(s) && strings.ContainsAny(s, "。！？")
	switch {
	case dense:
		return false
	case strings.Contains(s, " | "), words < 4:
		return true
	case !endsSentence(s) && words < 9:
		return true
	}
	return letterShare(s) < 0.55
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// letterShare returns the share of letters in the characters of a text that are no spaces.
func letterShare(s string) float64 {
	letters, all := 0, 0
	for _, r := range s {
		if unicode.IsSpace(r) {
			continue
		}
		all++
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			letters++
		}
	}
	if all == 0 {
		return 0
	}
	return float64(letters) / float64(all)
}
