package explain

import (
	"fmt"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/undo"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
)

// SplitDetails splits the text of an explanation into the answer and its details, which may be empty.
func SplitDetails(text string) (answer, details string) {
	answer, details, _ = strings.Cut(text, api.WhyDetails)
	return answer, details
}

// maxSummaryCalls is the number of actions in an answer.
const maxSummaryCalls = 5

// writeAnswer says in a few sentences why Hob acted, what it did, and the result.
func (w Why) writeAnswer(zone *time.Location) string {
	at := func(t time.Time) string { return t.In(zone).Format("2006-01-02 at 15:04") }
	lines := []string{w.summarizeCause(at)}
	for _, a := range w.Approvals {
		lines = append(lines, "I asked you first: "+strings.TrimRight(a.API().Sentence(), ".")+". "+describeAnswer(a))
	}
	for _, c := range w.Calls[:min(len(w.Calls), maxSummaryCalls)] {
		lines = append(lines, summarizeCall(c, at))
	}
	if n := len(w.Calls) - maxSummaryCalls; n > 0 {
		lines = append(lines, countOf(n, "more action follows", "more actions follow")+" in the details.")
	}
	if w.Goal != nil {
		lines = append(lines, strings.TrimSpace(w.Goal.Text(at)))
	}
	if len(w.Calls)+len(w.Approvals) == 0 && w.Goal == nil {
		for _, d := range w.Deliveries {
			if text := textnorm.FirstLine(d.Text); d.Kind == channels.Reply && text != "" {
				lines = append(lines, "I answered: "+text)
			}
		}
	}
	if w.Event.State == bus.Dead {
		lines = append(lines, "I gave up: "+strings.TrimSuffix(w.Event.Error, ".")+".")
	}
	return strings.Join(lines, "\n")
}

// summarizeCause says what started an event, as the beginning of an answer.
func (w Why) summarizeCause(at func(time.Time) string) string {
	e := w.Event
	where := map[string]string{"web": "on the page", "terminal": "in a terminal", "cli": "in a terminal", "tool": "in a terminal or on the page"}[e.Source]
	if where == "" {
		where = "through " + e.Source
	}
	said := textnorm.FirstLine(e.Text)
	mine := e.Provenance == provenance.Owner
	switch {
	case e.Kind == bus.Message && mine:
		return fmt.Sprintf("Because you wrote %s, on %s: “%s”", where, at(e.ReceivedAt), said)
	case e.Kind == bus.Task && mine:
		return fmt.Sprintf("Because you asked for it %s, on %s (%s).", where, at(e.ReceivedAt), strings.ReplaceAll(said, "_", " "))
	}
	return fmt.Sprintf("Because %s, on %s: “%s”", strings.TrimPrefix(describeCause(e), "Because "), at(e.ReceivedAt), said)
}

// summarizeCall says what a call did.
func summarizeCall(c bus.Entry, at func(time.Time) string) string {
	text := textnorm.Ellipsize(strings.Join(strings.Fields(c.Result), " "), 200)
	switch {
	case undo.Describe(c) != "":
		text = undo.Describe(c) + "."
	case c.State != bus.CallDone || c.Code != "":
		text = strings.ReplaceAll(c.Tool, "_", " ") + " " + describeCallState(c) + "."
	case text == "":
		text = "I used " + strings.ReplaceAll(c.Tool, "_", " ") + "."
	default:
		text = "So I did this: " + text
	}
	if !c.UndoneAt.IsZero() {
		text += " It was undone on " + at(c.UndoneAt) + "."
	}
	return text
}
