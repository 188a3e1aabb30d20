package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/autonomy/payload"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
)

// Notice is a text from Hob to the owner that no model writes.
type Notice struct {
	Key     string // deduplicates
	Text    string
	Report  string            // the conversation that gets it; "" means the default target
	Source  provenance.Source // of the text; "" means provenance.Hob
	Urgency notify.Urgency    // 0 means the default; critical ignores quiet hours
}

// Notify puts a notice into the inbox.
func (k *Intake) Notify(ctx context.Context, key, text string) error {
	_, err := k.o.Bus.Inbox.Put(ctx, newNoticeEvent(Notice{Key: key, Text: text}))
	return err
}

// NotifyCritical is Notify for critical notices; it ignores quiet hours.
func (k *Intake) NotifyCritical(ctx context.Context, key, text string) error {
	_, err := k.o.Bus.Inbox.Put(ctx, newNoticeEvent(Notice{Key: key, Text: text, Urgency: notify.Critical}))
	return err
}

// NotifyTx puts a notice into the inbox inside a transaction.
func (k *Intake) NotifyTx(tx *store.Tx, n Notice) error {
	_, err := k.o.Bus.Inbox.PutTx(tx, newNoticeEvent(n))
	return err
}

func newNoticeEvent(n Notice) bus.Event {
	return bus.Event{
		ID: bus.NewID(), Kind: bus.System, Source: "hob", Session: "system", Text: n.Text, Provenance: cmp.Or(n.Source, provenance.Hob), Key: n.Key,
		Payload: encodePayload(payload.Signal{Mode: watchers.Notify, Report: n.Report, Urgency: n.Urgency}),
	}
}

// Call makes a tool call durable, as the owner's own, and returns its event.
func (k *Intake) Call(ctx context.Context, session, tool string, args json.RawMessage) (string, error) {
	id := bus.NewID()
	acc, err := k.o.Bus.Inbox.Put(ctx, bus.Event{
		ID: id, Kind: bus.Task, Source: "tool", Session: "tool:" + id, Lane: bus.CommandLane(id), Channel: "web", Text: tool,
		Payload: encodePayload(payload.ToolCall{Tool: tool, Args: args, Report: session}), Provenance: provenance.Owner,
	})
	return acc.Event, err
}

// encodePayload encodes values of our own plain types.
func encodePayload(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// ReportStart notifies the owner of problems that Hob found at its start. audit is the error of
// the audit log check, nil if the log is intact. aside is the path to which a damaged database
// was moved, "" if there was none.
func (k *Intake) ReportStart(ctx context.Context, audit error, aside string) error {
	if audit != nil {
		k.o.Log.Error("audit log check failed", "err", audit)
		text := fmt.Sprintf("Audit log check failed: %v. The database was modified or restored from a backup. See `hob audit verify`.", audit)
		if err := k.NotifyCritical(ctx, "audit:"+audit.Error(), text); err != nil {
			return err
		}
	}
	if aside == "" {
		return nil
	}
	k.o.Log.Error("damaged database moved away", "file", aside)
	return k.NotifyCritical(ctx, "set-aside:"+aside, fmt.Sprintf("My database was damaged. I moved it to %s and restored the newest good backup, or started with an empty database if there was none. I did not overwrite the old file.", aside))
}
