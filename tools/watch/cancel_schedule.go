package watch

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type cancelScheduleIn struct {
	Schedule string `json:"schedule" jsonschema:"id or words"`
}

func (f watcherFamily) cancelSchedule() tools.Tool {
	return tools.New(tools.Def[cancelScheduleIn]{
		Spec: tools.Spec{
			Name: "cancel_schedule", Category: "watch", Effects: tools.Write,
			Description: "Cancel a schedule for good.",
			Keywords:    "delete remove stop recurring job",
		},
		Summary: func(in cancelScheduleIn) string {
			return fmt.Sprintf("Cancel the schedule %q", textnorm.Ellipsize(in.Schedule, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in cancelScheduleIn) (tools.Result, error) {
			return f.cancelMatching(tx, in.Schedule)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return f.undoCancel(tx, data)
		},
	})
}
