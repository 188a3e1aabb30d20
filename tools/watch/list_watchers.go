package watch

import (
	"context"

	"hob/knowledge/store"
	"hob/tools"
)

type listIn struct{}

func (f family) listWatchers() tools.Tool {
	return f.lister(tools.Spec{
		Name: "list_watchers", Category: "watch", Effects: tools.Read,
		Description: "List what is being watched.",
		Keywords:    "show watchers watching monitor",
	})
}

func (f family) lister(spec tools.Spec) tools.Tool {
	return tools.New(tools.Def[listIn]{
		Spec:    spec,
		Summary: func(listIn) string { return "List " + f.noun + "s" },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, _ listIn) (tools.Result, error) {
			list, err := f.list(tx)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Text: f.text(list, c.Now), Data: map[string][]row{f.noun + "s": f.rows(list)}, Source: sourceOf(list)}, nil
		},
	})
}
