package memory

import (
	"context"
	"slices"
	"strings"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type graphRelatedIn struct {
	Entity   string `json:"entity" jsonschema:"name or id of a person, organisation, place or thing; me is the user"`
	Relation string `json:"relation,omitempty" jsonschema:"only this relation, such as works at or sister of"`
	Hops     int    `json:"hops,omitempty" jsonschema:"relations to follow, 1 to 3"`
	Limit    int    `json:"limit,omitempty"`
}

// graphRelatedOut is the Data of graph_related.
type graphRelatedOut struct {
	Entity    knowledge.Entity `json:"entity"`
	Relations []knowledge.Edge `json:"relations"`
}

func (d Deps) graphRelated() tools.Tool {
	return tools.New(tools.Def[graphRelatedIn]{
		Spec: tools.Spec{
			Name: "graph_related", Category: "memory", Effects: tools.Read,
			Description: "Show how a person, organisation, place or thing is related to others.",
			Keywords:    "graph relation relations relationship family employer colleagues connected who is how know",
		},
		Summary: func(in graphRelatedIn) string {
			return "Show the relations of " + quoteLine(textnorm.Ellipsize(in.Entity, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in graphRelatedIn) (tools.Result, error) {
			limit, err := graphLimit(in.Limit, 20)
			if err == nil && (in.Hops < 0 || in.Hops > 3) {
				err = tools.Errorf(tools.InvalidArguments, "hops must be 1 to 3")
			}
			if err != nil {
				return tools.Result{}, err
			}
			e, list, err := d.Linker.Related(tx, knowledge.RelatedQuery{Entity: in.Entity, Relation: in.Relation, Realm: c.Realm, Hops: in.Hops, Limit: limit, Now: c.Now})
			if err != nil {
				return tools.Result{}, classifyLink(err)
			}
			viewer := c.CredentialViewer()
			list = slices.DeleteFunc(list, func(x knowledge.Edge) bool { return viewer.Hides("", x.Text) })
			src, from := edgesSource(sourceOf([]knowledge.Entity{e}, func(e knowledge.Entity) provenance.Source { return e.Provenance }), list)
			var b strings.Builder
			b.WriteString(entityLine(e))
			if len(list) == 0 {
				b.WriteString("\nNo relation is known.")
			}
			for _, x := range list {
				b.WriteString("\n- " + edgeLine(x, c.Now))
			}
			if src.Tainted() && len(from) == 0 {
				from = entityOrigins([]knowledge.FoundEntity{{Entity: e}})
			}
			return tools.Result{Text: b.String(), Data: graphRelatedOut{Entity: e, Relations: append([]knowledge.Edge{}, list...)}, Source: src, Origins: from}, nil
		},
	})
}
