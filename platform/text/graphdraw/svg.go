package graphdraw

import (
	"fmt"
	"html"
	"math"
	"strings"
	"unicode/utf8"
)

// Dimensions of a picture, in pixels.
const (
	boxHeight = 30.0
	letter    = 7.6 // approximate width of a 13 px character
	margin    = 40.0

	maxPageWidth = 1200.0 // width of a picture that is still readable when scaled to a page
)

// SVG draws the graph as an SVG file (https://www.w3.org/TR/SVG11/). The same graph always results
// in the same picture. The picture contains no script and loads nothing.
func (g Graph) SVG() string {
	return g.drawPicture(`xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="13"`, `<title>What Hob knows</title>
<style>
 .back { fill: #ffffff } .edge { stroke: #9a9a9a; fill: none } .tip { fill: #9a9a9a } .word { fill: #555555; font-size: 11px; paint-order: stroke; stroke: #ffffff; stroke-width: 4px }
 .box { fill: #ffffff; stroke-width: 1.6 } .name { fill: #222222 }
 @media (prefers-color-scheme: dark) { .back { fill: #1b1b1d } .edge { stroke: #77777c } .tip { fill: #77777c } .word { fill: #b8b8bd; stroke: #1b1b1d } .box { fill: #26262a } .name { fill: #f0f0f2 } }
</style>
`)
}

// InlineSVG draws the graph as an element of an HTML page with the accessible name label. Its
// style is the page's: the content policy of a page forbids a style element. The classes are graph
// and, for a picture that does not fit into a page at a readable size, wide.
func (g Graph) InlineSVG(label string) string {
	return g.drawPicture(`role="img" aria-label="`+html.EscapeString(strings.ToValidUTF8(label, "\uFFFD"))+`"`, "")
}

// drawPicture draws the graph. attributes and head are markup for the svg element.
func (g Graph) drawPicture(attributes, head string) string {
	g = g.withoutDangling()
	at := g.layoutNodes()
	width, height := 2*margin, 2*margin
	for i, n := range g.Nodes {
		width = max(width, at[i].x+halfWidth(n)+margin)
		height = max(height, at[i].y+boxHeight/2+margin)
	}
	class := "graph"
	if width > maxPageWidth {
		class += " wide"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg %s class="%s" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">
%s<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>
<rect class="back" width="100%%" height="100%%"/>
`, attributes, class, width, height, width, height, head)
	g.drawEdges(&b, at)
	for i, n := range g.Nodes {
		w := 2 * halfWidth(n)
		fmt.Fprintf(&b, `<g><title>%s</title><rect class="box" x="%.1f" y="%.1f" width="%.1f" height="%.0f" rx="9" stroke="%s"/><text class="name" x="%.1f" y="%.1f" text-anchor="middle">%s</text></g>`+"\n",
			html.EscapeString(singleLine(n.Kind)), at[i].x-w/2, at[i].y-boxHeight/2, w, boxHeight, kindColor(n.Kind), at[i].x, at[i].y+4.5, html.EscapeString(singleLine(n.Name)))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// halfWidth returns half the width of a node's box.
func halfWidth(n Node) float64 {
	return float64(utf8.RuneCountInString(singleLine(n.Name)))*letter/2 + 14
}

// drawEdges draws the edges. Several edges between the same nodes are separate curves, so that each
// label can be read.
func (g Graph) drawEdges(b *strings.Builder, at []point) {
	index, between := map[string]int{}, map[[2]int]int{}
	for i, n := range g.Nodes {
		index[n.ID] = i
	}
	for _, e := range g.Edges {
		i, j := index[e.From], index[e.To]
		if i == j {
			p := at[i]
			fmt.Fprintf(b, `<path class="edge" marker-end="url(#tip)" d="M%.1f %.1fc-20 -34 20 -34 12 0"/><text class="word" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
				p.x-6, p.y-boxHeight/2, p.x, p.y-boxHeight/2-28, html.EscapeString(singleLine(e.Label)))
			continue
		}
		pair := [2]int{min(i, j), max(i, j)}
		n := between[pair]
		between[pair]++
		bow := float64((n+1)/2) * 26
		if n%2 == 1 {
			bow = -bow
		}
		if i > j { // use the same side for both directions of an edge
			bow = -bow
		}
		from, to := at[i], at[j]
		d := to.subtractPoint(from)
		length := max(1, d.length())
		mid := point{(from.x+to.x)/2 - d.y/length*bow, (from.y+to.y)/2 + d.x/length*bow}
		from, to = boxEdgePoint(g.Nodes[i], from, mid), boxEdgePoint(g.Nodes[j], to, mid)
		word := point{from.x/4 + mid.x/2 + to.x/4, from.y/4 + mid.y/2 + to.y/4}
		fmt.Fprintf(b, `<path class="edge" marker-end="url(#tip)" d="M%.1f %.1fQ%.1f %.1f %.1f %.1f"/><text class="word" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			from.x, from.y, mid.x, mid.y, to.x, to.y, word.x, word.y+4, html.EscapeString(singleLine(e.Label)))
	}
}

// boxEdgePoint returns the point where the line from a node's center to another point leaves the
// node's box.
func boxEdgePoint(n Node, p, toward point) point {
	d := toward.subtractPoint(p)
	if d.x == 0 && d.y == 0 {
		return p
	}
	k := math.Inf(1)
	if d.x != 0 {
		k = min(k, (halfWidth(n)+2)/math.Abs(d.x))
	}
	if d.y != 0 {
		k = min(k, (boxHeight/2+2)/math.Abs(d.y))
	}
	return point{p.x + d.x*k, p.y + d.y*k}
}
