package api

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/provenance"
	"hob/platform/text/visible"
)

// An approval request has the same parts in every channel: a sentence, the consequence, the cause,
// and the details.

// Sentence returns the action that Hob requests, on one line.
func (a Approval) Sentence() string {
	s := a.Summary
	if s == "" || s == a.Tool {
		s = "Use the tool " + a.Tool
	}
	return visibleLine(s)
}

// Consequence returns the effects of the call, on one line.
func (a Approval) Consequence() string {
	var out []string
	for effect := range strings.SplitSeq(a.Effects, "+") {
		if s := effectSentence(effect); s != "" {
			out = append(out, s)
		}
	}
	if why := visibleLine(a.Why); why != "" && why != visibleLine(a.Reason) {
		out = append(out, fullSentence(why))
	}
	return strings.Join(out, " ")
}

// Cause returns why Hob asks, and the sources of the untrusted text in the context, on one line. It
// does not repeat the consequence.
func (a Approval) Cause() string {
	var out []string
	reason := strings.TrimSuffix(visibleLine(a.Reason), ".")
	if reason != "" && !strings.Contains(strings.ToLower(a.Consequence()), strings.ToLower(reason)) {
		out = append(out, "Hob asks because "+reason+".")
	}
	if names := a.OriginNames(); names != "" {
		out = append(out, "Untrusted text was read before: "+visibleLine(names)+".")
	}
	return strings.Join(out, " ")
}

// OriginNames describes the sources of the untrusted text in the context.
func (a Approval) OriginNames() string {
	var names []string
	for _, o := range a.Origins {
		names = append(names, strings.TrimSpace(o.Kind+" "+o.Label))
	}
	if len(names) == 0 && a.Provenance == provenance.Outside {
		return "untrusted text"
	}
	return strings.Join(names, ", ")
}

func effectSentence(effect string) string {
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

// fullSentence returns text with a capital letter and a full stop.
func fullSentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(s[size:], ".") + "."
}

// visibleLine returns text on one line without hidden characters.
func visibleLine(s string) string { return visible.Text(strings.Join(strings.Fields(s), " ")) }
