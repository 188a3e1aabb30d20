package markup

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// blocks returns the blocks in n, each without a line break at its end.
func (w *writer) blocks(n ast.Node, inQuote int) []string {
	var out []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if s := w.block(c, inQuote); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (w *writer) block(n ast.Node, inQuote int) string {
	switch n := n.(type) {
	case *ast.Heading:
		w.bold++
		s := w.inline(n)
		w.bold--
		if s == "" {
			return ""
		}
		return w.d.heading(strings.ReplaceAll(s, "\n", " "), n.Level)
	case *ast.ThematicBreak:
		return w.d.rule()
	case *ast.CodeBlock:
		return w.fixed("", w.lines(n))
	case *ast.FencedCodeBlock:
		return w.fixed(language(string(n.Language(w.src))), w.lines(n))
	case *ast.Blockquote:
		s := strings.Join(w.blocks(n, inQuote+1), "\n\n")
		if s == "" {
			return ""
		}
		return w.d.quote(s, inQuote > 0)
	case *ast.List:
		return w.list(n, inQuote)
	case *east.Table:
		return w.fixed("", w.table(n))
	case *ast.Paragraph, *ast.TextBlock:
		return w.d.paragraph(strings.TrimRight(w.inline(n), " \n"))
	}
	return strings.Join(w.blocks(n, inQuote), "\n\n")
}

// fixed renders a code block. Its lines are not indented within lists if the
// dialect has code block marks.
func (w *writer) fixed(lang, s string) string {
	s = w.d.pre(lang, s)
	if _, ok := w.d.(plain); ok {
		return s
	}
	return strings.ReplaceAll(s, "\n", still)
}

// still is a line break within a block of code, until all is written.
const still = "\x01"

// quoted puts a mark before each line.
func quoted(s, mark string) string {
	return mark + strings.NewReplacer("\n", "\n"+mark, still, still+mark).Replace(s)
}

// lines returns the text of a block of code.
func (w *writer) lines(n ast.Node) string {
	return strings.TrimRight(string(n.Lines().Value(w.src)), "\n")
}

// language returns the language name after a code fence.
func language(s string) string {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("+-#._", c) {
			return ""
		}
	}
	if len(s) > 32 {
		return ""
	}
	return s
}

func (w *writer) list(n *ast.List, inQuote int) string {
	var items []string
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		mark := w.d.bullet()
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + string(n.Marker) + " "
			number++
		}
		sep := "\n"
		if !n.IsTight {
			sep = "\n\n"
		}
		s := strings.Join(w.blocks(c, inQuote), sep)
		if checked(c) {
			mark = ""
		}
		items = append(items, strings.TrimRight(mark+indent(s, max(2, min(columns(mark), 4))), " "))
	}
	if n.IsTight {
		return strings.Join(items, "\n")
	}
	return strings.Join(items, "\n\n")
}

// checked reports whether an item begins with a box, which is its mark.
func checked(item ast.Node) bool {
	first := item.FirstChild()
	if first == nil || first.FirstChild() == nil {
		return false
	}
	_, ok := first.FirstChild().(*east.TaskCheckBox)
	return ok
}

// indent moves all lines but the first to the right.
func indent(s string, n int) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if i > 0 && l != "" {
			lines[i] = strings.Repeat(" ", n) + l
		}
	}
	return strings.Join(lines, "\n")
}
