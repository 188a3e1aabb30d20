package offline

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/sorting"
)

// sentence is one request as written, tokenized, with all its times. Peeling and splitting
// shorten tokens; text never changes.
type sentence struct {
	text   string
	tokens []token
	spans  []span
	now    time.Time
	lex    *lexicon
	// requested is whether the sentence began with "could you" or the like, so that it is no question.
	requested bool
	// corrects is whether the sentence began with "actually", which is no token of it.
	corrects bool
}

// span is the position of a time in a sentence: the tokens [from, to).
type span struct {
	owner    *sentence
	from, to int
	match    dateparse.Match
	bareHour bool              // see bareHourForm
	others   []dateparse.Match // other readings of the time, in languages other than English
}

// parseSentence parses text as one request. In a dialogue it parses each text once, because several
// interpretations of a message read the same text. The caller must not change the sentence.
func (g *grammar) parseSentence(text string, now time.Time) *sentence {
	if s := g.parsed[text]; s != nil && s.now == now {
		return s
	}
	s := g.parseText(text, now)
	if g.parsed != nil {
		g.parsed[text] = s
	}
	return s
}

func (g *grammar) parseText(text string, now time.Time) *sentence {
	if g.code == "" {
		text, _ = g.repairTypos(text)
	}
	s := &sentence{text: text, now: now, lex: g.lex}
	s.tokens = splitTokens(text, g.lex)
	g.peelPolite(s)
	if len(g.dates) > 0 {
		g.findForeignTimes(s)
	} else {
		s.findTimes()
	}
	return s
}

// searchableText returns the part of the text that is searched for times.
func (s *sentence) searchableText() string {
	end := len(s.text)
	if n := len(s.tokens); n > 0 && s.tokens[n-1].kind == rest {
		end = s.tokens[n-1].start
	}
	return s.text[:end]
}

func (s *sentence) findTimes() {
	s.spans = nil
	s.addTimes(0, len(s.searchableText()))
	sorting.ByFunc(s.spans, func(a, b span) int { return a.from - b.from })
}

// addTimes adds the times in text[start:end].
func (s *sentence) addTimes(start, end int) {
	for _, m := range dateparse.Find(s.text[start:end], s.now) {
		m.Start, m.End = m.Start+start, m.End+start
		if i := topicInTime.FindStringIndex(s.text[m.Start:m.End]); i != nil { // "on Saturday evening about Christmas"
			s.addTimes(m.Start, m.Start+i[0])
			continue
		}
		from, to, ok := s.coverTokens(m.Start, m.End)
		switch {
		case !ok || s.isOtherWord(to), s.isShiftName(from, to), dayNumbers.MatchString(s.text[m.Start:]):
		case m.Every != nil && strings.HasSuffix(s.tokens[to-1].norm, "'s"): // "friday's party" is one party
		case m.Moment != nil && m.Moment.HasClock && s.nounClockIn(from, to) > 0: // "tomorrow about the 8:15 train"
			s.addTimes(m.Start, max(m.Start, s.tokens[s.nounClockIn(from, to)-1].start))
		case s.endsName(from), s.isPersonMonth(from):
			if from+1 < to {
				s.addTimes(s.tokens[from+1].start, m.End)
			}
		default:
			s.spans = append(s.spans, span{owner: s, from: from, to: to, match: s.inEvening(m)})
		}
	}
}

// topicInTime matches a topic after a time: "about Christmas", unlike "about 5".
var topicInTime = lazyregexp.New(`(?i)\b (?:about|regarding) (?:the )?(?:christmas|xmas|easter|new year|boxing day|halloween|diwali|valentine|mother|father|thanksgiving|\pL+'s)`)

// dayNumbers matches a range of days, which is not "19 minutes to 23": "19 to 23 December".
var dayNumbers = lazyregexp.New(`(?i)^(?:from )?\d\d? (?:to|till|until) \d\d?(?:st|nd|rd|th)? (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)`)

// inEvening moves the hour of an evening event, such as "dinner at 7:30", from the morning to the evening.
func (s *sentence) inEvening(m dateparse.Match) dateparse.Match {
	i := slices.IndexFunc(s.tokens, func(t token) bool { return s.lex.containsWord("evening-events", strings.TrimSuffix(t.norm, "'s")) })
	if i < 0 || i > 0 && !s.lex.containsWord("before-events", s.tokens[i-1].norm) {
		return m
	}
	if m.Moment == nil || !m.Moment.HasClock || m.Moment.Time.Hour() < 5 || m.Moment.Time.Hour() > 9 || saysHalfOfDay(m.Text) {
		return m
	}
	moved := *m.Moment
	moved.Time = moved.Time.Add(12 * time.Hour)
	m.Moment = &moved
	return m
}

// endsName reports whether a token is the last word of an event's name, as in "parents evening on the 10th".
func (s *sentence) endsName(i int) bool {
	if i == 0 || !s.lex.containsWord("named-parts", s.tokens[i].norm) {
		return false
	}
	name := s.tokens[i-1]
	if name.kind == punct && i > 1 && (name.norm == "'" || name.norm == "’") && s.tokens[i-2].end == name.start { // "parents' evening"
		return true
	}
	owner, owned := strings.CutSuffix(name.norm, "'s") // "Tom's evening", but not "tomorrow's evening"
	return s.lex.containsWord("part-names", name.norm) || owned && !s.lex.containsWord("time-words", owner) && !s.lex.containsWord("weekdays", owner)
}

// isShiftName reports whether the tokens [from, to) are a part of the day that only names a shift: "before the night shift".
func (s *sentence) isShiftName(from, to int) bool {
	if to >= len(s.tokens) || !s.lex.containsWord("shift-nouns", s.tokens[to].norm) || !s.lex.containsWord("shift-parts", s.tokens[to-1].norm) {
		return false
	}
	return !slices.ContainsFunc(s.tokens[from:to-1], func(t token) bool {
		return !s.lex.containsWord("prepositions", t.norm) && !s.lex.containsWord("articles", t.norm) && !s.lex.containsWord("owned-starts", t.norm)
	})
}

// isPersonMonth reports whether a token is a name that is also a month: "call Jan on Monday".
func (s *sentence) isPersonMonth(i int) bool {
	return i > 0 && s.lex.containsWord("month-names", s.tokens[i].norm) && s.lex.containsWord("person-heads", s.tokens[i-1].norm) && (i+1 >= len(s.tokens) || !isDigit(s.tokens[i+1].norm[0]))
}

// isOtherWord reports whether the token before index to is a word that means a day only if no noun
// follows it: "sun" in "on sun cream" is not a day.
func (s *sentence) isOtherWord(to int) bool {
	if !s.lex.containsWord("ambiguous-days", s.tokens[to-1].norm) || to >= len(s.tokens) {
		return false
	}
	next := s.tokens[to]
	return next.kind == word && !isDigit(next.norm[0]) && !s.lex.containsWord("prepositions", next.norm) && !s.lex.containsWord("joiners", next.norm)
}

// allTimes lists the times in order.
func (s *sentence) allTimes() []*span {
	var out []*span
	for k := range s.spans {
		out = append(out, &s.spans[k])
	}
	return out
}

// isTied reports whether a time belongs to the words before it, as in "the report of Monday".
func (s *sentence) isTied(sp *span, from int) bool {
	switch s.tokens[sp.from].norm {
	case "about", "of", "since", "to":
		return sp.match.Moment == nil || !sp.match.Moment.HasClock
	}
	return from > 0 && s.lex.containsWord("belonging", s.tokens[from-1].norm)
}

// coverTokens returns the tokens that cover the bytes [start, end). It fails if the range cuts a
// quotation, a path or a word.
func (s *sentence) coverTokens(start, end int) (from, to int, ok bool) {
	from = -1
	for i, t := range s.tokens {
		if t.end <= start || t.start >= end {
			continue
		}
		if t.start < start || t.end > end || t.kind != word && t.kind != punct {
			return 0, 0, false
		}
		if from < 0 {
			from = i
		}
		to = i + 1
	}
	return from, to, from >= 0
}

// skipPunctuation returns the index of the first token at or after i that is not punctuation.
func (s *sentence) skipPunctuation(i int) int {
	for i < len(s.tokens) && s.tokens[i].kind == punct {
		i++
	}
	return i
}

// firstWord returns the normalized form of the first word at or after token i.
func (s *sentence) firstWord(i int) string {
	if i = s.skipPunctuation(i); i < len(s.tokens) && s.tokens[i].kind == word {
		return s.tokens[i].norm
	}
	return ""
}

// normalizedText joins the normalized forms of the tokens [from, to), or returns "" if the range is
// invalid.
func (s *sentence) normalizedText(from, to int) string {
	if from < 0 || to > len(s.tokens) {
		return ""
	}
	var b strings.Builder
	for _, t := range s.tokens[from:to] {
		if t.kind == punct {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.norm)
	}
	return b.String()
}

// originalText returns the original text of the tokens [from, to), without punctuation marks at the
// ends. The quotes of a single quotation are removed.
func (s *sentence) originalText(from, to int) string {
	for from < to && s.tokens[from].kind == punct && !strings.Contains("([{<", s.tokens[from].norm) {
		from++
	}
	for to > from && s.tokens[to-1].kind == punct && !strings.Contains(")]}>", s.tokens[to-1].norm) {
		to--
	}
	if from >= to {
		return ""
	}
	if to-from == 1 && s.tokens[from].inner != "" {
		return s.tokens[from].inner
	}
	start := s.tokens[from].start
	return strings.TrimSpace(s.text[start:s.closeBrackets(start, s.tokens[to-1].end)])
}

// closeBrackets returns the end of text[start:end] with the marks after it that close its brackets, as in
// "check <b>bold</b>". A lone ">" at the end of the sentence is text too.
func (s *sentence) closeBrackets(start, end int) int {
	for end < len(s.text) {
		i := strings.IndexByte(")]}>", s.text[end])
		if part := s.text[start:end]; i < 0 || strings.Count(part, "([{<"[i:i+1]) <= strings.Count(part, ")]}>"[i:i+1]) {
			break
		}
		end++
	}
	if strings.TrimSpace(s.text[end:]) == ">" && !strings.Contains(s.text, "<") {
		return len(s.text)
	}
	return end
}

// leadingTimes returns the times at the start of the sentence and the index of the rest, as in
// "tomorrow at 9, remind me ...".
func (s *sentence) leadingTimes() ([]*span, int) {
	var out []*span
	i := s.skipPunctuation(0)
	for {
		sp := s.spanAt(i)
		if sp == nil {
			return out, i
		}
		out = append(out, sp)
		i = s.skipPunctuation(sp.to)
	}
}

// spanAt returns the time that begins at token i, optionally after prepositions.
func (s *sentence) spanAt(i int) *span {
	for k := range s.spans {
		if sp := &s.spans[k]; s.beginsAt(sp, i) {
			return sp
		}
	}
	return nil
}

func (s *sentence) beginsAt(sp *span, i int) bool {
	if sp.to <= i || sp.to > len(s.tokens) {
		return false
	}
	for j := min(i, sp.from); j < max(i, sp.from); j++ {
		if !s.lex.containsWord("prepositions", s.tokens[j].norm) {
			return false
		}
	}
	return true
}

// startOfTime returns the token at which a time and its prepositions begin.
func (s *sentence) startOfTime(sp *span) int {
	from := sp.from
	if from+1 < sp.to && s.isParticle(from) {
		return from + 1
	}
	for from > 0 && s.lex.containsWord("prepositions", s.tokens[from-1].norm) && !s.isParticle(from-1) {
		from--
	}
	return from
}

// spanEnding returns the time that ends at token end, and the token at which its prepositions, if
// any, begin. It skips times that belong to the words before them ("the report of Monday").
func (s *sentence) spanEnding(end int) (*span, int) {
	for k := range s.spans {
		sp := &s.spans[k]
		if sp.to != end {
			continue
		}
		from := s.startOfTime(sp)
		if s.isTied(sp, from) {
			return nil, 0
		}
		return sp, from
	}
	return nil, 0
}

// liftTimes removes the times from both ends of the tokens [from, to) and returns the remaining
// range. A time in the middle stays part of the text.
func (s *sentence) liftTimes(from, to int) (int, int, []*span) {
	var times, tail []*span
	for {
		from = s.skipPunctuation(from)
		sp := s.spanAt(from)
		if sp == nil || sp.to > to || s.isNounClock(sp, from, to) {
			break
		}
		times = append(times, sp)
		from = sp.to
	}
	for to > from {
		if s.tokens[to-1].kind == punct {
			to--
			continue
		}
		sp, start := s.spanEnding(to)
		if sp == nil || start < from {
			break
		}
		tail = append([]*span{sp}, tail...)
		to = start
	}
	return from, to, append(times, tail...)
}

// nounClockIn returns the index of the time of day at the end of the tokens [from, to) if it belongs to the noun after
// it, as in "the 8:15 train", or 0.
func (s *sentence) nounClockIn(from, to int) int {
	i := to - 1
	if i > from && (s.tokens[i].norm == "am" || s.tokens[i].norm == "pm") {
		i--
	}
	if i < 1 || i < from || to >= len(s.tokens) || !nounClock.MatchString(s.tokens[i].norm) || s.tokens[i-1].norm != "the" && !s.lex.containsWord("owned-starts", s.tokens[i-1].norm) {
		return 0
	}
	next := s.tokens[to]
	if next.kind != word || next.norm == "to" || isDigit(next.norm[0]) || s.lex.containsWord("prepositions", next.norm) || s.lex.containsWord("joiners", next.norm) {
		return 0
	}
	return i
}

// nounClock matches a time of day in digits that is no number or day.
var nounClock = lazyregexp.New(`^\d{1,2}([:.]\d\d)?(am|pm)?$`)

// isNounClock reports whether the tokens [from, to) begin with a time of day that belongs to a noun: "the 8:15 train".
func (s *sentence) isNounClock(sp *span, from, to int) bool {
	if sp.to >= to || s.tokens[from].norm != "the" && !s.lex.containsWord("owned-starts", s.tokens[from].norm) || sp.match.Moment == nil || !sp.match.Moment.HasClock {
		return false
	}
	next := s.tokens[sp.to]
	return next.kind == word && next.norm != "to" && !s.lex.containsWord("prepositions", next.norm) && !s.lex.containsWord("joiners", next.norm)
}

// timesInside returns the times within the tokens [from, to).
func (s *sentence) timesInside(from, to int) []*span {
	var out []*span
	for k := range s.spans {
		if sp := &s.spans[k]; sp.from >= from && sp.to <= to {
			out = append(out, sp)
		}
	}
	return out
}
