package credential

import (
	"strings"
	"unicode"
)

// token is a word of a text.
type token struct {
	raw      string // the word without the punctuation around it
	word     string // folded
	from, to int    // position of raw in the text, in bytes
	quoted   bool
	colon    bool // ":" or "=" follows the word directly
	end      bool // a sentence may end after the token
}

// sentence is a line, or a part of a line, whose words belong together.
type sentence struct{ words []token }

// maxGap is the maximum number of words between the name of a kind and "is", as in "the password
// for the wifi of the cabin in the woods is".
const maxGap = 10

// maxValueWords is the maximum number of plain words in a passphrase.
const maxValueWords = 6

// Limits of the work on one text. A sentence is read in windows of windowWords words that overlap
// by overlapWords words. A piece without whitespace that is longer than maxPiece bytes counts as
// one word.
const (
	windowWords  = 64
	overlapWords = 20
	maxPiece     = 300
)

// splitSentences splits a text into lines, and the lines into sentences.
func splitSentences(text string) (out []sentence) {
	at := 0
	for line := range strings.Lines(text) {
		words := tokenizeText(line, at)
		at += len(line)
		from := 0
		for i := range words {
			if words[i].end || i == len(words)-1 {
				out = append(out, wordWindows(words[from:i+1])...)
				from = i + 1
			}
		}
	}
	return out
}

func wordWindows(words []token) (out []sentence) {
	for len(words) > windowWords {
		out = append(out, sentence{words[:windowWords]})
		words = words[windowWords-overlapWords:]
	}
	return append(out, sentence{words})
}

const (
	openers = "\"'`“”„«»‘’‚‹›([{<*_"
	closers = "\"'`“”‘’«»›‹)]}>*_,;!?."
	quotes  = "\"'`“”„«»‘’‚‹›"
)

// tokenizeText returns the words of a text that starts at byte at of a larger text.
func tokenizeText(text string, at int) (out []token) {
	i := 0
	for i < len(text) {
		n := strings.IndexFunc(text[i:], func(r rune) bool { return !unicode.IsSpace(r) })
		if n < 0 {
			break
		}
		i += n
		end := strings.IndexFunc(text[i:], unicode.IsSpace)
		if end < 0 {
			end = len(text) - i
		}
		out = append(out, tokenizePiece(text[i:i+end], at+i)...)
		i += end
	}
	return out
}

// tokenizePiece tokenizes a piece without white space: "password=x" has two tokens.
func tokenizePiece(piece string, at int) []token {
	if len(piece) > maxPiece {
		return []token{{raw: piece, word: piece[:0], from: at, to: at + len(piece)}}
	}
	if head, tail, ok := strings.Cut(piece, "="); ok && head != "" && tail != "" && !strings.Contains(head, "/") {
		return append(tokenizePiece(head+"=", at), tokenizePiece(tail, at+len(head)+1)...)
	}
	if head, tail, ok := strings.Cut(piece, ":"); ok && head != "" && tail != "" && !strings.HasPrefix(tail, "/") && isKind(head) {
		return append(tokenizePiece(head+":", at), tokenizePiece(tail, at+len(head)+1)...)
	}
	left := len(piece) - len(strings.TrimLeft(piece, openers))
	raw := strings.TrimRight(piece[left:], closers+":=")
	tail := piece[left+len(raw):]
	if raw == "" {
		if strings.Trim(piece, ":=-–—>→") != "" {
			return nil
		}
		return []token{{raw: piece, word: piece, from: at, to: at + len(piece)}}
	}
	t := token{raw: raw, word: foldApostrophes(raw), from: at + left, to: at + left + len(raw)}
	t.quoted = strings.ContainsAny(piece[:left], quotes) && strings.ContainsAny(tail, quotes)
	t.colon = strings.ContainsAny(tail, ":=")
	t.end = strings.ContainsAny(tail, ".;!?")
	return []token{t}
}

func isKind(word string) bool {
	words := []token{{word: foldApostrophes(strings.Trim(word, openers))}}
	k, _, _ := lex().kindAt(words, 0)
	return k != 0 || lex().loose[words[0].word]
}

// findCredentials returns the credentials of a sentence.
func (s sentence) findCredentials() (out []Credential) {
	l := lex()
	for i := 0; i < len(s.words); {
		kind, n, _ := l.kindAt(s.words, i)
		strict := kind != 0 && kind&(Password|Phrase) == 0
		if kind == 0 {
			if !s.looseKind(i) {
				i++
				continue
			}
			kind, n, strict = AnyKind, 1, true
		}
		if kind == Code && i > 0 && l.notBefore[s.words[i-1].word] {
			i += n
			continue
		}
		from, to, ok := s.valueAfter(i+n-1, strict)
		if !ok {
			from, to, ok = s.valueBefore(i)
		}
		if ok {
			out = append(out, s.newCredential(kind, from, to))
		}
		i = max(i+n, to)
	}
	return out
}

// looseKind reports whether an ambiguous word such as "code" or "key" means a credential, because
// the sentence mentions a lock, door or account near it.
func (s sentence) looseKind(i int) bool {
	l := lex()
	if !l.loose[s.words[i].word] || i > 0 && l.notBefore[s.words[i-1].word] {
		return false
	}
	for _, w := range s.words {
		for p := range strings.SplitSeq(strings.TrimSuffix(w.word, "'s"), "-") {
			if l.opens[p] {
				return true
			}
			for o := range l.opens { // compounds: "garagentor"
				if len(o) >= 4 && (strings.HasPrefix(p, o) || strings.HasSuffix(p, o)) {
					return true
				}
			}
		}
	}
	return false
}

// newCredential returns the credential whose value consists of the words from index from up to, but
// not including, index to.
func (s sentence) newCredential(kind Kind, from, to int) Credential {
	c := Credential{Kind: kind, From: s.words[from].from, To: s.words[to-1].to}
	var rest []string
	for i, w := range s.words {
		if i < from || i >= to {
			rest = append(rest, w.raw)
		}
	}
	c.Subjects = subjectTerms(strings.Join(rest, " "))
	return c
}

// valueAfter finds the value that follows the name of a kind whose last word is at i. If strict is
// true, ordinary words are not values.
func (s sentence) valueAfter(i int, strict bool) (from, to int, ok bool) {
	l := lex()
	if i+1 >= len(s.words) {
		return 0, 0, false
	}
	if s.words[i].colon {
		return s.readValue(i+1, strict)
	}
	if next := s.words[i+1]; looksLikeSecret(next) && !l.is[next.word] {
		return i + 1, i + 2, true
	}
	for j := i + 1; j < len(s.words) && j <= i+maxGap; j++ {
		w := s.words[j]
		if l.is[w.word] {
			for j+1 < len(s.words) && l.is[s.words[j+1].word] {
				j++
			}
			return s.readValue(j+1, strict)
		}
		if w.colon {
			return s.readValue(j+1, strict)
		}
		if k, _, _ := l.kindAt(s.words, j); k != 0 {
			return 0, 0, false // "the username and password": the value belongs to the next kind
		}
	}
	return 0, 0, false
}

// readValue reads the value that begins at i.
func (s sentence) readValue(i int, strict bool) (from, to int, ok bool) {
	l := lex()
	for i < len(s.words) && (l.is[s.words[i].word] || s.words[i].word == "still" || s.words[i].word == "called") {
		i++
	}
	if i >= len(s.words) {
		return 0, 0, false
	}
	if w := s.words[i]; w.quoted || looksLikeSecret(w) {
		return i, i + 1, true
	}
	if strict || len([]rune(s.words[i].raw)) < 3 {
		return 0, 0, false
	}
	end, plain := i, 0
	for end < len(s.words) && (end == i || !isConjunction(s.words[end].word)) {
		if l.noValue[s.words[end].word] {
			plain++
		}
		end++
	}
	// "correct horse battery staple" is a value, but "correct" and "not set yet" are not
	first := l.noValue[s.words[i].word] || strings.HasSuffix(s.words[i].word, "ed")
	if first && (end-i < 4 || plain > 1) {
		return 0, 0, false
	}
	if end-i > maxValueWords && end-i != 12 && end-i != 24 { // recovery phrases have 12 or 24 words
		return 0, 0, false
	}
	return i, end, true
}

func isConjunction(w string) bool {
	switch w {
	case "and", "or", "but", "for", "und", "oder", "aber", "fur", "et", "ou", "mais", "pour", "y", "o", "pero", "para", "e", "ma", "per", "en", "maar", "voor", "mas":
		return true
	}
	return false
}

// valueBefore finds the value that precedes the name of a kind at i: "hunter2 is the wifi
// password".
func (s sentence) valueBefore(i int) (from, to int, ok bool) {
	l := lex()
	for j := i - 1; j > 0 && j >= i-5; j-- {
		w := s.words[j].word
		if l.is[w] || w == "as" || w == "als" || w == "comme" || w == "como" || w == "come" {
			if looksLikeSecret(s.words[j-1]) || s.words[j-1].quoted {
				return j - 1, j, true
			}
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// looksLikeSecret reports whether a word looks like a secret regardless of its context: it mixes
// letters with digits or symbols, or contains three digits.
func looksLikeSecret(t token) bool {
	var digits, letters, signs, upper, lower int
	for i, r := range []rune(t.raw) {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
			if unicode.IsUpper(r) && i > 0 {
				upper++
			} else if unicode.IsLower(r) {
				lower++
			}
		case strings.ContainsRune("!@#$%^&*+=~?_|\\/<>", r):
			signs++
		}
	}
	if strings.Contains(t.raw, "://") || isDate(t.raw) {
		return false
	}
	switch {
	case digits >= 3 && letters+signs == 0:
		return len(t.raw) <= 40
	case digits > 0 && letters > 0:
		return letters+digits >= 4
	case signs > 0 && letters+digits >= 4:
		return signs < letters+digits && !strings.Contains(t.raw, "/")
	}
	return upper > 1 && lower > 1 && letters >= 8
}

// isDate reports whether a word is a date or a time of day: "2026-11-23", "17:30".
func isDate(s string) bool {
	parts := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("-./:", r) })
	if len(parts) < 2 || len(parts) > 3 {
		return false
	}
	for _, p := range parts {
		if len(p) > 4 || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	switch {
	case strings.ContainsAny(s, ":"):
		return true
	case len(parts) == 3:
		return len(parts[0]) == 4 || len(parts[2]) == 4
	}
	return false
}
