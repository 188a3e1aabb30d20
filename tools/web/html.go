package web

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hob/tools"
)

// readHTML finds the text of a page that is meant for its readers. What they
// would not see (scripts, hidden elements, comments) is left out: it is where
// instructions for a model are put.
func readHTML(text string, base *url.URL) (*page, error) {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil { // deeper than 512 elements
		return nil, &tools.Error{Code: tools.Unsupported, Message: "the page of " + base.Host + " is built so that it cannot be read", Remedy: "open it in a browser", Err: err}
	}
	p := &page{kind: "page", title: title(doc)}
	if ref := attr(find(doc, atom.Base), "href"); ref != "" {
		if u, err := url.Parse(ref); err == nil {
			base = base.ResolveReference(u)
		}
	}
	root := mainOf(doc)
	known := map[string]string{}
	w := &writer{base: base, known: known, chrome: root.DataAtom == atom.Body || root.Type == html.DocumentNode}
	w.children(root)
	p.body = w.done()
	p.links = w.links
	all := &writer{base: base, known: known} // also of menus
	all.collect(doc, &p.links)
	return p, nil
}

func title(doc *html.Node) string {
	for _, n := range []*html.Node{find(doc, atom.Title), find(doc, atom.H1)} {
		if n != nil {
			if t := squeeze(plain(n)); t != "" {
				return cutRunes(t, 300)
			}
		}
	}
	return ""
}

// squeeze makes one line.
func squeeze(s string) string { return strings.Join(strings.Fields(tidy(s)), " ") }

func cutRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

func find(n *html.Node, a atom.Atom) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.DataAtom == a {
			return d
		}
	}
	return nil
}

func attr(n *html.Node, name string) string {
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

// maxPlain bounds how much text of an element is looked at, in bytes: elements
// lie in each other, and each is looked at.
const maxPlain = 4000

// plain is the text in an element, or its beginning.
func plain(n *html.Node) string {
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

// unseen are elements whose content no reader sees, or that are no text.
func unseen(n *html.Node) bool {
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
			if hides(v) {
				return true
			}
		}
	}
	return false
}

// hides reports whether a style takes an element out of sight.
func hides(style string) bool {
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
		return true
	}
	return false
}

// chrome are the parts around a page's own text.
func chrome(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Aside, atom.Footer, atom.Form:
		return true
	}
	return slices.Contains([]string{"navigation", "banner", "contentinfo", "search", "complementary"}, attr(n, "role"))
}

// mainOf finds the element that holds the page's own text: what the page says
// it is, else the one with the most paragraphs, else all of it.
func mainOf(doc *html.Node) *html.Node {
	var named, articles []*html.Node
	score := map[*html.Node]int{}
	total := 0
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch {
		case n.DataAtom == atom.Main || attr(n, "role") == "main":
			named = append(named, n)
		case n.DataAtom == atom.Article:
			articles = append(articles, n)
		case n.DataAtom == atom.P:
			size := len(squeeze(plain(n)))
			if size < 25 || n.Parent == nil {
				continue
			}
			total += size
			score[n.Parent] += size
			if up := n.Parent.Parent; up != nil {
				score[up] += size / 2
			}
		}
	}
	const enough = 250
	for _, list := range [][]*html.Node{named, articles} {
		if len(list) == 1 && len(squeeze(plain(list[0]))) >= enough {
			return list[0]
		}
	}
	best := find(doc, atom.Body)
	if best == nil {
		best = doc
	}
	if len(articles) > 1 {
		return best
	}
	most := max(enough, total/2)
	for n := range doc.Descendants() { // in order, so that the same page reads the same
		if s := score[n]; s > most && n.DataAtom != atom.Html {
			best, most = n, s
		}
	}
	return best
}
