package readability

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxNumbered is the maximum number of links listed below a text.
const maxNumbered = 80

// writer converts elements to plain text and numbers their links.
type writer struct {
	base   *url.URL
	chrome bool              // omit menus and footers
	known  map[string]string // canonical address of each address as written in the page
	b      strings.Builder
	links  []string
	gap    int // number of line breaks to write before the next word
	space  bool
	pre    int
	list   []int // for each enclosing list, the next number, or 0 for bullets
}

func (w *writer) writeChildren(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.writeNode(c)
	}
}

// writeNode writes one node. The parser limits the depth of the recursion.
func (w *writer) writeNode(n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		w.writeWords(n.Data)
		return
	case n.Type != html.ElementNode, isInvisible(n), w.chrome && isPageChrome(n):
		return
	}
	switch n.DataAtom {
	case atom.Br:
		w.requestLineBreaks(1)
	case atom.Hr:
		w.requestLineBreaks(2)
	case atom.A:
		w.writeChildren(n)
		w.writeLinkNumber(Attr(n, "href"))
	case atom.Img:
		if alt := Squeeze(Attr(n, "alt")); alt != "" {
			w.writeWords(" [picture: " + CutRunes(alt, 200) + "] ")
		}
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.requestLineBreaks(2)
		w.writeWords(strings.Repeat("#", int(n.Data[1]-'0')) + " ")
		w.writeChildren(n)
		w.requestLineBreaks(2)
	case atom.Pre:
		w.requestLineBreaks(2)
		w.pre++
		w.writeChildren(n)
		w.pre--
		w.requestLineBreaks(2)
	case atom.Ul, atom.Ol:
		w.writeList(n)
	case atom.Li:
		w.writeListItem(n)
	case atom.Td, atom.Th:
		w.writeChildren(n)
		w.writeWords(" | ")
	case atom.Tr, atom.Dt, atom.Dd, atom.Figcaption, atom.Option:
		w.requestLineBreaks(1)
		w.writeChildren(n)
		w.requestLineBreaks(1)
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Aside, atom.Nav, atom.Table, atom.Blockquote, atom.Figure,
		atom.Address, atom.Details, atom.Summary, atom.Dl, atom.Form, atom.Fieldset:
		w.requestLineBreaks(2)
		w.writeChildren(n)
		w.requestLineBreaks(2)
	default:
		w.writeChildren(n)
	}
}

func (w *writer) writeList(n *html.Node) {
	w.requestLineBreaks(2 - min(1, len(w.list)))
	first := 0
	if n.DataAtom == atom.Ol {
		first = 1
	}
	w.list = append(w.list, first)
	w.writeChildren(n)
	w.list = w.list[:len(w.list)-1]
	w.requestLineBreaks(2 - min(1, len(w.list)))
}

func (w *writer) writeListItem(n *html.Node) {
	w.requestLineBreaks(1)
	bullet := "- "
	if k := len(w.list); k > 0 {
		bullet = strings.Repeat("  ", min(k-1, 8)) + bullet
		if i := w.list[k-1]; i > 0 {
			bullet = fmt.Sprintf("%s%d. ", strings.Repeat("  ", min(k-1, 8)), i)
			w.list[k-1]++
		}
	}
	w.flushBreaks()
	w.b.WriteString(bullet)
	w.writeChildren(n)
	w.requestLineBreaks(1)
}

// requestLineBreaks requests at least n line breaks before the next output.
func (w *writer) requestLineBreaks(n int) { w.gap, w.space = max(w.gap, n), false }

func (w *writer) flushBreaks() {
	if w.b.Len() > 0 {
		w.b.WriteString(strings.Repeat("\n", w.gap))
	}
	w.gap, w.space = 0, false
}

// writeWords writes text. Outside of <pre>, it collapses whitespace to one space.
func (w *writer) writeWords(s string) {
	s = Tidy(s)
	if w.pre > 0 {
		w.flushBreaks()
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
	w.flushBreaks()
	if blank && begun && !strings.HasSuffix(w.b.String()[max(0, w.b.Len()-1):], "\n") {
		w.b.WriteByte(' ')
	}
	w.b.WriteString(strings.Join(fields, " "))
	w.space = strings.TrimRight(s, " \t\n\r\f\u00a0") != s
}

// canonicalURL returns the result of Link and caches it by the address as written in the page.
func (w *writer) canonicalURL(href string) string {
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

// writeLinkNumber writes the number of a link after its text.
func (w *writer) writeLinkNumber(href string) {
	l := w.canonicalURL(href)
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
	w.writeWords(fmt.Sprintf("[%d]", i+1))
	w.space = space
}

// finishText returns the text with its list of links.
func (w *writer) finishText() string {
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

// collectLinks appends the addresses in n that readers of the page can see.
func (w *writer) collectLinks(n *html.Node, links *[]string) {
	for c := n.FirstChild; c != nil && len(*links) < maxLinks; c = c.NextSibling {
		if c.Type != html.ElementNode || isInvisible(c) {
			continue
		}
		if c.DataAtom == atom.A {
			if l := w.canonicalURL(Attr(c, "href")); l != "" && !slices.Contains(*links, l) {
				*links = append(*links, l)
			}
		}
		w.collectLinks(c, links)
	}
}
