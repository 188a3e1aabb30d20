package email

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hob/platform/readable"
)

// splitHTML is split for HTML. Mail programs mark what they quote; what they do not mark
// is found in the text. unseen is what no reader sees, which nobody says.
func splitHTML(s string) (own, quoted, unseen string) {
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil { // deeper than anybody writes
		return "", clean(readable.Words(s)), ""
	}
	var t trimmer
	t.trim(doc, false)
	var b strings.Builder
	if err := html.Render(&b, doc); err != nil {
		return "", clean(readable.Words(s)), ""
	}
	own, more := splitPlain(clean(readable.Words(b.String())), false, true)
	faint, also := splitPlain(clean(readable.Words(t.faint.String())), false, true)
	if own == "" { // all of it is white: it was written on a dark ground
		own, faint, more = faint, "", more+"\n\n"+also
	}
	quoted = strings.TrimSpace(strings.TrimSpace(more) + "\n\n" + strings.TrimSpace(clean(readable.Words(t.theirs.String()))))
	return own, quoted, clean(t.unseen.String()) + "\n" + faint
}

// trimmer takes what is not the sender's own out of a document.
type trimmer struct {
	rest           bool // all that follows is quoted
	theirs, unseen strings.Builder
	faint          strings.Builder // in the colour of the paper
}

// ground: it stands on a coloured one.
func (t *trimmer) trim(n *html.Node, ground bool) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		ground := ground || readable.Attr(child, "bgcolor") != "" || strings.Contains(strings.ToLower(readable.Attr(child, "style")), "background")
		switch mark := quotes(child, ground); {
		case child.Type == html.ElementNode && child.DataAtom == atom.Head:
		case t.rest && (child.Type == html.TextNode || child.Type == html.ElementNode && !holds(child)), mark == onwards, mark == part1:
			t.rest = t.rest || mark == onwards
			if html.Render(&t.theirs, child) == nil {
				t.theirs.WriteString("<br>")
			}
			n.RemoveChild(child)
			if mark == part1 { // the text shows that something stood here
				n.InsertBefore(&html.Node{Type: html.ElementNode, DataAtom: atom.P, Data: "p"}, next)
				at := n.LastChild
				if next != nil {
					at = next.PrevSibling
				}
				at.AppendChild(&html.Node{Type: html.TextNode, Data: ">"})
			}
		case mark == hidden:
			t.unseen.WriteString(readable.Plain(child) + "\n")
			n.RemoveChild(child)
		case mark == pale:
			t.trim(child, ground)
			if html.Render(&t.faint, child) == nil {
				t.faint.WriteString("<br>")
			}
			n.RemoveChild(child)
		case mark == signature:
			n.RemoveChild(child)
		default:
			// What hides is gone; the words beside a picture are seen by nobody.
			child.Attr = slices.DeleteFunc(child.Attr, func(a html.Attribute) bool {
				return a.Key == "style" || a.Key == "alt" && child.DataAtom == atom.Img
			})
			t.trim(child, ground)
		}
		child = next
	}
}

// holds reports the frame of a document, which stays.
func holds(n *html.Node) bool {
	return n.DataAtom == atom.Html || n.DataAtom == atom.Body || n.DataAtom == atom.Head
}

// What an element is to the mail in which it stands.
const (
	words1    = iota
	part1     // a quotation
	onwards   // the beginning of one that goes on to the end
	signature // a signature
	hidden    // what its reader does not see
	pale      // in the colour of the paper
)

// quotes reads the marks of Gmail, Apple Mail, Thunderbird, Outlook, Yahoo, Proton and
// others.
func quotes(n *html.Node, ground bool) int {
	if n.Type != html.ElementNode {
		return words1
	}
	id := readable.Attr(n, "id")
	classes := strings.Fields(readable.Attr(n, "class"))
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(s string) bool { return slices.Contains(classes, s) || id == s })
	}
	name := readable.Attr(n, "name")
	style := strings.ToLower(strings.Join(strings.Fields(readable.Attr(n, "style")), ""))
	switch {
	case style != "" && !holds(n) && invisible.MatchString(style), slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" }):
		return hidden
	case is("divRplyFwdMsg", "x_divRplyFwdMsg", "appendonsend", "OLK_SRC_BODY_SECTION", "mail-editor-reference-message-container", "reply-intro", "stopSpelling", "zwchr"):
		return onwards
	case is("gmail_quote") && n.DataAtom == atom.Div && answered(n):
		return words1
	case n.DataAtom == atom.Blockquote, name == "quote", name == "messageReplySection",
		is("gmail_quote", "gmail_quote_container", "gmail_extra", "gmail_attr", "moz-cite-prefix", "moz-forward-container", "yahoo_quoted", "protonmail_quote", "tutanota_quote", "zmail_extra", "WordSection1_quote", "ms-outlook-mobile-reference-message", "iCloudQuote", "quoted-text", "nylas-quote", "front-blockquote", "isReplyContent"):
		return part1
	case is("gmail_signature", "moz-signature", "Signature", "AppleMailSignature", "ms-outlook-mobile-signature", "protonmail_signature_block", "tutanota_signature", "x_Signature", "mobile-signature"):
		return signature
	case n.DataAtom == atom.Div && outlookRule(style):
		return onwards
	case n.DataAtom == atom.Div && strings.Contains(style, "border-left:") && !strings.Contains(style, "border-left:none") && !strings.Contains(style, "border-left:0"):
		return part1 // as Outlook, GMX and others draw it
	case !ground && !holds(n) && isPale(n, style):
		return pale
	}
	return words1
}

// answered reports Gmail's frame around a mail that is answered, in which the answers may
// stand between its parts: first who wrote it, then what. A mail that is passed on has
// no such parts.
func answered(n *html.Node) bool {
	var first, second *html.Node
	for child := range n.ChildNodes() {
		if child.Type == html.TextNode && strings.TrimSpace(child.Data) != "" {
			break
		}
		if child.Type != html.ElementNode || child.DataAtom == atom.Br {
			continue
		}
		if first == nil {
			first = child
			continue
		}
		second = child
		break
	}
	return second != nil && strings.Contains(readable.Attr(first, "class"), "gmail_attr") && second.DataAtom == atom.Blockquote
}

// invisible are styles with which text is hidden in mails, in lower case and without
// spaces.
var invisible = regexp.MustCompile(`display:none|visibility:hidden|mso-hide:all|opacity:0(\.0\d*)?(;|$)|font-size:([0-2](\.\d+)?(px|pt|%)|0(\.[0-3]\d*)?(r?em)?)(!important)?(;|$)|(^|;)(max-)?(height|width):0(px|pt|em|%)?(!important)?(;|$)|(text-indent|left|top|margin-left|margin-top):-\d{3,}|clip:rect\(0`)

// paleStyle is text in the colour of the paper.
var paleStyle = regexp.MustCompile(`(^|;)color:(white|transparent|#fff|#ffffff|#fefefe|rgba?\(255,255,255(,[\d.]+)?\)|rgba\(\d+,\d+,\d+,0(\.0\d*)?\)|hsla?\([\d.]+,[\d.]+%,100%\))(!important)?(;|$)`)

func isPale(n *html.Node, style string) bool {
	if colour := readable.Attr(n, "color"); colour != "" {
		style += ";color:" + strings.ToLower(strings.TrimSpace(colour))
	}
	return strings.Contains(style, "color:") && paleStyle.MatchString(style)
}

// outlookRule reports the line that Outlook draws above the mail that is answered.
func outlookRule(style string) bool {
	return strings.Contains(style, "border-top:solid#e1e1e11.0pt") || strings.Contains(style, "border-top:solid#b5c4df1.0pt") || strings.Contains(style, "border:none;border-top:solid")
}
