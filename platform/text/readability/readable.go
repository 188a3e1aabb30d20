// Package readability extracts the main text of a web page. It omits menus, footers and invisible
// content, in which prompt injections are often hidden. It does not access the network.
package readability

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hob/platform/net/safehttp"
	"hob/platform/text/textnorm"
)

// maxLinks limits the addresses that are returned for one page.
const maxLinks = 300

// ErrTooDeep means that the elements of a page are nested too deeply to parse.
var ErrTooDeep = errors.New("cannot parse the page")

// Page is the readable content of a web page.
type Page struct {
	Title    string
	Text     string   // one paragraph or item per line; headings begin with "#", items with "-"
	Links    []string // canonical addresses, in page order
	Language string   // language that the page declares
	Author   string
	Date     string // date that the page declares
}

// HTML parses a page. It omits content that readers do not see (scripts, hidden elements,
// comments). If base is not nil, it makes links absolute, numbers them in the text and lists them
// at the end; otherwise it omits links.
func HTML(text string, base *url.URL) (*Page, error) {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil { // the parser rejects elements that are nested more than 512 levels deep
		return nil, fmt.Errorf("%w: %w", ErrTooDeep, err)
	}
	p := &Page{Title: pageTitle(doc), Language: Attr(findElement(doc, atom.Html), "lang")}
	p.readMetas(doc)
	if ref := Attr(findElement(doc, atom.Base), "href"); ref != "" && base != nil {
		if u, err := url.Parse(ref); err == nil {
			base = base.ResolveReference(u)
		}
	}
	root := mainOf(doc)
	known := map[string]string{}
	w := &writer{base: base, known: known, chrome: true}
	w.writeChildren(root)
	if w.b.Len() == 0 { // all text is in menus and footers, so include them
		w = &writer{base: base, known: known}
		w.writeChildren(doc)
	}
	p.Text = w.finishText()
	p.Links = w.links
	all := &writer{base: base, known: known} // collects the text of menus too
	all.collectLinks(doc, &p.Links)
	return p, nil
}

// Words returns the text of an HTML fragment.
func Words(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	n, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return s
	}
	w := &writer{}
	w.writeChildren(n)
	return w.b.String()
}

// readMetas reads the page's meta elements
// (https://html.spec.whatwg.org/#the-meta-element).
func (p *Page) readMetas(doc *html.Node) {
	for d := range doc.Descendants() {
		if d.Type != html.ElementNode || d.DataAtom != atom.Meta {
			continue
		}
		value := CutRunes(Squeeze(Attr(d, "content")), 200)
		switch strings.ToLower(Attr(d, "name") + Attr(d, "property")) {
		case "author", "article:author", "dc.creator":
			p.Author = cmp.Or(p.Author, value)
		case "date", "article:published_time", "dc.date":
			p.Date = cmp.Or(p.Date, value)
		}
	}
}

// Link returns the absolute canonical form of a link, or "" if the link cannot be opened.
func Link(base *url.URL, ref string) string {
	ref = strings.TrimSpace(ref)
	if base == nil || ref == "" || ref[0] == '#' || strings.Contains(ref, `\`) {
		return ""
	}
	u, err := url.Parse(ref)
	if err != nil {
		return ""
	}
	c, err := safehttp.Canonical(base.ResolveReference(u).String())
	if err != nil {
		return ""
	}
	if s := c.String(); len(s) <= 2048 {
		return s
	}
	return ""
}

// Tidy drops characters that a terminal or a model might not treat as plain text.
func Tidy(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0) {
			return -1
		}
		return r
	}, s)
}

func pageTitle(doc *html.Node) string {
	for _, n := range []*html.Node{findElement(doc, atom.Title), findElement(doc, atom.H1)} {
		if n != nil {
			if t := Squeeze(Plain(n)); t != "" {
				return CutRunes(t, 300)
			}
		}
	}
	return ""
}

// Squeeze returns s as one line with single spaces.
func Squeeze(s string) string { return strings.Join(strings.Fields(Tidy(s)), " ") }

// CutRunes truncates s to n characters, and appends "…" if s was longer.
func CutRunes(s string, n int) string {
	if first := textnorm.TruncateRunes(s, n); len(first) < len(s) {
		return first + "…"
	}
	return s
}

func findElement(n *html.Node, a atom.Atom) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.DataAtom == a {
			return d
		}
	}
	return nil
}

// Attr returns the value of an element's attribute, or "" if the attribute is missing.
func Attr(n *html.Node, name string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// maxPlain is the maximum number of bytes of text that are read per element. It is limited because
// the text of nested elements is read repeatedly.
const maxPlain = 4000

// Plain returns the text inside an element, truncated to maxPlain.
func Plain(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if b.Len() > maxPlain {
			break
		}
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// isInvisible reports whether an element has no visible text.
func isInvisible(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Canvas, atom.Head, atom.Noscript, atom.Video, atom.Audio,
		atom.Select, atom.Textarea, atom.Button, atom.Input, atom.Dialog, atom.Math:
		return true
	}
	for _, a := range n.Attr {
		switch v := strings.ToLower(strings.TrimSpace(a.Val)); a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if v == "true" {
				return true
			}
		case "style":
			if hidesElement(v) {
				return true
			}
		}
	}
	return false
}

// hidesElement reports whether a style makes an element invisible.
func hidesElement(style string) bool {
	s := strings.Join(strings.Fields(style), "")
	for _, x := range []string{"display:none", "visibility:hidden", "font-size:0", "opacity:0", "clip:rect(0", "text-indent:-"} {
		i := strings.Index(s, x)
		if i < 0 {
			continue
		}
		rest := s[i+len(x):]
		if strings.HasSuffix(x, ":0") && strings.HasPrefix(rest, ".") && strings.Trim(strings.SplitN(rest[1:], ";", 2)[0], "0emprx%") != "" {
			continue // opacity:0.9
		}
		if strings.HasSuffix(x, ":-") && len(strings.TrimLeft(rest, "0123456789")) > len(rest)-3 {
			continue // ignore small negative values, such as the text-indent:-18pt with which Word formats list items
		}
		return true
	}
	return false
}

// isPageChrome reports whether an element is navigation or another part outside a page's main text.
func isPageChrome(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Aside, atom.Footer:
		return true
	}
	return slices.Contains([]string{"navigation", "banner", "contentinfo", "search", "complementary"}, Attr(n, "role"))
}

// mainOf returns the element with the main text: the element that the page marks as such or, if
// there is none, the innermost element that contains nearly all of the readable text.
func mainOf(doc *html.Node) *html.Node {
	body := findElement(doc, atom.Body)
	if body == nil {
		body = doc
	}
	mass := map[*html.Node]int{}
	total := measureText(body, mass)
	const enough = 250
	for _, fits := range []func(*html.Node) bool{
		func(n *html.Node) bool { return n.DataAtom == atom.Main || Attr(n, "role") == "main" },
		func(n *html.Node) bool { return n.DataAtom == atom.Article },
	} {
		if n := findOnly(body, fits); n != nil && mass[n] >= enough {
			return n
		}
	}
	for best := body; ; {
		inner := heaviestElement(best, mass)
		if inner == nil || mass[inner]*4 < total*3 {
			return best
		}
		best = inner
	}
}

// findOnly returns the single matching element. It returns nil if there are none or several.
func findOnly(root *html.Node, fits func(*html.Node) bool) (found *html.Node) {
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || !fits(n) {
			continue
		}
		if found != nil {
			return nil
		}
		found = n
	}
	return found
}

// measureText records in mass how many bytes of text in each element read like prose, as opposed to
// links, menus and single words.
func measureText(n *html.Node, mass map[*html.Node]int) int {
	sum := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			if size := len(strings.TrimSpace(c.Data)); size >= 25 {
				sum += size
			}
		case c.Type == html.ElementNode && c.DataAtom != atom.A && !isInvisible(c) && !isPageChrome(c):
			sum += measureText(c, mass)
		}
	}
	if sum > 0 {
		mass[n] = sum
	}
	return sum
}

func heaviestElement(n *html.Node, mass map[*html.Node]int) (best *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if mass[c] > mass[best] {
			best = c
		}
	}
	if best == nil || isInlineElement(best) {
		return nil
	}
	return best
}

// isInlineElement reports whether an element is inline. An inline element never contains a page's
// main text.
func isInlineElement(n *html.Node) bool {
	switch n.DataAtom {
	case atom.P, atom.Span, atom.B, atom.I, atom.Em, atom.Strong, atom.Pre, atom.Code, atom.Li, atom.Font, atom.Q, atom.Blockquote:
		return true
	}
	return false
}
