package memory

import (
	"context"
	"encoding/json"
	"errors"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type mergeIn struct {
	First  string `json:"first" jsonschema:"name or id"`
	Second string `json:"second" jsonschema:"name or id of the same person or thing"`
}

type splitIn struct {
	Entity string `json:"entity" jsonschema:"name or id"`
	Name   string `json:"name" jsonschema:"name, address or id that belongs to somebody else"`
}

func (d Deps) mergeEntities() tools.Tool {
	return tools.New(tools.Def[mergeIn]{
		Spec: tools.Spec{
			Name: "merge_entities", Category: "memory", Effects: tools.Write,
			Description: "Record that two known people, organisations or things are the same one.",
			Keywords:    "graph merge join same person duplicate alias combine",
		},
		Summary: func(in mergeIn) string {
			return "Merge " + quoteLine(textnorm.Ellipsize(in.First, 60)) + " and " + quoteLine(textnorm.Ellipsize(in.Second, 60))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in mergeIn) (tools.Result, error) {
			done, err := d.Linker.MergeTx(tx, pairOf(c, in.First, in.Second))
			return pairResult(done, err, quoteLine(textnorm.Ellipsize(in.First, 60))+" and "+quoteLine(textnorm.Ellipsize(in.Second, 60))+" are the same now: ", ".")
		},
		UndoTx: d.revertPair,
	})
}

func (d Deps) splitEntity() tools.Tool {
	return tools.New(tools.Def[splitIn]{
		Spec: tools.Spec{
			Name: "split_entity", Category: "memory", Effects: tools.Write,
			Description: "Record that a name of a known person, organisation or thing belongs to another one.",
			Keywords:    "graph split separate different person namesake not the same",
		},
		Summary: func(in splitIn) string {
			return "Separate " + quoteLine(textnorm.Ellipsize(in.Name, 60)) + " from " + quoteLine(textnorm.Ellipsize(in.Entity, 60))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in splitIn) (tools.Result, error) {
			done, err := d.Linker.SplitTx(tx, pairOf(c, in.Entity, in.Name))
			return pairResult(done, err, "These are different now: ", "; "+entityLine(done.Second)+".")
		},
		UndoTx: d.revertPair,
	})
}

func pairOf(c tools.Call, first, second string) knowledge.PairChange {
	return knowledge.PairChange{First: first, Second: second, Realm: c.Realm, Provenance: callProvenance(c), At: c.Now}
}

// pairResult returns the result of a merge or a split. The text consists of before, the line of the
// first entity, and after.
func pairResult(done knowledge.PairChanged, err error, before, after string) (tools.Result, error) {
	if err != nil {
		return tools.Result{}, classifyLink(err)
	}
	list := []knowledge.FoundEntity{{Entity: done.First}, {Entity: done.Second}}
	res := tools.Result{
		Text: before + entityLine(done.First) + after, Data: done, Origins: entityOrigins(list),
		Source: sourceOf(list, func(e knowledge.FoundEntity) provenance.Source { return e.Provenance }),
	}
	done.First, done.Second = knowledge.Entity{}, knowledge.Entity{} // the journal must not keep names
	res.Undo = tools.NewUndo("restore two entries of the graph", done)
	return res, nil
}

func (d Deps) revertPair(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	var done knowledge.PairChanged
	if err := json.Unmarshal(data, &done); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	err := d.Linker.RevertPairTx(tx, done)
	if errors.Is(err, knowledge.ErrNoEntity) {
		return "", tools.Errorf(tools.Conflict, "the entries have changed since")
	}
	return "Restored both entries.", err
}
