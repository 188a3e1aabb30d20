package readable

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxNumbered is how many links are listed under a text.
const maxNumbered = 80

// writer turns elements into plain text with the links numbered.
type writer struct {
	base   *url.URL
	chrome bool              // leave menus and footers out
	known  map[string]string // addresses by how they are written
	b      strings.Builder
	links  []string
	gap    int // line breaks that are due before the next word
	space  bool
	pre    int
	list   []int // of the lists it is in: the next number, 0 for bullets
}

func (w *writer) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

// node writes one node. The parser bounds how deep it may go.
func (w *writer) node(n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		w.words(n.Data)
		return
	case n.Type != html.ElementNode, unseen(n), w.chrome && chrome(n):
		return
	}
	switch n.DataAtom {
	case atom.Br:
		w.lines(1)
	case atom.Hr:
		w.lines(2)
	case atom.A:
		w.children(n)
		w.mark(Attr(n, "href"))
	case atom.Img:
		if alt := Squeeze(Attr(n, "alt")); alt != "" {
			w.words(" [picture: " + CutRunes(alt, 200) + "] ")
		}
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.lines(2)
		w.words(strings.Repeat("#", int(n.Data[1]-'0')) + " ")
		w.children(n)
		w.lines(2)
	case atom.Pre:
		w.lines(2)
		w.pre++
		w.children(n)
		w.pre--
		w.lines(2)
	case atom.Ul, atom.Ol:
		w.bulleted(n)
	case atom.Li:
		w.item(n)
	case atom.Td, atom.Th:
		w.children(n)
		w.words(" | ")
	case atom.Tr, atom.Dt, atom.Dd, atom.Figcaption, atom.Option:
		w.lines(1)
		w.children(n)
		w.lines(1)
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Aside, atom.Nav, atom.Table, atom.Blockquote, atom.Figure,
		atom.Address, atom.Details, atom.Summary, atom.Dl, atom.Form, atom.Fieldset:
		w.lines(2)
		w.children(n)
		w.lines(2)
	default:
		w.children(n)
	}
}

func (w *writer) bulleted(n *html.Node) {
	w.lines(2 - min(1, len(w.list)))
	first := 0
	if n.DataAtom == atom.Ol {
		first = 1
	}
	w.list = append(w.list, first)
	w.children(n)
	w.list = w.list[:len(w.list)-1]
	w.lines(2 - min(1, len(w.list)))
}

func (w *writer) item(n *html.Node) {
	w.lines(1)
	bullet := "- "
	if k := len(w.list); k > 0 {
		bullet = strings.Repeat("  ", min(k-1, 8)) + bullet
		if i := w.list[k-1]; i > 0 {
			bullet = fmt.Sprintf("%s%d. ", strings.Repeat("  ", min(k-1, 8)), i)
			w.list[k-1]++
		}
	}
	w.flush()
	w.b.WriteString(bullet)
	w.children(n)
	w.lines(1)
}

// lines asks for line breaks before what comes next.
func (w *writer) lines(n int) { w.gap, w.space = max(w.gap, n), false }

func (w *writer) flush() {
	if w.b.Len() > 0 {
		w.b.WriteString(strings.Repeat("\n", w.gap))
	}
	w.gap, w.space = 0, false
}

// words writes text; outside of <pre> all white space is one blank.
func (w *writer) words(s string) {
	s = Tidy(s)
	if w.pre > 0 {
		w.flush()
		w.b.WriteString(s)
		return
	}
	fields := strings.Fields(s)
	if len(fields) == 0 {
		w.space = w.space || s != ""
		return
	}
	blank := w.space || strings.TrimLeft(s, " \t\n\r\f\u00a0") != s
	begun := w.b.Len() > 0 && w.gap == 0
	w.flush()
	if blank && begun && !strings.HasSuffix(w.b.String()[max(0, w.b.Len()-1):], "\n") {
		w.b.WriteByte(' ')
	}
	w.b.WriteString(strings.Join(fields, " "))
	w.space = strings.TrimRight(s, " \t\n\r\f\u00a0") != s
}

// address is Link with a cache for each spelling.
func (w *writer) address(href string) string {
	if w.base == nil {
		return ""
	}
	l, ok := w.known[href]
	if !ok {
		l = Link(w.base, href)
		if w.known != nil {
			w.known[href] = l
		}
	}
	return l
}

// mark puts the number of a link behind its text.
func (w *writer) mark(href string) {
	l := w.address(href)
	if l == "" {
		return
	}
	i := slices.Index(w.links, l)
	if i < 0 {
		if len(w.links) >= maxNumbered {
			return
		}
		w.links = append(w.links, l)
		i = len(w.links) - 1
	}
	space := w.space
	w.space = false
	w.words(fmt.Sprintf("[%d]", i+1))
	w.space = space
}

// done returns the text with its list of links.
func (w *writer) done() string {
	text := strings.TrimSpace(w.b.String())
	if len(w.links) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text + "\n\nLinks:")
	for i, l := range w.links {
		fmt.Fprintf(&b, "\n[%d] %s", i+1, l)
	}
	return b.String()
}

// collect adds the addresses of a whole page that readers can see.
func (w *writer) collect(n *html.Node, links *[]string) {
	for c := n.FirstChild; c != nil && len(*links) < maxLinks; c = c.NextSibling {
		if c.Type != html.ElementNode || unseen(c) {
			continue
		}
		if c.DataAtom == atom.A {
			if l := w.address(Attr(c, "href")); l != "" && !slices.Contains(*links, l) {
				*links = append(*links, l)
			}
		}
		w.collect(c, links)
	}
}
