package tray

import (
	"strings"
	"unicode"
)

// View is the content of the tray: icon, tooltip and menu.
type View struct {
	State   State
	Tooltip string
	Items   []Item
}

// Item is a line of the menu.
type Item struct {
	// Key identifies the action of a click and never changes its meaning: a different action needs
	// a different key. A line with the key "" has no action.
	Key   string
	Title string
	// Checked shows a check mark.
	Checked bool
	// Separator is true for a line between items. It is allowed only at the top level, and all
	// other fields must be empty.
	Separator bool
	// Items make the item a submenu; the item's own Key is then ignored.
	Items []Item
}

// Limits of a view, because menus contain text from untrusted sources.
const (
	maxTitle = 70 // runes
	maxItems = 40 // items of one menu
	maxDepth = 3
)

// sanitized returns a copy of the view within its limits, without invisible and bidirectional
// control characters.
func (v View) sanitized() View {
	v.Tooltip = TruncateLine(v.Tooltip, maxTitle)
	v.Items = sanitizeItems(v.Items, 1)
	return v
}

func sanitizeItems(in []Item, depth int) []Item {
	var out []Item
	for _, it := range in[:min(len(in), maxItems)] {
		if it.Separator {
			if depth == 1 && len(out) > 0 && !out[len(out)-1].Separator {
				out = append(out, Item{Separator: true})
			}
			continue
		}
		it.Title = TruncateLine(it.Title, maxTitle)
		if it.Title == "" {
			it.Title = "…"
		}
		if len(it.Items) > 0 && depth < maxDepth {
			it.Key, it.Items = "", sanitizeItems(it.Items, depth+1)
		} else {
			it.Items = nil
		}
		out = append(out, it)
	}
	if n := len(out); n > 0 && out[n-1].Separator {
		out = out[:n-1]
	}
	return out
}

// TruncateLine returns s as one line of at most n runes.
func TruncateLine(s string, n int) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r): // control, format, surrogate and private-use characters
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))), " ")
	if r := []rune(s); len(r) > n {
		return strings.TrimSpace(string(r[:n-1])) + "…"
	}
	return s
}

// sameShape reports whether two menus differ only in titles and check marks.
func sameShape(a, b []Item) bool { //nolint:unused // used where systray shows the menu
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Key != b[i].Key || a[i].Separator != b[i].Separator || (len(a[i].Items) > 0) != (len(b[i].Items) > 0) {
			return false
		}
	}
	return true
}
