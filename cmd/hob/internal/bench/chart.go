package bench

import (
	"fmt"
	"math"
	"strings"
)

// line is one curve in a chart.
type line struct {
	name, color string
	value       func(Growth) float64
}

// panel is one chart: the number of rows on a logarithmic horizontal axis, and values on a
// logarithmic vertical axis.
type panel struct {
	title, unit string
	lines       []line
	target      [][2]float64 // pairs of number of rows and value
}

const (
	panelWidth, panelHeight      = 460.0, 300.0
	left, right, above, underRim = 62.0, 12.0, 34.0, 76.0
)

// GrowthChart draws the figures as SVG.
func GrowthChart(list []Growth) string {
	mb := func(v func(Growth) int64) func(Growth) float64 {
		return func(g Growth) float64 { return float64(v(g)) / 1e6 }
	}
	panels := []panel{
		{"search time", "ms", []line{
			{"words, p95", "#b3261e", func(g Growth) float64 { return g.P95 }},
			{"words, p50", "#e8923a", func(g Growth) float64 { return g.P50 }},
			{"vectors, exact p95", "#5b7fbf", func(g Growth) float64 { return g.Exact95 }},
			{"with a first pass, p95", "#1f8a5b", func(g Growth) float64 { return g.First95 }},
		}, [][2]float64{{1e5, 10}, {1e6, 50}}},
		{"idle memory and files", "MB", []line{
			{"anonymous memory", "#b3261e", mb(func(g Growth) int64 { return g.Anonymous })},
			{"mapped from files", "#e8923a", mb(func(g Growth) int64 { return g.Files })},
			{"database", "#5b7fbf", mb(func(g Growth) int64 { return g.Database })},
			{"index", "#1f8a5b", mb(func(g Growth) int64 { return g.Index })},
			{"vectors", "#7a4fa3", mb(func(g Growth) int64 { return g.VectorBytes })},
		}, [][2]float64{{1e5, 40}}},
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" font-family="sans-serif" font-size="11"><rect width="100%%" height="100%%" fill="#fff"/>`+"\n",
		2*panelWidth, panelHeight+underRim)
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%g,0)">`+"\n", float64(i)*panelWidth)
		p.drawPanel(&b, list)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (p panel) drawPanel(b *strings.Builder, list []Growth) {
	lowX, highX := math.Inf(1), math.Inf(-1)
	lowY, highY := math.Inf(1), math.Inf(-1)
	for _, g := range list {
		lowX, highX = min(lowX, math.Log10(float64(g.Rows))), max(highX, math.Log10(float64(g.Rows)))
		for _, l := range p.lines {
			if v := l.value(g); v > 0 {
				lowY, highY = min(lowY, math.Floor(math.Log10(v))), max(highY, math.Ceil(math.Log10(v)))
			}
		}
	}
	if len(list) == 0 {
		lowX, highX = 3, 6
	}
	if lowX >= highX {
		highX = lowX + 1
	}
	if lowY >= highY {
		lowY, highY = 0, 1
	}
	x := func(rows float64) float64 {
		return left + (math.Log10(rows)-lowX)/(highX-lowX)*(panelWidth-left-right)
	}
	y := func(v float64) float64 {
		return panelHeight - (math.Log10(v)-lowY)/(highY-lowY)*(panelHeight-above)
	}
	fmt.Fprintf(b, `<text x="%g" y="18" font-size="13" font-weight="bold">%s (%s) by rows</text>`+"\n", left, p.title, p.unit)
	for e := lowY; e <= highY; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(b, `<path d="M%g %.1fH%g" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`+"\n", left, y(v), panelWidth-right, left-6, y(v)+4, formatShort(v))
	}
	for e := math.Ceil(lowX); e <= highX; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(b, `<path d="M%.1f %gV%g" stroke="#ddd"/><text x="%.1f" y="%g" text-anchor="middle">%s</text>`+"\n", x(v), above, panelHeight, x(v), panelHeight+15, formatShort(v))
	}
	at := 0
	for _, l := range p.lines {
		var points []string
		for _, g := range list {
			if v := l.value(g); v > 0 {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x(float64(g.Rows)), y(v)))
			}
		}
		if len(points) == 0 {
			continue
		}
		kx, ky := left+float64(at%3)*130, panelHeight+32+float64(at/3)*16
		fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/><path d="M%g %gh14" stroke="%s" stroke-width="3"/><text x="%g" y="%g">%s</text>`+"\n",
			l.color, strings.Join(points, " "), kx, ky-4, l.color, kx+18, ky, l.name)
		at++
	}
	for _, t := range p.target {
		rows, v := t[0], t[1]
		if e := math.Log10(rows); e >= lowX && e <= highX && math.Log10(v) >= lowY && math.Log10(v) <= highY {
			fmt.Fprintf(b, `<path d="M%.1f %.1fl-5 -9h10z" fill="#444"/>`+"\n", x(rows), y(v))
		}
	}
	fmt.Fprintf(b, `<path d="M%g %gl-5 -9h10z" fill="#444"/><text x="%g" y="%g">target: not above</text>`+"\n", left+7, panelHeight+underRim-8, left+18, panelHeight+underRim-8)
}

// formatShort formats 1000 as 1k and 0.1 as 0.1.
func formatShort(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%.4g", v)
}
