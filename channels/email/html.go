package email

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/readability"
)

// splitHTML separates own and quoted text in HTML. Most quotations are marked by mail programs;
// splitHTML finds unmarked ones in the text. unseen is text that readers cannot see; it counts as
// neither.
func splitHTML(s string, answer bool) (p splitMail, unseen string) {
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil { // the elements are nested too deeply
		return splitMail{quoted: cleanText(readability.Words(s)), bounded: true}, ""
	}
	t := trimmer{answer: answer}
	t.trimNode(doc, false)
	var b strings.Builder
	if err := html.Render(&b, doc); err != nil {
		return splitMail{quoted: cleanText(readability.Words(s)), bounded: true}, ""
	}
	p = splitPlain(cleanText(readability.Words(b.String())), false, answer)
	faint := splitPlain(cleanText(readability.Words(t.faint.String())), false, answer)
	if p.own == "" { // all text is white
		p = splitMail{own: faint.own, quoted: joinTexts(p.quoted, faint.quoted), bounded: p.bounded || faint.bounded}
		faint.own = ""
	}
	p.quoted = joinTexts(p.quoted, cleanText(readability.Words(t.theirs.String())))
	p.bounded = p.bounded || t.rest
	return p, cleanText(t.unseen.String()) + "\n" + faint.own
}

// trimmer removes quotations from an HTML document.
type trimmer struct {
	answer         bool // the email is a reply or forward
	rest           bool // everything that follows is quoted
	theirs, unseen strings.Builder
	faint          strings.Builder // text in the background color
}

// trimNode sorts the children of n into own, quoted and hidden text. ground reports whether the
// element has a colored background.
func (t *trimmer) trimNode(n *html.Node, ground bool) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		ground := ground || readability.Attr(child, "bgcolor") != "" || strings.Contains(strings.ToLower(readability.Attr(child, "style")), "background")
		switch mark := t.quoteMarks(child, ground); {
		case child.Type == html.ElementNode && child.DataAtom == atom.Head:
		case t.rest && (child.Type == html.TextNode || child.Type == html.ElementNode && !isDocumentFrame(child)), mark == quotation:
			t.rest = true
			if html.Render(&t.theirs, child) == nil {
				t.theirs.WriteString("<br>")
			}
			n.RemoveChild(child)
		case mark == hidden:
			t.unseen.WriteString(readability.Plain(child) + "\n")
			n.RemoveChild(child)
		case mark == pale:
			t.trimNode(child, ground)
			if html.Render(&t.faint, child) == nil {
				t.faint.WriteString("<br>")
			}
			n.RemoveChild(child)
		case mark == signature:
			n.RemoveChild(child)
		default:
			// Remove hidden elements. The alternative text of a picture is also hidden from
			// readers.
			child.Attr = slices.DeleteFunc(child.Attr, func(a html.Attribute) bool {
				return a.Key == "style" || a.Key == "alt" && child.DataAtom == atom.Img
			})
			t.trimNode(child, ground)
		}
		child = next
	}
}

// isDocumentFrame reports whether an element belongs to the outer structure of a document, which is
// never removed.
func isDocumentFrame(n *html.Node) bool {
	return n.DataAtom == atom.Html || n.DataAtom == atom.Body || n.DataAtom == atom.Head
}

// Roles of an element in an email.
const (
	plainWords = iota
	quotation  // the beginning of a quotation
	signature
	hidden // text that readers do not see
	pale   // text in the background color
)

// quoteNames matches the classes, ids and names of elements that contain a quotation in the HTML of
// Gmail, Apple Mail, Thunderbird, Outlook, Yahoo, Proton, GMX, Zimbra and others.
var quoteNames = lazyregexp.New(`(?i)quot|(^|[-_ ])cite|rplyfwd|appendonsend|olk_src|gmail_(attr|extra)|forward-?(ed|container)|original-?(message|content)|outlookmessageheader|reference-?message|reply(-intro|section|header)|isreplycontent|stopspelling|zwchr|zmail_extra|__headers__`)

// quoteMarks returns the role of an element.
func (t *trimmer) quoteMarks(n *html.Node, ground bool) int {
	if n.Type != html.ElementNode {
		return plainWords
	}
	id, class := readability.Attr(n, "id"), readability.Attr(n, "class")
	classes := strings.Fields(class)
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(s string) bool { return slices.Contains(classes, s) || id == s })
	}
	style := strings.ToLower(strings.Join(strings.Fields(readability.Attr(n, "style")), ""))
	names := strings.Join([]string{id, class, readability.Attr(n, "name"), readability.Attr(n, "data-marker"), readability.Attr(n, "type")}, " ")
	switch {
	case style != "" && !isDocumentFrame(n) && invisible.MatchString(style), slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" }):
		return hidden
	case is("gmail_signature", "moz-signature", "Signature", "AppleMailSignature", "ms-outlook-mobile-signature", "protonmail_signature_block", "tutanota_signature", "x_Signature", "mobile-signature"):
		return signature
	case is("gmail_quote") && n.DataAtom == atom.Div && !isGmailFrame(n):
		return plainWords
	case n.DataAtom == atom.Blockquote, n.DataAtom == atom.Hr && t.answer, !isDocumentFrame(n) && quoteNames.MatchString(names):
		return quotation
	case isBlock(n) && isRuled(style):
		return quotation
	case !ground && !isDocumentFrame(n) && isPale(n, style):
		return pale
	}
	return plainWords
}

func isBlock(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Div, atom.P, atom.Section, atom.Article:
		return true
	}
	return false
}

// isRuled reports whether style draws a line left of or above an element. Outlook, GMX and others
// mark quotations in this way. style is in lower case without spaces.
func isRuled(style string) bool {
	for property := range strings.SplitSeq(style, ";") {
		name, value, _ := strings.Cut(property, ":")
		side := strings.HasPrefix(name, "border-left") || strings.HasPrefix(name, "border-top") || strings.HasPrefix(name, "border-inline-start")
		if side && !strings.HasSuffix(name, "color") && !strings.HasSuffix(name, "radius") && drawn.MatchString(value) && !undrawn.MatchString(value) {
			return true
		}
	}
	return false
}

var (
	drawn   = lazyregexp.New(`[1-9]|solid|dotted|dashed|double|groove|ridge|inset|outset|thin|thick|medium`)
	undrawn = lazyregexp.New(`none|hidden|initial|inherit|unset|revert|transparent|^0(px|pt|em|%)?($|[a-z#])`)
)

// isGmailFrame reports whether an element is a Gmail container for quotations. The container stays
// when the quotation is removed, and later text is written into it.
func isGmailFrame(n *html.Node) bool {
	for d := range n.Descendants() {
		if d.DataAtom == atom.Blockquote || strings.Contains(readability.Attr(d, "class"), "gmail_attr") {
			return true
		}
	}
	return false
}

// invisible matches styles that hide text in emails. The styles are in lower case without spaces.
var invisible = lazyregexp.New(`display:none|visibility:hidden|mso-hide:all|opacity:0(\.0\d*)?(;|$)|font-size:([0-2](\.\d+)?(px|pt|%)|0(\.[0-3]\d*)?(r?em)?)(!important)?(;|$)|(^|;)(max-)?(height|width):0(px|pt|em|%)?(!important)?(;|$)|(text-indent|left|top|margin-left|margin-top):-\d{3,}|clip:rect\(0`)

// paleStyle matches styles with text in the background color.
var paleStyle = lazyregexp.New(`(^|;)color:(white|transparent|#fff|#ffffff|#fefefe|rgba?\(255,255,255(,[\d.]+)?\)|rgba\(\d+,\d+,\d+,0(\.0\d*)?\)|hsla?\([\d.]+,[\d.]+%,100%\))(!important)?(;|$)`)

func isPale(n *html.Node, style string) bool {
	if color := readability.Attr(n, "color"); color != "" {
		style += ";color:" + strings.ToLower(strings.TrimSpace(color))
	}
	return strings.Contains(style, "color:") && paleStyle.MatchString(style)
}
