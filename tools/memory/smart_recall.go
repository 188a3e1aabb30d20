package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type smartIn struct {
	Query   string `json:"query" jsonschema:"question in plain words"`
	Limit   int    `json:"limit,omitempty"`
	MaxHops int    `json:"max_hops,omitempty" jsonschema:"relations to follow, 1 to 4"`
}

// smartOut is the Data of smart_recall.
type smartOut struct {
	Route  knowledge.Route `json:"route"`
	Hits   []hitData       `json:"hits"`
	Before []hitData       `json:"before,omitempty"`
	// Relations has the same meaning as in search_knowledge.
	Relations []knowledge.Edge `json:"relations,omitempty"`
	// Withheld has the same meaning as in search_knowledge.
	Withheld int `json:"withheld,omitempty"`
}

// smartRecall returns the smart_recall tool. It runs outside of transactions, because it may wait
// for an embedder or a model.
func (d Deps) smartRecall() tools.Tool {
	return tools.New(tools.Def[smartIn]{
		Spec: tools.Spec{
			Name: "smart_recall", Category: "memory", Effects: tools.Read,
			Description: "Find the answer to a question in facts, conversations and documents, also by combining several of them.",
			Keywords:    "memory remember who said when history question connect related answer conversation document",
		},
		Summary: func(in smartIn) string { return "Search for " + quoteLine(textnorm.Ellipsize(in.Query, 100)) },
		Run: func(ctx context.Context, c tools.Call, in smartIn) (tools.Result, error) {
			limit, err := limitOr(in.Limit, 10)
			if err != nil {
				return tools.Result{}, err
			}
			if in.MaxHops < 0 || in.MaxHops > 4 {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "max_hops must be 1 to 4")
			}
			if strings.TrimSpace(in.Query) == "" {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "query is empty; ask a question")
			}
			a, err := d.Knowledge.RetrieveNow(ctx, knowledge.Request{
				Text: in.Query, Realm: c.Realm, Limit: limit + 1, Now: c.Now, Zone: c.Now.Location(), Hops: in.MaxHops, Edges: recallEdges, Meaning: true, Viewer: c.CredentialViewer(),
			})
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			own := func(h knowledge.Hit) bool {
				return c.Event != "" && h.Source == "event:"+c.Event && h.Kind == knowledge.KindTurn
			}
			a.Hits = slices.DeleteFunc(a.Hits, own) // exclude the message that asks the question
			a.Hits = a.Hits[:min(len(a.Hits), limit)]
			text, src, from := withEdges(a, smartText(in.Query, a, c.Now), c.Now)
			return tools.Result{
				Text:   orWithheld(len(a.Hits)+len(a.History)+len(a.Edges), text+historyText(a.History, c.Now), a.Withheld, c),
				Data:   smartOut{Route: a.Route, Hits: rowsOf(a.Hits), Before: rowsOf(a.History), Relations: a.Edges, Withheld: a.Withheld},
				Source: src, Origins: from,
			}, nil
		},
	})
}

func smartText(query string, a knowledge.Answer, now time.Time) string {
	if len(a.Hits) == 0 {
		return fmt.Sprintf("I found nothing about %s.", quoteLine(textnorm.Ellipsize(query, 100)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Possible answers to %s, best first:", quoteLine(textnorm.Ellipsize(query, 100)))
	for _, h := range a.Hits {
		b.WriteString("\n" + hitLine(h, query, now))
	}
	return b.String()
}
