package memory

import (
	"context"
	"fmt"
	"strings"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/tools"
)

type forgetIn struct {
	ID    string `json:"id,omitempty" jsonschema:"id of the fact"`
	Query string `json:"query,omitempty" jsonschema:"words of the fact"`
}

// forgetOut is the Data of forget.
type forgetOut struct {
	Forgotten int `json:"forgotten"`
}

func (d Deps) forget() tools.Tool {
	return tools.New(tools.Def[forgetIn]{
		Spec: tools.Spec{
			Name: "forget", Category: "memory", Effects: tools.Destroy,
			Description: "Forget one remembered fact for good, with its history. Give id or query.",
			Keywords:    "delete erase remove memory fact",
		},
		Summary: func(in forgetIn) string {
			if in.ID != "" {
				return "Forget the fact " + in.ID + " for good"
			}
			return "Forget the fact about " + quoted(phrase.Cut(in.Query, 100)) + " for good"
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in forgetIn) (tools.Result, error) {
			ids, err := d.toForget(tx, c.Realm, in)
			if err != nil {
				return tools.Result{}, err
			}
			gone := 0
			for _, id := range ids {
				n, err := d.Knowledge.ForgetTx(tx, id)
				if err != nil {
					return tools.Result{}, classify(err)
				}
				gone += n
			}
			// The result does not repeat what is to be forgotten.
			text := "Forgotten for good."
			if gone > 1 {
				text = fmt.Sprintf("Forgotten for good, with %d older versions of it.", gone-1)
			}
			return tools.Result{Text: text, Data: forgetOut{Forgotten: gone}}, nil
		},
	})
}

// toForget finds the one fact that is meant, and the replaced ones that match
// as well and do not follow from it.
func (d Deps) toForget(tx *store.Tx, realm string, in forgetIn) ([]string, error) {
	id, query := strings.TrimSpace(in.ID), strings.TrimSpace(in.Query)
	switch {
	case (id == "") == (query == ""):
		return nil, tools.Errorf(tools.InvalidArguments, "give exactly one of id and query")
	case id != "":
		f, err := d.Knowledge.Fact(tx, id)
		if err == nil && realm != "" && f.Realm != realm { // the main agent acts for the owner, who sees them all
			err = fmt.Errorf("%w: %s", knowledge.ErrNotFound, phrase.Cut(id, 40))
		}
		return []string{f.ID}, classify(err)
	}
	hits, err := d.Knowledge.Search(tx, query, knowledge.SearchOptions{
		Limit: 50, All: true, Kinds: []string{knowledge.KindFact, knowledge.KindRetired}, Realm: realm,
	})
	if err != nil {
		return nil, err
	}
	var live, old []knowledge.Hit
	for _, h := range hits {
		if h.Kind == knowledge.KindFact {
			live = append(live, h)
		} else {
			old = append(old, h)
		}
	}
	if len(live) == 0 && len(old) == 0 {
		return nil, d.nothingToForget(tx, realm, query)
	}
	var ids []string
	if len(live) > 0 {
		one, err := tools.Pick("fact", query, live, func(h knowledge.Hit) (string, string) { return h.Ref, h.Text })
		if len(live) == 1 {
			one, err = live[0], nil
		}
		if err != nil {
			return nil, tools.Quoting(err, sourceOf(live, hitSource))
		}
		ids = append(ids, one.Ref)
	}
	for _, h := range old {
		follows, err := d.follows(tx, h.Ref, ids)
		if err != nil {
			return nil, err
		}
		if !follows {
			ids = append(ids, h.Ref)
		}
	}
	return ids, nil
}

// follows reports whether forgetting one of ids forgets the fact as well.
func (d Deps) follows(tx *store.Tx, id string, ids []string) (bool, error) {
	for id != "" {
		for _, other := range ids {
			if id == other {
				return true, nil
			}
		}
		f, err := d.Knowledge.Fact(tx, id)
		if err != nil {
			return false, classify(err)
		}
		id = f.RetiredBy
	}
	return false, nil
}

func (d Deps) nothingToForget(tx *store.Tx, realm, query string) error {
	e := tools.Errorf(tools.NotFound, "no remembered fact has all of these words: %s", quoted(phrase.Cut(query, 100)))
	if notes, err := d.Knowledge.Search(tx, query, knowledge.SearchOptions{Limit: 1, All: true, Kinds: []string{kindNote}}); err == nil && len(notes) > 0 {
		e.Remedy = "there is a note " + quoted(phrase.Cut(notes[0].Title, 60)) + ", which delete_note removes"
		return tools.Quoting(e, notes[0].Provenance)
	}
	near, err := d.Knowledge.Recall(tx, realm, query, 3)
	if err != nil {
		return classify(err)
	}
	var names []string
	for _, f := range near {
		names = append(names, quoted(phrase.Cut(f.Text, 80)))
	}
	if len(names) > 0 {
		e.Remedy = "the nearest: " + strings.Join(names, ", ")
	}
	return tools.Quoting(e, sourceOf(near, factSource))
}
