package watchers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"hob/platform/text/dateparse"
)

// Limits for running missed occurrences.
const (
	// maxRunAll is the maximum number of missed occurrences that the policy RunAll runs. Older
	// occurrences are dropped and reported as skipped.
	maxRunAll = 100
	// maxCount is the largest number of missed occurrences that is counted exactly.
	maxCount = 10_000
)

// dueBatch holds the due work of one timed watcher.
type dueBatch struct {
	run     []time.Time // occurrences to run, oldest first
	folded  int         // number of older occurrences that run[0] replaces
	skipped []time.Time // first and last of the dropped occurrences
	drops   int         // number of dropped occurrences
	last    time.Time   // newest occurrence in this batch
	next    time.Time   // zero if no occurrence follows
}

// planBatch applies the policy to the occurrences from next to now.
func planBatch(timed Timed, policy MisfirePolicy, next, now time.Time) dueBatch {
	if s, ok := timed.(ExceptionFilter); ok && s.Spares(next) { // the user excluded this day after next was computed, so the occurrence does not count as missed
		b := dueBatch{last: next}
		b.next, _ = nextOccurrence(timed, next)
		return b
	}
	p := misfireRun{first: next}
	p.collectDue(timed, next, now)
	b := dueBatch{last: p.newestDue(), next: p.next}
	onTime := now.Sub(b.last) <= grace
	switch {
	case policy == RunAll:
		b.run = p.tail
	case policy == Skip && !onTime:
	default:
		b.run = p.tail[len(p.tail)-1:]
	}
	rest := p.total - len(b.run)
	switch {
	case rest == 0:
	case policy == Skip || policy == RunAll:
		b.drops = rest
		b.skipped = []time.Time{next, p.newestBefore(len(b.run))}
	default:
		b.folded = rest
	}
	return b
}

// misfireRun collects the due occurrences: their number, the newest due occurrences, and the first
// future occurrence.
type misfireRun struct {
	first time.Time
	total int
	tail  []time.Time // newest maxRunAll+1 occurrences, so that the newest dropped occurrence is known
	prior time.Time   // the occurrence before tail
	next  time.Time
}

func (p *misfireRun) newestDue() time.Time { return p.tail[len(p.tail)-1] }

// newestBefore returns the newest occurrence that is not among the n newest.
func (p *misfireRun) newestBefore(n int) time.Time {
	if i := len(p.tail) - n - 1; i >= 0 {
		return p.tail[i]
	}
	return p.prior
}

func (p *misfireRun) addOccurrence(t time.Time) {
	p.total++
	if len(p.tail) == maxRunAll {
		p.prior = p.tail[0]
		p.tail = append(p.tail[:0], p.tail[1:]...)
	}
	p.tail = append(p.tail, t)
}

func (p *misfireRun) collectDue(timed Timed, at, now time.Time) {
	for leapt := false; ; {
		p.addOccurrence(at)
		n, ok := nextOccurrence(timed, at)
		if !ok {
			return
		}
		if n.After(now) {
			p.next = n
			return
		}
		at = n
		if p.total >= maxCount && !leapt {
			at, leapt = p.skipAhead(timed, at, now), true
		}
	}
}

// skipAhead skips occurrences from at towards now without counting them. At least maxRunAll
// occurrences are left to iterate over.
func (p *misfireRun) skipAhead(timed Timed, at, now time.Time) time.Time {
	for back := time.Minute; now.Add(-back).After(at); back *= 2 {
		t, ok := nextOccurrence(timed, now.Add(-back))
		for n := 0; ok && !t.After(now); n++ {
			if n == maxRunAll {
				first, _ := nextOccurrence(timed, now.Add(-back))
				return first
			}
			t, ok = nextOccurrence(timed, t)
		}
	}
	return at
}

// batchSignals formats a batch for the user, with times in the zone loc.
func (b dueBatch) batchSignals(label string, s Spec, now time.Time, loc *time.Location) []Signal {
	var out []Signal
	if b.drops > 0 {
		out = append(out, b.skippedSignal(label, s, now, loc))
	}
	for i, at := range b.run {
		late := now.Sub(at)
		if late <= grace {
			late = 0
		}
		folded := 0
		if i == 0 {
			folded = b.folded
		}
		note, text := lateNote(at, now, late, folded, loc), label
		if note != "" {
			text += " (" + note + ")"
		}
		out = append(out, Signal{
			Key: occurrenceKey(s.ID, at), Text: text, Source: sourceOf(s), At: at, Late: late, Note: note,
			Payload: marshalPayload(map[string]any{"due": at.In(loc).Format(time.RFC3339), "late_seconds": int(late.Seconds()), "missed": folded}),
		})
	}
	return out
}

func (b dueBatch) skippedSignal(label string, s Spec, now time.Time, loc *time.Location) Signal {
	first, last := b.skipped[0], b.skipped[1]
	text := fmt.Sprintf("Skipped: %s (was due %s)", label, clockTime(last, now, loc))
	if b.drops > 1 {
		text = fmt.Sprintf("Skipped %s times: %s (due from %s to %s)", formatCount(b.drops), label, dateparse.Format(first, now.In(loc)), dateparse.Format(last, now.In(loc)))
	}
	return Signal{
		Key: occurrenceKey(s.ID, last) + "/skipped", Text: text, Source: sourceOf(s), At: last, Skipped: b.drops,
		Payload: marshalPayload(map[string]any{
			"skipped": b.drops, "first": first.In(loc).Format(time.RFC3339), "last": last.In(loc).Format(time.RFC3339),
		}),
	}
}

// occurrenceKey identifies an occurrence by the watcher and its nominal time in UTC.
func occurrenceKey(id string, at time.Time) string {
	return id + "@" + at.UTC().Format(time.RFC3339Nano)
}

// lateNote describes how late an occurrence is. It returns "" if the occurrence is on time.
func lateNote(at, now time.Time, late time.Duration, folded int, loc *time.Location) string {
	switch {
	case late > 0 && folded > 0:
		return fmt.Sprintf("one late run for %s missed times; the last was due %s", formatCount(folded+1), clockTime(at, now, loc))
	case late > 0:
		return "ran late, was due " + clockTime(at, now, loc)
	case folded > 0:
		return fmt.Sprintf("also replaces %s earlier times that were missed", formatCount(folded))
	}
	return ""
}

// formatCount formats a number of occurrences. Numbers of maxCount and above are not exact.
func formatCount(n int) string {
	if n >= maxCount {
		return fmt.Sprintf("more than %d", maxCount)
	}
	return strconv.Itoa(n)
}

// clockTime formats a past time in the shortest form that is unambiguous at now.
func clockTime(at, now time.Time, loc *time.Location) string {
	at, now = at.In(loc), now.In(loc)
	switch {
	case at.Format(time.DateOnly) == now.Format(time.DateOnly):
		return at.Format("at 15:04")
	case at.Year() == now.Year():
		return at.Format("on Mon 2 Jan at 15:04")
	}
	return at.Format("on Mon 2 Jan 2006 at 15:04")
}

func marshalPayload(v map[string]any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil { // a programming error: all values are numbers and strings
		panic(fmt.Sprintf("watchers: payload: %v", err))
	}
	return b
}
