package notify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/store"
)

// Why returns the notices for an id, which may be the id of a notice, of its event, of a delivery,
// or of the event of a digest that sent notices. An empty result is not an error.
func (n *Notifier) Why(ctx context.Context, id string) ([]Notice, error) {
	if id == "" {
		return nil, nil
	}
	return listNotices(n.o.Store.Reader(ctx), `WHERE id = ?1 OR event = ?1 OR delivery = ?1 AND delivery <> '' OR digest = ?1 AND digest <> '' ORDER BY seq LIMIT 200`, id)
}

// List returns notices, newest first. If state is not "", it returns only notices in that state. If
// before is not "", it returns only notices that are older than that notice.
func (n *Notifier) List(ctx context.Context, state, before string, limit int) ([]Notice, error) {
	return listNotices(n.o.Store.Reader(ctx), `WHERE (?1 = '' OR state = ?1 OR ?1 = 'held' AND state = 'due')
		AND (?2 = '' OR seq < coalesce((SELECT seq FROM notices WHERE id = ?2), 0)) ORDER BY seq DESC LIMIT ?3`, state, before, limit)
}

// UnsentBetween returns the notices of a period that were deferred or not sent, newest first.
func (n *Notifier) UnsentBetween(ctx context.Context, since, until time.Time, limit int) ([]Notice, error) {
	return listNotices(n.o.Store.Reader(ctx), `WHERE created_at >= ? AND created_at < ? AND state NOT IN ('told', 'checking') ORDER BY created_at DESC, seq DESC LIMIT ?`,
		store.Millis(since), store.Millis(until), limit)
}

// NoticeText returns the text of a notice from where it is stored: the row of a deferred notice,
// the outbox for a sent notice, or the notice that it repeats. It returns "" if the text was
// deleted.
func (n *Notifier) NoticeText(ctx context.Context, r Notice) (text string, err error) {
	return saysIn(n.o.Store.Reader(ctx), r)
}

func saysIn(q store.Querier, r Notice) (text string, err error) {
	for range 8 { // a repeated notice may itself have been replaced
		if r.Text != "" {
			return r.Text, nil
		}
		if r.Delivery != "" {
			err := q.QueryRow(`SELECT text FROM outbox WHERE id = ?`, r.Delivery).Scan(&text)
			if errors.Is(err, sql.ErrNoRows) {
				err = nil
			}
			return text, wrapError("read the text of a notice", err)
		}
		rows, err := listNotices(q, `WHERE id = ?`, r.Of)
		if err != nil || r.State != Repeated || len(rows) == 0 {
			return "", err
		}
		r = rows[0]
	}
	return "", nil
}

// Line describes in one sentence what happened to a notice and which rule decided it.
func (r Notice) Line(at func(time.Time) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  notice %s: %s (%s)", at(r.CreatedAt), r.ID, r.Urgency, r.Rule)
	switch r.State {
	case Told:
		fmt.Fprintf(&b, "; sent immediately: %s; on %s: %s", r.Why, r.Channel, r.Place)
	case Held, Due:
		fmt.Fprintf(&b, "; deferred until %s by %s", at(r.Until), r.Why)
	case Released:
		fmt.Fprintf(&b, "; deferred by %s, sent at %s", r.Why, at(r.ToldAt))
	case Checking:
		b.WriteString("; waiting for a hook")
	case Refused:
		fmt.Fprintf(&b, "; not sent: %s; deliver it with `hob notify release %s`", r.Why, r.ID)
	case Repeated:
		fmt.Fprintf(&b, "; not sent: %s", r.Why)
	case Dropped:
		fmt.Fprintf(&b, "; deferred by %s, and not sent: no longer needed", r.Why)
	}
	return b.String()
}
