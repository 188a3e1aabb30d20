package provenance

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Origin is a source of untrusted text, such as a page, a file or a sender. A Source states that
// text is untrusted; the origins state where it came from. Origins are only for display and
// records: no decision may depend on them, because attackers can choose file names and addresses.
type Origin struct {
	// Kind is one of "web", "search", "file", "mail", "message", "watcher",
	// "webhook", "schedule", "mcp", "agent", "client", "pipe" (standard input),
	// "paste", "tool", "hook", "memory", "conversation", "skill", "more".
	Kind string `json:"kind"`
	// Label is an address, a path or a sender. It is untrusted text; String
	// sanitizes it.
	Label string `json:"label,omitempty"`
	// Via is the tool or watcher that read the text. Call and Event are the ids of the tool call
	// and the event.
	Via   string `json:"via,omitempty"`
	Call  string `json:"call,omitempty"`
	Event string `json:"event,omitempty"`
	// Marks are the kinds of attacks of which the scanner found signs in the text.
	Marks []string `json:"marks,omitempty"`
}

// Limits of stored origins.
const (
	MaxOrigins = 12  // origins in one list
	MaxLabel   = 160 // maximum length of a label, in characters
)

// Join merges lists without duplicates and keeps the order. If there are too many origins, the last
// entry contains the number of omitted ones.
func Join(lists ...[]Origin) []Origin {
	var out []Origin
	more := 0
	for _, list := range lists {
		for _, o := range list {
			if o.Kind == "more" {
				n, _ := strconv.Atoi(o.Label)
				more = max(more, n)
				continue
			}
			o.Label = sanitizeLabel(o.Label)
			i := slices.IndexFunc(out, func(x Origin) bool { return x.Kind == o.Kind && x.Label == o.Label && x.Via == o.Via })
			switch {
			case i >= 0:
				out[i].Marks = unionOf(out[i].Marks, o.Marks)
			case len(out) == MaxOrigins:
				more++
			default:
				out = append(out, o)
			}
		}
	}
	if more > 0 {
		out = append(out, Origin{Kind: "more", Label: strconv.Itoa(more)})
	}
	return out
}

// Marks returns the distinct marks of a list.
func Marks(list []Origin) (out []string) {
	for _, o := range list {
		out = unionOf(out, o.Marks)
	}
	return out
}

func unionOf(a, b []string) []string {
	out := slices.Clip(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// sanitizeLabel limits the length of a label and escapes characters that are invisible or change
// the text direction.
func sanitizeLabel(s string) string {
	if isPlainLabel(s) {
		return s
	}
	var b strings.Builder
	n := 0
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if n++; n > MaxLabel {
			b.WriteString("…")
			break
		}
		if r == ' ' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// isPlainLabel reports whether a label needs no sanitizing.
func isPlainLabel(s string) bool {
	if len(s) > MaxLabel {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// String describes the origin on one line. It quotes text that an attacker may have chosen.
func (o Origin) String() string {
	if o.Kind == "more" {
		return o.Label + " more"
	}
	name := o.Kind
	switch o.Kind {
	case "web":
		name = "the page"
	case "search":
		name = "a search,"
	case "message":
		name = "a message of"
	case "pipe":
		name = "standard input,"
	case "paste":
		name = "the clipboard,"
	case "agent", "client", "tool", "file", "mail", "conversation", "watcher", "webhook", "schedule":
		name = "the " + o.Kind
	}
	if o.Label != "" {
		name += ` "` + strings.ReplaceAll(sanitizeLabel(o.Label), `"`, "'") + `"`
	}
	if o.Via != "" {
		name += " (" + sanitizeLabel(o.Via) + ")"
	}
	if len(o.Marks) > 0 {
		name += ", which looks like an attack: " + strings.Join(o.Marks, ", ")
	}
	return name
}

// Told describes at most n origins: `the page "https://x" (browse_url) and the file "a.txt"`. It
// returns "" if there are none.
func Told(list []Origin, n int) string {
	var words []string
	more := 0
	for i, o := range list {
		switch {
		case o.Kind == "more":
			k, _ := strconv.Atoi(o.Label)
			more += k
		case i >= n:
			more++
		default:
			words = append(words, o.String())
		}
	}
	if more > 0 {
		words = append(words, strconv.Itoa(more)+" more")
	}
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
