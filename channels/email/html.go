package email

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hob/platform/readable"
)

// splitHTML is splitPlain for a mail that has no plain text. Mail programs mark what
// they quote; what they do not mark is found in the text.
func splitHTML(s string) (own, quoted string) {
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil { // deeper than anybody writes
		return "", clean(readable.Words(s))
	}
	var theirs strings.Builder
	rest := false
	trim(doc, &rest, &theirs)
	var b strings.Builder
	if err := html.Render(&b, doc); err != nil {
		return "", clean(readable.Words(s))
	}
	own, more := splitPlain(clean(readable.Words(b.String())), false)
	quoted = strings.TrimSpace(strings.TrimSpace(more) + "\n\n" + strings.TrimSpace(clean(readable.Words(theirs.String()))))
	return own, quoted
}

// trim takes what is quoted out of a document. rest: all that follows is quoted.
func trim(n *html.Node, rest *bool, theirs *strings.Builder) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		switch mark := quotes(child); {
		case child.Type == html.ElementNode && child.DataAtom == atom.Head:
		case *rest && (child.Type == html.TextNode || child.Type == html.ElementNode && !holds(child)), mark == part1:
			if html.Render(theirs, child) == nil {
				theirs.WriteString("<br>")
			}
			n.RemoveChild(child)
		case mark == signature:
			n.RemoveChild(child)
		case mark == onwards:
			*rest = true
			if html.Render(theirs, child) == nil {
				theirs.WriteString("<br>")
			}
			n.RemoveChild(child)
		default:
			trim(child, rest, theirs)
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
)

// quotes reads the marks of Gmail, Apple Mail, Thunderbird, Outlook, Yahoo, Proton and
// others.
func quotes(n *html.Node) int {
	if n.Type != html.ElementNode {
		return words1
	}
	id := readable.Attr(n, "id")
	classes := strings.Fields(readable.Attr(n, "class"))
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(s string) bool { return slices.Contains(classes, s) || id == s })
	}
	switch {
	case is("divRplyFwdMsg", "x_divRplyFwdMsg", "appendonsend", "OLK_SRC_BODY_SECTION", "mail-editor-reference-message-container", "reply-intro", "stopSpelling"):
		return onwards
	case n.DataAtom == atom.Blockquote && (readable.Attr(n, "type") == "cite" || is("gmail_quote") || readable.Attr(n, "cite") != ""),
		is("gmail_quote", "gmail_quote_container", "gmail_extra", "gmail_attr", "moz-cite-prefix", "moz-forward-container", "yahoo_quoted", "protonmail_quote", "tutanota_quote", "zmail_extra", "WordSection1_quote", "ms-outlook-mobile-reference-message", "iCloudQuote", "quoted-text"):
		return part1
	case n.DataAtom == atom.Blockquote:
		return part1
	case is("gmail_signature", "moz-signature", "Signature", "AppleMailSignature", "ms-outlook-mobile-signature", "protonmail_signature_block", "tutanota_signature", "x_Signature", "mobile-signature"):
		return signature
	case n.DataAtom == atom.Div && outlookRule(readable.Attr(n, "style")):
		return onwards
	}
	return words1
}

// outlookRule reports the line that Outlook draws above the mail that is answered.
func outlookRule(style string) bool {
	s := strings.ToLower(strings.Join(strings.Fields(style), ""))
	return strings.Contains(s, "border-top:solid#e1e1e11.0pt") || strings.Contains(s, "border-top:solid#b5c4df1.0pt") || strings.Contains(s, "border:none;border-top:solid")
}
