// Package graphdraw draws people and other entities with their relations: as a tree for a terminal,
// as Graphviz DOT, and as an SVG file. It does not depend on the source of the names and relations.
// It sanitizes all text.
package graphdraw

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Node is one entity.
type Node struct{ ID, Name, Kind string }

// Edge is a relation. It means that From is the Label of To.
type Edge struct{ From, Label, To string }

// Graph is the graph to draw. Edges to missing nodes are omitted.
type Graph struct {
	Nodes []Node
	Edges []Edge
}

// maxLabel limits a label in a picture, in characters.
const maxLabel = 40

// singleLine shortens s to one line.
func singleLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0xfffe || r == 0xffff { // XML does not allow U+FFFE and U+FFFF
			return -1
		}
		return r
	}, strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "))
	if r := []rune(s); len(r) > maxLabel {
		s = string(r[:maxLabel-1]) + "…"
	}
	return s
}

// withoutDangling returns the graph without dangling and duplicate edges.
func (g Graph) withoutDangling() Graph {
	known, seen := map[string]bool{}, map[Edge]bool{}
	var out Graph
	for _, n := range g.Nodes {
		if !known[n.ID] {
			known[n.ID] = true
			out.Nodes = append(out.Nodes, n)
		}
	}
	for _, e := range g.Edges {
		if known[e.From] && known[e.To] && !seen[e] {
			seen[e] = true
			out.Edges = append(out.Edges, e)
		}
	}
	return out
}

// countEdges counts the edges at each node.
func (g Graph) countEdges() map[string]int {
	n := map[string]int{}
	for _, e := range g.Edges {
		n[e.From]++
		if e.To != e.From {
			n[e.To]++
		}
	}
	return n
}

// byLinks returns the nodes, sorted by number of edges, highest first.
func (g Graph) byLinks() []Node {
	n := g.countEdges()
	return slices.SortedFunc(slices.Values(g.Nodes), func(a, b Node) int {
		return cmp.Or(cmp.Compare(n[b.ID], n[a.ID]), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}

// DOT writes the graph for Graphviz (https://graphviz.org/doc/info/lang.html).
func (g Graph) DOT() string {
	g = g.withoutDangling()
	var b strings.Builder
	b.WriteString("digraph memory {\n\tgraph [overlap=false, splines=true];\n\tnode [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];\n\tedge [fontname=\"sans-serif\", fontsize=10];\n")
	for i, n := range g.Nodes {
		b.WriteString("\tn" + strconv.Itoa(i) + " [label=" + quoteDOT(singleLine(n.Name)) + ", tooltip=" + quoteDOT(singleLine(n.Kind)) + ", color=" + quoteDOT(kindColor(n.Kind)) + "];\n")
	}
	at := map[string]string{}
	for i, n := range g.Nodes {
		at[n.ID] = "n" + strconv.Itoa(i)
	}
	for _, e := range g.Edges {
		b.WriteString("\t" + at[e.From] + " -> " + at[e.To] + " [label=" + quoteDOT(singleLine(e.Label)) + "];\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// quoteDOT returns s as a DOT string. It escapes backslashes, which start an escape sequence.
func quoteDOT(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// kindColor returns the color for a kind of entity. It is readable on both white and black
// backgrounds.
func kindColor(kind string) string {
	switch kind {
	case "person":
		return "#2f7d5b"
	case "organisation":
		return "#3565a8"
	case "place":
		return "#a8652a"
	case "event":
		return "#8a3f8f"
	}
	return "#6b6b6b"
}
