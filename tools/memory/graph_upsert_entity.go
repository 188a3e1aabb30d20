package memory

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type graphUpsertIn struct {
	Name  string   `json:"name" jsonschema:"name, or id of a known one"`
	Kind  string   `json:"kind,omitempty" jsonschema:"person, organisation, place, event or thing"`
	Names []string `json:"names,omitempty" jsonschema:"other names, email addresses and phone numbers"`
}

func (d Deps) graphUpsertEntity() tools.Tool {
	return tools.New(tools.Def[graphUpsertIn]{
		Spec: tools.Spec{
			Name: "graph_upsert_entity", Category: "memory", Effects: tools.Write,
			Description: "Record a person, organisation, place or thing, or add its other names, addresses and phone numbers.",
			Keywords:    "graph entity create update alias nickname email phone number person contact organisation",
		},
		Summary: func(in graphUpsertIn) string {
			return "Record " + quoteLine(textnorm.Ellipsize(strings.Join(append([]string{in.Name}, in.Names...), ", "), 120))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in graphUpsertIn) (tools.Result, error) {
			if err := checkEntityKind(in.Kind); err != nil {
				return tools.Result{}, err
			}
			done, err := d.Linker.UpsertTx(tx, knowledge.EntityChange{
				Name: in.Name, Kind: in.Kind, Names: in.Names, Realm: c.Realm, Provenance: callProvenance(c), Source: eventSource(c.Event), At: c.Now,
			})
			if err != nil {
				return tools.Result{}, classifyLink(err)
			}
			res := tools.Result{Data: done.Entity, Source: sourceOf([]knowledge.Entity{done.Entity}, func(e knowledge.Entity) provenance.Source { return e.Provenance })}
			if res.Source.Tainted() {
				res.Origins = entityOrigins([]knowledge.FoundEntity{{Entity: done.Entity}})
			}
			if !done.Made && len(done.Keys) == 0 && done.OldKind == "" {
				res.Text = "Already known: " + entityLine(done.Entity) + "."
				return res, nil
			}
			res.Text = "Recorded: " + entityLine(done.Entity) + "."
			// The undo record contains no name in its label, because the journal must not keep
			// forgotten text.
			done.Entity = knowledge.Entity{ID: done.Entity.ID}
			res.Undo = tools.NewUndo("remove what was recorded about a person or thing", done)
			return res, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var done knowledge.EntityChanged
			if err := json.Unmarshal(data, &done); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			err := d.Linker.RevertUpsertTx(tx, done)
			if errors.Is(err, knowledge.ErrNoEntity) {
				return "", tools.Errorf(tools.NotFound, "the person or thing no longer exists")
			}
			return "Removed what was recorded.", err
		},
	})
}
