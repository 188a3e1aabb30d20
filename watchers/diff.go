package watchers

import (
	"fmt"
	"strings"

	"hob/platform/text/readability"
	"hob/platform/text/textnorm"
)

// Limits of the description of a change.
const (
	maxDiffLines = 40  // removed lines and added lines each
	maxDiffLine  = 300 // characters
	maxDiffTable = 4 << 20
)

// TextLines returns the non-empty lines of text.
func TextLines(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		if l = readability.Squeeze(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// ChangedLines returns the removed and the added lines, each in their order.
func ChangedLines(a, b []string) (gone, come []string) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 || len(b) == 0 || len(a)*len(b) > maxDiffTable { // too many lines to compare in order
		return subtractLines(a, b), subtractLines(b, a)
	}
	w := len(b) + 1
	longest := make([]uint32, (len(a)+1)*w) // lengths of the common subsequences of the remaining lines
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i*w+j] = longest[(i+1)*w+j+1] + 1
			} else {
				longest[i*w+j] = max(longest[(i+1)*w+j], longest[i*w+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			i, j = i+1, j+1
		case longest[(i+1)*w+j] >= longest[i*w+j+1]:
			gone = append(gone, a[i])
			i++
		default:
			come = append(come, b[j])
			j++
		}
	}
	return append(gone, a[i:]...), append(come, b[j:]...)
}

// subtractLines returns the lines of a that are not in b. Duplicates count separately.
func subtractLines(a, b []string) []string {
	have := map[string]int{}
	for _, l := range b {
		have[l]++
	}
	var out []string
	for _, l := range a {
		if have[l]--; have[l] < 0 {
			out = append(out, l)
		}
	}
	return out
}

// FormatDiff formats the removed and added lines as in a diff.
func FormatDiff(gone, come []string) string {
	var b strings.Builder
	for _, side := range []struct {
		mark  string
		lines []string
	}{{"- ", gone}, {"+ ", come}} {
		for i, l := range side.lines {
			if i == maxDiffLines {
				fmt.Fprintf(&b, "%s(%d more lines)\n", side.mark, len(side.lines)-maxDiffLines)
				break
			}
			b.WriteString(side.mark + readability.CutRunes(l, maxDiffLine) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// BriefChange describes a change on one line.
func BriefChange(gone, come []string) string {
	say := func(ls []string) string {
		text := `"` + textnorm.Ellipsize(ls[0], 120) + `"`
		if n := len(ls) - 1; n == 1 {
			text += " and 1 more line"
		} else if n > 1 {
			text += fmt.Sprintf(" and %d more lines", n)
		}
		return text
	}
	switch {
	case len(gone) == 0:
		return "added " + say(come)
	case len(come) == 0:
		return "removed " + say(gone)
	}
	return say(gone) + " became " + say(come)
}
