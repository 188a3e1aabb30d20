package markup

import (
	"strings"
	"unicode/utf8"

	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// renderTable renders a table as columns for a monospaced font.
func (w *writer) renderTable(n *east.Table) string {
	var rows [][]string
	var widths []int
	size := 0
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var cells []string
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			in := &writer{src: w.src, d: plain{}}
			s := strings.Join(strings.Fields(in.renderInline(c)), " ")
			if len(cells) == len(widths) {
				widths = append(widths, 0)
			}
			widths[len(cells)] = max(widths[len(cells)], displayWidth(s))
			cells = append(cells, s)
			size += len(s) + 3
		}
		rows = append(rows, cells)
	}
	total := 0
	for _, n := range widths {
		total += n + 2
	}
	aligned := total*len(rows) <= 4*size+200 // do not align the columns if one long cell would add mostly spaces
	var b strings.Builder
	for i, cells := range rows {
		line := columnsOf(cells, widths, n.Alignments, aligned)
		b.WriteString(line + "\n")
		if i == 0 && aligned {
			b.WriteString(tableRuler(widths) + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func columnsOf(cells []string, widths []int, how []east.Alignment, aligned bool) string {
	if !aligned {
		return strings.Join(cells, " | ")
	}
	var b strings.Builder
	for i, s := range cells {
		pad := widths[i] - displayWidth(s)
		left := 0
		if i < len(how) {
			switch how[i] {
			case east.AlignRight:
				left = pad
			case east.AlignCenter:
				left = pad / 2
			case east.AlignLeft, east.AlignNone:
			}
		}
		b.WriteString(strings.Repeat(" ", left) + s + strings.Repeat(" ", pad-left+2))
	}
	return strings.TrimRight(b.String(), " ")
}

func tableRuler(widths []int) string {
	parts := make([]string, len(widths))
	for i, n := range widths {
		parts[i] = strings.Repeat("-", max(n, 1))
	}
	return strings.Join(parts, "  ")
}

// displayWidth returns the display width of s in a monospaced font. A wide character has the width
// 2.
func displayWidth(s string) (n int) {
	for _, r := range s {
		switch util.EastAsianWidth(r) {
		case "W", "F":
			n += 2
		default:
			if r != utf8.RuneError && r != '\u200b' && r != '\ufe0f' && r != '\u200d' {
				n++
			}
		}
	}
	return n
}
