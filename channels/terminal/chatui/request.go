package chatui

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/autonomy/api"
	"hob/platform/provenance"
	"hob/platform/text/visible"
)

// An approval request has three parts everywhere: a sentence, the consequence, and the details.

// Sentence returns the action that Hob requests.
func Sentence(q api.Approval) string {
	s := q.Summary
	if s == "" || s == q.Tool {
		s = "Use the tool " + q.Tool
	}
	return oneLine(s)
}

// Consequence returns what the call does and why Hob asks.
func Consequence(q api.Approval) string {
	var out []string
	for effect := range strings.SplitSeq(q.Effects, "+") {
		if s := effectText(effect); s != "" {
			out = append(out, s)
		}
	}
	s := strings.Join(out, " ")
	if reason := oneLine(q.Reason); reason != "" && !strings.Contains(strings.ToLower(s), strings.ToLower(reason)) {
		s += " Hob asks because " + strings.TrimSuffix(reason, ".") + "."
	}
	if why := oneLine(q.Why); why != "" && why != oneLine(q.Reason) {
		first, size := utf8.DecodeRuneInString(why)
		s += " " + string(unicode.ToUpper(first)) + strings.TrimSuffix(why[size:], ".") + "."
	}
	if names := Origins(q); names != "" {
		s += " Untrusted text was read before: " + oneLine(names) + "."
	}
	return strings.TrimSpace(s)
}

func effectText(effect string) string {
	switch effect {
	case "write":
		return "It changes data that Hob can restore."
	case "send":
		return "It sends something that cannot be recalled."
	case "egress":
		return "It contacts another computer."
	case "exec":
		return "It runs a program on this machine."
	case "destroy":
		return "It deletes data that cannot be restored."
	case "secret":
		return "It uses a password or key."
	}
	return ""
}

// Origins describes the sources of the untrusted text in the context.
func Origins(q api.Approval) string {
	var names []string
	for _, o := range q.Origins {
		names = append(names, strings.TrimSpace(o.Kind+" "+o.Label))
	}
	if len(names) == 0 && q.Provenance == provenance.Outside {
		return "untrusted text"
	}
	return strings.Join(names, ", ")
}

// oneLine returns text on one line without hidden characters.
func oneLine(s string) string { return visible.Text(strings.Join(strings.Fields(s), " ")) }

// formatElapsed formats a duration for the spinner: "0.4 s", "12 s", "3 min 5 s".
func formatElapsed(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}
