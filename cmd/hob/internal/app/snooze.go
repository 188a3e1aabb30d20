package app

import (
	"encoding/json"
	"errors"
	"time"

	"hob/autonomy/notify"
	"hob/platform/store"
	"hob/tools"
	toolswatch "hob/tools/watch"
)

// noticeKeeper gives tools access to Hob's notifications.
type noticeKeeper struct{ *notify.Notifier }

// Until implements the tools' Notices.
func (noticeKeeper) Until(text string, now time.Time) (time.Time, error) {
	until, err := notify.ParseUntil(text, now)
	if err != nil {
		return until, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	return until, nil
}

// ListIn implements the tools' Notices.
func (k noticeKeeper) ListIn(q store.Querier) ([]toolswatch.Notice, error) {
	list, err := k.Snoozable(q, 200)
	out := make([]toolswatch.Notice, len(list))
	for i, n := range list {
		out[i] = noticeOf(n)
	}
	return out, err
}

// SnoozeTx implements the tools' Notices.
func (k noticeKeeper) SnoozeTx(tx *store.Tx, id, session string, until time.Time) (toolswatch.Notice, json.RawMessage, error) {
	n, back, err := k.Notifier.SnoozeTx(tx, id, session, until)
	if errors.Is(err, notify.ErrNotFound) {
		err = tools.Errorf(tools.NotFound, "%w", tools.CleanErr(err))
	}
	return noticeOf(n), back, err
}

// UnsnoozeTx implements the tools' Notices.
func (k noticeKeeper) UnsnoozeTx(tx *store.Tx, back json.RawMessage) error {
	err := k.Notifier.UnsnoozeTx(tx, back)
	if errors.Is(err, notify.ErrChanged) {
		err = tools.Errorf(tools.Conflict, "%w", tools.CleanErr(err))
	}
	return err
}

func noticeOf(n notify.Notice) toolswatch.Notice {
	return toolswatch.Notice{ID: n.ID, Text: n.Text, At: n.CreatedAt, Until: n.Until, Provenance: n.Provenance}
}
