package canvas

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"hob/autonomy/api"
	"hob/platform/text/markup"
	"hob/platform/text/plot"
	"hob/platform/text/visible"
)

// renderWidget returns the body of a widget as HTML. See the package comment for what it may
// contain.
func renderWidget(w Widget) string {
	switch w.Kind {
	case kindMarkdown:
		return sanitizeHTML(markup.HTML(w.Content))
	case kindHTML:
		return sanitizeHTML(w.Content)
	}
	g, err := parseGrid(w.Content)
	if err != nil { // erasing a text may have changed the content
		return "<pre>" + escapeText(w.Content) + "</pre>"
	}
	if w.Kind == kindTable {
		return renderTable(g)
	}
	c, err := g.chartData()
	if err != nil {
		return renderTable(g)
	}
	c.Title, c.Line = w.Title, w.Kind == kindLine
	return drawChart(c) + "<details><summary>Numbers</summary>" + renderTable(g) + "</details>"
}

func escapeText(s string) string { return html.EscapeString(visible.Text(s)) }

func renderTable(g grid) string {
	var b strings.Builder
	b.WriteString("<table><thead><tr>")
	for _, h := range g.head {
		b.WriteString(`<th scope="col">` + escapeText(h) + "</th>")
	}
	b.WriteString("</tr></thead><tbody>")
	for _, row := range g.rows {
		b.WriteString("<tr>")
		for _, v := range row {
			class := ""
			if _, ok := parseNumber(v); ok {
				class = ` class="n"`
			}
			b.WriteString("<td" + class + ">" + escapeText(v) + "</td>")
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</tbody></table>")
	return b.String()
}

// plainContent returns the content of a widget as text for a model.
func plainContent(w Widget) string {
	if w.Kind == kindHTML {
		return extractText(sanitizeHTML(w.Content))
	}
	return w.Content
}

// estimateHeight returns the height of a widget's frame in pixels. A frame without scripts cannot
// report its height; a larger content scrolls.
func estimateHeight(w Widget) int {
	const line, most = 23.0, 440 // the style sheet assets/web/widget.css decides the heights
	height, row, perLine := 12.0, line, 58.0
	switch w.Kind {
	case kindBar, kindLine:
		if head, _, _ := strings.Cut(w.Content, "\n"); strings.Count(head, ",") > 1 {
			return api.ChartHeight + 32 // the legend of several series
		}
		return api.ChartHeight
	case kindTable:
		height, row, perLine = 8, 31, 90 // columns stand side by side
	}
	if w.Kind == kindHTML { // its text has no blank lines
		height -= line / 2 // the last block has no margin
		content := sanitizeHTML(w.Content)
		for _, tag := range []string{"p", "ul", "ol", "dl", "blockquote", "pre", "table", "h1", "h2", "h3", "h4", "h5", "h6"} {
			height += line / 2 * float64(strings.Count(content, "</"+tag+">"))
		}
		height += 8 * float64(strings.Count(content, "</tr>"))
	}
	for l := range strings.SplitSeq(strings.TrimSpace(plainContent(w)), "\n") {
		if l = strings.TrimSpace(l); l == "" {
			height += line / 2
			continue
		}
		if strings.HasPrefix(l, "#") { // a heading of Markdown
			height += 8
		}
		height += row + line*max(0, math.Ceil(float64(utf8.RuneCountInString(l))/perLine)-1)
	}
	return min(int(height), most)
}

// drawChart returns a chart as inline SVG. Colors come from the style sheet of the frame.
func drawChart(c plot.Chart) string {
	var b strings.Builder
	b.WriteString(plot.Inline(c))
	if len(c.Series) > 1 {
		b.WriteString(`<ul class="legend">`)
		for n, s := range c.Series {
			fmt.Fprintf(&b, `<li class="s%d">%s</li>`, n, escapeText(s.Name))
		}
		b.WriteString("</ul>")
	}
	return b.String()
}
