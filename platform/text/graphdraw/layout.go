package graphdraw

import "math"

type point struct{ x, y float64 }

func (p point) subtractPoint(q point) point { return point{p.x - q.x, p.y - q.y} }
func (p point) length() float64             { return math.Hypot(p.x, p.y) }

const (
	// apart is the preferred distance between connected nodes, in pixels. It leaves room for a
	// label.
	apart = 170.0
	// labelGap is the horizontal distance below which an edge between two boxes has no room for a
	// label, in pixels. roomy is the maximum number of nodes for which that room is made.
	labelGap = 60.0
	roomy    = 60
	// rounds is the number of layout rounds. More rounds make no visible difference.
	rounds = 400
	// exact is the maximum number of nodes for which all pairs repel each other. The cost of a
	// round increases with the square of the number of nodes.
	exact = 400
)

// layoutNodes places the nodes. Connected nodes attract each other, and all nodes repel each other
// (T. Fruchterman and E. Reingold, Graph Drawing by Force-directed Placement, 1991), so unconnected
// nodes are placed at the edge. It starts with a spiral instead of random positions, so that the
// same graph always looks the same.
func (g Graph) layoutNodes() []point {
	n := len(g.Nodes)
	index := map[string]int{}
	at := make([]point, n)
	for i, x := range g.byLinks() { // nodes with the most edges start at the center
		index[x.ID] = i
		r, a := apart*0.7*math.Sqrt(float64(i)), float64(i)*math.Pi*(3-math.Sqrt(5))
		at[i] = point{r * math.Cos(a), r * math.Sin(a) * 0.7}
	}
	if n > 1 && n <= exact {
		pairs := make([][2]int, 0, len(g.Edges))
		for _, e := range g.Edges {
			if e.From != e.To {
				pairs = append(pairs, [2]int{index[e.From], index[e.To]})
			}
		}
		for round := range rounds {
			relaxStep(at, pairs, apart*math.Pow(1-float64(round)/rounds, 1.5)+0.1)
		}
	}
	out := make([]point, n)
	for i, x := range g.Nodes {
		out[i] = at[index[x.ID]]
	}
	g.separateBoxes(out)
	return g.moveIn(out)
}

// relaxStep moves every node once, by at most the given distance.
func relaxStep(at []point, pairs [][2]int, most float64) {
	force := make([]point, len(at))
	for i := range at {
		for j := range i {
			d := at[i].subtractPoint(at[j])
			l := max(1, d.length())
			f := apart * apart / (l * l) // the repulsion is apart²/l in the direction d/l
			force[i].x, force[i].y = force[i].x+d.x*f, force[i].y+d.y*f
			force[j].x, force[j].y = force[j].x-d.x*f, force[j].y-d.y*f
		}
		// Pull each node toward the center, so that unconnected nodes do not drift away. The
		// vertical pull is stronger, because a screen is wider than it is high.
		force[i].x, force[i].y = force[i].x-at[i].x*1.2, force[i].y-at[i].y*3
	}
	for _, p := range pairs {
		d := at[p[0]].subtractPoint(at[p[1]])
		f := d.length() / apart
		force[p[0]].x, force[p[0]].y = force[p[0]].x-d.x*f, force[p[0]].y-d.y*f
		force[p[1]].x, force[p[1]].y = force[p[1]].x+d.x*f, force[p[1]].y+d.y*f
	}
	for i, f := range force {
		if l := f.length(); l > 0 {
			k := min(l, most) / l
			at[i].x, at[i].y = at[i].x+f.x*k, at[i].y+f.y*k
		}
	}
}

// separateBoxes moves boxes apart vertically if they overlap or leave no room for the label between
// them.
func (g Graph) separateBoxes(at []point) {
	gap := 10.0
	if len(at) <= roomy {
		gap = labelGap
	}
	for range 200 {
		moved := false
		for i := range at {
			for j := range i {
				if math.Abs(at[i].x-at[j].x) >= halfWidth(g.Nodes[i])+halfWidth(g.Nodes[j])+gap || math.Abs(at[i].y-at[j].y) >= boxHeight+14 {
					continue
				}
				shift := (boxHeight + 14 - math.Abs(at[i].y-at[j].y)) / 2
				if at[i].y < at[j].y || at[i].y == at[j].y && i < j {
					shift = -shift
				}
				at[i].y, at[j].y = at[i].y+shift, at[j].y-shift
				moved = true
			}
		}
		if !moved {
			return
		}
	}
}

// moveIn shifts the picture so that it has the intended left and top margins.
func (g Graph) moveIn(at []point) []point {
	left, top := math.Inf(1), math.Inf(1)
	for i, p := range at {
		left, top = min(left, p.x-halfWidth(g.Nodes[i])), min(top, p.y-boxHeight/2)
	}
	for i := range at {
		at[i].x, at[i].y = at[i].x-left+margin, at[i].y-top+margin
	}
	return at
}
