package markup

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// htmlDialect renders inline HTML; htmlBlocks renders the blocks.
type htmlDialect struct{ plain }

func (htmlDialect) escape(s string) string {
	return strings.ReplaceAll(escapeHTML(s), "\n", "<br>\n")
}
func (htmlDialect) strong() (string, string) { return "<strong>", "</strong>" }
func (htmlDialect) emph() (string, string)   { return "<em>", "</em>" }
func (htmlDialect) strike() (string, string) { return "<del>", "</del>" }
func (htmlDialect) code(s string) string     { return "<code>" + escapeHTML(s) + "</code>" }
func (htmlDialect) box(done bool) string     { return box(done) }

func (htmlDialect) link(label, address string) string {
	address = escapeHTML(address)
	if label == "" {
		label = address
	}
	return `<a href="` + address + `">` + label + "</a>"
}

// htmlBlocks writes blocks as HTML.
type htmlBlocks struct{ w *writer }

func (h *htmlBlocks) put(s string) { h.w.b.WriteString(s) }

func (h *htmlBlocks) children(n ast.Node, tight bool) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		h.block(c, tight)
	}
}

func (h *htmlBlocks) within(tag string, n ast.Node) {
	h.put("<" + tag + ">\n")
	h.children(n, false)
	h.put("</" + tag + ">\n")
}

func (h *htmlBlocks) block(n ast.Node, tight bool) {
	switch n := n.(type) {
	case *ast.Heading:
		tag := "h" + strconv.Itoa(n.Level) + ">"
		h.put("<" + tag + h.w.inline(n) + "</" + tag + "\n")
	case *ast.ThematicBreak:
		h.put("<hr>\n")
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		h.put("<pre><code>" + escapeHTML(h.w.lines(n)) + "</code></pre>\n")
	case *ast.Blockquote:
		h.within("blockquote", n)
	case *ast.List:
		h.list(n)
	case *east.Table:
		h.table(n)
	case *ast.TextBlock, *ast.Paragraph:
		s := h.w.inline(n)
		if !tight {
			s = "<p>" + s + "</p>"
		}
		h.put(s + "\n")
	default:
		h.children(n, tight)
	}
}

func (h *htmlBlocks) list(n *ast.List) {
	tag, open := "ul", "<ul>\n"
	if n.IsOrdered() {
		tag, open = "ol", "<ol>\n"
		if n.Start != 1 {
			open = `<ol start="` + strconv.Itoa(n.Start) + "\">\n"
		}
	}
	h.put(open)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		h.put("<li>")
		h.children(c, n.IsTight)
		h.put("</li>\n")
	}
	h.put("</" + tag + ">\n")
}

func (h *htmlBlocks) table(n *east.Table) {
	h.put("<table>\n")
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		tag := "td"
		if _, ok := r.(*east.TableHeader); ok {
			tag = "th"
		}
		h.put("<tr>")
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			h.put("<" + tag + ">" + h.w.inline(c) + "</" + tag + ">")
		}
		h.put("</tr>\n")
	}
	h.put("</table>\n")
}
