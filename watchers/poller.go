package watchers

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Intervals of the poller.
const (
	// startGap is the interval between the first polls of different watchers after a start.
	startGap = 200 * time.Millisecond
	// lookAgain limits the wait for active hours, because the zone may change.
	lookAgain = 15 * time.Minute
	// afterSleep is the time for which polls wait for the network after a suspend.
	afterSleep = 10 * time.Second
	// lifeEnds is the interval at which the poller checks whether a canceled poll has ended.
	lifeEnds = 100 * time.Millisecond
)

// poller polls the watchers of one Run with a heap of due times and a few workers. An idle watcher
// is only one heap entry.
type poller struct {
	m    *Manager
	wake chan struct{}

	mu     sync.Mutex
	heap   pollEntries
	byID   map[string]*pollEntry
	busy   map[string]bool       // ids with a poll in progress
	groups map[string]*pollGroup // groups in which a watcher is polled or waiting, or which are delayed
	work   int                   // polls in progress
}

// pollEntry is the queue entry of one polled watcher.
type pollEntry struct {
	id     string
	due    time.Time
	hours  activeHours
	group  string
	topic  string // see TopicPolled
	told   *reportedErrors
	cancel context.CancelFunc // cancels the poll in progress
	gone   bool               // removed, or replaced by another entry
	index  int                // index in the heap, or -1
	began  time.Time          // start time of the last poll
	repeat bool               // poll again soon after the poll in progress
}

// pollGroup holds the waiting watchers of one group.
type pollGroup struct {
	busy    bool
	until   time.Time
	waiting []*pollEntry
}

func newPoller(m *Manager) *poller {
	return &poller{
		m: m, wake: make(chan struct{}, 1),
		byID: map[string]*pollEntry{}, busy: map[string]bool{}, groups: map[string]*pollGroup{},
	}
}

// scheduleWatcher schedules a watcher that was started or changed.
func (p *poller) scheduleWatcher(e *pollEntry) {
	p.mu.Lock()
	p.dropEntry(e.id)
	p.byID[e.id] = e
	heap.Push(&p.heap, e)
	p.mu.Unlock()
	p.wakePoller()
}

func (p *poller) hasWatcher(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byID[id] != nil
}

// spreadStart returns the time of a watcher's first poll after a restart. It distributes the first
// polls over time.
func (p *poller) spreadStart(every time.Duration) time.Time {
	p.mu.Lock()
	n := len(p.byID) + 1
	p.mu.Unlock()
	return time.Now().Add(rand.N(min(every, time.Duration(n)*startGap) + 1))
}

// removeWatcher removes a watcher and cancels its poll in progress.
func (p *poller) removeWatcher(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropEntry(id)
}

func (p *poller) dropEntry(id string) {
	e, ok := p.byID[id]
	if !ok {
		return
	}
	delete(p.byID, id)
	e.gone = true
	if e.cancel != nil {
		e.cancel()
	}
	if e.index >= 0 {
		heap.Remove(&p.heap, e.index)
	}
}

func (p *poller) wakePoller() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// runPoller polls until ctx ends. It returns when all polls have ended.
func (p *poller) runPoller(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	looked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
		now := time.Now()
		if jump := clockJump(looked, now); jump > time.Minute || jump < -smallJump {
			p.rebaseEntries(now, jump)
		}
		looked = now
		for e := p.nextDue(now); e != nil; e = p.nextDue(now) {
			ctx, cancel := context.WithCancel(ctx)
			if !p.startPoll(e, cancel) {
				cancel()
				continue
			}
			wg.Go(func() {
				defer cancel()
				p.finishPoll(e, p.m.pollWatcher(ctx, e.id, e.told))
			})
		}
		timer.Stop()
		if wait := p.sleepTime(time.Now()); wait >= 0 {
			timer.Reset(wait)
		}
	}
}

// rebaseEntries adjusts due times after a jump of the wall clock. After a forward jump (a suspend),
// polls wait briefly for the network. After a backward jump, no poll waits longer than its
// interval.
func (p *poller) rebaseEntries(now time.Time, jump time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.heap {
		switch {
		case jump < 0:
			e.due = e.due.Add(jump)
		case e.due.Before(now):
			e.due = now.Add(afterSleep + rand.N(min(afterSleep, time.Duration(len(p.heap))*startGap)))
		}
	}
	for _, g := range p.groups {
		if jump < 0 && !g.until.IsZero() {
			g.until = g.until.Add(jump)
		}
	}
	heap.Init(&p.heap)
}

// nextDue removes the watcher that must be polled now from the heap and returns it. It returns nil
// if no watcher is due or all workers are busy. It postpones watchers whose group is busy or
// delayed, and watchers outside their active hours.
func (p *poller) nextDue(now time.Time) *pollEntry {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.work < p.m.opt.Workers && len(p.heap) > 0 && !p.heap[0].due.After(now) {
		e := p.heap[0]
		local := now.In(p.m.opt.Zone())
		g := p.groups[e.group]
		switch {
		case !e.hours.containsTime(local):
			e.due = earlierOf(e.hours.nextOpening(local), now.Add(lookAgain)).Add(rand.N(time.Second))
			heap.Fix(&p.heap, 0)
		case p.busy[e.id]: // its previous poll is about to end
			e.due = now.Add(lifeEnds)
			heap.Fix(&p.heap, 0)
		case g != nil && g.until.After(now):
			e.due = g.until.Add(rand.N(time.Second))
			heap.Fix(&p.heap, 0)
		case g != nil && g.busy:
			heap.Pop(&p.heap)
			g.waiting = append(g.waiting, e)
		default:
			heap.Pop(&p.heap)
			return e
		}
	}
	return nil
}

// startPoll marks a poll as in progress.
func (p *poller) startPoll(e *pollEntry, cancel context.CancelFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.gone {
		return false
	}
	e.cancel, e.began, e.repeat = cancel, time.Now().Round(0), false
	p.work++
	p.busy[e.id] = true
	if e.group != "" {
		p.groupOf(e.group).busy = true
	}
	return true
}

// finishPoll schedules the next poll of the watcher and moves the next watcher of its group into
// the heap.
func (p *poller) finishPoll(e *pollEntry, v pollOutcome) {
	p.mu.Lock()
	p.work--
	delete(p.busy, e.id)
	e.cancel = nil
	if e.group != "" {
		g := p.groupOf(e.group)
		g.busy = false
		g.until = laterOf(g.until, v.group)
		p.releaseGroup(e.group)
	}
	switch {
	case e.gone:
	case v.gone: // the loop reads the row again and decides whether to schedule the watcher
		p.dropEntry(e.id)
	default:
		if e.due = v.again.Round(0); e.repeat {
			e.due = earlierOf(e.due, laterOf(time.Now().Round(0), e.began.Add(announceGap)))
		}
		heap.Push(&p.heap, e)
	}
	p.mu.Unlock()
	p.wakePoller()
}

func (p *poller) groupOf(name string) *pollGroup {
	g, ok := p.groups[name]
	if !ok {
		g = &pollGroup{}
		p.groups[name] = g
	}
	return g
}

// releaseGroup moves the next waiting watcher of a group into the heap. If the group is delayed, it
// moves all waiting watchers, and nextDue sets their times.
func (p *poller) releaseGroup(name string) {
	g, ok := p.groups[name]
	if !ok {
		return
	}
	for len(g.waiting) > 0 {
		e := g.waiting[0]
		g.waiting = g.waiting[1:]
		if !e.gone {
			heap.Push(&p.heap, e)
			if !g.until.After(time.Now()) {
				return
			}
		}
	}
	if g.waiting = nil; !g.busy && !g.until.After(time.Now()) {
		delete(p.groups, name)
	}
}

// sleepTime returns the time to sleep. It is negative if no poll can start until a worker is free.
func (p *poller) sleepTime(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.heap) == 0 || p.work >= p.m.opt.Workers {
		return -1
	}
	return min(max(p.heap[0].due.Sub(now), 0), longestSleep)
}

func earlierOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// pollEntries implements heap.Interface.
type pollEntries []*pollEntry

func (h pollEntries) Len() int           { return len(h) }
func (h pollEntries) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h pollEntries) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *pollEntries) Push(x any) {
	e := x.(*pollEntry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop implements heap.Interface.
func (h *pollEntries) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}
