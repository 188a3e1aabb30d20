package offline

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

// exchangesBack is the maximum number of messages such as "and 25?" after a sum.
const exchangesBack = 4

var (
	figureAtEnd    = regexp.MustCompile(`(?:= | is )(-?[0-9.]*[0-9])[a-z ]*\.?$`)
	measureInReply = regexp.MustCompile(`^(-?[0-9.]*[0-9] [^=]*[a-zA-Z][^=]*) = [0-9.]+ [a-zA-Z°²]`)
	figureInSum    = regexp.MustCompile(`[0-9][0-9.,]*[0-9]|[0-9]`)
	daysInReply    = regexp.MustCompile(`^(?:([0-9]+) weeks and )?([0-9]+) days? ((?:until|from|since) .+)$`)
)

// resultAgo returns the result of the sum n exchanges ago.
func (w *intentDraft) resultAgo(n int) (string, bool) {
	x, ok := w.g.talk.exchangeAgo(n)
	m := figureAtEnd.FindStringSubmatch(x.reply)
	if !ok || m == nil || len(x.acts) > 0 {
		return "", false
	}
	return m[1], true
}

// followSum calculates with the last result: "divide that by 3".
func followSum(w *intentDraft) (plan, bool) {
	last, ok := w.resultAgo(0)
	step := w.meaningIn("sum-steps", "step")
	if !ok || !w.noLead() {
		return noPlan()
	}
	text := last + step
	if w.hasSlot("rest") { // "what's left?" after "20% of 6250 = 1250"
		x, _ := w.g.talk.exchangeAgo(0)
		m := shareInReply.FindStringSubmatch(x.reply)
		if m == nil {
			return noPlan()
		}
		return w.answerSum(strings.ReplaceAll(m[1], ",", "") + " - " + last)
	}
	switch figure := strings.ToLower(w.slotString("few_figure")); {
	case w.hasSlot("both"):
		before, found := w.resultAgo(1)
		if !found {
			return noPlan()
		}
		text = before + " " + step + " " + last
	case w.hasSlot("share"): // "20% of that"
		text = figure + " " + w.slotNorm("share") + " " + last
		x, _ := w.g.talk.exchangeAgo(0)
		if m := shareInReply.FindStringSubmatch(x.reply); m != nil { // "and 20% of it?" after "15% of 84 = 12.6"
			amount := strings.ReplaceAll(strings.Trim(m[1], ",."), ",", "")
			whole, ok := w.answerSum(figure + " " + w.slotNorm("share") + " " + amount)
			result, ok2 := w.answerSum(text)
			return twoSums("of the amount: "+whole.say, whole.say, "of the result: "+result.say, result.say), ok && ok2
		}
	case figure != "":
		if p, ok := w.g.askShare(last + " " + step + " " + figure); ok {
			return p, true
		}
		text = last + " " + step + " " + figure
	}
	return w.answerSum(text)
}

// shareInReply matches a sum that takes a share of an amount.
var shareInReply = regexp.MustCompile(`(?:%|percent) of [€$£]?([0-9][0-9.,]*) = `)

// noteOfFact matches when the user told a fact.
var noteOfFact = regexp.MustCompile(`\(you told me [^)]*\)`)

// countDaysTo handles "how many days away is that?" and "what day is that?": it counts the days to the only day that the
// last reply names.
func countDaysTo(w *intentDraft) (plan, bool) {
	x, ok := w.g.talk.exchangeAgo(0)
	if !ok || !w.noLead() || strings.HasPrefix(x.reply, "I ") && !strings.HasPrefix(x.reply, "I will remind you") {
		return noPlan() // the day in an example is not meant
	}
	var day time.Time
	for _, m := range dateparse.Find(noteOfFact.ReplaceAllString(x.reply, ""), w.s.now) {
		switch {
		case m.Moment == nil || m.Moment.Grain > dateparse.Day:
			return noPlan()
		case isBareClock(m.Text, w.s.now):
		case day.IsZero() || sameDay(day, m.Moment.Time):
			day = m.Moment.Time
		default: // several days
			return noPlan()
		}
	}
	day = startOfDay(day)
	days := int(day.Sub(startOfDay(w.s.now)).Hours()+12) / 24
	switch {
	case day.Year() < 2, days < 0 != w.hasKeyword("was"):
		return noPlan()
	case w.hasSlot("day"):
		return planReply(dayInWords(day) + ".")
	case days < 0:
		return noPlan()
	}
	return planReply(countOf(days, "day") + " until " + dayInWords(day) + ".")
}

// answerSum evaluates a sum of several figures.
func (w *intentDraft) answerSum(text string) (plan, bool) {
	p := sumParser{words: splitSum(w.g.spellFigures(text))}
	v, ok := p.parseSum()
	if !ok || p.at != len(p.words) || p.operators == 0 || math.IsNaN(v) || math.Abs(v) >= maxExact {
		return noPlan()
	}
	return planReply(strings.Join(p.words, " ") + " = " + formatFigure(v, 6))
}

// lastSum returns the last message that asked for a figure. Only messages that continue it may follow.
func (w *intentDraft) lastSum() (own string, alone *grammar, ok bool) {
	alone = w.g.inDialogue(nil)
	for n := range exchangesBack {
		x, found := w.g.talk.exchangeAgo(n)
		if !found {
			break
		}
		if figureInSum.MatchString(w.g.spellFigures(strings.ToLower(x.own))) {
			if p := alone.planRequests(x.own, w.s.now, 0); p.intent != nil && strings.HasPrefix(p.intent.name, "figure.") {
				return x.own, alone, true
			}
		}
		if before := (&intentDraft{interpretation: interpretation{s: &sentence{text: x.own}}, g: w.g}); !before.beginsWithAnd() {
			break
		}
	}
	return "", alone, false
}

// followFigure repeats the last sum with another figure: "what is 20% of 350", "and 25?".
func followFigure(w *intentDraft) (plan, bool) {
	given := figureInSum.FindString(w.g.spellFigures(strings.ToLower(w.slotString("few_figure"))))
	if _, isFigure := w.figureIn("few_figure"); !isFigure || !w.beginsWithAnd() || given == "" {
		return noPlan()
	}
	own, alone, ok := w.lastSum()
	all := figureInSum.FindAllStringIndex(own, -1)
	if !ok || len(all) == 0 {
		return noPlan()
	}
	at := all[len(all)-1]
	rate := w.g.lex.containsPhrase("percents", strings.ReplaceAll(strings.ToLower(own), "%", " percent "))
	if rate && !w.hasKeyword("of") { // the figure replaces the percentage, not the amount
		at = all[0]
	}
	p := alone.planRequests(own[:at[0]]+given+own[at[1]:], w.s.now, 0)
	return p, p.outcome == chat && p.intent != nil
}

// countDays answers "and in weeks?" after a number of days. m is a match of daysInReply.
func countDays(m []string, unit string) (plan, bool) {
	weeks, _ := strconv.Atoi("0" + m[1])
	days, err := strconv.Atoi(m[2])
	days += 7 * weeks
	if err != nil {
		return noPlan()
	}
	switch unit {
	case "weeks":
		return planReply(strconv.Itoa(days/7) + " weeks and " + strconv.Itoa(days%7) + " days " + m[3])
	case "days":
		return planReply(strconv.Itoa(days) + " days " + m[3])
	case "hours":
		return planReply(strconv.Itoa(24*days) + " hours " + m[3])
	}
	return noPlan() // months have different lengths
}

// followUnit converts the last amount to another unit or currency: "and in stone?".
func followUnit(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	own, alone, ok := w.lastSum()
	if !ok {
		return noPlan()
	}
	x, _ := w.g.talk.exchangeAgo(0)
	if m := daysInReply.FindStringSubmatch(x.reply); m != nil && len(x.acts) == 0 {
		return countDays(m, w.slotNorm("few_unit"))
	}
	if m := measureInReply.FindStringSubmatch(x.reply); m != nil && len(x.acts) == 0 {
		p := alone.planRequests("convert "+m[1]+" to "+w.slotString("few_unit"), w.s.now, 0)
		return p, p.outcome == chat && p.intent != nil && p.intent.name == "figure.units"
	}
	for _, r := range alone.allReadings(alone.parseSentence(own, w.s.now), false) {
		before := intentDraft{interpretation: r, g: alone}
		was, ok := w.g.build[r.intent.name](&before)
		switch to, known := w.currencyOf("few_unit"); {
		case !ok:
		case known && r.intent.name == "figure.currency" && len(was.calls) == 1:
			args := was.calls[0].args
			return planCall("convert_currency", map[string]any{"amount": args["amount"], "from": args["from"], "to": to})
		case r.intent.name == "figure.units":
			p := alone.planRequests("convert "+before.slotString("from")+" to "+w.slotString("few_unit"), w.s.now, 0)
			return p, p.outcome == chat && p.intent == r.intent
		}
		if ok {
			break
		}
	}
	return noPlan()
}
