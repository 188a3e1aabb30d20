package canvas

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"hob/platform/text/plot"
	"hob/platform/text/visible"
)

// maxDepth is the maximum nesting of elements. Deeper elements lose their tags.
const maxDepth = 60

// isAllowedElement reports whether an element may be in a widget. None of them can load, link,
// submit, style or run something.
func isAllowedElement(name string) bool {
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "ul", "ol", "li", "dl", "dt", "dd", "blockquote", "pre", "div", "span",
		"table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "figure", "figcaption", "section", "article", "header", "footer", "aside",
		"details", "summary", "strong", "em", "b", "i", "u", "s", "del", "ins", "sub", "sup", "small", "mark", "code", "kbd", "samp", "var", "q", "abbr", "wbr", "meter", "progress":
		return true
	}
	return false
}

// isDroppedWithContent reports whether the content of an element is not text for a reader.
func isDroppedWithContent(name string) bool {
	switch name {
	case "script", "style", "title", "template", "textarea", "select", "iframe", "object", "svg", "math", "canvas", "audio", "video", "noscript", "noembed", "noframes", "xmp", "plaintext":
		return true
	}
	return false
}

func isVoidElement(name string) bool { return name == "br" || name == "hr" || name == "wbr" }

// sanitizeHTML reduces HTML to the allowed elements. It writes every tag and every text itself, so
// nothing of the input reaches the output unescaped.
func sanitizeHTML(input string) string {
	var w sanitizer
	z := html.NewTokenizer(strings.NewReader(input))
	for {
		switch z.Next() {
		case html.ErrorToken: // the end: a string has no other errors
			for i := len(w.open) - 1; i >= 0; i-- {
				w.out.WriteString("</" + w.open[i] + ">")
			}
			return w.out.String()
		case html.TextToken:
			if w.dropped == "" {
				w.out.WriteString(html.EscapeString(visible.Text(z.Token().Data)))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			w.writeStart(z.Token())
		case html.EndTagToken:
			w.writeEnd(z.Token().Data)
		}
	}
}

// sanitizer writes HTML with properly nested elements.
type sanitizer struct {
	out     strings.Builder
	open    []string
	dropped string // the element whose content is being dropped, or ""
	depth   int    // nesting of the dropped element in itself
}

func (w *sanitizer) writeStart(t html.Token) {
	name := t.Data
	switch {
	case w.dropped != "":
		if name == w.dropped && t.Type == html.StartTagToken {
			w.depth++
		}
	case isDroppedWithContent(name):
		// Only drawings can close themselves: for a browser, <script/> has content.
		if t.Type == html.StartTagToken || name != "svg" && name != "math" {
			w.dropped, w.depth = name, 1
		}
	case !isAllowedElement(name) || len(w.open) >= maxDepth && !isVoidElement(name):
	default:
		w.out.WriteString("<" + name)
		for _, a := range t.Attr {
			if v, ok := allowedAttribute(name, a.Key, a.Val); ok {
				w.out.WriteString(" " + a.Key + `="` + html.EscapeString(v) + `"`)
			}
		}
		w.out.WriteString(">")
		if !isVoidElement(name) {
			w.open = append(w.open, name)
		}
	}
}

// writeEnd closes an element and those that are open inside it.
func (w *sanitizer) writeEnd(name string) {
	if w.dropped != "" {
		if name == w.dropped {
			if w.depth--; w.depth == 0 {
				w.dropped = ""
			}
		}
		return
	}
	at := -1
	for i, n := range w.open {
		if n == name {
			at = i
		}
	}
	if at < 0 {
		return
	}
	for i := len(w.open) - 1; i >= at; i-- {
		w.out.WriteString("</" + w.open[i] + ">")
	}
	w.open = w.open[:at]
}

// allowedAttribute returns the value of an attribute that may be in a widget. All other attributes
// are omitted.
func allowedAttribute(element, name, value string) (string, bool) {
	switch name {
	case "colspan", "rowspan":
		n, err := strconv.Atoi(value)
		return strconv.Itoa(n), (element == "td" || element == "th") && err == nil && n >= 1 && n <= 100
	case "scope":
		return value, element == "th" && (value == "row" || value == "col")
	case "start":
		n, err := strconv.Atoi(value)
		return strconv.Itoa(n), element == "ol" && err == nil && n >= 0 && n < 1_000_000
	case "open":
		return "", element == "details"
	case "dir":
		return value, value == "ltr" || value == "rtl" || value == "auto"
	case "value", "min", "max":
		f, ok := parseNumber(value)
		return plot.FormatNumber(f), (element == "meter" || element == "progress") && ok
	}
	return "", false
}

// extractText returns the text of sanitized HTML, with one line per block.
func extractText(sanitized string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(sanitized))
	for {
		switch z.Next() {
		case html.ErrorToken:
			lines := strings.Split(b.String(), "\n")
			for i, l := range lines {
				lines[i] = strings.Join(strings.Fields(l), " ")
			}
			return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
		case html.TextToken:
			b.WriteString(z.Token().Data)
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			switch z.Token().Data {
			case "td", "th":
				b.WriteString(" ")
			case "strong", "em", "b", "i", "u", "s", "del", "ins", "sub", "sup", "small", "mark", "code", "kbd", "samp", "var", "q", "abbr", "wbr", "span":
			default:
				b.WriteString("\n")
			}
		}
	}
}
