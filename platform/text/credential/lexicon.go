package credential

import (
	_ "embed" // embeds the word lists
	"slices"
	"strings"
	"sync"
	"unicode"

	"hob/platform/text/textnorm"
)

//go:embed words.txt
var wordText string

// lexicon is the parsed words.txt.
type lexicon struct {
	kinds     map[string]Kind // keyed by the folded words, joined with spaces
	loose     map[string]bool
	longest   map[string]int // number of words in the longest name of a kind, keyed by its first word
	ends      map[string]Kind
	is        map[string]bool
	notBefore map[string]bool
	opens     map[string]bool
	noValue   map[string]bool
	noSubject map[string]bool
}

var lex = sync.OnceValue(func() *lexicon {
	l := &lexicon{kinds: map[string]Kind{}, longest: map[string]int{}, loose: map[string]bool{}, ends: map[string]Kind{}, is: map[string]bool{}, notBefore: map[string]bool{}, opens: map[string]bool{}, noValue: map[string]bool{}, noSubject: map[string]bool{}}
	kinds := map[string]Kind{"password": Password, "code": Code, "key": Key, "phrase": Phrase}
	sets := map[string]map[string]bool{"not before": l.notBefore, "opens": l.opens, "no value": l.noValue, "no subject": l.noSubject}
	for line := range strings.Lines(wordText) {
		section, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(section, "#") {
			continue
		}
		entries := strings.Split(rest, " | ")
		switch {
		case kinds[section] != 0:
			for _, e := range entries {
				l.kinds[e] |= kinds[section]
				first, _, _ := strings.Cut(e, " ")
				l.longest[first] = max(l.longest[first], len(strings.Fields(e)))
			}
		case section == "loose":
			for _, e := range entries {
				l.loose[e] = true
			}
		case section == "is":
			for _, e := range entries {
				l.is[e] = true
			}
		case strings.HasPrefix(section, "ends "):
			for _, e := range strings.Fields(rest) {
				l.ends[e] = kinds[strings.TrimPrefix(section, "ends ")]
			}
		case sets[section] != nil:
			for _, e := range strings.Fields(rest) {
				sets[section][e] = true
			}
		default:
			panic("credential: unknown section " + section) // the word lists are embedded, so a test detects this error
		}
	}
	return l
})

// kindAt returns the kind that the words at i name, the number of these words, and the first part
// of a compound ("bank" of "bankpasswort").
func (l *lexicon) kindAt(words []token, i int) (kind Kind, n int, before string) {
	for n := min(l.longest[words[i].word], len(words)-i); n > 0; n-- {
		parts := make([]string, n)
		for j := range parts {
			parts[j] = words[i+j].word
		}
		if k := l.kinds[strings.Join(parts, " ")]; k != 0 {
			return k, n, ""
		}
	}
	w := words[i].word
	if head, tail, ok := cutLast(w, "-"); ok {
		if k := l.kinds[tail]; k != 0 {
			return k, 1, head
		}
	}
	for e, k := range l.ends {
		if strings.HasSuffix(w, e) && len(w) > len(e) {
			return k, 1, strings.TrimSuffix(strings.TrimSuffix(w, e), "-")
		}
	}
	return 0, 0, ""
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// parseQuestion returns the subjects and the kinds of credential that a text asks for.
func parseQuestion(text string) (asked []string, kind Kind) {
	l := lex()
	words := tokenizeText(text, 0)
	for i := 0; i < len(words); {
		k, n, before := l.kindAt(words, i)
		switch {
		case k != 0:
			kind |= k
			asked = append(asked, subjectWords(before)...)
			for j := range n { // in "door code", the first word is also a subject
				asked = append(asked, subjectWords(words[i+j].word)...)
			}
			i += n
		case l.loose[words[i].word]:
			kind |= AnyKind
			i++
		default:
			asked = append(asked, subjectWords(words[i].word)...)
			i++
		}
	}
	return asked, kind
}

// subjectTerms returns the words of a text that may distinguish one credential from another.
func subjectTerms(text string) []string {
	l := lex()
	words := tokenizeText(text, 0)
	var out []string
	for i := 0; i < len(words); {
		k, n, before := l.kindAt(words, i)
		if k != 0 {
			out = append(out, subjectWords(before)...)
			i += n
			continue
		}
		if !l.loose[words[i].word] {
			out = append(out, subjectWords(words[i].word)...)
		}
		i++
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// subjectWords splits a word into parts that may be subjects.
func subjectWords(word string) []string {
	l := lex()
	var out []string
	add := func(w string) {
		if len([]rune(w)) > 1 && !l.noSubject[w] && !l.is[w] {
			out = append(out, w)
		}
	}
	add(strings.ReplaceAll(word, "-", ""))
	if strings.Contains(word, "-") {
		for p := range strings.SplitSeq(word, "-") {
			add(p)
		}
	}
	return out
}

// sameSubject reports whether two words name the same subject: they are equal,
// differ by an ending, or both mean a wireless network.
func sameSubject(a, b string) bool {
	if a == b || isWirelessWord(a) && isWirelessWord(b) {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	return len([]rune(a)) >= 4 && strings.HasPrefix(b, a) && len([]rune(b))-len([]rune(a)) <= 3
}

func isWirelessWord(w string) bool { return w == "wifi" || w == "wlan" || w == "wireless" }

// foldApostrophes works like textnorm.Fold but also replaces typographic apostrophes.
func foldApostrophes(s string) string { return textnorm.Fold(strings.ReplaceAll(s, "’", "'")) }

// RequestedIn returns the first words of a text that ask for a credential, such as "password" in
// "Your new password:", or "". It also reads names such as "apiKey". A bare "code" counts, too,
// unless another word explains it ("postal code").
func RequestedIn(text string) string {
	l := lex()
	text = separateWords(text)
	words := tokenizeText(text[:min(len(text), maxQuestion)], 0)
	for i := range words {
		if k, n, _ := l.kindAt(words, i); k != 0 {
			return text[words[i].from:words[i+n-1].to]
		}
		if l.loose[words[i].word] && (i == 0 || !l.notBefore[words[i-1].word]) {
			return words[i].raw
		}
	}
	return ""
}

// separateWords splits identifiers: "userPassword" and "api_key" become "user Password" and "api key".
func separateWords(text string) string {
	var b strings.Builder
	var last rune
	for _, r := range strings.ToValidUTF8(text, "") {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		if last = r; r == '_' || r == '/' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}
