package mail

import (
	_ "embed"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

//go:embed cues.txt
var cueText string

// cueWords returns the phrases in cues.txt by kind. Each phrase is folded and has a space at both
// ends.
var cueWords = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(cueText) {
		kind, list, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for phrase := range strings.SplitSeq(list, ", ") {
			out[kind] = append(out[kind], " "+phrase+" ")
		}
	}
	return out
})

// Limits of the analysis of a message.
const (
	maxSentences = 60  // sentences that are analyzed per message
	maxDated     = 20  // sentences in which times are searched, because that is slow for hostile text
	maxSentence  = 600 // characters of a sentence
)

// sentence is a sentence of a message with what it is about.
type sentence struct {
	text     string
	question bool
	request  bool
	decision bool
	money    bool      // it names an amount
	bill     bool      // it is about an amount to be paid
	by       time.Time // the time until which something must happen; zero if there is none
	day      bool      // by is a day without a time
	dated    bool      // it names a time
	searched bool      // times were searched in it
}

// wantsAnswer reports whether the sender wants something from the reader.
func (s sentence) wantsAnswer() bool { return s.question || s.request }

// readSentences analyzes the sender's own words in a message: quoted text and the signature are
// omitted. Times are relative to at, the time when the message was written, in the user's zone.
func readSentences(text string, at time.Time) (out []sentence) {
	searched := 0
	for _, line := range joinWrappedLines(ownLines(text)) {
		for _, s := range splitSentences(line) {
			if len(out) == maxSentences {
				return out
			}
			x := readSentence(textnorm.Ellipsize(s, maxSentence), at, searched < maxDated)
			if x.searched {
				searched++
			}
			out = append(out, x)
		}
	}
	return out
}

// readSentence analyzes one sentence. Without times, it does not search for times in it.
func readSentence(text string, at time.Time, times bool) sentence {
	s := sentence{text: text, question: strings.HasSuffix(strings.TrimRight(text, ` "')»”`), "?"), money: amount.MatchString(text)}
	folded := " " + strings.Join(textnorm.FoldedWords(text), " ") + " "
	has := func(kind string) bool {
		for _, phrase := range cueWords()[kind] {
			if strings.Contains(folded, phrase) {
				return true
			}
		}
		return false
	}
	s.request, s.decision = has("request"), has("decision")
	s.bill = s.money && has("money")
	until := has("deadline")
	if !times || !until && !strings.ContainsFunc(text, unicode.IsDigit) && !s.request && !s.decision {
		return s // avoids the search for times in most sentences
	}
	s.searched = true
	for _, m := range dateparse.Find(text, at) {
		end, day := deadlineOf(m)
		if end.IsZero() {
			continue
		}
		s.dated = true
		if (until || s.wantsAnswer()) && end.After(at.AddDate(0, 0, -1)) && (s.by.IsZero() || s.day && !day) {
			s.by, s.day = end, day
		}
	}
	return s
}

// deadlineOf returns the instant or the day that a time in a sentence names, or the end of a range
// such as "until Friday"; zero if it is less precise.
func deadlineOf(m dateparse.Match) (end time.Time, day bool) {
	switch {
	case m.Moment != nil && m.Moment.Grain <= dateparse.Day:
		return m.Moment.Time, !m.Moment.HasClock
	case m.Moment == nil && m.Period != nil && !m.Period.To.IsZero():
		end = m.Period.To
		return end, end.Equal(time.Date(end.Year(), end.Month(), end.Day(), 0, 0, 0, 0, end.Location()))
	}
	return time.Time{}, false
}

// amount matches a number with a currency sign or a common currency code.
var amount = lazyregexp.New(`(?i)(?:[€$£¥₹]\s?\d|\b(?:EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|HUF|JPY|CNY|INR|AUD|CAD|BRL|MXN|ZAR|TRY)\s?\d|\d[\d.,' ]*\s?(?:[€$£¥₹]|(?:EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|HUF|JPY|CNY|INR|AUD|CAD|BRL|MXN|ZAR|TRY|euros?|dollars?|pounds?)\b))`)

// attribution matches the line that mail programs write above a quoted message, in any language: it
// ends with a colon and contains a year or a time, or an address.
var attribution = lazyregexp.New(`(?:\d{1,2}:\d{2}|\b20\d{2}\b|@).*:\s*$`)

// forwardMark matches the line above a message that is quoted without marks.
var forwardMark = lazyregexp.New(`^\s*[-_*]{3,}\s*\p{L}[\p{L} ]{5,40}[-_*]{3,}\s*$|^\s*_{20,}\s*$`)

// ownLines returns the lines of a message that its sender wrote. Unlike the email channel, which
// trusts these lines as the user's, it keeps answers between quoted lines.
func ownLines(text string) (out []string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(bare, ">"):
			continue
		case bare == "--" || bare == "—" || forwardMark.MatchString(bare):
			return out
		case attribution.MatchString(bare) && quotedFollows(lines[i+1:]):
			continue
		}
		out = append(out, bare)
	}
	return out
}

// quotedFollows reports whether the next line with text is a quoted line.
func quotedFollows(lines []string) bool {
	for _, line := range lines {
		if bare := strings.TrimSpace(line); bare != "" {
			return strings.HasPrefix(bare, ">")
		}
	}
	return false
}

// wrappedLine is the length from which a line may continue on the next one. Shorter lines are
// greetings, names and items of a list.
const wrappedLine = 50

// joinWrappedLines joins the lines of a paragraph that a mail program wrapped.
func joinWrappedLines(lines []string) (out []string) {
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
			b.Reset()
		}
	}
	for _, line := range lines {
		if line == "" {
			flush()
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(line)
		if utf8.RuneCountInString(line) < wrappedLine || strings.HasSuffix(line, ".") || strings.HasSuffix(line, "?") || strings.HasSuffix(line, "!") {
			flush()
		}
	}
	flush()
	return out
}

// splitSentences splits a paragraph after punctuation that ends a sentence. A period after a title
// or before a month in lower or upper case ("4. December") does not end one.
func splitSentences(line string) (out []string) {
	words := strings.Fields(line)
	from := 0
	for i, w := range words {
		last := strings.TrimRight(w, `"')»”]`)
		end := strings.HasSuffix(last, "?") || strings.HasSuffix(last, "!") || strings.HasSuffix(last, ".") && !isAbbreviation(last)
		if end && i+1 < len(words) {
			next, _ := utf8.DecodeRuneInString(words[i+1])
			number := strings.HasSuffix(last, ".") && strings.Trim(last, "0123456789.") == ""
			end = !unicode.IsLower(next) && (!number || !startsWithMonth(words[i+1]))
		}
		if end || i+1 == len(words) {
			out = append(out, strings.Join(words[from:i+1], " "))
			from = i + 1
		}
	}
	return out
}

func isAbbreviation(w string) bool {
	switch strings.ToLower(strings.TrimLeft(w, `("'`)) {
	case "dr.", "mr.", "mrs.", "ms.", "prof.", "no.", "nr.", "st.", "e.g.", "i.e.", "z.b.", "ca.", "approx.", "str.", "inc.", "ltd.", "co.", "vs.", "cf.", "p.m.", "a.m.":
		return true
	}
	return false
}

func startsWithMonth(w string) bool {
	folded := textnorm.Fold(w)
	for _, m := range []string{"jan", "feb", "mar", "apr", "mai", "may", "jun", "jul", "aug", "sep", "okt", "oct", "nov", "dez", "dec"} {
		if strings.HasPrefix(folded, m) {
			return true
		}
	}
	return false
}
