package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/text/person"
	"hob/platform/text/textnorm"
)

// collectPhrases collects the texts to erase and the identifying values in them, such as numbers,
// addresses and passwords. It keeps a value that also occurs in a remaining row, unless the query
// names the value. Messages and documents contribute no phrases, because they contain ordinary
// text; they are removed by event and source. Sentences that Hob itself copied into other
// conversations, such as lessons, are an exception.
func (b *Base) collectPhrases(q store.Querier, f ForgetRequest, g *ErasurePlan) error {
	list := slices.Clone(g.Erasure.Phrases)
	var values, told []string
	for _, one := range g.Facts {
		list = slices.Concat(list, textVariants(one.Text), textVariants(person.ToSecond(one.Text))) // Hob repeats facts as "you ..."
		values = append(values, tellingValues(one.Text)...)
	}
	if b.opt.Quoted != nil {
		quoted, err := b.opt.Quoted(q, &g.Erasure)
		if err != nil {
			return err
		}
		for _, text := range quoted {
			told = slices.Concat(told, distinctiveLines(strings.Join(textVariants(text), "")), tellingValues(text))
		}
	}
	for _, d := range g.Docs {
		if d.Kind != KindTurn && d.Kind != KindChunk {
			told = slices.Concat(told, distinctiveLines(d.Title), distinctiveLines(d.Text), tellingValues(d.Text))
		}
	}
	values, err := b.unsharedPhrases(q, g, values, func(d Doc) bool { return d.Kind == KindFact || d.Kind == KindRetired })
	if err != nil {
		return err
	}
	if told, err = b.unsharedPhrases(q, g, told, func(d Doc) bool { return d.Kind != KindTurn && d.Kind != KindChunk }); err != nil {
		return err
	}
	list = slices.Concat(list, values, told)
	if f.isRealmBound() {
		if list, err = b.unsharedPhrases(q, g, list, func(d Doc) bool { return !f.mayErase(d.Kind, d.Realm) }); err != nil {
			return err
		}
	}
	g.Erasure.Phrases = nil
	for _, p := range list {
		if p = strings.TrimSpace(p); len([]rune(p)) >= leastQuery && !slices.Contains(g.Erasure.Phrases, p) {
			g.Erasure.Phrases = append(g.Erasure.Phrases, p)
		}
	}
	return nil
}

// unsharedPhrases returns the phrases that occur in no remaining row. which selects the rows to
// check.
func (b *Base) unsharedPhrases(q store.Querier, g *ErasurePlan, phrases []string, which func(Doc) bool) ([]string, error) {
	any := erase.NewScrubber(phrases...)
	for after := int64(0); len(phrases) > 0; {
		rows, err := b.RowsAfter(q, after, 500)
		if err != nil {
			return nil, err
		}
		for _, c := range rows {
			after = c.N
			if !which(c.Doc) || g.includesDoc(c.Doc) || !any.Has(c.Doc.Title) && !any.Has(c.Doc.Text) {
				continue
			}
			phrases = slices.DeleteFunc(phrases, func(p string) bool {
				s := erase.NewScrubber(p)
				return s.Has(c.Doc.Title) || s.Has(c.Doc.Text)
			})
		}
		if len(rows) < 500 {
			break
		}
	}
	return phrases, nil
}

// textVariants returns text, and text without its final full stop.
func textVariants(text string) []string {
	text = strings.TrimSpace(text)
	if short := strings.TrimRight(text, ".!"); short != "" {
		return []string{short}
	}
	return []string{text}
}

// distinctiveLines returns the lines of text that are long enough to identify it.
func distinctiveLines(text string) (out []string) {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); len([]rune(l)) >= 12 && len(textnorm.Words(l)) > 1 {
			out = append(out, l)
		}
	}
	return out
}

// tellingValues returns the parts of text that identify it: words with digits, addresses, and the
// value of a statement.
func tellingValues(text string) (out []string) {
	for _, w := range strings.Fields(text) {
		w = strings.TrimFunc(w, func(r rune) bool { return strings.ContainsRune(".,;:!?()[]{}<>\"'“”‘’„«»", r) })
		if isDistinctive(w) {
			out = append(out, w)
		}
	}
	if n := groupedNumber(text); n != "" {
		out = append(out, n)
	}
	if _, v := firstStatement(text); v != "" {
		if w := contentWords(v); len(w) > 1 && len([]rune(v)) >= 10 && !isDateOrTime(v) {
			out = append(out, v)
		}
	}
	return out
}

// isDistinctive reports whether a word is unlikely to occur by chance.
func isDistinctive(w string) bool {
	letters, digits := 0, 0
	for _, r := range w {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	switch {
	case strings.Contains(w, "@") && letters > 2, strings.Contains(w, "://"):
		return true
	case digits >= 1 && letters >= 1:
		return letters+digits >= 5 && digits >= 2
	}
	return digits >= 4 && !isYear(w)
}

func isYear(w string) bool {
	return len(w) == 4 && (strings.HasPrefix(w, "19") || strings.HasPrefix(w, "20"))
}

// groupedNumber returns a long number that is written in groups ("+49 30 1234567").
func groupedNumber(text string) string {
	var best, now string
	for _, w := range append(strings.Fields(text), "") {
		trimmed := strings.Trim(w, ".,;:!?")
		if trimmed != "" && strings.IndexFunc(trimmed, func(r rune) bool { return !strings.ContainsRune("0123456789+-/()", r) }) < 0 {
			now = strings.TrimSpace(now + " " + trimmed)
			continue
		}
		if countDigits(now) > countDigits(best) {
			best = now
		}
		now = ""
	}
	if strings.Contains(best, " ") && countDigits(best) >= 6 {
		return best
	}
	return ""
}

func countDigits(s string) (n int) {
	for _, r := range s {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// isDateOrTime reports whether v is a date or a time, which many rows may have in common.
func isDateOrTime(v string) bool {
	return countDigits(v) > 0 && countDigits(v) <= 8 && len(contentWords(v)) <= 3
}

func digestStrings(list []string) string {
	h := sha256.New()
	for _, s := range list {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
