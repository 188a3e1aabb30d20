package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/autonomy/payload"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
)

// Fire implements watchers.Sink.
func (k *Intake) Fire(ctx context.Context, id string, signals []watchers.Signal, save func(*store.Tx) error) error {
	spec, err := k.o.Watchers.Get(ctx, id)
	if err != nil {
		return err
	}
	return k.o.Store.Write(ctx, func(tx *store.Tx) error {
		for _, s := range signals {
			if err := k.putSignalTx(tx, spec, s); err != nil {
				return err
			}
		}
		if save == nil {
			return nil
		}
		return save(tx)
	})
}

// putSignalTx puts a new signal into the inbox, together with the signals of the intents that wait
// for it.
func (k *Intake) putSignalTx(tx *store.Tx, spec watchers.Spec, s watchers.Signal) error {
	ev, err := k.newSignalEvent(spec, s)
	if err != nil {
		return err
	}
	if acc, err := k.o.Bus.Inbox.PutTx(tx, ev); err != nil || acc.Repeated {
		return err
	}
	waiting, err := k.o.Watchers.DispatchSignalTx(tx, spec, s)
	for _, h := range waiting {
		if err == nil {
			err = k.putSignalTx(tx, h.Spec, h.Signal)
		}
	}
	return err
}

func (k *Intake) newSignalEvent(spec watchers.Spec, s watchers.Signal) (bus.Event, error) {
	if s.Skipped > 0 || s.Notice { // the signal was dropped or concerns the watcher itself, so only notify the owner
		spec.Mode = watchers.Notify
	}
	data, err := json.Marshal(payload.Signal{
		Watcher: spec.ID, Title: spec.Title, Mode: spec.Mode, Action: spec.Action, Report: spec.Report, Signal: s.Text,
		Late: s.Late, Note: s.Note, Made: spec.Provenance, Agent: spec.Agent, Data: s.Payload, Urgency: notify.OfPriority(spec.Priority),
	})
	if err != nil {
		return bus.Event{}, fmt.Errorf("watcher %s: %w", spec.ID, err)
	}
	kind := bus.Watcher
	if spec.Timed {
		kind = bus.Schedule
	}
	name := string(kind) + ":" + spec.ID
	return bus.Event{
		Kind: kind, Source: name, Session: name, Text: s.Text, Payload: data, Provenance: provenance.Worst(s.Source, spec.Provenance),
		Key: s.Key, SourceCreated: spec.CreatedAt,
	}, nil
}

// ReportError implements watchers.Sink. It notifies the owner that a watcher fails completely or
// partly.
func (k *Intake) ReportError(ctx context.Context, id string, cause error) {
	spec, err := k.o.Watchers.Get(ctx, id)
	if err == nil {
		_, err = k.o.Bus.Inbox.Put(ctx, bus.Event{
			Kind: bus.System, Source: "watcher:" + id, Session: "system", Provenance: provenance.Outside,
			Text:    fmt.Sprintf("The watcher %q has a problem: %v", spec.Title, cause),
			Payload: encodePayload(payload.Signal{Watcher: id, Title: spec.Title, Mode: watchers.Notify, Report: spec.Report}),
		})
	}
	if err != nil && ctx.Err() == nil {
		k.o.Log.Warn("cannot report a broken watcher", "watcher", id, "cause", cause, "err", err)
	}
}

// ErrKeyReused means that the key of a trigger call was already used with a different body.
var ErrKeyReused = errors.New("this Idempotency-Key was already used with a different body; use a new key for each request")

// Trigger accepts a webhook's payload as untrusted text. For a repeated key with the same body, it
// returns the first event.
func (k *Intake) Trigger(ctx context.Context, name, key string, body []byte) (channels.Accepted, error) {
	t, ok := k.o.Triggers[name]
	if !ok {
		return channels.Accepted{}, fmt.Errorf("trigger %q: %w", name, bus.ErrNotFound)
	}
	if !utf8.Valid(body) {
		return channels.Accepted{}, ErrNotText
	}
	report := t.Session
	if report == "" {
		report = "main"
	}
	data := encodePayload(payload.Signal{Watcher: name, Title: name, Mode: watchers.Do, Action: t.Action, Report: report, Signal: string(body), Made: provenance.Owner})
	acc, err := k.o.Bus.Inbox.Put(ctx, bus.Event{
		Kind: bus.Webhook, Source: "trigger:" + name, Session: "trigger:" + name, Text: string(body), Payload: data,
		Provenance: provenance.Outside, Key: key,
	})
	if err != nil || !acc.Repeated {
		return acc, err
	}
	first, err := k.o.Bus.Inbox.Event(ctx, acc.Event)
	if err == nil && first.Text != string(body) {
		err = ErrKeyReused
	}
	return acc, err
}

// Moved implements watchers.ZoneChangeSink. It notifies the owner once of a new time zone and of
// the schedules that follow it.
func (k *Intake) Moved(ctx context.Context, move watchers.ZoneChange, save func(*store.Tx) error) error {
	return k.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := k.NotifyTx(tx, Notice{Key: move.Key, Text: move.Text, Source: move.Source}); err != nil {
			return err
		}
		return save(tx)
	})
}

// WatcherSink passes the signals of watchers to the intake. It exists before the intake, because
// the watchers need a sink when they are created, and the intake needs the watchers. It implements
// watchers.Sink and watchers.ZoneChangeSink.
type WatcherSink struct{ intake func() *Intake }

// NewWatcherSink returns a sink. intake returns the intake, which must exist before the watchers
// run.
func NewWatcherSink(intake func() *Intake) WatcherSink { return WatcherSink{intake} }

// Fire implements watchers.Sink.
func (s WatcherSink) Fire(ctx context.Context, id string, signals []watchers.Signal, save func(*store.Tx) error) error {
	return s.intake().Fire(ctx, id, signals, save)
}

// Moved implements watchers.ZoneChangeSink.
func (s WatcherSink) Moved(ctx context.Context, move watchers.ZoneChange, save func(*store.Tx) error) error {
	return s.intake().Moved(ctx, move, save)
}

// ReportError implements watchers.Sink.
func (s WatcherSink) ReportError(ctx context.Context, id string, err error) {
	s.intake().ReportError(ctx, id, err)
}
