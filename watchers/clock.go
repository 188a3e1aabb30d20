package watchers

import (
	"container/heap"
	"time"
)

// The bounds of the clock.
const (
	// longestSleep bounds one wait: timers do not run while the machine is
	// suspended and do not notice a changed wall clock, so it is compared at
	// least this often.
	longestSleep = 30 * time.Second
	// grace is how late an occurrence still counts as on time.
	grace = time.Minute
	// smallJump is what wall and monotonic clock may differ between two looks
	// without being worth a line in the log (time daemons slew slowly).
	smallJump = 2 * time.Second
	// wrongClock is how far ahead of now the last handled occurrence must lie
	// before the clock is taken to have been wrong when it was handled: the
	// schedule then starts anew from now instead of waiting for years.
	// Occurrences that did fire keep their keys and are not told again. It is
	// more than the 26 hours that lie between the zones of the earth.
	wrongClock = 27 * time.Hour
)

// timer is one timed watcher under the clock.
type timer struct {
	spec  Spec
	timed Timed
	next  time.Time      // nominal time of the next occurrence; not before it is due
	last  time.Time      // newest nominal time that was handled
	zone  *time.Location // in which next and last were computed
	retry time.Time      // not before, after a failure
	fails int
	index int
}

func (t *timer) due() time.Time {
	if t.retry.After(t.next) {
		return t.retry
	}
	return t.next
}

// clock orders the timed watchers by what is due next. It belongs to one
// goroutine, knows no database and takes the wall-clock time as an argument.
type clock struct {
	heap timers
	byID map[string]*timer
}

func newClock() *clock { return &clock{byID: map[string]*timer{}} }

func (c *clock) set(t *timer) {
	c.remove(t.spec.ID)
	c.byID[t.spec.ID] = t
	heap.Push(&c.heap, t)
}

func (c *clock) remove(id string) {
	if t, ok := c.byID[id]; ok {
		heap.Remove(&c.heap, t.index)
		delete(c.byID, id)
	}
}

// moved puts a timer whose times changed in its place again.
func (c *clock) moved(t *timer) { heap.Fix(&c.heap, t.index) }

// first returns the timer that is due at now, the longest waiting first, or nil.
func (c *clock) first(now time.Time) *timer {
	if len(c.heap) == 0 || c.heap[0].due().After(now) {
		return nil
	}
	return c.heap[0]
}

// wait is how long to sleep from now on; negative when nothing is scheduled.
func (c *clock) wait(now time.Time) time.Duration {
	if len(c.heap) == 0 {
		return -1
	}
	return min(max(c.heap[0].due().Sub(now), 0), longestSleep)
}

// rebase computes anew what lies in the future, after a start or a clock that
// was set back, and returns the timers whose next time changed. What is due already stays, and nothing handled comes again, unless
// the clock was wrong by more than wrongClock when it was handled.
func (c *clock) rebase(now time.Time) []*timer {
	var changed []*timer
	for _, t := range c.byID {
		if !t.next.After(now) {
			continue
		}
		from := now
		if t.last.After(now) && t.last.Sub(now) <= wrongClock {
			from = t.last
		}
		if n, ok := following(t.timed, from); ok && !n.Equal(t.next) {
			t.next = n
			changed = append(changed, t)
		}
	}
	heap.Init(&c.heap)
	return changed
}

// following is the first occurrence after t in the precision of the database.
func following(timed Timed, t time.Time) (time.Time, bool) {
	n, ok := timed.Next(t)
	if !ok {
		return time.Time{}, false
	}
	n = n.Round(0).UTC().Truncate(time.Millisecond)
	return n, n.After(t)
}

// jumped is how far the wall clock moved against the monotonic one between two
// looks: positive after a suspend or when it was set forward.
func jumped(before, now time.Time) time.Duration {
	return now.Round(0).Sub(before.Round(0)) - now.Sub(before)
}

// timers is the heap of container/heap.
type timers []*timer

func (h timers) Len() int           { return len(h) }
func (h timers) Less(i, j int) bool { return h[i].due().Before(h[j].due()) }
func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is for container/heap.
func (h *timers) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop is for container/heap.
func (h *timers) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
