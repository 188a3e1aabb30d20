package slack

import (
	"cmp"
	"strings"
)

// plainText converts text from Slack to plain text. In Slack's format, references such as "<@U1>"
// are in angle brackets, and "&", "<" and ">" are escaped
// (docs.slack.dev/messaging/formatting-message-text#retrieving-messages). Mentions of me are
// removed; mentioned reports whether there was one.
func plainText(text, me string, name func(user string) string) (out string, mentioned bool) {
	var b strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "<")
		b.WriteString(unescapeText(before))
		if !found {
			break
		}
		ref, after, closed := strings.Cut(rest, ">")
		if !closed || strings.Contains(ref, "<") { // a "<" that does not begin a reference
			b.WriteByte('<')
			text = rest
			continue
		}
		text = after
		if id, is := strings.CutPrefix(ref, "@"); is && me != "" && before1(id) == me {
			mentioned = true
			// "hi <@U1>, look" becomes "hi, look"
			if b.Len() == 0 || strings.HasSuffix(b.String(), " ") || strings.HasSuffix(b.String(), "\n") {
				text = strings.TrimPrefix(strings.TrimLeft(strings.TrimLeft(text, " "), ":,"), " ")
			}
			continue
		}
		b.WriteString(unescapeText(referenceText(ref, name)))
	}
	return strings.TrimSpace(b.String()), mentioned
}

func before1(s string) string {
	s, _, _ = strings.Cut(s, "|")
	return s
}

// referenceText converts a reference in angle brackets to words.
func referenceText(ref string, name func(user string) string) string {
	what, label, _ := strings.Cut(ref, "|")
	switch {
	case strings.HasPrefix(what, "@"):
		id := what[1:]
		return "@" + strings.TrimPrefix(cmp.Or(label, name(id), id), "@")
	case strings.HasPrefix(what, "#"):
		return "#" + strings.TrimPrefix(cmp.Or(label, what[1:]), "#")
	case strings.HasPrefix(what, "!"):
		kind, _, _ := strings.Cut(what[1:], "^")
		if kind == "date" || kind == "subteam" {
			return cmp.Or(label, kind)
		}
		return "@" + strings.TrimPrefix(cmp.Or(label, kind), "@")
	case label == "" || label == what || strings.HasSuffix(what, "://"+label) || what == "mailto:"+label || what == "tel:"+label:
		return strings.TrimPrefix(strings.TrimPrefix(what, "mailto:"), "tel:")
	}
	return label + " (" + what + ")"
}

// unescapeText reverts only Slack's three escapes.
func unescapeText(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}

// escapeText escapes s so that it contains no references.
func escapeText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// cmpTS compares two Slack timestamps ("1699999999.000100"). "" precedes all others.
func cmpTS(a, b string) int {
	as, am, _ := strings.Cut(a, ".")
	bs, bm, _ := strings.Cut(b, ".")
	if c := cmp.Compare(len(as), len(bs)); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(as, bs), strings.Compare(am, bm))
}

// isTS reports whether s is a Slack timestamp, which also serves as a message id.
func isTS(s string) bool {
	sec, frac, ok := strings.Cut(s, ".")
	return ok && isDigits(sec) && isDigits(frac) && len(sec) <= 12 && len(frac) <= 9
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
