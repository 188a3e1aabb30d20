package canvas

import (
	"fmt"
	"math"
	"strings"

	"golang.org/x/net/html"

	"hob/platform/text/markup"
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
	return drawChart(c, w.Kind, w.Title) + "<details><summary>Numbers</summary>" + renderTable(g) + "</details>"
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
	const line, least, most = 26, 80, 440
	switch w.Kind {
	case kindBar, kindLine:
		return 275
	case kindTable:
		return min(max((strings.Count(w.Content, "\n")+1)*32+30, least), most)
	}
	lines := 0.0
	for l := range strings.SplitSeq(plainContent(w), "\n") {
		lines += max(1, math.Ceil(float64(len([]rune(l)))/70))
	}
	return min(max(int(lines)*line+50, least), most)
}

// The size of a chart in the units of its SVG picture.
const (
	chartWidth  = 480.0
	chartHeight = 230.0
	chartLeft   = 48.0 // space for the numbers of the axis
	chartTop    = 12.0
	chartBottom = 34.0 // space for the labels
	maxTicks    = 6    // labels below the axis
)

// drawChart returns a chart as inline SVG. Colors come from the style sheet of the frame.
func drawChart(c chart, kind, title string) string {
	low, high, step := axisRange(c)
	y := func(v float64) float64 {
		return chartTop + (high-v)/(high-low)*(chartHeight-chartTop-chartBottom)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWidth, chartHeight, escapeText(describeChart(c, kind, title)))
	for v := low; v <= high+step/2; v += step {
		fmt.Fprintf(&b, `<path class="grid" d="M%g %.1fH%g"/><text class="axis" x="%g" y="%.1f" text-anchor="end">%s</text>`, chartLeft, y(v), chartWidth, chartLeft-6, y(v)+4, formatNumber(v))
	}
	slot := (chartWidth - chartLeft) / float64(len(c.labels))
	every := (len(c.labels) + maxTicks - 1) / maxTicks
	for i, l := range c.labels {
		if i%every == 0 {
			fmt.Fprintf(&b, `<text class="axis" x="%.1f" y="%g" text-anchor="middle">%s</text>`, chartLeft+slot*(float64(i)+0.5), chartHeight-12, escapeText(shortLabel(l, slot*float64(every))))
		}
	}
	for n, s := range c.series {
		if kind == kindBar {
			drawBars(&b, s, n, len(c.series), slot, y)
		} else {
			drawLine(&b, s, n, slot, y)
		}
	}
	b.WriteString("</svg>")
	if len(c.series) > 1 {
		b.WriteString(`<ul class="legend">`)
		for n, s := range c.series {
			fmt.Fprintf(&b, `<li class="s%d">%s</li>`, n, escapeText(s.name))
		}
		b.WriteString("</ul>")
	}
	return b.String()
}

// shortLabel shortens a label to a width in the units of the picture.
func shortLabel(s string, width float64) string {
	most := max(int(width/7), 3)
	if r := []rune(strings.TrimSpace(s)); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func drawBars(b *strings.Builder, s series, n, count int, slot float64, y func(float64) float64) {
	width := slot * 0.8 / float64(count)
	for i, v := range s.values {
		if math.IsNaN(v) {
			continue
		}
		x := chartLeft + slot*(float64(i)+0.1) + width*float64(n)
		top, foot := min(y(v), y(0)), max(y(v), y(0))
		fmt.Fprintf(b, `<rect class="s%d" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, n, x, top, max(width-1, 0.5), max(foot-top, 0.5))
	}
}

// drawLine draws a line with a gap where a value is missing. A value between two gaps is a dot.
func drawLine(b *strings.Builder, s series, n int, slot float64, y func(float64) float64) {
	path, command := "", "M"
	for i, v := range s.values {
		if math.IsNaN(v) {
			command = "M"
			continue
		}
		x := chartLeft + slot*(float64(i)+0.5)
		path += fmt.Sprintf("%s%.1f %.1f", command, x, y(v))
		command = "L"
		fmt.Fprintf(b, `<circle class="s%d" cx="%.1f" cy="%.1f" r="2.5"/>`, n, x, y(v))
	}
	fmt.Fprintf(b, `<path class="line s%d" d="%s"/>`, n, path)
}

// axisRange returns the ends of the value axis and the distance between its ticks. The axis includes
// zero.
func axisRange(c chart) (low, high, step float64) {
	for _, s := range c.series {
		for _, v := range s.values {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if low == high {
		high = low + 1
	}
	raw := (high - low) / 4
	step = math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if step*m >= raw {
			step *= m
			break
		}
	}
	return math.Floor(low/step) * step, math.Ceil(high/step) * step, step
}

// describeChart returns the text that replaces the picture for people who cannot see it.
func describeChart(c chart, kind, title string) string {
	name := "Bar chart"
	if kind == kindLine {
		name = "Line chart"
	}
	var names []string
	for _, s := range c.series {
		names = append(names, s.name)
	}
	return fmt.Sprintf("%s: %s. %s of %d rows, from %s to %s.", name, title, strings.Join(names, ", "), len(c.labels), c.labels[0], c.labels[len(c.labels)-1])
}
