package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type graphSearchIn struct {
	Query string `json:"query,omitempty" jsonschema:"name, address or number, or a part of it; empty: the newest"`
	Kind  string `json:"kind,omitempty" jsonschema:"person, organisation, place, event or thing"`
	Limit int    `json:"limit,omitempty"`
}

// graphSearchOut is the Data of graph_search.
type graphSearchOut struct {
	Entities []knowledge.FoundEntity `json:"entities"`
}

// maxGraphResults limits the results of the graph tools. shownNames limits the names per entity.
const (
	maxGraphResults = 50
	shownNames      = 6
)

func (d Deps) graphSearch() tools.Tool {
	return tools.New(tools.Def[graphSearchIn]{
		Spec: tools.Spec{
			Name: "graph_search", Category: "memory", Effects: tools.Read,
			Description: "List the people, organisations, places and things that Hob knows, with their names and addresses.",
			Keywords:    "graph entity entities person people persons contact who know list organisation company place alias",
		},
		Summary: func(in graphSearchIn) string {
			return "List people and things: " + quoteLine(textnorm.Ellipsize(in.Query, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in graphSearchIn) (tools.Result, error) {
			limit, err := graphLimit(in.Limit, 10)
			if err == nil {
				err = checkEntityKind(in.Kind)
			}
			if err != nil {
				return tools.Result{}, err
			}
			list, err := d.Linker.FindEntities(tx, knowledge.EntityQuery{Text: in.Query, Kind: in.Kind, Realm: c.Realm, Limit: limit})
			if err != nil {
				return tools.Result{}, err
			}
			viewer := c.CredentialViewer()
			list = slices.DeleteFunc(list, func(e knowledge.FoundEntity) bool { return viewer.Hides("", e.Name) })
			return tools.Result{
				Text: foundEntitiesText(in.Query, list), Data: graphSearchOut{Entities: list},
				Source: sourceOf(list, func(e knowledge.FoundEntity) provenance.Source { return e.Provenance }), Origins: entityOrigins(list),
			}, nil
		},
	})
}

// graphLimit validates the maximum number of results of a graph tool.
func graphLimit(limit, otherwise int) (int, error) {
	limit, err := limitOr(limit, otherwise)
	return min(limit, maxGraphResults), err
}

func checkEntityKind(kind string) error {
	if kind != "" && !slices.Contains([]string{knowledge.Person, knowledge.Company, knowledge.Place, knowledge.Happened, knowledge.Thing}, kind) {
		return tools.Errorf(tools.InvalidArguments, "%q is not a known kind; use person, organisation, place, event or thing", tools.Clean(textnorm.Ellipsize(kind, 40)))
	}
	return nil
}

func foundEntitiesText(query string, list []knowledge.FoundEntity) string {
	if len(list) == 0 {
		if strings.TrimSpace(query) == "" {
			return "There are no known people or things yet."
		}
		return fmt.Sprintf("No known person or thing matches %s.", quoteLine(textnorm.Ellipsize(query, 100)))
	}
	var b strings.Builder
	b.WriteString("Known people and things:")
	for _, e := range list {
		b.WriteString("\n- " + entityLine(e.Entity))
		if e.Relations > 0 {
			fmt.Fprintf(&b, ", relations: %d", e.Relations)
		}
	}
	return b.String()
}

// entityLine describes an entity with its kind, its other names and its id.
func entityLine(e knowledge.Entity) string {
	s := textnorm.Ellipsize(strings.Join(strings.Fields(e.Name), " "), 100) + " (" + e.Kind + ", " + e.ID
	if e.Provenance.Tainted() {
		s += ", untrusted source"
	}
	s += ")"
	if names := e.Aliases[:min(len(e.Aliases), shownNames)]; len(names) > 0 {
		s += ", also " + textnorm.Ellipsize(strings.Join(names, ", "), 300)
	}
	return s
}

// entityOrigins returns the sources of the untrusted entities.
func entityOrigins(list []knowledge.FoundEntity) (out []provenance.Origin) {
	for _, e := range list {
		if e.Provenance.Tainted() {
			out = append(out, provenance.Origin{Kind: "memory", Label: e.ID})
		}
	}
	return provenance.Join(out)
}
