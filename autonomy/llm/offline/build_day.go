package offline

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/platform/text/lazyregexp"
)

func dayBuilders() map[string]builder {
	return map[string]builder{
		"brief":  briefToday,
		"status": func(w *intentDraft) (plan, bool) { return planCall("status", nil) },
		"undo":   undoLast,
		"time":   tellTime,
		"date":   tellDate,
	}
}

func briefToday(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	if w.hasSlot("tomorrow") {
		return w.briefDay(w.s.now.AddDate(0, 0, 1))
	}
	t, err := w.joinTimes(w.allSpans())
	switch {
	case err != nil, t.every != "":
		return noPlan() // this is a request for a schedule
	case t.none:
		return w.briefDay(w.s.now)
	case t.vague, t.clock, severalDays(w.allSpans()[0].match.Period):
		return showAgenda(w)
	}
	return w.briefDay(t.at)
}

func undoLast(w *intentDraft) (plan, bool) {
	if id := w.slotString("word_id"); id != "" {
		return planCall("undo", argsOf("id", id))
	}
	if kind := w.slotNorm("kind"); kind != "" { // the newest action of this conversation with such a record
		return planCall("undo", argsOf("id", kind))
	}
	if w.hasKeyword("everything") || w.hasKeyword("all") {
		return planQuestion("How many of the last actions should I undo? For example, say “undo the last 3”.", fillBetween("undo the last", ""))
	}
	n, ok := w.numberOf("number")
	if w.hasKeyword("two") || w.hasKeyword("three") {
		n, ok = map[bool]float64{true: 2, false: 3}[w.hasKeyword("two")], true
	}
	if !ok || n == 1 {
		return w.undoNewest()
	}
	if n != float64(int(n)) || n < 1 || n > 100 {
		return noPlan()
	}
	return planCall("undo", map[string]any{"last": int(n)})
}

// undoNewest undoes the last action. If a later turn took none, it asks first, because "undo that" may mean that turn. A
// bare "undo" after answered questions needs no confirmation.
func (w *intentDraft) undoNewest() (plan, bool) {
	doubtful := w.hasKeyword("that") || w.hasKeyword("it") || w.hasKeyword("this")
	for n := range remembered {
		x, ok := w.g.talk.exchangeAgo(n)
		if !ok {
			break
		}
		if len(x.acts) == 0 && strings.HasPrefix(strings.ToLower(x.own), "undo") && !strings.HasSuffix(x.reply, "?") { // the command of the engine
			if n == 0 || !doubtful {
				return planCall("undo", nil)
			}
			return planConfirmation("The last thing I did was to undo. Should I undo the action before it?", plan{outcome: act, calls: []call{{"undo", nil}}}), true
		}
		for _, last := range slices.Backward(x.acts) {
			switch {
			case last.failed && strings.HasPrefix(last.text, llm.WaitingResult): // the action follows after the approval
				return planCall("undo", nil)
			case last.failed:
				doubtful = true
			case last.lookup, w.g.lex.containsWord("reading-tools", last.tool), slices.Contains(removedKinds, last.tool) && !last.changesRecords():
			case n == 0 || !doubtful:
				return planCall("undo", nil)
			default:
				return confirmUndo([]pastCall{last}), true
			}
		}
		doubtful = doubtful || len(x.acts) == 0 || strings.Contains(x.reply, "so I changed nothing")
	}
	return planCall("undo", nil)
}

// confirmUndo asks whether to undo actions of the same message.
func confirmUndo(acts []pastCall) plan {
	var did []string
	p := plan{outcome: act}
	for _, last := range acts {
		did = append(did, last.describeAction())
		p.calls = append(p.calls, last.undoCall())
	}
	return planConfirmation("The last thing I did was to "+strings.Join(did, " and to ")+". Should I undo that?", p)
}

// actionVerbs maps the tools that create, change or remove a record to a verb.
var actionVerbs = map[string]string{
	"create_task": "add", "update_task": "change", "complete_task": "complete", "create_reminder": "set", "update_reminder": "change",
	"log_expense": "record", "remember": "remember", "create_note": "write", "log_habit": "record",
	"cancel_reminder": "cancel", "delete_task": "delete", "delete_note": "delete",
}

// describeAction describes what a call did as an infinitive: set the reminder "call the dentist".
func (p *pastCall) describeAction() string {
	kind := createdKinds[p.tool]
	name := p.stringArg(kind[1])
	if kind[0] == "" {
		kind[0] = p.tool[strings.LastIndexByte(p.tool, '_')+1:]
		name = p.stringArg(kind[0])
	}
	if verb := actionVerbs[p.tool]; verb != "" && name != "" && strings.Contains(strings.ToLower(p.text), strings.ToLower(name)) { // the name may be an id
		return verb + " the " + kind[0] + " " + quoteText(oneLine(name, 100))
	}
	first, _, _ := strings.Cut(oneLine(p.text, 120), ". ")
	return "report “" + strings.TrimRight(first, ".") + "”"
}

func tellTime(w *intentDraft) (plan, bool) {
	if x, _ := w.g.talk.exchangeAgo(0); len(w.s.tokens) == 2 && w.s.firstWord(0) == "what" && slices.ContainsFunc(x.acts, pastCall.changesRecords) { // "what time", about the new record
		return noPlan()
	}
	return planReply("It is " + w.s.now.Format("15:04") + " on " + dayInWords(w.s.now) + ".")
}

func tellDate(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	spans := w.allSpans()
	if len(spans) == 0 {
		today := "Today is " + dayInWords(w.s.now) + "."
		x, ok := w.g.talk.exchangeAgo(0)
		if m := answeredDay.FindStringSubmatch(x.reply); ok && m != nil && len(x.acts) == 0 && !strings.Contains(today, m[2]) && !w.hasKeyword("today") { // "how long till 28 march", "what day of the week is it?"
			today = m[2] + " is a " + m[1] + ". " + today
		}
		return planReply(today)
	}
	t, err := w.joinTimes(spans)
	if err != nil || t.every != "" || t.vague || t.clock {
		return noPlan()
	}
	said := strings.ToLower(t.phrase)
	if w.hasKeyword("was") && t.at.After(w.s.now) && !strings.Contains(said, strconv.Itoa(t.at.Year())) && !strings.Contains(said, "next") { // the last 5 November
		t.at = t.at.AddDate(-1, 0, 0)
	}
	day := dayInWords(t.at)
	if w.hasSlot("time_span") && !spanOfDays.MatchString(t.phrase) { // "what is Diwali"
		return noPlan()
	}
	if want := w.slotNorm("weekday"); want != "" {
		is := "No, "
		if strings.EqualFold(t.at.Weekday().String(), want) {
			is = "Yes, "
		}
		return planReply(is + t.phrase + " is a " + t.at.Weekday().String() + " (" + t.at.Format("2 January 2006") + ").")
	}
	return planReply(strings.ToUpper(t.phrase[:1]) + t.phrase[1:] + " is " + day + ".")
}

// answeredDay matches the end of an answer that names a day.
var answeredDay = lazyregexp.New(`([A-Z][a-z]+day), (\d{1,2} [A-Z][a-z]+ \d{4})\.$`)

// spanOfDays matches a day that is counted from another one.
var spanOfDays = lazyregexp.New(`(?i)(?:day|week|month|year)s? (?:from|after|before|ago|later|hence)`)

func dayInWords(t time.Time) string { return t.Format("Monday, 2 January 2006") }
