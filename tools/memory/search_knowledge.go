package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type searchIn struct {
	Query string `json:"query"`
	Limit int    `json:"limit,omitempty"`
}

// searchOut is the Data of search_knowledge.
type searchOut struct {
	Hits []hitData `json:"hits"`
	// Before lists earlier values if the query asks for them.
	Before []hitData `json:"before,omitempty"`
	// Relations lists matching relations of the graph that no row in the result states.
	Relations []knowledge.Edge `json:"relations,omitempty"`
	// Withheld is the number of rows that were omitted because they look like a credential.
	Withheld int `json:"withheld,omitempty"`
}

func (d Deps) searchKnowledge() tools.Tool {
	return tools.New(tools.Def[searchIn]{
		Spec: tools.Spec{
			Name: "search_knowledge", Category: "memory", Effects: tools.Read,
			Description: "Search everything stored for the user: facts, notes, documents, tasks, expenses, reminders.",
			Keywords:    "find look up memory notes tasks expenses anything about",
		},
		Summary: func(in searchIn) string { return "Search for " + quoteLine(textnorm.Ellipsize(in.Query, 100)) },
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in searchIn) (tools.Result, error) {
			limit, err := limitOr(in.Limit, 10)
			if err != nil {
				return tools.Result{}, err
			}
			a, err := d.Knowledge.Retrieve(ctx, tx, knowledge.Request{
				Text: in.Query, Without: []string{knowledge.KindTurn}, Realm: c.Realm, Limit: limit, Edges: recallEdges, Now: c.Now, Zone: c.Now.Location(), Strict: true, Viewer: c.CredentialViewer(),
			})
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			text, src, from := withEdges(a, searchText(in.Query, a.Hits, c.Now), c.Now)
			return tools.Result{
				Text:   orWithheld(len(a.Hits)+len(a.History)+len(a.Edges), text+historyText(a.History, c.Now), a.Withheld, c),
				Data:   searchOut{Hits: rowsOf(a.Hits), Before: rowsOf(a.History), Relations: a.Edges, Withheld: a.Withheld},
				Source: src, Origins: from,
			}, nil
		},
	})
}

func hitSource(h knowledge.Hit) provenance.Source { return h.Provenance }

func searchText(query string, hits []knowledge.Hit, now time.Time) string {
	if len(hits) == 0 {
		if strings.TrimSpace(query) == "" {
			return "Nothing is stored yet."
		}
		return fmt.Sprintf("I found nothing about %s in facts, notes, tasks or expenses.", quoteLine(textnorm.Ellipsize(query, 100)))
	}
	var b strings.Builder
	if strings.TrimSpace(query) == "" {
		b.WriteString("The newest entries:")
	} else {
		fmt.Fprintf(&b, "What I know about %s:", quoteLine(textnorm.Ellipsize(query, 100)))
	}
	for _, h := range hits {
		b.WriteString("\n" + hitLine(h, query, now))
	}
	return b.String()
}

// excerptAround shortens text to the part around the first word of the query.
func excerptAround(text, query string) string {
	const width = 160
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) <= width {
		return string(r)
	}
	at := 0
	low := strings.ToLower(string(r))
	for _, w := range textnorm.FoldedWords(query) {
		if i := strings.Index(low, w); len(w) > 3 && i > 0 {
			at = len([]rune(low[:i]))
			break
		}
	}
	if at < width/2 || at > len(r) {
		return textnorm.Ellipsize(string(r), width)
	}
	return "…" + textnorm.Ellipsize(strings.TrimSpace(string(r[at-width/4:])), width)
}
