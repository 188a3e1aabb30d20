package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/autonomy/payload"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
)

// Notice is a message from Hob to the owner that no model wrote.
type Notice struct {
	Key     string // notices with the same key are sent once
	Text    string
	Report  string            // conversation that receives the notice; "" means the default target
	Source  provenance.Source // provenance of the text; "" means provenance.Hob
	Urgency notify.Urgency    // 0 means the default; critical ignores quiet hours
}

// Notify puts a notice into the inbox.
func (k *Intake) Notify(ctx context.Context, key, text string) error {
	_, err := k.o.Bus.Inbox.Put(ctx, newNoticeEvent(Notice{Key: key, Text: text}))
	return err
}

// NotifyCritical is like Notify, but for critical notices, which ignore quiet hours.
func (k *Intake) NotifyCritical(ctx context.Context, key, text string) error {
	_, err := k.o.Bus.Inbox.Put(ctx, newNoticeEvent(Notice{Key: key, Text: text, Urgency: notify.Critical}))
	return err
}

// NotifyTx puts a notice into the inbox inside a transaction.
func (k *Intake) NotifyTx(tx *store.Tx, n Notice) error {
	_, err := k.o.Bus.Inbox.PutTx(tx, newNoticeEvent(n))
	return err
}

// NotifyLastTx puts a notice for the conversation in which the owner last wrote into the inbox.
func (k *Intake) NotifyLastTx(tx *store.Tx, key, text string) error {
	session, _, _, err := k.o.Bus.Owner.LastSession(context.Background())
	if err != nil {
		return err
	}
	return k.NotifyTx(tx, Notice{Key: key, Text: text, Report: cmp.Or(session, "main")})
}

// ReportRefusedTx reports a notice that one of the user's hooks refused.
func (k *Intake) ReportRefusedTx(tx *store.Tx, r notify.Notice, why string) error {
	text := fmt.Sprintf("I kept a notification back: %s. Read it with `hob why %s`, deliver it with `hob notify release %s`.", why, r.ID, r.ID)
	return k.NotifyTx(tx, Notice{Key: "refused:" + r.ID, Text: text, Report: r.Session, Source: provenance.Outside})
}

func newNoticeEvent(n Notice) bus.Event {
	return bus.Event{
		ID: bus.NewID(), Kind: bus.System, Source: "hob", Session: "system", Text: n.Text, Provenance: cmp.Or(n.Source, provenance.Hob), Key: n.Key,
		Payload: encodePayload(payload.Signal{Mode: watchers.Notify, Report: n.Report, Urgency: n.Urgency}),
	}
}

// Call stores a tool call by the owner durably and returns its event.
func (k *Intake) Call(ctx context.Context, session, tool string, args json.RawMessage) (string, error) {
	id := bus.NewID()
	acc, err := k.o.Bus.Inbox.Put(ctx, bus.Event{
		ID: id, Kind: bus.Task, Source: "tool", Session: "tool:" + id, Lane: bus.CommandLane(id), Channel: "web", Text: tool,
		Payload: encodePayload(payload.ToolCall{Tool: tool, Args: args, Report: session}), Provenance: provenance.Owner,
	})
	return acc.Event, err
}

// ClientCallTx stores a tool call by an external program in a new session and returns its event.
// person is the program, such as "mcp:laptop".
func (k *Intake) ClientCallTx(tx *store.Tx, person, tool string, args json.RawMessage) (string, error) {
	id := bus.NewID()
	kind, _, _ := strings.Cut(person, ":")
	acc, err := k.o.Bus.Inbox.PutTx(tx, bus.Event{
		ID: id, Kind: bus.Task, Source: payload.ClientSource, Session: person + ":" + id, Lane: bus.CommandLane(id), Channel: kind, Sender: person, Text: tool,
		Payload:    encodePayload(payload.ToolCall{Tool: tool, Args: args, Client: person, Origins: []provenance.Origin{{Kind: "client", Label: person, Event: id}}}),
		Provenance: provenance.Outside,
	})
	return acc.Event, err
}

// encodePayload encodes values of this package's plain types, which cannot fail.
func encodePayload(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// reportHold notifies the owner once that a restore put work on hold.
func (k *Intake) reportHold(ctx context.Context) error {
	s, err := k.o.Bus.Hold.Status(ctx)
	if err != nil || !s.Active {
		return err
	}
	text := fmt.Sprintf("I was restored from the backup %s. %d messages and %d events are on hold, and I do not start background work. Review them with `hob restore --pending`; then run `hob restore --release all` or `hob restore --drop all`.", s.Snapshot, s.Texts, s.Events)
	return k.NotifyCritical(ctx, fmt.Sprintf("restored:%d", s.RestoredAt.UnixMilli()), text)
}

// ReportStart notifies the owner of problems that Hob found at startup. audit is the error from the
// audit log check, or nil if the log is intact. If a backup replaced the database db, ReportStart
// marks the replacement as reported.
func (k *Intake) ReportStart(ctx context.Context, audit error, db *store.Store) error {
	if audit != nil {
		k.o.Log.Error("audit log check failed", "err", audit)
		text := fmt.Sprintf("Audit log check failed: %v. The database was modified or restored from a backup. See `hob audit verify`.", audit)
		if err := k.NotifyCritical(ctx, "audit:"+audit.Error(), text); err != nil {
			return err
		}
	}
	r := db.Replacement()
	if err := k.reportHold(ctx); err != nil || r == nil {
		return err
	}
	k.o.Log.Error("database replaced", "file", r.Aside, "backup", r.Backup)
	text := "My database was missing."
	if r.Aside != "" {
		text = fmt.Sprintf("My database was damaged. I moved it to %s and did not change it.", r.Aside)
	}
	if r.Backup != "" {
		text += " I continue with the newest good backup, " + r.Backup + "."
	} else {
		text += " There was no good backup, so I started with an empty database."
	}
	if err := k.NotifyCritical(ctx, "replaced:"+r.ID, text); err != nil {
		return err
	}
	return db.ConfirmReplacement()
}
