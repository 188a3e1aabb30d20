package watchers

import (
	"container/heap"
	"time"
)

// Limits of the clock loop.
const (
	// longestSleep limits one wait. Timers stop while the machine is suspended and ignore changes
	// of the wall clock, so the wall clock is checked at least this often.
	longestSleep = 30 * time.Second
	// grace is the maximum delay of an occurrence that counts as on time.
	grace = time.Minute
	// smallJump is the largest difference between wall and monotonic clock that is not logged,
	// because time daemons adjust the clock slowly.
	smallJump = 2 * time.Second
	// wrongClock detects that the clock was wrong earlier: the last handled occurrence is more than
	// wrongClock ahead of now. The schedule then restarts from now instead of waiting for years.
	// Occurrences that already fired keep their keys and do not fire again. The value exceeds 26 h,
	// the difference between the outermost time zones.
	wrongClock = 27 * time.Hour
)

// timer is the heap entry of one timed watcher.
type timer struct {
	spec  Spec
	timed Timed
	next  time.Time      // nominal time of the next occurrence, which runs at or after this time
	last  time.Time      // nominal time of the newest handled occurrence
	zone  *time.Location // zone in which next and last were computed
	retry time.Time      // earliest time of the next attempt after a failure
	fails int
	index int
}

func (t *timer) dueTime() time.Time {
	if t.retry.After(t.next) {
		return t.retry
	}
	return t.next
}

// clock orders the timed watchers by their next due time. Only one goroutine uses it. It does not
// use the database, and its callers pass the wall-clock time.
type clock struct {
	heap timers
	byID map[string]*timer
}

func newClock() *clock { return &clock{byID: map[string]*timer{}} }

func (c *clock) setTimer(t *timer) {
	c.removeTimer(t.spec.ID)
	c.byID[t.spec.ID] = t
	heap.Push(&c.heap, t)
}

func (c *clock) removeTimer(id string) {
	if t, ok := c.byID[id]; ok {
		heap.Remove(&c.heap, t.index)
		delete(c.byID, id)
	}
}

// fixTimer restores the heap order after a timer's times changed.
func (c *clock) fixTimer(t *timer) { heap.Fix(&c.heap, t.index) }

// firstDue returns the timer that has been due for the longest time at now, or nil.
func (c *clock) firstDue(now time.Time) *timer {
	if len(c.heap) == 0 || c.heap[0].dueTime().After(now) {
		return nil
	}
	return c.heap[0]
}

// sleepTime returns the time to sleep, counted from now. It is negative if nothing is scheduled.
func (c *clock) sleepTime(now time.Time) time.Duration {
	if len(c.heap) == 0 {
		return -1
	}
	return min(max(c.heap[0].dueTime().Sub(now), 0), longestSleep)
}

// rebaseTimers recomputes future occurrences after a start or after the clock was set back. It
// returns the timers whose next time changed. Occurrences that are already due stay due. Handled
// occurrences do not repeat, unless they were handled while the clock was ahead by more than
// wrongClock.
func (c *clock) rebaseTimers(now time.Time) []*timer {
	var changed []*timer
	for _, t := range c.byID {
		if !t.next.After(now) {
			continue
		}
		from := now
		if t.last.After(now) && t.last.Sub(now) <= wrongClock {
			from = t.last
		}
		if n, ok := nextOccurrence(t.timed, from); ok && !n.Equal(t.next) {
			t.next = n
			changed = append(changed, t)
		}
	}
	heap.Init(&c.heap)
	return changed
}

// nextOccurrence returns the first occurrence after t, truncated to the precision of the database (1
// ms).
func nextOccurrence(timed Timed, t time.Time) (time.Time, bool) {
	n, ok := timed.Next(t)
	if !ok {
		return time.Time{}, false
	}
	n = n.Round(0).UTC().Truncate(time.Millisecond)
	return n, n.After(t)
}

// clockJump returns the movement of the wall clock relative to the monotonic clock between two
// checks. The result is positive after a suspend or if the clock was set forward.
func clockJump(before, now time.Time) time.Duration {
	return now.Round(0).Sub(before.Round(0)) - now.Sub(before)
}

// timers implements heap.Interface.
type timers []*timer

func (h timers) Len() int           { return len(h) }
func (h timers) Less(i, j int) bool { return h[i].dueTime().Before(h[j].dueTime()) }
func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *timers) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop implements heap.Interface.
func (h *timers) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
