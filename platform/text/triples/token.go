package triples

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/textnorm"
)

// tok is one word of a sentence.
type tok struct {
	w        string // folded
	from, to int    // byte range in the text
	poss     bool   // "sister's"
	capital  bool
	after    rune // punctuation after the word: , ; : or 0
}

func truncateText(s string) string {
	s = strings.ToValidUTF8(s, " ")
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "")
}

// splitSentences splits text into tokenized sentences. It omits questions. It also omits long
// quotations, because they contain other people's words.
func splitSentences(text string) [][]tok {
	var out [][]tok
	var cur []tok
	end := func(question bool) {
		if len(cur) > 0 && !question && len(cur) <= 80 {
			out = append(out, cur)
		}
		cur = nil
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case isWord(r) || (r == '+' && i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9'):
			to := wordEnd(text, i)
			cur = append(cur, tokenizeWord(text, i, to)...)
			i = to
			continue
		case r == '\n', r == '!':
			end(false)
		case r == '?':
			end(true)
		case r == '.' && endsSentence(text, i, cur):
			end(false)
		case len(cur) > 0 && strings.ContainsRune(",;:–—(", r):
			if r != ',' && r != ':' {
				r = ';'
			}
			cur[len(cur)-1].after = r
		}
		i += n
	}
	end(false)
	return out
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("€$£%#&=", r)
}

// wordEnd returns the end of the word at i. Words may contain joining characters: 1.80, 12:30,
// a@b.c, wi-fi, sister's.
func wordEnd(text string, i int) int {
	if text[i] == '+' {
		i++
	}
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		next, _ := utf8.DecodeRuneInString(text[min(i+n, len(text)):])
		join := strings.ContainsRune("'’-.@+/:_,", r) && (unicode.IsLetter(next) || unicode.IsDigit(next))
		if r == ',' && join { // "1,80" is one word, but "red,blue" is not
			join = unicode.IsDigit(next) && i > 0 && text[i-1] >= '0' && text[i-1] <= '9'
		}
		if !isWord(r) && !join {
			return i
		}
		i += n
	}
	return i
}

// endsSentence reports whether the full stop at i ends a sentence. It does not after "Dr.", in "3.
// Mai", or after an initial.
func endsSentence(text string, i int, cur []tok) bool {
	rest := strings.TrimLeft(text[i+1:], " \t\"'”’)»")
	if rest == "" || rest[0] == '\n' || len(cur) == 0 {
		return true
	}
	if i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '\t' && text[i+1] != '"' && text[i+1] != ')' {
		return false
	}
	w := cur[len(cur)-1].w
	switch {
	case strings.Trim(w, "0123456789") == "" && len(w) <= 2:
		return false
	case slices.Contains(abbreviated, w), utf8.RuneCountInString(w) == 1:
		return false
	}
	return true
}

var abbreviated = []string{"dr", "mr", "mrs", "ms", "st", "str", "no", "nr", "prof", "tel", "hr", "fr", "sra", "sig", "inc", "ltd", "vs", "approx", "ca"}

// tokenizeWord converts one written word to tokens. A contraction results in several tokens.
func tokenizeWord(text string, from, to int) []tok {
	raw := text[from:to]
	first, _ := utf8.DecodeRuneInString(raw)
	t := tok{from: from, to: to, capital: unicode.IsUpper(first)}
	folded := strings.ReplaceAll(textnorm.Fold(raw), "’", "'")
	if raw == "è" || raw == "È" { // in Italian, "è" means "is", but "e" means "and"
		folded = "è"
	}
	head, tail, split := strings.Cut(folded, "'")
	switch {
	case !split:
		t.w = folded
		if !strings.ContainsAny(folded, "0123456789@") {
			t.w = strings.ReplaceAll(folded, "-", "")
		}
		return []tok{t}
	case tail == "s" && slices.Contains([]string{"he", "she", "it", "that", "there", "what", "who", "where", "here"}, head):
		return []tok{t.withWord(head), t.withWord("is")}
	case tail == "s" || tail == "":
		t.w, t.poss = head, true
		return []tok{t}
	case tail == "t" && strings.HasSuffix(head, "n"):
		if head == "can" || head == "won" {
			return []tok{t.withWord(head), t.withWord("not")}
		}
		return []tok{t.withWord(strings.TrimSuffix(head, "n")), t.withWord("not")}
	case tail == "m":
		return []tok{t.withWord(head), t.withWord("am")}
	case tail == "re":
		return []tok{t.withWord(head), t.withWord("are")}
	case tail == "ve":
		return []tok{t.withWord(head), t.withWord("have")}
	case tail == "ll":
		return []tok{t.withWord(head), t.withWord("will")}
	case tail == "d":
		return []tok{t.withWord(head), t.withWord("would")}
	case utf8.RuneCountInString(head) <= 2 && !strings.Contains(tail, "'"): // j'habite, l'adresse
		cut := from + strings.IndexAny(raw, "'’")
		a, b := t, t
		a.w, a.to = head, cut
		b.w = tail
		b.from = cut + len("'")
		if strings.HasPrefix(text[cut:], "’") {
			b.from = cut + len("’")
		}
		r, _ := utf8.DecodeRuneInString(text[b.from:])
		b.capital = unicode.IsUpper(r)
		return []tok{a, b}
	}
	t.w = strings.ReplaceAll(folded, "'", "")
	return []tok{t}
}

func (t tok) withWord(w string) tok { t.w = w; return t }

// tokenWords returns the words of tokens.
func tokenWords(toks []tok) []string {
	out := make([]string, len(toks))
	for i, t := range toks {
		out[i] = t.w
	}
	return out
}

// hasPrefixWords reports whether tokens begin with the words.
func hasPrefixWords(toks []tok, words []string) bool {
	if len(toks) < len(words) {
		return false
	}
	for i, w := range words {
		if toks[i].w != w {
			return false
		}
	}
	return true
}

func (r *reader) spanText(toks []tok) string {
	if len(toks) == 0 {
		return ""
	}
	return strings.TrimSpace(r.text[toks[0].from:toks[len(toks)-1].to])
}
