package notify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/text/dateparse"
)

// Errors for the user's requests.
var (
	ErrNotFound = errors.New("notice not found")
	ErrTime     = errors.New(`use a duration or a time such as "1h", "30m" or "tomorrow at 9"`)
)

// farthest is how far ahead a notice can be deferred.
const farthest = 31 * 24 * time.Hour

// ParseUntil parses a time such as "1h", "2d", "tomorrow at 9" or "until 14:00".
func ParseUntil(text string, now time.Time) (time.Time, error) {
	s := strings.TrimSpace(strings.ToLower(text))
	for _, word := range []string{"until ", "till ", "for "} {
		s = strings.TrimSpace(strings.TrimPrefix(s, word))
	}
	at := now
	days, isDays := strings.CutSuffix(s, "d")
	k, err := strconv.Atoi(days)
	isDays = isDays && err == nil && k < 400
	if d, err := time.ParseDuration(strings.ReplaceAll(s, " ", "")); err == nil {
		at = now.Add(d)
	} else if isDays {
		at = now.AddDate(0, 0, k)
	} else if m, err := dateparse.Parse(s, now); err == nil {
		at = m.Time
	} else if m, err := dateparse.Parse("in "+s, now); err == nil {
		at = m.Time
	} else {
		return at, fmt.Errorf("%q: %w", text, ErrTime)
	}
	if !at.After(now) || at.Sub(now) > farthest {
		return at, fmt.Errorf("%q is in the past or more than a month ahead; %w", text, ErrTime)
	}
	return at, nil
}

// readMuteMode returns the user's last mute setting. If held is true, notices are muted until the
// given time; otherwise they are not muted until then, not even during quiet hours.
func readMuteMode(q store.Querier) (held bool, until time.Time, err error) {
	var ms int64
	err = q.QueryRow(`SELECT held, until FROM quiet_mode`).Scan(&held, &ms)
	if errors.Is(err, sql.ErrNoRows) {
		return false, time.Time{}, nil
	}
	return held, store.Time(ms), wrapError("read the mute mode", err)
}

// Mute defers notices until the given time, like quiet hours. It returns the time when the muting
// ends.
func (n *Notifier) Mute(ctx context.Context, until time.Time) (time.Time, error) {
	err := n.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := setMode(tx, true, until); err != nil {
			return err
		}
		n.due.InvalidateTx(tx, n.o.Bus.Inbox)
		if err := n.againTx(tx, time.Now()); err != nil {
			return err
		}
		end, _, _, err := n.quietAt(tx, time.Now())
		until = end
		return err
	})
	return until, err
}

// Unmute ends the muting and also the current quiet hours. Deferred notices are delivered. It
// reports whether notices were muted.
func (n *Notifier) Unmute(ctx context.Context) (was bool, err error) {
	err = n.o.Store.Write(ctx, func(tx *store.Tx) error {
		now := time.Now()
		if _, _, was, err = n.quietAt(tx, now); err != nil {
			return err
		}
		until, _, _ := activeWindow(n.o.Quiet, now, n.o.Zone())
		if err := setMode(tx, false, until); err != nil {
			return err
		}
		n.due.InvalidateTx(tx, n.o.Bus.Inbox)
		return n.againTx(tx, now)
	})
	return was, err
}

func setMode(tx *store.Tx, held bool, until time.Time) error {
	_, err := tx.Exec(`INSERT INTO quiet_mode (one, held, until) VALUES (1, ?1, ?2) ON CONFLICT (one) DO UPDATE SET held = ?1, until = ?2`, held, until.UnixMilli())
	return wrapError("store the mute mode", err)
}

// Quiet reports whether notices are muted now, and returns until when and why.
func (n *Notifier) Quiet(ctx context.Context) (until time.Time, why string, on bool, err error) {
	return n.quietAt(n.o.Store.Reader(ctx), time.Now())
}

// Release delivers a deferred notice now, regardless of why it was deferred. If id is "", it
// delivers all deferred notices. A notice that a hook refused is delivered only by its id. It returns the number of notices delivered.
func (n *Notifier) Release(ctx context.Context, id string) (k int, err error) {
	err = n.o.Store.Write(ctx, func(tx *store.Tx) error {
		res, err := tx.Exec(`UPDATE notices SET state = 'held', held_by = 'asked', until = ?1 WHERE state = 'held' AND (?2 = '' OR id = ?2) OR state = 'refused' AND id = ?2`, time.Now().UnixMilli(), id)
		if err != nil {
			return wrapError("release deferred notices", err)
		}
		went, err := res.RowsAffected()
		if k = int(went); err == nil && k == 0 && id != "" {
			return fmt.Errorf("%s is not deferred: %w", id, ErrNotFound)
		}
		n.due.InvalidateTx(tx, n.o.Bus.Inbox)
		return wrapError("release deferred notices", err)
	})
	return k, err
}
