package markup

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// htmlDialect renders inline HTML; htmlBlocks renders the blocks.
type htmlDialect struct{ plain }

func (htmlDialect) escapeText(s string) string {
	return strings.ReplaceAll(escapeHTML(s), "\n", "<br>\n")
}
func (htmlDialect) strongMarks() (string, string)   { return "<strong>", "</strong>" }
func (htmlDialect) emphasisMarks() (string, string) { return "<em>", "</em>" }
func (htmlDialect) strikeMarks() (string, string)   { return "<del>", "</del>" }
func (htmlDialect) formatCode(s string) string      { return "<code>" + escapeHTML(s) + "</code>" }
func (htmlDialect) checkboxMark(done bool) string   { return checkboxSymbol(done) }

func (htmlDialect) formatLink(label, address string) string {
	address = escapeHTML(address)
	if label == "" {
		label = address
	}
	return `<a href="` + address + `">` + label + "</a>"
}

// htmlBlocks renders blocks as HTML.
type htmlBlocks struct{ w *writer }

func (h *htmlBlocks) writeString(s string) { h.w.b.WriteString(s) }

func (h *htmlBlocks) writeChildren(n ast.Node, tight bool) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		h.writeBlock(c, tight)
	}
}

func (h *htmlBlocks) writeElement(tag string, n ast.Node) {
	h.writeString("<" + tag + ">\n")
	h.writeChildren(n, false)
	h.writeString("</" + tag + ">\n")
}

func (h *htmlBlocks) writeBlock(n ast.Node, tight bool) {
	switch n := n.(type) {
	case *ast.Heading:
		tag := "h" + strconv.Itoa(n.Level) + ">"
		h.writeString("<" + tag + h.w.renderInline(n) + "</" + tag + "\n")
	case *ast.ThematicBreak:
		h.writeString("<hr>\n")
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		h.writeString("<pre><code>" + escapeHTML(h.w.codeText(n)) + "</code></pre>\n")
	case *ast.Blockquote:
		h.writeElement("blockquote", n)
	case *ast.List:
		h.writeList(n)
	case *east.Table:
		h.writeTable(n)
	case *ast.TextBlock, *ast.Paragraph:
		s := h.w.renderInline(n)
		if !tight {
			s = "<p>" + s + "</p>"
		}
		h.writeString(s + "\n")
	default:
		h.writeChildren(n, tight)
	}
}

func (h *htmlBlocks) writeList(n *ast.List) {
	tag, open := "ul", "<ul>\n"
	if n.IsOrdered() {
		tag, open = "ol", "<ol>\n"
		if n.Start != 1 {
			open = `<ol start="` + strconv.Itoa(n.Start) + "\">\n"
		}
	}
	h.writeString(open)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		h.writeString("<li>")
		h.writeChildren(c, n.IsTight)
		h.writeString("</li>\n")
	}
	h.writeString("</" + tag + ">\n")
}

func (h *htmlBlocks) writeTable(n *east.Table) {
	h.writeString("<table>\n")
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		tag := "td"
		if _, ok := r.(*east.TableHeader); ok {
			tag = "th"
		}
		h.writeString("<tr>")
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			h.writeString("<" + tag + ">" + h.w.renderInline(c) + "</" + tag + ">")
		}
		h.writeString("</tr>\n")
	}
	h.writeString("</table>\n")
}

// plain renders text without markup.
type plain struct{}

func (plain) escapeText(s string) string         { return s }
func (plain) strongMarks() (string, string)      { return "", "" }
func (plain) emphasisMarks() (string, string)    { return "", "" }
func (plain) strikeMarks() (string, string)      { return "", "" }
func (plain) formatCode(s string) string         { return s }
func (plain) formatCodeBlock(_, s string) string { return s }
func (plain) bulletMark() string                 { return "- " }
func (plain) thematicBreak() string              { return "---" }
func (plain) formatParagraph(s string) string    { return s }
func (plain) formatHeading(s string, _ int) string {
	return s
}

func (plain) checkboxMark(done bool) string {
	if done {
		return "[x]"
	}
	return "[ ]"
}

func (plain) formatQuote(s string, _ bool) string { return prefixLines(s, "> ") }

func (plain) formatLink(label, address string) string {
	if label == "" {
		return address
	}
	return label + " (" + address + ")"
}
