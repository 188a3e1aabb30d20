package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/provenance"
	"hob/platform/text/visible"
)

// An approval request has the same parts in every place that shows it: a sentence, an explanation
// (the consequence and the cause), and the details. Only the details contain JSON.

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

// Cause returns why the action needs an approval, what requested it in the background, and the
// sources of the untrusted text in the context, on one line. It does not repeat the consequence.
func (a Approval) Cause() string {
	var out []string
	reason := strings.TrimSuffix(visibleLine(a.Reason), ".")
	if reason != "" && !strings.Contains(strings.ToLower(a.Consequence()), strings.ToLower(reason)) {
		out = append(out, "This needs your approval because "+reason+".")
	}
	if a.Source != "" && !a.Attended {
		out = append(out, "Requested by "+visibleLine(a.Source)+".")
	}
	if names := a.OriginNames(); names != "" {
		out = append(out, "Untrusted text was read before: "+visibleLine(names)+".")
	}
	return strings.Join(out, " ")
}

// Explanation returns the consequence and the cause, on one line.
func (a Approval) Explanation() string {
	return strings.TrimSpace(a.Consequence() + " " + a.Cause())
}

// OriginNames describes the sources of the untrusted text in the context.
func (a Approval) OriginNames() string {
	names := provenance.Told(a.Origins, shownOrigins)
	if names == "" && a.Provenance == provenance.Outside {
		return "a source that is not known"
	}
	return names
}

// shownOrigins is the number of sources that OriginNames lists.
const shownOrigins = 4

// Detail is one labeled line of the details of a request.
type Detail struct{ Label, Text string }

// Details returns the exact call and, if the arguments do not show it, what would run. Each is
// complete and on one line; invisible characters are escaped.
func (a Approval) Details() []Detail {
	out := []Detail{{"exactly", a.CallText()}}
	if a.Exact != "" {
		out = append(out, Detail{"runs", visible.Escape(a.Exact)})
	}
	return out
}

// CallText returns the call with its tool and arguments. It is complete, and invisible characters
// are escaped.
func (a Approval) CallText() string {
	args := strings.TrimSpace(string(a.Arguments))
	var b bytes.Buffer
	if json.Compact(&b, a.Arguments) == nil {
		args = b.String()
	}
	if args == "" || args == "{}" || args == "null" {
		return a.Tool
	}
	return a.Tool + " " + visible.Escape(unescapeHTML(args))
}

// unescapeHTML writes <, > and & as themselves in JSON. encoding/json escapes them for HTML pages, and
// a command such as "date > when.txt" would be hard to read.
func unescapeHTML(text string) string {
	if !strings.Contains(text, `\u00`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		end := min(i+6, len(text))
		if text[i] != '\\' {
			b.WriteByte(text[i])
		} else if at := slices.Index([]string{`\u003c`, `\u003e`, `\u0026`}, text[i:end]); at >= 0 {
			b.WriteByte("<>&"[at])
			i = end - 1
		} else { // another escape, such as an escaped backslash
			b.WriteString(text[i:min(i+2, len(text))])
			i++
		}
	}
	return b.String()
}

// Text returns the parts of the request as lines of plain text, for places without formatting.
func (a Approval) Text() string {
	var b strings.Builder
	b.WriteString(a.Sentence())
	if s := a.Explanation(); s != "" {
		b.WriteString("\n  " + s)
	}
	b.WriteString("\n  Details")
	for _, d := range a.Details() {
		b.WriteString("\n    " + d.Label + ": " + d.Text)
	}
	return b.String()
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
