package watchers

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
)

// ZoneBound is a Timed watcher that follows the user's time zone.
type ZoneBound interface {
	// Carry converts the occurrence at from the zone from to the zone to. For a watcher with a
	// fixed zone, it returns at unchanged. It returns false for intervals that are not tied to a
	// time of day; these continue from now.
	Carry(at time.Time, from, to *time.Location) (time.Time, bool)
}

// ZoneChange describes a change of the user's zone.
type ZoneChange struct {
	From, To string
	// Text describes the change in one line for the user. Key identifies the change.
	Text, Key string
	Source    provenance.Source // provenance of Text
}

// ZoneChangeSink is a Sink that records changes of the user's zone and the schedules that were
// converted. As in Fire, save runs in the transaction that stores the record.
type ZoneChangeSink interface {
	Moved(ctx context.Context, move ZoneChange, save func(*store.Tx) error) error
}

// moveZone converts the timers that follow the user's time zone to the current zone. Each calendar
// day has exactly one occurrence: an occurrence that already fired on that day does not repeat, and
// an occurrence that the change skipped is due immediately, as missed. changed lists all converted
// timers, and carried the timers whose next occurrence moved.
func (c *clock) moveZone(zone *time.Location, now time.Time) (changed, carried []*timer) {
	for _, t := range c.byID {
		if t.zone == nil || sameZone(t.zone, zone) {
			continue
		}
		next, last := t.next, t.last
		carrier, ok := t.timed.(ZoneBound)
		if ok {
			next, ok = carrier.Carry(t.next, t.zone, zone)
		}
		switch {
		case ok && !t.last.IsZero():
			last, _ = carrier.Carry(t.last, t.zone, zone)
		case !ok && t.next.After(now):
			if n, more := nextOccurrence(t.timed, now); more {
				next = n
			}
		}
		next, last = truncateTime(next), truncateTime(last)
		if ok && !next.Equal(t.next) {
			carried = append(carried, t)
		}
		t.next, t.last, t.zone = next, last, zone
		changed = append(changed, t)
	}
	heap.Init(&c.heap)
	return changed, carried
}

// moveTimers moves the timers to the new time zone, stores the new times and notifies the user once.
func (l *loop) moveTimers(ctx context.Context, now time.Time) {
	from := l.formerZone()
	changed, carried := l.clock.moveZone(l.zone, now)
	if len(changed) == 0 {
		return
	}
	save := func(tx *store.Tx) error { return saveTimes(tx, changed) }
	mover, ok := l.m.opt.Sink.(ZoneChangeSink)
	var err error
	if ok && len(carried) > 0 {
		err = mover.Moved(ctx, l.m.describeMove(from, l.zone, carried, now), save)
	} else {
		err = l.m.opt.Store.Write(ctx, save)
	}
	if err != nil && ctx.Err() == nil { // the next start recomputes the times
		l.m.opt.Log.Error("new times of watchers not saved", "err", err)
	}
}

// formerZone returns a previous zone of the user that a timer still uses.
func (l *loop) formerZone() *time.Location {
	for _, t := range l.clock.byID {
		if t.zone != nil && !sameZone(t.zone, l.zone) {
			return t.zone
		}
	}
	return l.zone
}

// describeMove describes a change of zone.
func (m *Manager) describeMove(from, to *time.Location, carried []*timer, now time.Time) ZoneChange {
	what := "Your schedule uses"
	if len(carried) > 1 {
		what = fmt.Sprintf("%d schedules and reminders use", len(carried))
	}
	source := provenance.Hob
	text := fmt.Sprintf("The time zone is now %s (it was %s). %s the new zone.", to, from, what)
	var first *timer
	for _, t := range carried {
		if t.next.After(now) && (first == nil || t.next.Before(first.next)) {
			first = t
		}
	}
	if first != nil {
		text = fmt.Sprintf("%s Next: %s, %s.", text, textnorm.Ellipsize(m.noticeLabel(first.spec), 80), dateparse.Format(first.next, now.In(to)))
		source = sourceOf(first.spec)
	}
	return ZoneChange{From: from.String(), To: to.String(), Text: text, Source: source, Key: fmt.Sprintf("zone:%s:%s:%s", from, to, now.UTC().Format(time.RFC3339))}
}

func saveTimes(tx *store.Tx, timers []*timer) error {
	for _, t := range timers {
		if _, err := tx.Exec("UPDATE watchers SET next_at = ?, last_at = ?, zone = ? WHERE id = ? AND state = ?",
			store.Millis(t.next), store.Millis(t.last), t.zone.String(), t.spec.ID, string(Active)); err != nil {
			return fmt.Errorf("watchers: save times: %w", err)
		}
	}
	return nil
}

// inOneZone runs compute and returns the user's zone. If the zone changed in the meantime, it runs
// compute again.
func (m *Manager) inOneZone(compute func()) *time.Location {
	for {
		zone := m.opt.Zone()
		compute()
		if sameZone(zone, m.opt.Zone()) {
			return zone
		}
	}
}

// zoneOf returns the zone in which the times of a row were computed.
func (l *loop) zoneOf(r row) *time.Location {
	if r.Zone == "" || r.Zone == l.zone.String() || r.Zone == "Local" {
		return l.zone
	}
	loc, err := time.LoadLocation(r.Zone)
	if err != nil {
		return l.zone
	}
	return loc
}

// sameZone reports whether two zones are equal. It treats a zone without a name as changed, because
// the machine's clock may have been set to another zone.
func sameZone(a, b *time.Location) bool {
	return a == b || a.String() == b.String() && a.String() != "Local"
}

// truncateTime truncates a time to the precision of the database (1 ms).
func truncateTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Round(0).UTC().Truncate(time.Millisecond)
}
