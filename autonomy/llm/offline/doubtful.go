package offline

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
)

// shareAtEnd matches a sum that adds or subtracts a fraction in words: "270.6 plus a quarter".
var shareAtEnd = lazyregexp.New(`^(.*\S) (plus|minus|less|and add|\+|-) ((?:an?|one|two|three) \pL+|half)$`)

// askShare asks whether "270.6 plus a quarter" means a quarter of 270.6, or 0.25.
func (g *grammar) askShare(text string) (plan, bool) {
	m := shareAtEnd.FindStringSubmatch(strings.TrimRight(strings.ToLower(strings.TrimSpace(text)), "?!.= "))
	if m == nil || g.fractionOf(m[3][strings.LastIndex(m[3], " ")+1:]) == "" {
		return noPlan()
	}
	value := func(s string) (float64, bool) {
		p := sumParser{words: splitSum(g.spellFigures(s))}
		v, ok := p.parseSum()
		return v, ok && p.at == len(p.words)
	}
	whole, ok := value(m[1])
	if _, sum := g.sumOf(m[1]); !ok {
		whole, ok = sum.evaluateSum()
	}
	part, known := value(m[3])
	if !ok || !known {
		return noPlan()
	}
	sign, sum := 1.0, " + "
	if m[2] == "minus" || m[2] == "less" || m[2] == "-" {
		sign, sum = -1, " - "
	}
	share := formatFigure(whole, 6) + sum + formatFigure(whole*part, 6) + " = " + formatFigure(whole+sign*whole*part, 6)
	fixed := formatFigure(whole, 6) + sum + formatFigure(part, 6) + " = " + formatFigure(whole+sign*part, 6)
	return twoSums(m[3]+" of it: "+share, share, "the number "+formatFigure(part, 6)+": "+fixed, fixed), true
}

// twoSums returns a plan that shows the results of both readings of a sum, and asks which one is meant.
func twoSums(first, firstSum, second, secondSum string) plan {
	p := planChoice([]option{{first, plan{outcome: chat, say: firstSum}}, {second, plan{outcome: chat, say: secondSum}}})
	p.question.text = strings.Replace(p.question.text, "Several match:", "That can mean:", 1)
	return p
}

// earlierDays matches words for days that an earlier message named.
var earlierDays = lazyregexp.New(`(?i)\b((?:those|these two|these three|both|the same) (?:days|dates|weeks|weekends|nights|evenings|mornings|afternoons|times)|(?:that|the same) (?:day|date|week|weekend|night|evening|morning|afternoon|month))\b|\b(?:by|until|till|since|before|from|around|for) (then)[ .!]*$`)

// askEarlierDays asks for the day if a text to store refers to one that only the conversation names: "note that I am away
// for those days".
func (d *planReview) askEarlierDays() (plan, bool) {
	for _, c := range d.allCalls() {
		for _, name := range []string{"text", "title"} {
			text := stringOf(c.args[name])
			m := earlierDays.FindStringSubmatch(text)
			if m == nil || !strings.HasPrefix(c.name, "create_") && c.name != "remember" && c.name != "append_note" || len(d.g.parseSentence(text, d.s.now).allTimes()) > 0 {
				continue
			}
			said := m[1] + m[2]
			p, _ := planQuestion("Which day or days do you mean by "+quoteText(said)+"? The text alone would not say it later, so I stored nothing yet.", func(answer string) (string, bool) {
				s := d.g.parseSentence(answer, d.s.now)
				return strings.Replace(d.s.text, said, strings.Trim(answer, " .!"), 1), len(s.allTimes()) > 0 && len(s.tokens) < 9
			})
			p.intent, p.answered = d.p.intent, d.p.answered
			return p, true
		}
	}
	return noPlan()
}

var (
	// eveningActs and morningActs match what people do in the evening and in the morning.
	eveningActs = lazyregexp.New(`(?i)\b(?:to|in|into) bed\b|\bbed ?time\b|\b(?:to|fall) sleep\b|^(?:have |eat |cook |make |serve |start |go (?:out )?(?:for|to) )?(?:my |our |the )?(?:dinner|supper)\b`)
	morningActs = lazyregexp.New(`(?i)^wake\b|\bout of bed\b|^(?:have |eat |cook |make |serve |start |go (?:out )?(?:for|to) )?(?:my |our |the )?breakfast\b`)
)

// fitHalf moves a reminder at a bare hour to the half of the day of its activity: "go to bed at 11", said in the morning,
// means 23:00.
func (w *intentDraft) fitHalf(args map[string]any, t timing) {
	phrase := strings.ToLower(t.phrase)
	text := stringOf(args["text"])
	evening, morning := eveningActs.MatchString(text), morningActs.MatchString(text)
	if evening == morning || saysHalfOfDay(phrase) || strings.HasPrefix(phrase, "in ") || !strings.ContainsAny(phrase, "0123456789") {
		return
	}
	hour := t.at.Hour()
	cron := strings.Fields(t.every)
	if t.every != "" {
		var err error
		if hour, err = strconv.Atoi(strings.Join(cron[min(1, len(cron)):min(2, len(cron))], "")); err != nil || len(cron) != 5 {
			return
		}
	}
	by := 0
	switch {
	case evening && hour > 4 && hour <= 12:
		by = 12
	case morning && hour > 12:
		by = -12
	}
	switch {
	case by == 0:
	case t.every != "" && hour+by < 24:
		cron[1] = strconv.Itoa(hour + by)
		args["every"] = strings.Join(cron, " ")
	case t.every == "":
		at := t.at.Add(time.Duration(by) * time.Hour)
		if !at.After(w.s.now) {
			at = at.AddDate(0, 0, 1)
		}
		args["at"] = at.Format(time.RFC3339)
	}
}

// notePassed tells that today's reminder of a recurrence without a time of day is over, because the usual time has passed:
// "on the last day of every month", said on that day.
func (w *intentDraft) notePassed(t timing) string {
	f := strings.Fields(t.every)
	if len(f) != 5 || f[0] != "0" || f[1] != "9" || w.s.now.Hour() < 9 || saysHalfOfDay(t.phrase) || slices.ContainsFunc(w.s.tokens, func(t token) bool { return t.norm == "9" || t.norm == "nine" }) {
		return ""
	}
	dated := f[2] == strconv.Itoa(w.s.now.Day()) || f[2] == "L" && w.s.now.AddDate(0, 0, 1).Day() == 1
	weekly := f[2] == "*" && f[4] != "*" && len(weekdaysOf(f[4])) < 4 && slices.Contains(weekdaysOf(f[4]), int(w.s.now.Weekday()))
	if !dated && !weekly || f[3] != "*" && f[3] != strconv.Itoa(int(w.s.now.Month())) {
		return ""
	}
	return "Today's reminder is left out, because 09:00 has passed."
}

// namesLead reports whether the times of a reminder begin with a length of time before or after something: "two days
// before, at ten".
func (w *intentDraft) namesLead() bool {
	return slices.ContainsFunc(w.s.allTimes(), func(sp *span) bool {
		if leadInTime.MatchString(sp.originalPhrase()) {
			return true
		}
		next := sp.to + 1
		return sp.to < len(w.s.tokens) && leadWords.MatchString(w.s.tokens[sp.to].norm) && (next == len(w.s.tokens) || w.s.tokens[next].kind == punct || w.s.spanAt(next) != nil) && lengthOfTime.MatchString(sp.originalPhrase())
	})
}

var (
	leadInTime   = lazyregexp.New(`(?i)\b(?:minutes?|mins?|hours?|hrs?|days?|weeks?|months?|evening|night|morning) (?:before|beforehand|after|afterwards|ahead|in advance)(?:$|,| at\b)`)
	leadWords    = lazyregexp.New(`^(?:before|beforehand|after|afterwards|ahead)$`)
	lengthOfTime = lazyregexp.New(`(?i)\b(?:minutes?|mins?|hours?|hrs?|days?|weeks?|months?)$`)
)

// totalWords are words of a question about spending that name no category.
var totalWords = lazyregexp.New(`(?i)^(?:altogether|all together|in total|in all|total|overall|all in all|so far|already|now|on everything|on anything)\b[ ,]*|[ ,]*\b(?:altogether|all together|in total|in all|total|overall|all in all|so far|already|now)$`)

// offeredName matches a message that drops the open offer by its name: "actually cancel the dinner".
var offeredName = lazyregexp.New(`(?i)^(?:(?:actually|no|oh|ok|okay|sorry|wait|please|and|then)[ ,]+)*(?:cancel|delete|remove|drop|scrap|scratch|skip|forget|forget about) (?:the |my |that |this )?(.+?)(?: one| reminder| appointment)?(?:[ ,]+(?:please|pls|then|after all|thanks|again))*[ .!]*$`)

// dropsOffer reports whether a message drops an offered reminder by its name.
func (o *offer) dropsOffer(text string) bool {
	m := offeredName.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	name := strings.Fields(strings.ToLower(o.text))
	words := strings.Fields(strings.ToLower(m[1]))
	return len(words) > 0 && !slices.ContainsFunc(words, func(f string) bool { return !slices.Contains(name, f) })
}

// onlyOne matches a text that names a record of the conversation: "the lumen one".
var onlyOne = lazyregexp.New(`(?i)^(?:the|that|this|my|another) .*\bones?$`)

// shortDay matches the short name of a day of the week at the end of a message in a conversation: "move it to fri".
var shortDay = lazyregexp.New(`(?i)^((?:.* )?(?:to|it|no|nope|and|or|the|that|actually|next|this|sorry|wait|make it|not|but|also|for))[ ,]+(mon|tue|tues|wed|weds|thu|thur|thurs|fri|sat|sun)([ .!]*)$`)

// spellDay replaces the short name of a day at the end of a message by its full name.
func spellDay(text string) string {
	m := shortDay.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	full := map[string]string{"mo": "Monday", "tu": "Tuesday", "we": "Wednesday", "th": "Thursday", "fr": "Friday", "sa": "Saturday", "su": "Sunday"}
	return m[1] + " " + full[strings.ToLower(m[2][:2])] + m[3]
}
