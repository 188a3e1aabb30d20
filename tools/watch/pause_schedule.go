package watch

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type pauseScheduleIn struct {
	Schedule string `json:"schedule" jsonschema:"id or words"`
	Resume   bool   `json:"resume,omitempty" jsonschema:"resume instead"`
}

func (f watcherFamily) pauseSchedule() tools.Tool {
	return tools.New(tools.Def[pauseScheduleIn]{
		Spec: tools.Spec{
			Name: "pause_schedule", Category: "watch", Effects: tools.Write,
			Description: "Pause or resume a schedule.",
			Keywords:    "resume suspend disable enable recurring job",
		},
		Summary: func(in pauseScheduleIn) string {
			return chooseVerb(in.Resume, "Resume", "Pause") + fmt.Sprintf(" the schedule %q", textnorm.Ellipsize(in.Schedule, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in pauseScheduleIn) (tools.Result, error) {
			return f.setPaused(tx, c, in.Schedule, in.Resume)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return f.undoPause(tx, data)
		},
	})
}
