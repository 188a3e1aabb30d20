package watch

import (
	"context"

	"hob/platform/store"
	"hob/tools"
)

type listIn struct{}

func (f watcherFamily) listWatchers() tools.Tool {
	return f.listTool(tools.Spec{
		Name: "list_watchers", Category: "watch", Effects: tools.Read,
		Description: "List what is being watched.",
		Keywords:    "show watchers watching monitor",
	})
}

func (f watcherFamily) listTool(spec tools.Spec) tools.Tool {
	return tools.New(tools.Def[listIn]{
		Spec:    spec,
		Summary: func(listIn) string { return "List " + f.noun + "s" },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, _ listIn) (tools.Result, error) {
			list, err := f.livingMembers(tx)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Text: f.listText(list, c.Now), Data: map[string][]watcherRow{f.noun + "s": f.newRows(list)}, Source: sourceOf(list)}, nil
		},
	})
}
