package canvas

import (
	"context"
	"fmt"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

type snapshotIn struct {
	Title string `json:"title,omitempty" jsonschema:"only this widget"`
}

// widgetList is the Data of results with several widgets.
type widgetList struct {
	Widgets []Widget `json:"widgets"`
}

func (d Deps) readCanvas() tools.Tool {
	return tools.New(tools.Def[snapshotIn]{
		Spec: tools.Spec{
			Name: "canvas_snapshot", Category: "canvas", Effects: tools.Read,
			Description: "Show what the widgets on the page Today contain.",
			Keywords:    "canvas snapshot screenshot image capture look see list widgets",
		},
		Summary: func(snapshotIn) string { return "Read the widgets" },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in snapshotIn) (tools.Result, error) {
			list, err := queryWidgets(tx, widgetOrder)
			if err == nil && strings.TrimSpace(in.Title) != "" {
				var w Widget
				w, err = requireWidget(tx, in.Title)
				list = []Widget{w}
			}
			if err != nil {
				return tools.Result{}, err
			}
			if len(list) == 0 {
				return tools.Result{Text: "The canvas is empty.", Data: widgetList{list}, Source: provenance.Tool}, nil
			}
			viewer := c.CredentialViewer()
			var text []string
			for i := range list {
				w := &list[i]
				w.Content, _ = viewer.Show(w.Title, w.Content)
				shown, _ := viewer.Show(w.Title, plainContent(*w)) // tags can separate the parts of a credential
				w.Title, _ = viewer.Show("", w.Title)
				state := w.Kind
				if w.Pinned {
					state += ", pinned"
				}
				text = append(text, fmt.Sprintf("Widget %q (%s):\n%s", w.Title, state, shown))
			}
			return tools.Result{Text: strings.Join(text, "\n\n"), Data: widgetList{list}, Source: worstSource(list)}, nil
		},
	})
}
