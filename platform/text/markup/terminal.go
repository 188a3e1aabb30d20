package markup

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"hob/platform/text/visible"
)

// The styles of terminal output, as ECMA-48 SGR parameters. Each one is ended by its counterpart in
// endOfStyle.
const (
	styleBold   = "1"
	styleDim    = "2"
	styleItalic = "3"
	styleLink   = "4"
	styleStruck = "9"
	styleCode   = "36"
)

// endOfStyle returns the SGR parameter that ends a style.
func endOfStyle(style string) string {
	switch style {
	case styleBold, styleDim:
		return "22"
	case styleItalic:
		return "23"
	case styleLink:
		return "24"
	case styleStruck:
		return "29"
	}
	return "39"
}

func styleOn(style string) string  { return "\x1b[" + style + "m" }
func styleOff(style string) string { return "\x1b[" + endOfStyle(style) + "m" }

// Terminal renders Markdown as lines of at most width columns for a terminal. Each line is complete:
// the styles that it begins end with it. Apart from styles, the lines contain only visible
// characters.
func Terminal(md string, width int) []string {
	src, doc, ok := parseMarkdown(visible.Text(md))
	if !ok {
		return wrapStyled(strings.TrimSpace(string(src)), width)
	}
	t := &terminalBlocks{w: &writer{src: src, d: terminal{}}}
	return t.renderChildren(doc, max(width, 4), "\n")
}

// terminalBlocks renders blocks, whose lines depend on the width that is left.
type terminalBlocks struct{ w *writer }

// renderChildren renders the blocks in n. between is "\n" for an empty line between them, or "".
func (t *terminalBlocks) renderChildren(n ast.Node, width int, between string) (out []string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		lines := t.renderBlock(c, width)
		if len(lines) > 0 && len(out) > 0 && between != "" {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

func (t *terminalBlocks) renderBlock(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		t.w.bold++
		s := strings.ReplaceAll(t.w.renderInline(n), "\n", " ")
		t.w.bold--
		return wrapStyled(styleOn(styleBold)+s+styleOff(styleBold), width)
	case *ast.ThematicBreak:
		return []string{styleOn(styleDim) + strings.Repeat("─", min(width, 40)) + styleOff(styleDim)}
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return t.renderCode(t.w.codeText(n), width)
	case *ast.Blockquote:
		bar := styleOn(styleDim) + "│ " + styleOff(styleDim)
		lines := t.renderChildren(n, max(width-2, 4), "\n")
		for i := range lines {
			lines[i] = bar + lines[i]
		}
		return lines
	case *ast.List:
		return t.renderItems(n, width)
	case *east.Table:
		return t.renderColumns(n, width)
	case *ast.Paragraph, *ast.TextBlock:
		return wrapStyled(strings.TrimRight(t.w.renderInline(n), " \n"), width)
	}
	return t.renderChildren(n, width, "\n")
}

// renderCode renders a code block. A line that is too long continues on the next one.
func (t *terminalBlocks) renderCode(code string, width int) (out []string) {
	code = strings.ReplaceAll(visible.Text(code), "\t", "    ")
	for l := range strings.SplitSeq(code, "\n") {
		for part := range strings.SplitSeq(ansi.Hardwrap(l, max(width-2, 2), true), "\n") {
			out = append(out, "  "+styleOn(styleCode)+part+styleOff(styleCode))
		}
	}
	return out
}

func (t *terminalBlocks) renderItems(n *ast.List, width int) (out []string) {
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + string(n.Marker) + " "
			number++
		}
		if hasCheckbox(c) {
			mark = ""
		}
		between := "\n"
		if n.IsTight {
			between = ""
		}
		indent := max(2, len([]rune(mark)))
		lines := t.renderChildren(c, max(width-indent, 4), between)
		if len(lines) == 0 {
			lines = []string{""}
		}
		if !n.IsTight && len(out) > 0 {
			out = append(out, "")
		}
		for i, l := range lines {
			switch {
			case i == 0:
				out = append(out, mark+l)
			case l == "":
				out = append(out, "")
			default:
				out = append(out, strings.Repeat(" ", indent)+l)
			}
		}
	}
	return out
}

// columnGap separates two columns of a table.
const columnGap = "  "

// renderColumns renders a table. If the table is too wide, the widest columns become narrower and
// their cells take several lines. If less than 4 terminal columns remain for each table column,
// each row becomes a list.
func (t *terminalBlocks) renderColumns(n *east.Table, width int) (out []string) {
	var rows [][]string
	var widths []int
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var cells []string
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			s := strings.ReplaceAll(t.w.renderInline(c), "\n", " ")
			if len(cells) == len(widths) {
				widths = append(widths, 1)
			}
			widths[len(cells)] = max(widths[len(cells)], ansi.StringWidth(s))
			cells = append(cells, s)
		}
		rows = append(rows, cells)
	}
	room := width - len(columnGap)*(len(widths)-1)
	if room < 4*len(widths) {
		return listOfRows(rows, width)
	}
	fitColumns(widths, room)
	for i, cells := range rows {
		out = append(out, tableLines(cells, widths, n.Alignments, i == 0)...)
		if i == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("─", w))
			}
			out = append(out, styleOn(styleDim)+strings.Join(rule, columnGap)+styleOff(styleDim))
		}
	}
	return out
}

// fitColumns shrinks the widest columns until all fit in room.
func fitColumns(widths []int, room int) {
	for {
		total, widest := 0, 0
		for i, w := range widths {
			total += w
			if w > widths[widest] {
				widest = i
			}
		}
		if total <= room || widths[widest] <= 4 {
			return
		}
		widths[widest]--
	}
}

// listOfRows shows a table that is too wide for columns: each cell on a line, after its title.
func listOfRows(rows [][]string, width int) (out []string) {
	for i, cells := range rows {
		if i == 0 && len(rows) > 1 {
			continue
		}
		if len(out) > 0 {
			out = append(out, "")
		}
		for j, c := range cells {
			if i > 0 && j < len(rows[0]) {
				c = rows[0][j] + ": " + c
			}
			out = append(out, wrapStyled(c, width)...)
		}
	}
	return out
}

// tableLines returns the lines of one row.
func tableLines(cells []string, widths []int, how []east.Alignment, head bool) (out []string) {
	var columns [][]string
	tall := 1
	for i, c := range cells {
		if head {
			c = styleOn(styleBold) + c + styleOff(styleBold)
		}
		lines := wrapStyled(c, widths[i])
		columns, tall = append(columns, lines), max(tall, len(lines))
	}
	for y := range tall {
		var b strings.Builder
		for i, lines := range columns {
			s := ""
			if y < len(lines) {
				s = lines[y]
			}
			left, pad := 0, max(widths[i]-ansi.StringWidth(s), 0)
			if i < len(how) {
				switch how[i] {
				case east.AlignRight:
					left = pad
				case east.AlignCenter:
					left = pad / 2
				case east.AlignLeft, east.AlignNone:
				}
			}
			if i > 0 {
				b.WriteString(columnGap)
			}
			b.WriteString(strings.Repeat(" ", left) + s + strings.Repeat(" ", pad-left))
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}

// wrapStyled splits text with styles into lines of at most width columns, between words if possible.
func wrapStyled(s string, width int) []string {
	if s == "" {
		return nil
	}
	s = strings.ReplaceAll(s, "\t", "    ")
	width = max(width, 1)
	// Wrap can leave a space beyond the last column.
	return closeStyles(strings.Split(ansi.Hardwrap(ansi.Wrap(s, width, ""), width, true), "\n"))
}

// closeStyles ends the styles that are active at the end of a line, and begins them again on the
// next one.
func closeStyles(lines []string) []string {
	var active []string
	for i, l := range lines {
		prefix := ""
		for _, style := range active {
			prefix += styleOn(style)
		}
		for rest := l; ; {
			_, after, found := strings.Cut(rest, "\x1b[")
			code, tail, ended := strings.Cut(after, "m")
			if !found || !ended {
				break
			}
			active, rest = changeStyles(active, code), tail
		}
		suffix := ""
		for _, style := range active {
			suffix += styleOff(style)
		}
		lines[i] = prefix + l + suffix
	}
	return lines
}

// changeStyles returns the active styles after an SGR sequence with the parameter code.
func changeStyles(active []string, code string) (out []string) {
	for _, style := range active {
		if endOfStyle(style) != code {
			out = append(out, style)
		}
	}
	switch code {
	case styleBold, styleDim, styleItalic, styleLink, styleStruck, styleCode:
		out = append(out, code)
	}
	return out
}

// terminal renders the inline elements with styles.
type terminal struct{ plain }

func (terminal) escapeText(s string) string      { return visible.Text(s) }
func (terminal) strongMarks() (string, string)   { return styleOn(styleBold), styleOff(styleBold) }
func (terminal) emphasisMarks() (string, string) { return styleOn(styleItalic), styleOff(styleItalic) }

func (terminal) strikeMarks() (string, string) { return styleOn(styleStruck), styleOff(styleStruck) }

func (terminal) formatCode(s string) string {
	return styleOn(styleCode) + visible.Text(s) + styleOff(styleCode)
}

func (terminal) formatLink(label, address string) string {
	address = styleOn(styleLink) + visible.Text(address) + styleOff(styleLink)
	if label == "" {
		return address
	}
	return label + " (" + address + ")"
}

func (terminal) checkboxMark(done bool) string {
	if done {
		return "☑"
	}
	return "☐"
}
