package notify

import (
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/store"
)

// verdict is a decision about a notice and the reason for it.
type verdict struct {
	state State
	by    string
	until time.Time
	why   string
	of    string // id of the notice that this one repeats
}

// judgeTx decides whether a notice is delivered, deferred or suppressed.
func (n *Notifier) judgeTx(tx *store.Tx, o bus.OutboxItem, a noticeContext, j ratedUrgency, row Notice) (verdict, error) {
	if a.Cause == Answer || a.Cause == Digest {
		return verdict{state: Told, why: describeCause(a.Cause) + " is never deferred"}, nil
	}
	if row.Fact != "" && j.urgency != Critical {
		first, found, err := n.sameTx(tx, row)
		if err != nil {
			return verdict{}, err
		}
		switch overtakes := first.State == Held && first.HeldBy != BySnooze && j.urgency > first.Urgency && j.urgency >= High && !j.weighed; {
		case found && overtakes: // the urgent notice is sent now and replaces the deferred notice, which is less urgent
			_, err := tx.Exec(`UPDATE notices SET state = 'repeated', digest = ?, why = 'it repeats ' || ? || ', which is more urgent' WHERE id = ?`, row.ID, row.ID, first.ID)
			if err != nil {
				return verdict{}, wrapError("replace a deferred notice", err)
			}
		case found:
			_, err := tx.Exec(`UPDATE notices SET again = again + 1 WHERE id = ?`, first.ID)
			return verdict{state: Repeated, of: first.ID, why: fmt.Sprintf("it repeats %s within %s (notify.same_within)", first.ID, shortDuration(n.o.SameWithin))}, wrapError("count a repeated notice", err)
		}
	}
	until, why, on, err := n.quietAt(tx, row.CreatedAt)
	own := a.Timed && !j.named
	switch {
	case err != nil:
		return verdict{}, err
	case on && own && n.isWanted(a, row.CreatedAt, until):
		return verdict{state: Told, why: "you chose this time yourself, and quiet hours do not defer it"}, nil
	case on && j.urgency == Critical:
		return verdict{state: Told, why: "it is critical, and quiet hours do not defer it"}, nil
	case on:
		return verdict{Held, ByQuiet, until, why, ""}, nil
	case own || o.Kind == channels.Question || j.urgency >= High && !j.weighed:
		return verdict{state: Told, why: "no rule deferred it"}, nil
	}
	return n.foldTx(tx, j, row)
}

// isWanted reports whether the owner wants the notice now, despite quiet hours, because the owner
// chose this time or a time within the same quiet hours.
func (n *Notifier) isWanted(a noticeContext, now, until time.Time) bool {
	if a.Late < time.Minute {
		return true
	}
	end, _, on := activeWindow(n.o.Quiet, now.Add(-a.Late), n.o.Zone())
	return on && end.Equal(until)
}

// foldTx decides about a notice that quiet hours do not defer.
func (n *Notifier) foldTx(tx *store.Tx, j ratedUrgency, row Notice) (verdict, error) {
	now := row.CreatedAt
	if at, ok := n.digestAt(now); ok && j.urgency == Low {
		return verdict{Held, ByDigest, at, "it is of low urgency and will be sent in the digest at " + at.In(n.o.Zone()).Format("15:04"), ""}, nil
	}
	if row.Shape != "" && (n.o.PerHour > 0 || row.Cause == Trouble || row.Cause == Own) {
		k, since, err := n.likeTx(tx, row.Shape, now)
		if err != nil {
			return verdict{}, err
		}
		if k >= likeAtOnce {
			return verdict{Held, ByLike, since.Add(n.o.SameWithin), fmt.Sprintf("%d similar notifications were sent within %s (notify.same_within)", k, shortDuration(n.o.SameWithin)), ""}, nil
		}
	}
	if n.o.PerHour > 0 && row.Fact != "" {
		counted := n.toldTx
		if j.urgency >= High { // untrusted text may make a model raise the urgency, so the same limit applies to raised notices
			counted = n.raisedTx
		}
		k, since, err := counted(tx, now)
		if err != nil {
			return verdict{}, err
		}
		if k >= n.o.PerHour {
			return verdict{Held, ByCap, since.Add(time.Hour), fmt.Sprintf("%d notifications were sent within an hour (notify.per_hour)", k), ""}, nil
		}
	}
	return verdict{state: Told, why: "no rule deferred it"}, nil
}

// likeAtOnce is the number of similar notices that are sent individually.
const likeAtOnce = 3

// digestAt returns the time of the next digest. ok is false if there are no digests.
func (n *Notifier) digestAt(now time.Time) (next time.Time, ok bool) {
	local := now.In(n.o.Zone())
	for _, c := range n.o.Digests {
		for _, day := range []int{0, 1} {
			if at := c.instantOn(local, day, false); at.After(now) && (!ok || at.Before(next)) {
				next, ok = at, true
			}
		}
	}
	return next, ok
}

// quietAt reports whether notices are muted at the time now, and returns until when and why. They
// are muted by the user's last setting or by quiet hours.
func (n *Notifier) quietAt(q store.Querier, now time.Time) (until time.Time, why string, on bool, err error) {
	held, till, err := readMuteMode(q)
	if err != nil {
		return until, "", false, err
	}
	if now.Before(till) && !held {
		return until, "", false, nil
	}
	if now.Before(till) {
		after, _, more := activeWindow(n.o.Quiet, till, n.o.Zone())
		if !more {
			after = till
		}
		return after, "you muted notifications until " + till.In(n.o.Zone()).Format("15:04"), true, nil
	}
	until, which, on := activeWindow(n.o.Quiet, now, n.o.Zone())
	return until, "quiet hours " + which.String(), on, nil
}

// shortDuration formats a duration without components that are zero.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
