package markup

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// renderBlocks returns the blocks in n, without line breaks at their ends.
func (w *writer) renderBlocks(n ast.Node, inQuote int) []string {
	var out []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if s := w.renderBlock(c, inQuote); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (w *writer) renderBlock(n ast.Node, inQuote int) string {
	switch n := n.(type) {
	case *ast.Heading:
		w.bold++
		s := w.renderInline(n)
		w.bold--
		if s == "" {
			return ""
		}
		return w.d.formatHeading(strings.ReplaceAll(s, "\n", " "), n.Level)
	case *ast.ThematicBreak:
		return w.d.thematicBreak()
	case *ast.CodeBlock:
		return w.renderCodeBlock("", w.codeText(n))
	case *ast.FencedCodeBlock:
		return w.renderCodeBlock(fenceLanguage(string(n.Language(w.src))), w.codeText(n))
	case *ast.Blockquote:
		s := strings.Join(w.renderBlocks(n, inQuote+1), "\n\n")
		if s == "" {
			return ""
		}
		return w.d.formatQuote(s, inQuote > 0)
	case *ast.List:
		return w.renderList(n, inQuote)
	case *east.Table:
		return w.renderCodeBlock("", w.renderTable(n))
	case *ast.Paragraph, *ast.TextBlock:
		return w.d.formatParagraph(strings.TrimRight(w.renderInline(n), " \n"))
	}
	return strings.Join(w.renderBlocks(n, inQuote), "\n\n")
}

// renderCodeBlock renders a code block. Within a list, its lines are not indented, unless the
// dialect has no marks for code blocks.
func (w *writer) renderCodeBlock(lang, s string) string {
	s = w.d.formatCodeBlock(lang, s)
	if _, ok := w.d.(plain); ok {
		return s
	}
	return strings.ReplaceAll(s, "\n", still)
}

// still represents a line break within a code block until the text is complete.
const still = "\x01"

// prefixLines puts a mark at the beginning of each line.
func prefixLines(s, mark string) string {
	return mark + strings.NewReplacer("\n", "\n"+mark, still, still+mark).Replace(s)
}

// codeText returns the text of a code block.
func (w *writer) codeText(n ast.Node) string {
	return strings.TrimRight(string(n.Lines().Value(w.src)), "\n")
}

// fenceLanguage returns the language name after a code fence.
func fenceLanguage(s string) string {
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

func (w *writer) renderList(n *ast.List, inQuote int) string {
	var items []string
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		mark := w.d.bulletMark()
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + string(n.Marker) + " "
			number++
		}
		sep := "\n"
		if !n.IsTight {
			sep = "\n\n"
		}
		s := strings.Join(w.renderBlocks(c, inQuote), sep)
		if hasCheckbox(c) {
			mark = ""
		}
		items = append(items, strings.TrimRight(mark+indentLines(s, max(2, min(displayWidth(mark), 4))), " "))
	}
	if n.IsTight {
		return strings.Join(items, "\n")
	}
	return strings.Join(items, "\n\n")
}

// hasCheckbox reports whether a list item begins with a checkbox, which replaces its bullet.
func hasCheckbox(item ast.Node) bool {
	first := item.FirstChild()
	if first == nil || first.FirstChild() == nil {
		return false
	}
	_, ok := first.FirstChild().(*east.TaskCheckBox)
	return ok
}

// indentLines indents all lines except the first one.
func indentLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if i > 0 && l != "" {
			lines[i] = strings.Repeat(" ", n) + l
		}
	}
	return strings.Join(lines, "\n")
}
