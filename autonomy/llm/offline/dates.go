package offline

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

// dateRule converts a part of a time in another language to English: "halb {clock}" becomes
// "at {clock-30}". Rules are in the section "dates" of a language's grammar.
type dateRule struct {
	node
	firsts firstWords
	to     []string // with several readings, "|" separates them
}

// datePart is a piece of a sentence that a rule reads.
type datePart struct {
	from, to int
	texts    []string
}

// maxDateParts is the maximum number of parts in one time.
const maxDateParts = 6

// parseDateRule parses "pattern => English".
func (l *loader) parseDateRule(line string) error {
	from, to, ok := strings.Cut(line, "=>")
	switch {
	case !ok:
		return l.parseInside(line)
	case l.now.name == "rewrites":
		re, err := regexp.Compile(strings.TrimSpace(from))
		l.g.rewrites = append(l.g.rewrites, rewriteRule{re, strings.TrimSpace(to)})
		return err
	}
	vocab := l.c.vocab
	l.c.vocab = l.g.timeWords
	n, err := l.c.compilePattern(strings.TrimSpace(from))
	l.c.vocab = vocab
	if err != nil {
		return err
	}
	r := dateRule{node: n, firsts: firstsOf(n)}
	for t := range strings.SplitSeq(to, "|") {
		r.to = append(r.to, strings.TrimSpace(t))
	}
	l.g.dates = append(l.g.dates, r)
	return nil
}

// findForeignTimes finds the times in a sentence of a language with date rules. Adjacent parts that
// have a common meaning are one time.
func (g *grammar) findForeignTimes(s *sentence) {
	s.spans = nil
	for i := 0; i < len(s.tokens); {
		parts := g.datePartsAt(s, i)
		for ; len(parts) > 0; parts = parts[:len(parts)-1] {
			if sp, ok := resolveParts(s, parts); ok {
				s.spans = append(s.spans, sp)
				break
			}
		}
		if len(parts) == 0 {
			i++
			continue
		}
		i = parts[len(parts)-1].to
	}
}

// datePartsAt returns the parts of a time that begins at token i.
func (g *grammar) datePartsAt(s *sentence, i int) (out []datePart) {
	for len(out) < maxDateParts && i < len(s.tokens) {
		next := i
		for len(out) > 0 && next < len(s.tokens) && s.tokens[next].kind == punct && (s.tokens[next].norm == "," || s.tokens[next].norm == "." && isDigit(s.tokens[next-1].norm[0]) || s.lex.containsWord("please", s.tokens[next].norm)) {
			next++
		}
		if next >= len(s.tokens) || s.tokens[next].kind != word {
			return out
		}
		p, ok := g.longestDatePart(s, next)
		if !ok {
			return out
		}
		out = append(out, p)
		i = p.to
	}
	return out
}

func (g *grammar) longestDatePart(s *sentence, i int) (datePart, bool) {
	best := datePart{from: i, to: i}
	for _, rule := range g.dates {
		if !rule.firsts.allowsFirst(s.tokens[i].norm) {
			continue
		}
		r := run{s: s, g: g}
		rule.matchAt(&r, i, func(end int) bool {
			if end > best.to {
				best.to, best.texts = end, nil
				for _, to := range rule.to {
					best.texts = append(best.texts, r.fillDate(to))
				}
			}
			return false
		})
	}
	return best, best.to > i
}

var dateSlot = regexp.MustCompile(`\{([a-z_]+)([-+]\d+)?\}`)

// fillDate fills the slots of an English form. {clock-30} is 30 minutes before the time of day in
// the slot. The slots number_before and number_after also move that time by minutes.
func (r *run) fillDate(form string) string {
	return dateSlot.ReplaceAllStringFunc(form, func(m string) string {
		sub := dateSlot.FindStringSubmatch(m)
		c, ok := r.captureNamed(sub[1])
		if !ok {
			return ""
		}
		shift, _ := strconv.Atoi(sub[2])
		switch kindOf(sub[1]) {
		case slotClock:
			minutes := int(c.value) + shift
			if n, ok := r.captureNamed("number_before"); ok {
				minutes -= int(n.value)
			}
			if n, ok := r.captureNamed("number_after"); ok {
				minutes += int(n.value)
			}
			minutes = (minutes + 24*60) % (24 * 60)
			form := "%d:%02d"
			if strings.HasPrefix(c.path, "0") {
				form = "%02d:%02d"
			}
			return sprintfClock(form, minutes)
		case slotNumber:
			if sub[1] == "number_day" {
				return ordinalForm(int(c.value))
			}
			return strconv.Itoa(int(c.value))
		}
		return c.path
	})
}

// ordinalForm returns "1st" for 1.
func ordinalForm(n int) string {
	tail := "th"
	if i := n % 10; i >= 1 && i <= 3 && n/10 != 1 {
		tail = []string{"st", "nd", "rd"}[i-1]
	}
	return strconv.Itoa(n) + tail
}

func (r *run) captureNamed(name string) (capture, bool) {
	for _, c := range r.caps {
		if c.name == name {
			return c, true
		}
	}
	return capture{}, false
}

// resolveParts joins the parts of a time and resolves it.
func resolveParts(s *sentence, parts []datePart) (span, bool) {
	readings := []string{""}
	for _, p := range parts {
		var next []string
		for _, head := range readings {
			for _, t := range p.texts {
				next = append(next, strings.TrimSpace(head+" "+t))
			}
		}
		readings = next
	}
	sp := span{owner: s, from: parts[0].from, to: parts[len(parts)-1].to}
	for _, text := range readings {
		m, ok := wholeMatch(s, text)
		if !ok {
			continue
		}
		m.Start, m.End = s.tokens[sp.from].start, s.tokens[sp.to-1].end
		if sp.match.Text == "" {
			sp.match = m
		} else if m.Moment != nil && sp.match.Moment != nil && !m.Moment.Time.Equal(sp.match.Moment.Time) {
			sp.others = append(sp.others, m)
		}
	}
	sp.bareHour = bareHourForm.MatchString(sp.match.Text) && !partForm.MatchString(sp.match.Text)
	return sp, sp.match.Text != ""
}

// bareHourForm matches an hour that can be in the morning or the afternoon, unless partForm matches
// too.
var (
	bareHourForm = regexp.MustCompile(`\b[1-9]:\d\d`)
	partForm     = regexp.MustCompile(`morning|noon|evening|night`)
)

// wholeMatch resolves English text that consists only of a time.
func wholeMatch(s *sentence, text string) (dateparse.Match, bool) {
	for _, m := range dateparse.Find(text, s.now) {
		if m.Start == 0 && m.End == len(text) {
			return m, m.Moment != nil || m.Every != nil || m.Period != nil
		}
	}
	return dateparse.Match{}, false
}

var (
	clockForm = regexp.MustCompile(`^(\d{1,2})[:.](\d{2})$`)
	dateForm  = regexp.MustCompile(`^(\d{1,2})[./-](\d{1,2})(?:[./-](\d{4}|\d{2})|\.)?$`)
	isoForm   = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
)

// clockAt reads a time of day at token i: "9", "9:30", "9.30" or a number word. The value is in
// minutes.
func (s *sentence) clockAt(i int) (capture, bool) {
	t := s.tokens[i]
	if m := clockForm.FindStringSubmatch(t.norm); t.kind == word && m != nil {
		h, _ := strconv.Atoi(m[1])
		minute, _ := strconv.Atoi(m[2])
		return capture{value: float64(60*h + minute), path: m[1]}, h < 24 && minute < 60
	}
	v, ok := s.numberAt(i)
	return capture{value: 60 * v, path: t.norm}, ok && v == float64(int(v)) && v < 24
}

// dateAt reads a date in digits at token i, with the day first, and returns it in English. A date
// without a year has no year in the result.
func (s *sentence) dateAt(i int) (string, bool) {
	t := s.tokens[i]
	if isoForm.MatchString(t.norm) {
		return t.norm, true
	}
	m := dateForm.FindStringSubmatch(t.norm)
	if t.kind != word || m == nil {
		return "", false
	}
	day, _ := strconv.Atoi(m[1])
	month, _ := strconv.Atoi(m[2])
	if day < 1 || day > 31 || month < 1 || month > 12 {
		return "", false
	}
	year := m[3]
	if len(year) == 2 {
		year = "20" + year
	}
	return strings.TrimSpace(strconv.Itoa(day) + " " + monthName(month) + " " + year), true
}

func monthName(month int) string { return time.Month(month).String() }

func sprintfClock(form string, minutes int) string {
	return fmt.Sprintf(form, minutes/60, minutes%60)
}

// rewriteRule changes the text of a record, for example an infinitive with "zu".
type rewriteRule struct {
	from *regexp.Regexp
	to   string
}
