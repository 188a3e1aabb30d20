package offline

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/person"
)

// readBack returns the question that names all that a plan would do. The bool result is false if the plan calls a tool
// that has no short description.
func (g *grammar) readBack(p plan, now time.Time) (plan, bool) {
	calls := append(p.calls[:len(p.calls):len(p.calls)], p.then...)
	if len(p.then) > 0 {
		calls = p.then
	}
	p.accounted = true
	if o, ok := offerOf(calls); ok && p.say == "" && p.question == nil && p.after == nil && len(p.then) == 0 {
		w := &intentDraft{g: g, interpretation: interpretation{s: g.parseSentence("", now)}}
		if q, ok := w.offerAgain(o); ok {
			return q, true
		}
	}
	instead := ""
	if len(p.then) > 0 {
		instead = " instead of the last entry"
	}
	var lines []string
	for _, c := range calls {
		if g.lex.containsWord("reading-tools", c.name) {
			continue
		}
		line, ok := describeCall(c, now)
		if !ok {
			return noPlan()
		}
		lines = append(lines, line)
	}
	if len(lines) == 1 {
		return planConfirmation("Should I "+lines[0]+instead+"?", p), true
	}
	return planConfirmation("- "+strings.Join(lines, "\n- ")+"\nShould I do all of that?", p), len(lines) > 0
}

// offerOf returns the reminders that calls create, if they all have the same text.
func offerOf(calls []call) (o offer, ok bool) {
	for _, c := range calls {
		text := stringOf(c.args["text"])
		if c.name != "create_reminder" || o.text != "" && text != o.text {
			return o, false
		}
		o.text = text
		if every := stringOf(c.args["every"]); every != "" {
			o.times = append(o.times, argsOf("every", every))
			continue
		}
		o.times = append(o.times, argsOf("at", c.args["at"]))
	}
	return o, len(calls) > 0
}

// describeCall describes a call as the end of "Should I ...".
func describeCall(c call, now time.Time) (string, bool) {
	arg := func(name string) string { return stringOf(c.args[name]) }
	switch c.name {
	case "create_reminder":
		return "remind you " + whenOf(c, now) + " of " + quoteText(arg("text")), true
	case "update_reminder":
		when := whenOf(c, now)
		switch text := arg("text"); {
		case when != "":
			return "move the reminder " + quoteText(arg("reminder")) + " to " + strings.TrimPrefix(when, "to "), true
		case text != "":
			return "change the reminder " + quoteText(arg("reminder")) + " to " + quoteText(text), true
		case arg("shift") != "":
			by, err := time.ParseDuration(arg("shift"))
			if err != nil {
				return "", false
			}
			way := " later"
			if by < 0 {
				way = " earlier"
			}
			return "move the reminder " + quoteText(arg("reminder")) + " " + spellDuration(by.Abs()) + way, true
		}
		return "", false
	case "cancel_reminder":
		return "cancel the reminder " + quoteText(arg("reminder")), true
	case "create_task":
		line := "add the task " + quoteText(arg("title"))
		if project := arg("project"); strings.HasSuffix(project, " list") {
			line = "add " + quoteText(arg("title")) + " to your " + project
		} else if project != "" {
			line += " in the project " + project
		}
		if due := whenOf(c, now); due != "" {
			line += ", due " + due
		}
		if priority := arg("priority"); priority != "" {
			line += ", priority " + priority
		}
		return line, true
	case "update_task":
		switch due := whenOf(c, now); {
		case arg("title") != "":
			return "change the task " + quoteText(arg("task")) + " to " + quoteText(arg("title")), true
		case due != "":
			return "move the task " + quoteText(arg("task")) + " to " + due, true
		case arg("priority") != "":
			return "give the task " + quoteText(arg("task")) + " the priority " + arg("priority"), true
		}
		return "", false
	case "complete_task":
		return "mark " + quoteText(arg("task")) + " as done", true
	case "delete_task":
		return "delete the task " + quoteText(arg("task")), true
	case "log_expense":
		amount, _ := c.args["amount"].(float64)
		line := "log " + strings.TrimSpace(strconv.FormatFloat(amount, 'f', 2, 64)+" "+arg("currency")) + " for " + quoteText(cmp.Or(arg("category"), "other"))
		if vendor := arg("vendor"); vendor != "" {
			line += " at " + quoteText(vendor)
		}
		if day := whenOf(c, now); day != "" {
			line += ", " + day
		}
		return line, true
	case "remember":
		return "remember that " + person.ToSecond(arg("text")), true
	case "log_habit":
		line := "log " + quoteText(arg("habit"))
		if n, ok := c.args["value"].(float64); ok {
			line += " (" + strings.TrimSpace(strconv.FormatFloat(n, 'f', -1, 64)+" "+arg("unit")) + ")"
		}
		if day := whenOf(c, now); day != "" {
			line += ", " + day
		}
		return line, true
	case "append_note":
		return "add " + quoteText(arg("text")) + " to the note " + quoteText(arg("note")), true
	case "create_schedule":
		return "do " + quoteText(arg("action")) + " " + whenOf(c, now), true
	case "delete_note":
		return "delete the note " + quoteText(arg("note")), true
	case "create_note":
		return "write the note " + quoteText(cmp.Or(arg("text"), arg("title"))), true
	}
	return "", false
}

// whenOf describes the time of a call, or returns "".
func whenOf(c call, now time.Time) string {
	if every := stringOf(c.args["every"]); every != "" {
		if e, err := dateparse.ParseEvery(every, now); err == nil {
			return dateparse.DescribeEvery(e)
		}
		return every
	}
	for _, name := range []string{"at", "due", "date"} {
		said := stringOf(c.args[name])
		if said == "" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, said); err == nil {
			return dateparse.Format(at.In(now.Location()), now)
		}
		if day, err := time.ParseInLocation("2006-01-02", said, now.Location()); err == nil {
			return dateparse.FormatDay(day, now)
		}
		return said
	}
	return ""
}
