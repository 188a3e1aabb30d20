package simulate

import (
	"context"
	"errors"
	"slices"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/explain"
	"hob/autonomy/llm"
	"hob/autonomy/notify"
	"hob/autonomy/session"
	"hob/cmd/hob/internal/app"
)

// eventReport is the outcome of an event and its notifications.
type eventReport struct {
	explain.Why
	Notices []notify.Notice
}

// readStory reads the events since a time, oldest first, with their outcomes.
func readStory(ctx context.Context, d app.Parts, since time.Time, each func(eventReport) error) error {
	list, err := d.Bus.Inbox.Since(ctx, since)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(list) {
		w, err := d.Explainer.ExplainEvent(ctx, e.ID, "")
		if err != nil {
			return err
		}
		notices, err := d.Notices.Why(ctx, e.ID)
		if err != nil {
			return err
		}
		notices = slices.DeleteFunc(notices, func(n notify.Notice) bool { return n.Event != e.ID })
		if err := each(eventReport{w, notices}); err != nil {
			return err
		}
	}
	return nil
}

// journal is an event on a past day and its outcome.
type journal struct {
	explain.Why
	Messages []llm.Message // messages in the event's turn
}

// readJournals returns the events from outside Hob between from and until.
func readJournals(ctx context.Context, d app.Parts, from, until time.Time) (out []journal, err error) {
	list, err := d.Bus.Inbox.Since(ctx, from)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(list) {
		switch {
		case e.ReceivedAt.Before(from), !e.ReceivedAt.Before(until), e.Kind == bus.System, e.Kind == bus.Approval:
			continue
		}
		j := journal{}
		if j.Why, err = d.Explainer.ExplainEvent(ctx, e.ID, ""); err != nil {
			return nil, err
		}
		r, err := d.Sessions.Recorded(ctx, e.Session, e.ID)
		if err != nil && !errors.Is(err, session.ErrNoTurn) {
			return nil, err
		}
		for _, row := range r.Own {
			j.Messages = append(j.Messages, row.Message)
		}
		out = append(out, j)
	}
	return out, nil
}

// knownEvents returns the ids of the events that arrived or ended since a time. If open is not set,
// it omits the events that are not completed.
func knownEvents(ctx context.Context, d app.Parts, since time.Time, open bool) (map[string]bool, error) {
	list, err := d.Bus.Inbox.Since(ctx, since)
	out := map[string]bool{}
	for _, e := range list {
		if open || e.State == bus.Done || e.State == bus.Dead {
			out[e.ID] = true
		}
	}
	return out, err
}

// countTicks returns how often the loop has checked for due work.
func countTicks(d app.Parts) int64 {
	all, _ := d.Loop.Ticks()
	return all
}
