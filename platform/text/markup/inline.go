package markup

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// dialect renders the elements of one output format. The methods for escaping and for code get
// unescaped text.
type dialect interface {
	escapeText(s string) string
	strongMarks() (string, string)
	emphasisMarks() (string, string)
	strikeMarks() (string, string)
	formatCode(s string) string
	// formatCodeBlock formats a code block; s ends without a line break.
	formatCodeBlock(lang, s string) string
	formatQuote(s string, nested bool) string
	// formatLink formats a link. label is escaped; it is "" for an address without a label.
	formatLink(label, address string) string
	bulletMark() string
	checkboxMark(done bool) string
	thematicBreak() string
	formatHeading(s string, level int) string
	// formatParagraph can change a complete block of text before it is written.
	formatParagraph(s string) string
}

// writer renders the nodes of one text.
type writer struct {
	src []byte
	d   dialect
	b   strings.Builder
	// run is the text since the last mark. It is collected because the boundaries of words are
	// known only when it is complete.
	run    strings.Builder
	bold   int // nesting depth of bold
	italic int
	struck int
	linked int
	cell   bool // whether the node is in a table cell
}

// renderInline returns the rendered children of a block.
func (w *writer) renderInline(n ast.Node) string {
	_, cell := n.(*east.TableCell)
	in := &writer{src: w.src, d: w.d, bold: w.bold, linked: w.linked, cell: cell}
	in.writeChildren(n)
	in.flushText()
	return in.b.String()
}

func (w *writer) flushText() {
	if w.run.Len() > 0 {
		w.b.WriteString(w.d.escapeText(w.run.String()))
		w.run.Reset()
	}
}

func (w *writer) writeRaw(s string) {
	w.flushText()
	w.b.WriteString(s)
}

func (w *writer) writeChildren(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.writeNode(c)
	}
}

func (w *writer) writeNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.run.WriteString(unescapeMarkdown(n.Value(w.src)))
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.run.WriteByte('\n')
		}
	case *ast.String:
		w.run.Write(n.Value)
	case *ast.CodeSpan:
		w.codeSpan(n)
	case *ast.Emphasis:
		w.writeEmphasis(n)
	case *east.Strikethrough:
		open, end := w.d.strikeMarks()
		w.writeMarked(n, &w.struck, open, end)
	case *ast.Link:
		w.writeLink(n, string(n.Destination))
	case *ast.Image:
		w.writeLink(n, string(n.Destination))
	case *ast.AutoLink:
		w.autoLink(n)
	case *east.TaskCheckBox:
		w.writeRaw(w.d.checkboxMark(n.IsChecked) + " ")
	default:
		w.writeChildren(n)
	}
}

func (w *writer) writeWithMark(n ast.Node, mark string) {
	w.run.WriteString(mark)
	w.writeChildren(n)
	w.run.WriteString(mark)
}

// writeMarked writes the children of n between marks. For nested elements it writes the marks only
// once, because ** within bold text would end the bold text in some formats.
func (w *writer) writeMarked(n ast.Node, already *int, open, end string) {
	if *already > 0 || open == "" {
		w.writeChildren(n)
		return
	}
	*already++
	w.writeRaw(w.markSpacing(n, true) + open)
	w.writeChildren(n)
	w.writeRaw(end + w.markSpacing(n, false))
	*already--
}

// markSpacing returns the separator that the format needs between a mark and an adjacent letter.
func (w *writer) markSpacing(n ast.Node, before bool) string {
	if _, narrow := w.d.(slack); !narrow {
		return ""
	}
	var r rune
	if before {
		t, ok := n.PreviousSibling().(*ast.Text)
		if !ok || t.SoftLineBreak() {
			return ""
		}
		r, _ = utf8.DecodeLastRune(t.Value(w.src))
	} else {
		t, ok := n.NextSibling().(*ast.Text)
		if !ok {
			return ""
		}
		r, _ = utf8.DecodeRune(t.Value(w.src))
	}
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return noWidth
	}
	return ""
}

// noWidth is a zero-width character, which people do not see.
const noWidth = "\u200b"

func (w *writer) writeEmphasis(n *ast.Emphasis) {
	mark := "*"
	before, after := w.sourceAround(n)
	if strings.HasSuffix(before, "_") {
		mark = "_"
	}
	if n.Level == 2 {
		open, end := w.d.strongMarks()
		w.writeMarked(n, &w.bold, open, end)
		return
	}
	if mark == "*" && touchesDigit(strings.TrimSuffix(before, "*"), false) && touchesDigit(after, true) {
		w.writeWithMark(n, mark) // 2*3*4
		return
	}
	open, end := w.d.emphasisMarks()
	w.writeMarked(n, &w.italic, open, end)
}

func touchesDigit(s string, first bool) bool {
	if s == "" {
		return false
	}
	c := s[len(s)-1]
	if first {
		c = s[0]
	}
	return '0' <= c && c <= '9'
}

// sourceAround returns up to 3 bytes of the source before the text in n, and the first byte of the
// text. Both are "" if n does not begin with text.
func (w *writer) sourceAround(n ast.Node) (before, after string) {
	t, ok := n.FirstChild().(*ast.Text)
	if !ok {
		return "", "" // escape as usual
	}
	at := t.Segment.Start
	return string(w.src[max(0, at-3):at]), string(w.src[at:min(len(w.src), at+1)])
}

func (w *writer) codeSpan(n *ast.CodeSpan) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.WriteString(strings.ReplaceAll(string(t.Segment.Value(w.src)), "\n", " "))
		}
	}
	code := b.String()
	if w.cell {
		code = strings.ReplaceAll(code, `\|`, "|")
	}
	if w.linked > 0 {
		w.run.WriteString(code)
		return
	}
	w.writeRaw(w.d.formatCode(code))
}

func (w *writer) writeLink(n ast.Node, to string) {
	to = unescapeMarkdown([]byte(to))
	if w.linked > 0 {
		w.writeChildren(n) // an image within a link
		return
	}
	w.flushText()
	in := &writer{src: w.src, d: w.d, bold: w.bold, italic: w.italic, struck: w.struck, linked: 1, cell: w.cell}
	in.writeChildren(n)
	in.flushText()
	label := strings.TrimSpace(strings.ReplaceAll(in.b.String(), "\n", " "))
	switch {
	case to == "":
		w.b.WriteString(label)
	case !goesTo(to):
		w.b.WriteString(strings.TrimPrefix(label+w.d.escapeText(" ("+to+")"), " "))
	default:
		if label == w.d.escapeText(to) {
			label = ""
		}
		w.b.WriteString(w.d.formatLink(label, escapeURLEnds(to)))
	}
}

func (w *writer) autoLink(n *ast.AutoLink) {
	label, to := string(n.Label(w.src)), string(n.URL(w.src))
	if n.AutoLinkType == ast.AutoLinkEmail || w.linked > 0 {
		w.run.WriteString(label)
		return
	}
	if !goesTo(to) {
		w.run.WriteString("<" + label + ">")
		return
	}
	w.writeRaw(w.d.formatLink("", escapeURLEnds(to)))
}

// goesTo reports whether an address may be used as the target of a link.
func goesTo(to string) bool {
	scheme, rest, ok := strings.Cut(to, ":")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https":
		return strings.HasPrefix(rest, "//") && len(rest) > 2
	case "mailto":
		return rest != ""
	}
	return false
}

func isWebURL(to string) bool { return strings.HasPrefix(strings.ToLower(to), "http") }

// escapeURLEnds percent-encodes the characters that would end an address in one of the formats, and
// removes line breaks and tabs.
func escapeURLEnds(to string) string {
	return strings.NewReplacer(" ", "%20", "\n", "", "\t", "", "<", "%3C", ">", "%3E", `"`, "%22", "|", "%7C",
		"`", "%60", `\`, "%5C", "(", "%28", ")", "%29", "[", "%5B", "]", "%5D", "'", "%27").Replace(to)
}

// unescapeMarkdown removes Markdown backslash escapes and decodes HTML entities.
func unescapeMarkdown(b []byte) string {
	s := string(b)
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && isEscapable(s, i+1):
			i++
			out.WriteByte(s[i])
			continue
		case s[i] == '&':
			if end := strings.IndexByte(s[i:min(len(s), i+40)], ';'); end > 0 {
				if c := html.UnescapeString(s[i : i+end+1]); !strings.HasPrefix(c, "&") || c == "&" {
					out.WriteString(cleanControls(c))
					i += end
					continue
				}
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// isEscapable reports whether the backslash before s[i] is a Markdown escape.
// Before a dot it is one only after a number, so that Windows paths stay
// unchanged.
func isEscapable(s string, i int) bool {
	if s[i] == '.' {
		return i >= 2 && '0' <= s[i-2] && s[i-2] <= '9'
	}
	return strings.IndexByte("!\"#$%&'()*+,-/:;<=>?@[\\]^_`{|}~", s[i]) >= 0
}
