package notify

import (
	"encoding/json"
	"errors"
	"time"

	"hob/platform/store"
	"hob/tools"
)

// mostSnoozable is the maximum number of notifications that a tool sees.
const mostSnoozable = 200

// ToolNotices gives tools access to notifications. Its errors are tool errors.
type ToolNotices struct{ *Notifier }

// Until parses the duration or time for snoozing.
func (ToolNotices) Until(text string, now time.Time) (time.Time, error) {
	until, err := ParseUntil(text, now)
	if err != nil {
		return until, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	return until, nil
}

// ListIn returns recent and deferred notifications, newest first.
func (t ToolNotices) ListIn(q store.Querier) ([]tools.Notice, error) {
	list, err := t.Snoozable(q, mostSnoozable)
	out := make([]tools.Notice, len(list))
	for i, n := range list {
		out[i] = newToolNotice(n)
	}
	return out, err
}

// SnoozeTx is like Notifier.SnoozeTx, but uses the types of the tools.
func (t ToolNotices) SnoozeTx(tx *store.Tx, id, session string, until time.Time) (tools.Notice, json.RawMessage, error) {
	n, back, err := t.Notifier.SnoozeTx(tx, id, session, until)
	if errors.Is(err, ErrNotFound) {
		err = tools.Errorf(tools.NotFound, "%w", tools.CleanErr(err))
	}
	return newToolNotice(n), back, err
}

// UnsnoozeTx undoes SnoozeTx, given the JSON that SnoozeTx returned.
func (t ToolNotices) UnsnoozeTx(tx *store.Tx, back json.RawMessage) error {
	err := t.Notifier.UnsnoozeTx(tx, back)
	if errors.Is(err, ErrChanged) {
		err = tools.Errorf(tools.Conflict, "%w", tools.CleanErr(err))
	}
	return err
}

func newToolNotice(n Notice) tools.Notice {
	return tools.Notice{ID: n.ID, Text: n.Text, At: n.CreatedAt, Until: n.Until, Provenance: n.Provenance}
}
