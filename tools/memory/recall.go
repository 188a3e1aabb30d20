package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/credential"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type recallIn struct {
	Query string `json:"query" jsonschema:"question or words"`
	Limit int    `json:"limit,omitempty"`
}

// recallOut is the Data of recall.
type recallOut struct {
	Facts []knowledge.Fact `json:"facts"`
	// Before lists earlier values if the query asks for them.
	Before []knowledge.Fact `json:"before,omitempty"`
	// Relations lists matching relations of the graph that no fact in the result states.
	Relations []knowledge.Edge `json:"relations,omitempty"`
	// Withheld has the same meaning as in search_knowledge.
	Withheld int `json:"withheld,omitempty"`
}

func (d Deps) recallTool() tools.Tool {
	return tools.New(tools.Def[recallIn]{
		Spec: tools.Spec{
			Name: "recall", Category: "memory", Effects: tools.Read, Core: true,
			Description: "Look up facts.",
			Keywords:    "what do you know remembered fact memory told you",
		},
		Summary: func(in recallIn) string { return "Recall " + quoteLine(textnorm.Ellipsize(in.Query, 100)) },
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in recallIn) (tools.Result, error) {
			limit, err := limitOr(in.Limit, 5)
			if err != nil {
				return tools.Result{}, err
			}
			a, err := d.Knowledge.Retrieve(ctx, tx, knowledge.Request{
				Text: in.Query, Kinds: []string{knowledge.KindFact}, Realm: c.Realm, Limit: limit, Edges: recallEdges, Now: c.Now, Zone: c.Now.Location(), Strict: true, Viewer: c.CredentialViewer(),
			})
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			viewer := c.CredentialViewer()
			facts, err := d.hitFacts(tx, a.Hits, viewer)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			before, err := d.hitFacts(tx, a.History, viewer)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			src, from := edgesSource(sourceOf(append(facts, before...), factSource), a.Edges)
			text := edgesText(a.Edges, c.Now, len(facts) == 0)
			if len(facts) > 0 || text == "" {
				text = recallText(in.Query, facts, c.Now, len(before) > 0) + text
			}
			return tools.Result{
				Text:   strings.TrimLeft(orWithheld(len(facts)+len(before)+len(a.Edges), text+beforeText(before, c.Now), a.Withheld, c), "\n"),
				Data:   recallOut{Facts: append([]knowledge.Fact{}, facts...), Before: before, Relations: a.Edges, Withheld: a.Withheld},
				Source: src, Origins: from,
			}, nil
		},
	})
}

// hitFacts returns the facts of the hits, redacted for the viewer.
func (d Deps) hitFacts(q store.Querier, hits []knowledge.Hit, viewer credential.Viewer) (out []knowledge.Fact, err error) {
	for _, h := range hits {
		if h.Kind != knowledge.KindFact && h.Kind != knowledge.KindRetired {
			continue
		}
		f, err := d.Knowledge.Fact(q, h.Ref)
		if err != nil {
			return nil, err
		}
		if f.Text, _ = viewer.Show("", f.Text); f.Text != "" {
			out = append(out, f)
		}
	}
	return out, nil
}

// beforeText describes earlier values.
func beforeText(facts []knowledge.Fact, now time.Time) string {
	var b strings.Builder
	for i, f := range facts {
		if i == 0 {
			b.WriteString("\nNo longer so:")
		}
		fmt.Fprintf(&b, "\n- %s (%s, until %s)", strings.TrimRight(f.Text, "."), factSourceText(f, now), dateparse.FormatDay(f.RetiredAt, now))
	}
	return b.String()
}

func factSource(f knowledge.Fact) provenance.Source { return f.Provenance }

func recallText(query string, facts []knowledge.Fact, now time.Time, before bool) string {
	switch {
	case len(facts) == 0 && before:
		return ""
	case len(facts) == 0 && strings.TrimSpace(query) == "":
		return "I have no remembered facts yet."
	case len(facts) == 0:
		return fmt.Sprintf("I remember nothing about %s.", quoteLine(textnorm.Ellipsize(query, 100)))
	case len(facts) == 1:
		return fmt.Sprintf("I remember: %s (%s).", strings.TrimRight(facts[0].Text, "."), factSourceText(facts[0], now))
	}
	var b strings.Builder
	b.WriteString("I remember:")
	for _, f := range facts {
		fmt.Fprintf(&b, "\n- %s (%s)", strings.TrimRight(f.Text, "."), factSourceText(f, now))
	}
	return b.String()
}

func factSourceText(f knowledge.Fact, now time.Time) string {
	day := dateparse.FormatDay(f.CreatedAt, now)
	switch f.Provenance {
	case provenance.Owner:
		return "you told me " + day
	case provenance.Hob, provenance.Tool:
		return "noted " + day
	}
	return "untrusted source, " + day
}
