package notify

import (
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/knowledge/store"
)

// verdict is what becomes of a notice, and why.
type verdict struct {
	state State
	by    string
	until time.Time
	why   string
	of    string // of the notice it repeats
}

// judgeTx decides about a notice.
func (n *Notifier) judgeTx(tx *store.Tx, o bus.Out, a about, j judged, row Notice) (verdict, error) {
	if a.Cause == Answer || a.Cause == Digest {
		return verdict{state: Told, why: called(a.Cause) + " is never held"}, nil
	}
	if row.Fact != "" && j.urgency != Critical {
		first, found, err := n.sameTx(tx, row)
		if err != nil {
			return verdict{}, err
		}
		switch overtakes := first.State == Held && first.HeldBy != BySnooze && j.urgency > first.Urgency && j.urgency >= High && !j.weighed; {
		case found && overtakes: // what is high does not wait with what was not, which it tells as well
			_, err := tx.Exec(`UPDATE notices SET state = 'repeated', digest = ?, why = 'it is what ' || ? || ' says, which is more urgent' WHERE id = ?`, row.ID, row.ID, first.ID)
			if err != nil {
				return verdict{}, wrap(err)
			}
		case found:
			_, err := tx.Exec(`UPDATE notices SET again = again + 1 WHERE id = ?`, first.ID)
			return verdict{state: Repeated, of: first.ID, why: fmt.Sprintf("it is what %s says, within %s (notify.same_within)", first.ID, short(n.o.SameWithin))}, wrap(err)
		}
	}
	until, why, on, err := n.quietAt(tx, row.CreatedAt)
	own := a.Timed && !j.named
	switch {
	case err != nil:
		return verdict{}, err
	case on && own && n.meant(a, row.CreatedAt, until):
		return verdict{state: Told, why: "you chose this time yourself, which quiet hours do not hold"}, nil
	case on && j.urgency == Critical:
		return verdict{state: Told, why: "it is critical, which quiet hours do not hold"}, nil
	case on:
		return verdict{Held, ByQuiet, until, why, ""}, nil
	case own || o.Kind == channels.Question || j.urgency >= High && !j.weighed:
		return verdict{state: Told, why: "nothing held it"}, nil
	}
	return n.foldTx(tx, j, row)
}

// meant reports whether the owner wanted to be told now, within quiet hours: it is
// the time that he chose, or at least that one lies in the same quiet hours.
func (n *Notifier) meant(a about, now, until time.Time) bool {
	if a.Late < time.Minute {
		return true
	}
	end, _, on := quiet(n.o.Quiet, now.Add(-a.Late), n.o.Zone())
	return on && end.Equal(until)
}

// foldTx decides about what is not urgent and not held by quiet hours.
func (n *Notifier) foldTx(tx *store.Tx, j judged, row Notice) (verdict, error) {
	now := row.CreatedAt
	if at, ok := n.digestAt(now); ok && j.urgency == Low {
		return verdict{Held, ByDigest, at, "it is not urgent, and told in the digest at " + at.In(n.o.Zone()).Format("15:04"), ""}, nil
	}
	if row.Shape != "" && (n.o.PerHour > 0 || row.Cause == Trouble || row.Cause == Own) {
		k, since, err := n.likeTx(tx, row.Shape, now)
		if err != nil {
			return verdict{}, err
		}
		if k >= likeAtOnce {
			return verdict{Held, ByLike, since.Add(n.o.SameWithin), fmt.Sprintf("%d like it were told within %s (notify.same_within)", k, short(n.o.SameWithin)), ""}, nil
		}
	}
	if n.o.PerHour > 0 && row.Fact != "" {
		counted := n.toldTx
		if j.urgency >= High { // others can talk a model into that: as many again, and no more
			counted = n.raisedTx
		}
		k, since, err := counted(tx, now)
		if err != nil {
			return verdict{}, err
		}
		if k >= n.o.PerHour {
			return verdict{Held, ByCap, since.Add(time.Hour), fmt.Sprintf("%d notices were told within an hour (notify.per_hour)", k), ""}, nil
		}
	}
	return verdict{state: Told, why: "nothing held it"}, nil
}

// likeAtOnce is how many notices that are like each other are told one by one.
const likeAtOnce = 3

// digestAt is the time of the next digest; false where there is none.
func (n *Notifier) digestAt(now time.Time) (next time.Time, ok bool) {
	local := now.In(n.o.Zone())
	for _, c := range n.o.Digests {
		for _, day := range []int{0, 1} {
			if at := c.on(local, day, false); at.After(now) && (!ok || at.Before(next)) {
				next, ok = at, true
			}
		}
	}
	return next, ok
}

// quietAt reports whether it is quiet, until when, and what says so: what the owner
// said last, or his quiet hours.
func (n *Notifier) quietAt(q store.Querier, now time.Time) (until time.Time, why string, on bool, err error) {
	held, till, err := mode(q)
	if err != nil {
		return until, "", false, err
	}
	if now.Before(till) && !held {
		return until, "", false, nil
	}
	if now.Before(till) {
		after, _, more := quiet(n.o.Quiet, till, n.o.Zone())
		if !more {
			after = till
		}
		return after, "you wanted quiet until " + till.In(n.o.Zone()).Format("15:04"), true, nil
	}
	until, which, on := quiet(n.o.Quiet, now, n.o.Zone())
	return until, "quiet hours " + which.String(), on, nil
}

// short writes a duration without its empty parts.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
