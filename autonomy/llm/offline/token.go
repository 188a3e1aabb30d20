package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind distinguishes words from units that must not be split.
type tokenKind uint8

const (
	word   tokenKind = iota + 1
	punct            // a punctuation mark, which patterns skip
	quoted           // "text in quotes"; inner holds the text
	path             // ~/x, /x, ./x, notes.txt, C:\x; inner holds the path
	link             // an address with ://
	rest             // the rest of a long text, which is not parsed
)

// token is one piece of a sentence. start and end are byte offsets into the sentence's text. norm
// is the form that patterns compare.
type token struct {
	kind       tokenKind
	start, end int
	norm       string
	inner      string
	raw        string // a word as written
}

// closely is the maximum number of tokens in a message that are parsed. A longer text is treated as
// prose: its rest is kept but not parsed.
const closely = 300

// splitTokens splits text into tokens. It never fails: unknown input becomes a word.
func splitTokens(text string, lex *lexicon) []token {
	z := tokenizer{text: text, lex: lex}
	for z.pos < len(text) {
		r, n := utf8.DecodeRuneInString(text[z.pos:])
		switch {
		case unicode.IsSpace(r):
			z.pos += n
		case len(z.out) >= closely:
			end := len(strings.TrimRightFunc(text, unicode.IsSpace))
			z.addToken(token{kind: rest, start: z.pos, end: end})
			return z.out
		case z.takeQuote(r, n):
		default:
			z.takeRun()
		}
	}
	if lex.fold != nil {
		z.mergePolite()
	}
	return z.out
}

type tokenizer struct {
	text string
	lex  *lexicon
	pos  int
	out  []token
}

func (z *tokenizer) addToken(t token) { z.out = append(z.out, t) }

// takeQuote matches quoted text at the current position. Text must follow the opening mark. A
// space, a punctuation mark or the end must follow the closing mark, so that apostrophes and inch
// marks do not match.
func (z *tokenizer) takeQuote(open rune, n int) bool {
	closing, ok := closingMarks(open)
	if !ok {
		return false
	}
	body := z.text[z.pos+n:]
	for i, r := range body {
		if !strings.ContainsRune(closing, r) || i == 0 {
			continue
		}
		after := body[i+utf8.RuneLen(r):]
		next, _ := utf8.DecodeRuneInString(after)
		if after != "" && !unicode.IsSpace(next) && !strings.ContainsRune(".,;:!?)", next) {
			continue
		}
		end := len(z.text) - len(after)
		inner := strings.TrimSpace(body[:i])
		if inner == "" || strings.Contains(inner, "\n\n") {
			return false
		}
		kind := quoted
		if looksLikePath(inner, z.lex, true) {
			kind = path
		}
		z.addToken(token{kind: kind, start: z.pos, end: end, norm: strings.ToLower(inner), inner: inner})
		z.pos = end
		return true
	}
	return false
}

func closingMarks(open rune) (string, bool) {
	switch open {
	case '"', '“', '„', '”':
		return "\"”“", true
	case '«':
		return "»", true
	case '\'', '‘', '`':
		return "'’`", true
	}
	return "", false
}

// takeRun takes all characters up to the next space and splits off the punctuation marks at the
// ends.
func (z *tokenizer) takeRun() {
	start := z.pos
	end := len(z.text)
	if i := strings.IndexFunc(z.text[start:], unicode.IsSpace); i >= 0 {
		end = start + i
	}
	z.pos = end
	for start < end {
		r, n := utf8.DecodeRuneInString(z.text[start:end])
		if !strings.ContainsRune("([{<\"“”„«»¿¡,;:!?—–", r) && !isDash(z.text[start:end]) {
			break
		}
		z.addToken(token{kind: punct, start: start, end: start + n, norm: string(r)})
		start += n
	}
	tail := end
	for tail > start && !keepsDot(z.text[start:tail]) {
		r, n := utf8.DecodeLastRuneInString(z.text[start:tail])
		if !strings.ContainsRune(".,;:!?)]}>\"“”»'’`…—–", r) {
			break
		}
		tail -= n
	}
	if core := z.text[start:tail]; core != "" {
		z.classifyRun(core, start)
	}
	for tail < end {
		r, n := utf8.DecodeRuneInString(z.text[tail:end])
		z.addToken(token{kind: punct, start: tail, end: tail + n, norm: string(r)})
		tail += n
	}
}

func isDash(s string) bool { return s == "-" || s == "--" || s == "*" || s == "•" }

// keepsDot reports whether the final dot belongs to the word, as in "p.m.", "e.g." and the path
// "..".
func keepsDot(s string) bool {
	if s == "." || s == ".." {
		return true
	}
	return len(s) >= 4 && s[len(s)-1] == '.' && s[len(s)-3] == '.' && !strings.ContainsAny(s, "/\\")
}

// classifyRun classifies one run of characters without marks. It is a path, a link, or one or more
// words; a contraction such as "what's" becomes two words that share one run.
func (z *tokenizer) classifyRun(s string, at int) {
	switch {
	case strings.Contains(s, "://"):
		z.addToken(token{kind: link, start: at, end: at + len(s), norm: strings.ToLower(s), inner: s})
		return
	case looksLikePath(s, z.lex, false):
		z.addToken(token{kind: path, start: at, end: at + len(s), norm: strings.ToLower(s), inner: s})
		return
	}
	if z.lex.fold != nil {
		z.splitForeign(s, at)
		return
	}
	norm := strings.ReplaceAll(strings.ToLower(s), "’", "'")
	if z.lex.containsWord("please", norm) {
		z.addToken(token{kind: punct, start: at, end: at + len(s), norm: norm})
		return
	}
	if n := z.unitOffset(norm); n > 0 && len(norm) == len(s) {
		z.addToken(token{kind: word, start: at, end: at + n, norm: norm[:n]})
		z.addToken(token{kind: word, start: at + n, end: at + len(s), norm: norm[n:]})
		return
	}
	first, second, cut := z.lex.expandContraction(norm)
	if second == "" || cut > len(s) {
		z.addToken(token{kind: word, start: at, end: at + len(s), norm: norm, raw: s})
		return
	}
	z.addToken(token{kind: word, start: at, end: at + cut, norm: first})
	z.addToken(token{kind: word, start: at + cut, end: at + len(s), norm: second})
}

// unitOffset returns the offset at which the unit begins if norm is a number with an attached unit,
// such as "5km".
func (z *tokenizer) unitOffset(norm string) int {
	n := 0
	for n < len(norm) && isDigit(norm[n]) {
		n++
	}
	if n == 0 || n == len(norm) || !z.lex.containsWord("units", norm[n:]) {
		return 0
	}
	return n
}

// looksLikePath reports whether s has a common form of a file or folder path. inQuotes allows
// spaces.
func looksLikePath(s string, lex *lexicon, inQuotes bool) bool {
	switch {
	case strings.Contains(s, "\n"), !inQuotes && strings.ContainsFunc(s, unicode.IsSpace):
		return false
	case s == "~", strings.HasPrefix(s, "~/"), strings.HasPrefix(s, `~\`), strings.HasPrefix(s, "./"), strings.HasPrefix(s, "../"):
		return true
	case len(s) > 1 && s[0] == '/':
		return unicode.IsLetter(rune(s[1])) || s[1] == '.' || s[1] >= utf8.RuneSelf
	case len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/') && isASCIILetter(s[0]):
		return true
	case strings.HasPrefix(s, `\\`) && len(s) > 2:
		return true
	}
	base := s[strings.LastIndexAny(s, `/\`)+1:]
	inFolder := len(base) < len(s)
	dot := strings.LastIndexByte(base, '.')
	if dot < 0 || strings.ContainsAny(s, "@€$£") {
		return inFolder && base == "" && s[0] != '/' // for example "Documents/"
	}
	ext := strings.ToLower(base[dot+1:])
	return dot > 0 && lex.containsWord("extensions", ext) && (inFolder || !inQuotes || !strings.Contains(s, " "))
}

func isASCIILetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
