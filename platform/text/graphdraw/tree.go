package graphdraw

import "strings"

// maxDepth is the maximum depth of a tree.
const maxDepth = 4

// Tree draws the neighbors of a node as a tree. Without a root, it draws each component, starting
// at the node with the most edges. Each node is expanded only once. paint highlights names.
func (g Graph) Tree(root string, paint func(n Node, text string) string) string {
	g = g.withoutDangling()
	t := tree{nodes: map[string]Node{}, around: map[string][]step{}, done: map[string]bool{}, paint: paint}
	for _, n := range g.Nodes {
		t.nodes[n.ID] = n
	}
	for _, e := range g.Edges {
		t.around[e.From] = append(t.around[e.From], step{singleLine(e.Label) + " → ", e.To, e})
		if e.From != e.To {
			t.around[e.To] = append(t.around[e.To], step{"← " + singleLine(e.Label) + " ", e.From, e})
		}
	}
	t.used = map[Edge]bool{}
	if root != "" {
		t.writeRoot(root)
		return t.b.String()
	}
	for _, n := range g.byLinks() {
		if !t.done[n.ID] {
			t.writeRoot(n.ID)
		}
	}
	return t.b.String()
}

type step struct {
	word string
	to   string
	edge Edge
}

type tree struct {
	b      strings.Builder
	nodes  map[string]Node
	around map[string][]step
	done   map[string]bool
	used   map[Edge]bool
	paint  func(Node, string) string
}

func (t *tree) writeRoot(id string) {
	n, ok := t.nodes[id]
	if !ok {
		return
	}
	t.b.WriteString(t.nodeText(n) + "\n")
	t.done[id] = true
	t.writeChildren(id, "", 1)
}

func (t *tree) nodeText(n Node) string {
	s := t.paint(n, singleLine(n.Name))
	if n.Kind != "" {
		s += " (" + singleLine(n.Kind) + ")"
	}
	return s
}

func (t *tree) writeChildren(id, indent string, depth int) {
	var next []step
	for _, s := range t.around[id] {
		if !t.used[s.edge] {
			t.used[s.edge] = true
			next = append(next, s)
		}
	}
	for i, s := range next {
		branch, deeper := "├─ ", "│  "
		if i == len(next)-1 {
			branch, deeper = "└─ ", "   "
		}
		n := t.nodes[s.to]
		again := t.done[s.to]
		t.b.WriteString(indent + branch + s.word + t.nodeText(n))
		if again && len(t.around[s.to]) > 1 {
			t.b.WriteString(" …")
		}
		t.b.WriteString("\n")
		if !again && depth < maxDepth {
			t.done[s.to] = true
			t.writeChildren(s.to, indent+deeper, depth+1)
		}
	}
}
