package autonomy

import (
	"context"
	"encoding/json"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// Journal records a command of the owner, such as a change of the configuration, so that it can be
// undone like Hob's own actions. tool is one of Options.Acts.
func (l *Loop) Journal(ctx context.Context, tool, text string, undo *tools.Undo) error {
	id := bus.NewID()
	now := time.Now()
	return l.o.Store.Write(ctx, func(tx *store.Tx) error {
		ev := bus.Event{
			ID: id, Kind: bus.Task, Source: "cli", Session: "tool:" + id, Lane: bus.CommandLane(id), Channel: "web", Text: text, Provenance: provenance.Owner,
		}
		if err := l.o.Bus.DoneTx(tx, ev); err != nil {
			return err
		}
		e := bus.Entry{
			Call: id + "-1", Event: id, Session: ev.Session, Tool: tool, Args: json.RawMessage("{}"), Effects: tools.Write.String(), State: bus.CallDone,
			Decision: "allow: by the owner", Result: text, Source: provenance.Tool, UndoLabel: undo.Label, Undo: undo.Data, StartedAt: now, FinishedAt: now,
		}
		if err := l.o.Bus.RecordTx(tx, e); err != nil {
			return err
		}
		return l.o.Guard.AuditTx(tx, guard.Record{
			Actor: "owner", Action: "call", Event: id, Session: ev.Session, Origin: "cli", Tool: tool, Call: e.Call, Effects: e.Effects,
			Verdict: "allow", Rule: "the owner's own command", Outcome: "done", Args: undo.Data,
		})
	})
}
