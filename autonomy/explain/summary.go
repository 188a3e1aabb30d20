package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/undo"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
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
	if s := w.describeUnasked(); s != "" {
		lines = append(lines, s)
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

// describeUnasked says why actions needed no approval, or returns "" if one was asked for, or nothing was
// done.
func (w Why) describeUnasked() string {
	var reasons []string
	for _, c := range w.Calls {
		if s := unaskedReason(c); s != "" && !slices.Contains(reasons, s) {
			reasons = append(reasons, s)
		}
	}
	if len(w.Approvals) > 0 || len(reasons) == 0 || w.Event.Kind == bus.Task && w.Event.Provenance == provenance.Owner { // a command or a form is itself the decision
		return ""
	}
	return "I did not ask for your approval, because " + strings.Join(reasons, ", and because ") + "."
}

// unaskedReason returns why the guard allowed an action without asking, from the rule of its decision.
func unaskedReason(c bus.Entry) string {
	verdict, rule, _ := strings.Cut(c.Decision, ": ")
	if verdict != "allow" || c.Effects == tools.Read.String() {
		return ""
	}
	for _, r := range []struct{ part, reason string }{
		{"read-only command", "the command only reads"},
		{"grant ", "you allowed it beforehand (`hob grant list`)"},
		{"own store", "it only changes Hob's own notes, and you can undo it"},
		{"to the owner", "it reaches only you"},
		{"read", "it only reads"},
		{"search", "it only searches"},
		{"owner asked", "you asked for it yourself, and no untrusted text was involved"},
		{"trusted", "[autonomy] level = \"trusted\" allows it"},
		{"unattended", "the watcher, schedule or goal that you set up asks for it"},
	} {
		if strings.Contains(rule, r.part) {
			return r.reason
		}
	}
	return ""
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
