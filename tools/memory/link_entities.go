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

type linkIn struct {
	From     string `json:"from" jsonschema:"name or id of a person, organisation, place or thing; me is the user"`
	Relation string `json:"relation" jsonschema:"how from is related to to, such as works at, sister of, lives in, owns"`
	To       string `json:"to" jsonschema:"name or id"`
	FromKind string `json:"from_kind,omitempty" jsonschema:"person, organisation, place, event or thing"`
	ToKind   string `json:"to_kind,omitempty" jsonschema:"the same"`
}

type linkUndo struct {
	Relation string   `json:"relation"`
	Made     []string `json:"made,omitempty"`
}

func (d Deps) linkEntities() tools.Tool {
	return tools.New(tools.Def[linkIn]{
		Spec: tools.Spec{
			Name: "link_entities", Category: "memory", Effects: tools.Write,
			Description: "Record how two people, organisations, places or things are related.",
			Keywords:    "relation relationship graph connect link",
		},
		Summary: func(in linkIn) string {
			return "Link: " + quoteLine(textnorm.Ellipsize(in.From+" "+strings.ReplaceAll(in.Relation, "_", " ")+" "+in.To, 120))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in linkIn) (tools.Result, error) {
			if err := errors.Join(checkEntityKind(in.FromKind), checkEntityKind(in.ToKind)); err != nil {
				return tools.Result{}, err
			}
			out, err := d.Linker.LinkTx(tx, knowledge.Link{
				From: in.From, FromKind: in.FromKind, Relation: in.Relation, To: in.To, ToKind: in.ToKind, Realm: c.Realm, Provenance: callProvenance(c), Source: eventSource(c.Event), At: c.Now,
			})
			if err != nil {
				return tools.Result{}, classifyLink(err)
			}
			text := quoteLine(out.From.Name + " " + strings.ReplaceAll(out.Relation.Name, "_", " ") + " " + out.To.Name)
			res := tools.Result{Data: out, Source: sourceOf([]knowledge.Entity{out.From, out.To}, func(e knowledge.Entity) provenance.Source { return e.Provenance })}
			if out.Known {
				res.Text = "Already known: " + text + "."
				return res, nil
			}
			res.Text = "I noted that " + text + "."
			// The label contains no names, because the journal must not keep forgotten text.
			res.Undo = tools.NewUndo("remove the new link", linkUndo{Relation: out.Relation.ID, Made: out.Made})
			return res, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var u linkUndo
			if err := json.Unmarshal(data, &u); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			err := d.Linker.UnlinkTx(tx, u.Relation, u.Made)
			if errors.Is(err, knowledge.ErrNoEntity) {
				return "", tools.Errorf(tools.NotFound, "the link no longer exists")
			}
			return "Removed the link.", err
		},
	})
}

// eventSource returns the source of facts that a turn creates.
func eventSource(event string) string {
	if event == "" {
		return ""
	}
	return "event:" + event
}

func classifyLink(err error) error {
	switch {
	case errors.Is(err, knowledge.ErrNoEntity):
		return tools.Errorf(tools.NotFound, "%w", tools.CleanErr(err))
	case errors.Is(err, knowledge.ErrAmbiguous), errors.Is(err, knowledge.ErrSame), errors.Is(err, knowledge.ErrTrustedEntity):
		return tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	return err
}
