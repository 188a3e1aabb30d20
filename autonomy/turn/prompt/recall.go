package prompt

import (
	"cmp"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/text/credential"
)

// Limits of what is recalled for one message. All sections with their headings stay below 600
// tokens.
const (
	recalledRows  = 5
	recalledEdges = 6
	maxExcerpt    = 320   // bytes of one row
	maxRecalled   = 2_000 // bytes of all lines
)

// recalledLine is a row or a relation in the form shown to a model.
type recalledLine struct{ Text, When string }

func (l recalledLine) formatLine() string { return "- " + l.Text + " (" + l.When + ")" }

// recallSections collects the lines of the sections: clean rows, clean relations, and everything
// untrusted, which taints the request.
type recallSections struct {
	rows, outside []recalledLine
	edges         []string
	from          []provenance.Origin
	size          int
}

// reserveBytes counts a line and reports whether it fits in the budget.
func (s *recallSections) reserveBytes(line string) bool {
	if s.size+len(line)+1 > maxRecalled {
		return false
	}
	s.size += len(line) + 1
	return true
}

// addMemory adds what is stored about the message: rows of all kinds, and the relations of the
// people and things that it names. Rows and relations of untrusted origin taint the request. They
// are added only if the message clearly asks about them (see knowledge.Base.Recollect), in a
// separate section.
func (g *contextCollector) addMemory() {
	if g.b.o.Memory == nil {
		return
	}
	found, err := g.b.o.Memory.Recollect(g.ctx, g.b.o.Store.Reader(g.ctx), knowledge.RecollectRequest{
		Text: g.s.Text, Realm: g.s.Realm, Now: g.s.Now, Viewer: credential.AskedBy(g.s.OwnerWords...), Seen: g.isRecalled, Rows: recalledRows, Edges: recalledEdges,
	})
	if err != nil {
		g.logFailure("memory", err)
		return
	}
	var out recallSections
	for _, h := range found.Hits {
		l := g.lineOf(h, found.Topics)
		switch {
		case g.isInWindow(l.formatLine()) || !out.reserveBytes(l.formatLine()):
		case h.Provenance.Tainted():
			out.outside = append(out.outside, l)
			out.from = append(out.from, hitOrigins(h)...)
		default:
			out.rows = append(out.rows, l)
		}
	}
	for _, e := range found.Edges {
		text := oneLine(e.Text)
		switch {
		case g.isInWindow("- "+text) || !out.reserveBytes("- "+text):
		case e.Provenance.Tainted():
			out.outside = append(out.outside, recalledLine{text, "relation"})
			out.from = append(out.from, e.Origins...)
		default:
			out.edges = append(out.edges, "- "+text)
		}
	}
	if len(out.rows) > 0 {
		g.addSection(kindMemory, provenance.Hob, "memory", out.rows)
	}
	if len(out.outside) > 0 {
		g.addSection(kindOutsideMemory, provenance.Outside, "outside-memory", out.outside)
		g.setOrigins(kindOutsideMemory, out.from...)
	}
	if len(out.edges) > 0 {
		g.addSection(kindGraph, provenance.Hob, "graph", strings.Join(out.edges, "\n"))
	}
}

// isRecalled reports whether the request already contains a row: in the identity, as a message, or as
// context.
func (g *contextCollector) isRecalled(h knowledge.Hit) bool {
	text := strings.TrimSpace(h.Text)
	if strings.Contains(g.identity, text) {
		return true
	}
	for _, m := range g.s.Before {
		for _, p := range m.Parts {
			if strings.Contains(p.Text, text) {
				return true
			}
		}
	}
	return g.isInWindow("- " + oneLine(text) + " (")
}

// lineOf returns a row in the form shown to a model: the part of it that the message is about.
func (g *contextCollector) lineOf(h knowledge.Hit, topics []string) recalledLine {
	l := recalledLine{knowledge.ExcerptAround(h.Text, topics, maxExcerpt), h.At.In(g.s.Now.Location()).Format(time.DateOnly)}
	if h.Kind != knowledge.KindFact && h.Title != "" && !strings.HasPrefix(h.Text, h.Title) {
		l.Text = knowledge.ExcerptAround(h.Title, topics, 80) + ": " + l.Text
	}
	switch h.Kind {
	case knowledge.KindFact:
		l.When = rowVerb(h) + " " + l.When
	case knowledge.KindTurn:
		by := map[string]string{knowledge.ByOwner: "the user", knowledge.ByHob: "you"}
		l.When = "said by " + cmp.Or(by[h.Speaker], oneLine(cmp.Or(h.Speaker, "somebody"))) + " " + l.When
	case knowledge.KindChunk:
		l.When = "document, " + l.When
	default:
		l.When = oneLine(h.Kind) + ", " + l.When
	}
	return l
}

// hitOrigins returns the origins of a row, or the row itself if it has no stored origins.
func hitOrigins(h knowledge.Hit) []provenance.Origin {
	if len(h.Origins) > 0 {
		return h.Origins
	}
	return []provenance.Origin{{Kind: "memory", Label: h.Ref}}
}

func rowVerb(h knowledge.Hit) string {
	if h.Provenance == provenance.Owner {
		return "told"
	}
	return "noted"
}

var _ Memory = (*knowledge.Base)(nil)
