package offline

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/person"
)

// travelClock matches a time of day in digits that may be in the morning or in the evening.
var travelClock = lazyregexp.New(`(?i)\b(?:at|@) (1[01]|[1-9])([:.][0-5]\d)?(?:$|[ ,;.!?])`)

// spacedMinutes matches minutes after the hour.
var spacedMinutes = lazyregexp.New(`^ [0-5]\d\b`)

// askHalf asks for the half of the day if a message plans a journey on another day at a bare hour: "my flight is on 19
// December at 6:40".
func (g *grammar) askHalf(p plan, text string, now time.Time) plan {
	m := travelClock.FindStringSubmatchIndex(text)
	if m == nil || p.answered || p.lang != nil || p.question != nil && p.question.complete != nil && p.question.offer == nil || !p.plansReminder() {
		return p
	}
	s := g.parseSentence(text, now)
	travels := slices.ContainsFunc(s.tokens, func(t token) bool { return g.lex.containsWord("timetables", t.norm) })
	later := slices.ContainsFunc(s.allTimes(), func(sp *span) bool {
		return sp.match.Moment != nil && !sameDay(sp.match.Moment.Time, now) && !isBareClock(sp.match.Text, now)
	})
	if !travels || !later || slices.ContainsFunc(s.allTimes(), func(sp *span) bool { return saysHalfOfDay(sp.match.Text) }) {
		return p
	}
	end := m[3]
	if m[5] > 0 {
		end = m[5]
	}
	if spacedMinutes.MatchString(text[end:]) { // "at 6 57"
		return p
	}
	clock := text[m[2]:end]
	hour, err := strconv.Atoi(text[m[2]:m[3]])
	if err != nil {
		return p
	}
	asked, _ := planQuestion("Is "+clock+" in the morning or in the evening?", func(answer string) (string, bool) {
		answer = strings.ToLower(answer)
		morning := halfMorning.MatchString(answer) || strings.Contains(answer, "0"+strconv.Itoa(hour)+":")
		evening := halfEvening.MatchString(answer) || strings.Contains(answer, strconv.Itoa(hour+12)+":")
		half := "am"
		if evening {
			half = "pm"
		}
		return text[:end] + half + text[end:], morning != evening && len(strings.Fields(answer)) < 7
	})
	asked.intent = p.intent
	return asked
}

var (
	// halfMorning and halfEvening match the answer to the question for the half of the day.
	halfMorning = lazyregexp.New(`\bmorning\b|\d? ?\ba\.?m\b|\dam\b`)
	halfEvening = lazyregexp.New(`\b(?:evening|afternoon|night)\b|\bp\.?m\b|\dpm\b`)
)

// plansReminder reports whether a plan creates or offers a reminder.
func (p plan) plansReminder() bool {
	creates := func(c call) bool { return c.name == "create_reminder" }
	q := p.question
	return slices.ContainsFunc(p.calls, creates) || q != nil && (q.offer != nil || strings.HasPrefix(q.text, "Should I remind you") || q.agree != nil && slices.ContainsFunc(q.agree.calls, creates))
}

// conditional matches a request for a reminder on a condition: "remind me if it rains tomorrow to take my jacket".
var conditional = lazyregexp.New(`(?i)\bremind (?:me|us) (?:only |just )?(?:if|unless|whenever|as soon as) |\bremind (?:me|us) .*\b(?:if|unless|when|whenever|as soon as|in case) (?:it|it's|its|the weather|there is|there's) (?:is |will be |going to |starts? (?:to )?)?(?:rain|snow|freez|sunny|cold|hot|windy|ic[ey]|frost|storm)`)

// declineCondition says that conditions are not possible, instead of asking only for a time.
func (g *grammar) declineCondition(p plan, text string) plan {
	if p.answered || p.lang != nil || p.outcome != ask || p.question == nil || p.question.complete == nil || p.question.offer != nil || p.say != "" || p.intent == nil || !p.intent.isReminder() || !conditional.MatchString(text) {
		return p
	}
	p.say = "I cannot notice when that happens, so I can remind you only at a time."
	return p
}

// undoQuestion matches the question whether to undo the last action.
var undoQuestion = lazyregexp.New(`The last thing I did was to (?:set|add|record|write|remember|change) (the [^“]*“[^”]+”).* Should I undo that\?$`)

// tellKept says that a record stays if a message does not answer the question whether to undo it.
func (g *grammar) tellKept(p plan) plan {
	x, _ := g.talk.exchangeAgo(0)
	m := undoQuestion.FindStringSubmatch(x.reply)
	if m == nil || p.answered || p.outcome != chat || p.say == "" || p.lang != nil || p.intent != nil && p.intent.name == "nevermind" {
		return p
	}
	p.say += " I did not undo anything: " + m[1] + " stays."
	return p
}

// briefDay plans the briefing for a day, with what the user said about that day.
func (w *intentDraft) briefDay(day time.Time) (plan, bool) {
	date := day.Format(time.DateOnly)
	if sameDay(day, w.s.now) {
		date = ""
	}
	p, ok := planCall("daily_briefing", argsOf("date", date))
	from := startOfDay(day)
	if told := w.toldAbout(dateparse.Period{From: from, To: from.AddDate(0, 0, 1)}); told != "" {
		p.format = func(text string) string { return strings.TrimSpace(text) + told }
	}
	return p, ok
}

// toldAbout returns what the user said in this conversation about the days of a range, as Hob noted it.
func (w *intentDraft) toldAbout(p dateparse.Period) string {
	var lines []string
	for n := 0; ; n++ {
		x, ok := w.g.talk.exchangeAgo(n)
		if !ok {
			break
		}
		said := x.at.In(w.s.now.Location())
		if x.at.IsZero() {
			said = w.s.now
		}
		for _, a := range x.acts {
			text := a.stringArg("text")
			if a.failed || a.tool != "remember" && a.tool != "create_note" && a.tool != "append_note" || slices.Contains(lines, person.ToSecond(text)) {
				continue
			}
			if slices.ContainsFunc(w.g.parseSentence(text, said).allTimes(), func(sp *span) bool { return isWithin(sp.match, p) }) {
				lines = append(lines, person.ToSecond(text))
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Reverse(lines)
	return "\n\nYou told me about that time, but it is no record of a plan:\n- " + strings.Join(lines, "\n- ")
}

// isWithin reports whether a time is on one of the days of a range.
func isWithin(m dateparse.Match, p dateparse.Period) bool {
	var at time.Time
	switch {
	case m.Moment != nil && m.Moment.Grain <= dateparse.Day:
		at = m.Moment.Time
	case m.Period != nil && m.Period.To.Sub(m.Period.From) <= 25*time.Hour:
		at = m.Period.From
	default:
		return false
	}
	return !at.Before(startOfDay(p.From)) && at.Before(p.To)
}
