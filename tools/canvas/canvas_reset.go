package canvas

import (
	"context"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

type resetIn struct {
	Title string `json:"title,omitempty" jsonschema:"remove only this widget; without it, all except pinned ones"`
}

func (d Deps) resetCanvas() tools.Tool {
	return tools.New(tools.Def[resetIn]{
		Spec: tools.Spec{
			Name: "canvas_reset", Category: "canvas", Effects: tools.Write,
			Description: "Remove widgets from the page Today.",
			Keywords:    "canvas clear reset wipe empty remove delete widget",
		},
		Summary: func(in resetIn) string {
			if strings.TrimSpace(in.Title) == "" {
				return "Remove the widgets that are not pinned"
			}
			return "Remove the widget " + cleanTitle(in.Title)
		},
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in resetIn) (tools.Result, error) {
			gone, err := widgetsToRemove(tx, in.Title)
			if err != nil {
				return tools.Result{}, err
			}
			if len(gone) == 0 {
				return tools.Result{Text: "There is no widget to remove. Pinned widgets are removed by their title.", Source: provenance.Tool}, nil
			}
			for _, w := range gone {
				if err := deleteWidget(tx, w.ID); err != nil {
					return tools.Result{}, err
				}
			}
			return tools.Result{
				Text: "Removed " + listTitles(gone) + ".", Data: widgetList{gone}, Source: worstSource(gone),
				Undo: tools.NewUndo("restore "+listTitles(gone), widgetUndo{Before: gone}),
			}, nil
		},
		UndoTx: undoChange,
	})
}

// widgetsToRemove returns the widget with a title, or all that are not pinned if there is no title.
func widgetsToRemove(tx *store.Tx, title string) ([]Widget, error) {
	if strings.TrimSpace(title) == "" {
		return queryWidgets(tx, `WHERE pinned = 0 `+widgetOrder)
	}
	w, err := requireWidget(tx, title)
	return []Widget{w}, err
}
