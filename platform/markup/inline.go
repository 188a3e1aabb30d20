package markup

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// dialect renders the elements of one output format. escape and code receive
// unescaped text.
type dialect interface {
	escape(s string) string
	strong() (string, string)
	emph() (string, string)
	strike() (string, string)
	code(s string) string
	// pre is a block of code; s ends without a line break.
	pre(lang, s string) string
	quote(s string, nested bool) string
	// link writes text and address. label is escaped; it is "" for an address alone.
	link(label, address string) string
	bullet() string
	box(done bool) string
	rule() string
	heading(s string, level int) string
	// paragraph has the last word on a block of text.
	paragraph(s string) string
}

// writer writes the nodes of one text.
type writer struct {
	src []byte
	d   dialect
	b   strings.Builder
	// run is the text since the last mark: where a word begins and ends is seen only
	// when it is whole.
	run    strings.Builder
	bold   int // nesting depth of bold
	italic int
	struck int
	linked int
	cell   bool // of a table
}

// inline returns the children of a block.
func (w *writer) inline(n ast.Node) string {
	_, cell := n.(*east.TableCell)
	in := &writer{src: w.src, d: w.d, bold: w.bold, linked: w.linked, cell: cell}
	in.children(n)
	in.flush()
	return in.b.String()
}

func (w *writer) flush() {
	if w.run.Len() > 0 {
		w.b.WriteString(w.d.escape(w.run.String()))
		w.run.Reset()
	}
}

func (w *writer) raw(s string) {
	w.flush()
	w.b.WriteString(s)
}

func (w *writer) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c)
	}
}

func (w *writer) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.run.WriteString(meant(n.Value(w.src)))
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.run.WriteByte('\n')
		}
	case *ast.String:
		w.run.Write(n.Value)
	case *ast.CodeSpan:
		w.codeSpan(n)
	case *ast.Emphasis:
		w.emphasis(n)
	case *east.Strikethrough:
		open, end := w.d.strike()
		w.marked(n, &w.struck, open, end)
	case *ast.Link:
		w.link(n, string(n.Destination))
	case *ast.Image:
		w.link(n, string(n.Destination))
	case *ast.AutoLink:
		w.autoLink(n)
	case *east.TaskCheckBox:
		w.raw(w.d.box(n.IsChecked) + " ")
	default:
		w.children(n)
	}
}

func (w *writer) literally(n ast.Node, mark string) {
	w.run.WriteString(mark)
	w.children(n)
	w.run.WriteString(mark)
}

// marked puts marks around the children of n, but only once for nested elements:
// ** within bold text would end it in some formats.
func (w *writer) marked(n ast.Node, already *int, open, end string) {
	if *already > 0 || open == "" {
		w.children(n)
		return
	}
	*already++
	w.raw(w.room(n, true) + open)
	w.children(n)
	w.raw(end + w.room(n, false))
	*already--
}

// room returns the separator needed between a mark and an adjacent letter.
func (w *writer) room(n ast.Node, before bool) string {
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

// noWidth is seen by programs alone.
const noWidth = "\u200b"

func (w *writer) emphasis(n *ast.Emphasis) {
	mark := "*"
	before, after := w.around(n)
	if strings.HasSuffix(before, "_") {
		mark = "_"
	}
	if n.Level == 2 {
		open, end := w.d.strong()
		w.marked(n, &w.bold, open, end)
		return
	}
	if mark == "*" && digit(strings.TrimSuffix(before, "*"), false) && digit(after, true) {
		w.literally(n, mark) // 2*3*4
		return
	}
	open, end := w.d.emph()
	w.marked(n, &w.italic, open, end)
}

func digit(s string, first bool) bool {
	if s == "" {
		return false
	}
	c := s[len(s)-1]
	if first {
		c = s[0]
	}
	return '0' <= c && c <= '9'
}

// around returns some of the source before and after where the text in n begins; both
// are "" when it begins with something else.
func (w *writer) around(n ast.Node) (before, after string) {
	t, ok := n.FirstChild().(*ast.Text)
	if !ok {
		return "", "" // as usual
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
	w.raw(w.d.code(code))
}

func (w *writer) link(n ast.Node, to string) {
	to = meant([]byte(to))
	if w.linked > 0 {
		w.children(n) // a picture in a link
		return
	}
	w.flush()
	in := &writer{src: w.src, d: w.d, bold: w.bold, italic: w.italic, struck: w.struck, linked: 1, cell: w.cell}
	in.children(n)
	in.flush()
	label := strings.TrimSpace(strings.ReplaceAll(in.b.String(), "\n", " "))
	switch {
	case to == "":
		w.b.WriteString(label)
	case !goesTo(to):
		w.b.WriteString(strings.TrimPrefix(label+w.d.escape(" ("+to+")"), " "))
	default:
		if label == w.d.escape(to) {
			label = ""
		}
		w.b.WriteString(w.d.link(label, address(to)))
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
	w.raw(w.d.link("", address(to)))
}

// goesTo reports whether an address may be behind a word.
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

func web(to string) bool { return strings.HasPrefix(strings.ToLower(to), "http") }

// address writes what ends an address in one medium or another as numbers.
func address(to string) string {
	return strings.NewReplacer(" ", "%20", "\n", "", "\t", "", "<", "%3C", ">", "%3E", `"`, "%22", "|", "%7C",
		"`", "%60", `\`, "%5C", "(", "%28", ")", "%29", "[", "%5B", "]", "%5D", "'", "%27").Replace(to)
}

// meant removes Markdown backslash escapes and decodes HTML entities.
func meant(b []byte) string {
	s := string(b)
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && escapable(s, i+1):
			i++
			out.WriteByte(s[i])
			continue
		case s[i] == '&':
			if end := strings.IndexByte(s[i:min(len(s), i+40)], ';'); end > 0 {
				if c := html.UnescapeString(s[i : i+end+1]); !strings.HasPrefix(c, "&") || c == "&" {
					out.WriteString(clean(c))
					i += end
					continue
				}
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// escapable reports whether the backslash before s[i] is a Markdown escape.
// Before a dot it is one only after a number, so that Windows paths stay
// unchanged.
func escapable(s string, i int) bool {
	if s[i] == '.' {
		return i >= 2 && '0' <= s[i-2] && s[i-2] <= '9'
	}
	return strings.IndexByte("!\"#$%&'()*+,-/:;<=>?@[\\]^_`{|}~", s[i]) >= 0
}
