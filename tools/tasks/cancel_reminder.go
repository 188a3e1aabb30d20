package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

type cancelIn struct {
	Reminder string `json:"reminder" jsonschema:"id or words"`
}

func (d Deps) cancelReminder() tools.Tool {
	return tools.New(tools.Def[cancelIn]{
		Spec: tools.Spec{
			Name: "cancel_reminder", Category: "tasks", Effects: tools.Write,
			Description: "Cancel a reminder.",
			Keywords:    "delete remove stop reminding",
		},
		Summary: func(in cancelIn) string {
			return fmt.Sprintf("Cancel the reminder %q", textnorm.Ellipsize(in.Reminder, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in cancelIn) (tools.Result, error) {
			s, err := d.pickReminder(tx, in.Reminder, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			words := d.whenWords(s, c.Now)
			spec, err := d.cancelAndUnindex(tx, s.ID)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			return tools.Result{
				Text: fmt.Sprintf("Canceled the reminder %q (%s).", textnorm.Ellipsize(spec.Action, 100), words), Data: spec,
				Source: provenance.Worst(provenance.Tool, spec.Provenance),
				Undo:   tools.NewUndo(fmt.Sprintf("restore the reminder %q", textnorm.Ellipsize(spec.Action, 80)), spec),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var spec watchers.Spec
			if err := json.Unmarshal(data, &spec); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			if err := d.Clock.RestoreTx(tx, spec); err != nil {
				if errors.Is(err, watchers.ErrInvalid) {
					return "", tools.Errorf(tools.Conflict, "the reminder cannot be restored: %w", err)
				}
				return "", err
			}
			return fmt.Sprintf("Restored the reminder %q.", textnorm.Ellipsize(spec.Action, 80)), d.indexReminder(tx, spec)
		},
	})
}
