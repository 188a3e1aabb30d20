package offline

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	pathpkg "path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed grammar/languages/*.txt texts/languages/*.md
var languageFiles embed.FS

// loadLanguages compiles the languages besides English: for each one the files CODE.txt (patterns
// and dates) and CODE-words.txt in grammar/languages, and texts/languages/CODE.md (replies).
func loadLanguages(o Options) ([]*grammar, error) {
	names, err := fs.Glob(languageFiles, "texts/languages/*.md")
	if err != nil {
		return nil, err
	}
	var out []*grammar
	for _, name := range names {
		g, err := loadLanguage(strings.TrimSuffix(pathpkg.Base(name), ".md"), o)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

func loadLanguage(code string, o Options) (*grammar, error) {
	var text [3]string
	for i, name := range []string{"grammar/languages/" + code + ".txt", "grammar/languages/" + code + "-words.txt", "texts/languages/" + code + ".md"} {
		b, err := fs.ReadFile(languageFiles, name)
		if err != nil {
			return nil, err
		}
		text[i] = string(b)
	}
	lex, err := newLexicon(text[1], foldText)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", code, err)
	}
	if two := lex.lists["digraphs"]; len(two) > 0 { // "ue" for "ü"
		var pairs []string
		for from, to := range two {
			pairs = append(pairs, from, to)
		}
		digraphs := strings.NewReplacer(pairs...)
		if lex, err = newLexicon(text[1], func(s string) string { return digraphs.Replace(foldText(s)) }); err != nil {
			return nil, fmt.Errorf("%s: %w", code, err)
		}
	}
	g := &grammar{name: o.Name, lex: lex, code: code, texts: text[2], build: languageBuilders(), vocab: map[string]bool{}, starters: map[string]bool{}, timeWords: map[string]bool{}}
	l := loader{g: g, c: newCompiler(map[string]string{"hob": callNames(o.Name)}, g.vocab)}
	l.c.fold = lex.fold
	for _, step := range []func(string) error{l.parseMacros, l.parseIntents} {
		if err := step(text[0]); err != nil {
			return nil, fmt.Errorf("%s.txt:%w", code, err)
		}
	}
	if err := l.checkBuilders(); err != nil {
		return nil, fmt.Errorf("%s: %w", code, err)
	}
	for _, list := range []string{"weekday", "weekdays", "month", "unit", "leftover"} {
		for w := range lex.lists[list] {
			g.timeWords[w] = true
		}
	}
	maps.Copy(g.vocab, g.timeWords)
	maps.DeleteFunc(g.timeWords, func(w string, _ bool) bool { // these common words are similar to many others
		return len(w) < 5 || lex.containsWord("articles", w) || lex.containsWord("numbers", w) || lex.containsWord("prepositions", w)
	})
	g.signals = maps.Clone(g.vocab)
	for w := range lex.lists["signals"] {
		g.signals[w] = true
	}
	return g, g.parseResults()
}

// foldText folds accents and lower-cases, so that accents are optional in what the user writes.
func foldText(s string) string { return letterFolds.Replace(strings.ToLower(s)) }

var letterFolds = strings.NewReplacer("ä", "a", "ö", "o", "ü", "u", "ß", "ss", "à", "a", "â", "a", "á", "a", "é", "e", "è", "e", "ê", "e", "ë", "e",
	"í", "i", "î", "i", "ï", "i", "ó", "o", "ô", "o", "ú", "u", "ù", "u", "û", "u", "ñ", "n", "ç", "c", "œ", "oe", "’", "'", "¿", "", "¡", "")

// planForeign plans a message in a language other than English. The bool result is false if no
// language matches the complete message.
func (g *grammar) planForeign(text string, now time.Time) (plan, bool) {
	var best plan
	hits := 0
	for _, l := range g.languages {
		n := l.countSignals(text)
		if n <= hits {
			continue
		}
		in := *l
		in.talk = g.talk
		if p := in.planAll(text, now, 0); p.intent != nil && (p.outcome != unknown || p.say != "") {
			p.lang = &in
			best, hits = p, n
		}
	}
	return best, hits > 0
}

// languageOf guesses the language of a text that no grammar matches. It returns the language with
// the most words in the text that English does not have, if these are at least two, or nil. mostly
// is true if they are at least half of all words.
func (g *grammar) languageOf(text string) (best *grammar, mostly bool) {
	if first, rest, ok := strings.Cut(text, " "); ok && g.lex.containsWord("contractions", strings.ToLower(first)) { // "im planning a party" is not German
		text = rest
	}
	hits := 1
	for _, l := range g.languages {
		if n := l.countSignals(text); n > hits {
			best, hits = l, n
		}
	}
	return best, 2*hits >= len(strings.Fields(text))
}

// countSignals counts the different words of text that belong to the language and not to English.
func (g *grammar) countSignals(text string) int {
	found := map[string]bool{}
	for _, t := range splitTokens(oneLine(text, 2000), g.lex) {
		if t.kind != quoted && g.signals[t.norm] {
			found[t.norm] = true
		}
	}
	return len(found)
}

// resultRule translates one line of a tool's result.
type resultRule struct {
	from  *regexp.Regexp
	names []string
	to    string
}

var resultSlot = regexp.MustCompile(`\\\{([a-z]+)\\\}`)

// parseResults compiles the lines "English => translation" under "# results" and "# times" of the
// replies. {when} and {next} are times, which the rules under "# time words" translate; other slots stay as they
// are.
func (g *grammar) parseResults() error {
	for line := range strings.Lines(g.replyText("results")) {
		from, to, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			return fmt.Errorf("%s.md: %q is not a translation", g.code, line)
		}
		r := resultRule{to: to}
		form := resultSlot.ReplaceAllStringFunc(regexp.QuoteMeta(from), func(m string) string {
			r.names = append(r.names, strings.Trim(m, `\{}`))
			return "(.+?)"
		})
		var err error
		if r.from, err = regexp.Compile("^" + form + "$"); err != nil {
			return err
		}
		g.results = append(g.results, r)
	}
	for line := range strings.Lines(g.replyText("time words")) {
		from, to, ok := strings.Cut(strings.TrimRight(line, "\n"), " => ")
		re, err := regexp.Compile(`\b` + from + `\b`)
		if !ok || err != nil {
			return fmt.Errorf("%s.md: %q is not a translation", g.code, line)
		}
		g.times = append(g.times, timeRule{re, to})
	}
	return nil
}

// timeRule translates a part of a formatted time.
type timeRule struct {
	from *regexp.Regexp
	to   string
}

// translateResult translates the lines of a tool's result for which the language has a translation.
// Other lines, for example errors, stay in English.
func (g *grammar) translateResult(text string) string {
	if g == nil || len(g.results) == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		for _, r := range g.results {
			if m := r.from.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				lines[i] = r.applyTo(g, m[1:])
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}

func (r resultRule) applyTo(g *grammar, values []string) string {
	var pairs []string
	for i, name := range r.names {
		v := values[i]
		if name == "when" || name == "next" {
			v = g.translateTime(v)
		}
		pairs = append(pairs, "{"+name+"}", v)
	}
	return strings.NewReplacer(pairs...).Replace(r.to)
}

// translateTime translates a time that dateparse or a tool formatted.
func (g *grammar) translateTime(s string) string {
	for _, t := range g.times {
		s = t.from.ReplaceAllString(s, t.to)
	}
	return s
}

// localResult formats the result of a call in the language.
func (g *grammar) localResult(d done, p plan) string {
	switch {
	case d.result.Error && strings.Contains(d.result.Text, severalMatch):
		var b strings.Builder
		b.WriteString(g.replyText("several"))
		for i, it := range choicesIn(d.result.Text) {
			b.WriteString("\n" + strconv.Itoa(i+1) + ". " + it.line)
		}
		return b.String() + "\n" + g.replyText("which")
	case d.result.Error:
		code, text := withoutCode(strings.TrimSpace(d.result.Text))
		if code == "denied_by_owner" {
			return g.replyText("never-mind")
		}
		return g.replyText("failed") + " " + g.translateResult(text)
	}
	if m := learnedForm.FindStringSubmatch(d.result.Text); d.name == "remember" && m != nil {
		return g.replyText("noted", "{text}", m[1])
	}
	return g.translateResult(formatSuccess(d, p))
}

// mergePolite turns the phrases of the word list "please" with several words into marks, which
// patterns skip.
func (z *tokenizer) mergePolite() {
	for phrase := range z.lex.lists["please phrases"] {
		words := strings.Fields(phrase)
		for i := 0; i+len(words) <= len(z.out); i++ {
			if slices.EqualFunc(z.out[i:i+len(words)], words, func(t token, w string) bool { return t.kind == word && t.norm == w }) {
				for j := range words {
					z.out[i+j].kind = punct
				}
			}
		}
	}
}

// splitForeign splits one run of characters in a language other than English: "d'appeler" and
// "rappelle-moi" are two words each, "18h30" is three.
func (z *tokenizer) splitForeign(s string, at int) {
	start := 0
	add := func(end int) {
		if norm := z.lex.fold(s[start:end]); norm != "" {
			kind := word
			if z.lex.containsWord("please", norm) {
				kind = punct
			}
			z.addToken(token{kind: kind, start: at + start, end: at + end, norm: norm, raw: s[start:end]})
		}
		start = end
	}
	numeric := isDigit(s[0])
	for i, r := range s {
		switch {
		case i <= start:
		case (r == '\'' || r == '’') && z.lex.containsWord("elisions", z.lex.fold(s[start:i])):
			add(i + len(string(r)))
		case r == '-' && z.lex.containsWord("clitics", z.lex.fold(firstPart(s[i+1:]))):
			add(i)
			start++
		case numeric && isDigit(s[i-1]) != isDigit(s[i]) && !strings.ContainsRune(":.,/-", r) && !strings.ContainsRune(":.,/-", rune(s[i-1])):
			add(i)
		}
	}
	add(len(s))
}

func firstPart(s string) string {
	head, _, _ := strings.Cut(s, "-")
	return head
}

// cleanName returns the name of a record without an article and quotes.
func (g *grammar) cleanName(s string) string {
	s = strings.Trim(strings.TrimSpace(s), `"'“”„«»‘’.!?,;: `)
	for {
		for e := range g.lex.lists["elided articles"] {
			if rest := s[min(len(e), len(s)):]; rest != "" && strings.EqualFold(s[:len(s)-len(rest)], e) {
				s = rest
			}
		}
		head, tail, ok := strings.Cut(s, " ")
		if !ok || !g.lex.containsWord("articles", g.lex.fold(head)) {
			return s
		}
		s = strings.TrimSpace(tail)
	}
}

// hasWordOf reports whether the tokens [from, to) contain a word of one of the lists.
func (s *sentence) hasWordOf(from, to int, lists ...string) bool {
	for _, t := range s.tokens[from:to] {
		for _, list := range lists {
			if t.kind == word && s.lex.containsWord(list, t.norm) {
				return true
			}
		}
	}
	return false
}
