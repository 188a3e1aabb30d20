package offline

import (
	"slices"
	"strings"
	"time"
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
		return planCall("daily_briefing", argsOf("date", w.s.now.AddDate(0, 0, 1).Format(time.DateOnly)))
	}
	t, err := w.joinTimes(w.allSpans())
	switch {
	case err != nil, t.every != "":
		return noPlan() // this is a request for a schedule
	case t.none:
		return planCall("daily_briefing", nil)
	case t.vague, t.clock, severalDays(w.allSpans()[0].match.Period):
		return showAgenda(w)
	}
	day := t.at.Format(time.DateOnly)
	if day == w.s.now.Format(time.DateOnly) {
		day = ""
	}
	return planCall("daily_briefing", argsOf("date", day))
}

func undoLast(w *intentDraft) (plan, bool) {
	if id := w.slotString("word_id"); id != "" {
		return planCall("undo", argsOf("id", id))
	}
	if w.hasKeyword("everything") || w.hasKeyword("all") {
		return planQuestion("How many of the last actions should I undo? For example, say “undo the last 3”.", fillBetween("undo the last", ""))
	}
	n, ok := w.numberOf("number")
	if w.hasKeyword("two") || w.hasKeyword("three") {
		n, ok = map[bool]float64{true: 2, false: 3}[w.hasKeyword("two")], true
	}
	if !ok || n == 1 {
		return w.undoAfterUnknown()
	}
	if n != float64(int(n)) || n < 1 || n > 100 {
		return noPlan()
	}
	return planCall("undo", map[string]any{"last": int(n)})
}

// undoAfterUnknown undoes the last action. It asks first if Hob has not understood a later message, because
// "that" may mean that message.
func (w *intentDraft) undoAfterUnknown() (plan, bool) {
	missed := false
	for n := range recent {
		x, ok := w.g.talk.exchangeAgo(n)
		if !ok {
			break
		}
		for _, last := range slices.Backward(x.acts) {
			if !last.changesRecords() {
				continue
			}
			if !missed {
				return planCall("undo", nil)
			}
			return confirmUndo([]pastCall{last}), true
		}
		missed = missed || len(x.acts) == 0 && w.g.inDialogue(nil).planRequests(x.own, w.s.now, 0).outcome == unknown
	}
	return planCall("undo", nil)
}

// confirmUndo asks whether to undo actions of the same message.
func confirmUndo(acts []pastCall) plan {
	var did []string
	p := plan{outcome: act}
	for _, last := range acts {
		first, _, _ := strings.Cut(oneLine(last.text, 120), ". ")
		did = append(did, strings.TrimRight(first, "."))
		p.calls = append(p.calls, last.undoCall())
	}
	return planConfirmation("The last thing I did was: "+strings.Join(did, "; ")+". Should I undo that?", p)
}

func tellTime(w *intentDraft) (plan, bool) {
	return planReply("It is " + w.s.now.Format("15:04") + " on " + dayInWords(w.s.now) + ".")
}

func tellDate(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	spans := w.allSpans()
	if len(spans) == 0 {
		return planReply("Today is " + dayInWords(w.s.now) + ".")
	}
	t, err := w.joinTimes(spans)
	if err != nil || t.every != "" || t.vague || t.clock {
		return noPlan()
	}
	day := dayInWords(t.at)
	if want := w.slotNorm("weekday"); want != "" {
		is := "No, "
		if strings.EqualFold(t.at.Weekday().String(), want) {
			is = "Yes, "
		}
		return planReply(is + t.phrase + " is a " + t.at.Weekday().String() + " (" + t.at.Format("2 January 2006") + ").")
	}
	return planReply(strings.ToUpper(t.phrase[:1]) + t.phrase[1:] + " is " + day + ".")
}

func dayInWords(t time.Time) string { return t.Format("Monday, 2 January 2006") }
