package acp

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"hob/autonomy/llm"
)

// maxIdle is the maximum number of idle children that are kept.
const maxIdle = 3

// conversation holds a child process for one conversation. The goroutine that has put a token
// into turn owns the fields below.
type conversation struct {
	name string // id of the conversation; "" for a call without one
	turn chan struct{}

	child *child
	lost  sdk.SessionId // a session that should be resumable but was unusable
	spent tokens        // the agent's token counts for its session

	session atomic.Value // sdk.SessionId that the child uses
	asks    atomic.Int32 // number of open permission requests

	// Guarded by Model.mu.
	users int // number of users: the owner and the waiting callers
	idle  *time.Timer
	since time.Time // start of the idle time while there is a child
}

// sessionID returns the id of the agent session that the child uses, or "".
func (s *conversation) sessionID() string {
	id, _ := s.session.Load().(sdk.SessionId)
	return string(id)
}

// pickSeat returns the seat for a request: a free one, preferably with the agent session that the
// request continues. If the turns in all seats wait for the user's permission, it returns a new
// seat. A turn that does not wait is about to end, so the caller waits for its seat. The caller
// holds m.mu.
func (m *Model) pickSeat(r llm.Request) *conversation {
	seats := m.seats[r.Session]
	want, _ := lastMark(r.Messages, m.o.Provider, r.Session, func(id string) bool { return isUsed(seats, nil, id) })
	var free *conversation
	for _, s := range seats {
		switch {
		case s.users > 0 && s.asks.Load() == 0:
			return s
		case s.users == 0 && (free == nil || s.sessionID() == want):
			free = s
		}
	}
	if free != nil {
		return free
	}
	s := &conversation{name: r.Session, turn: make(chan struct{}, 1)}
	s.idle = time.AfterFunc(m.o.Idle, func() { m.endIdle(s) })
	s.idle.Stop()
	if r.Session != "" {
		m.seats[r.Session] = append(seats, s)
	}
	return s
}

// isUsed reports whether a turn in one of the seats, except own, uses an agent session.
func isUsed(seats []*conversation, own *conversation, id string) bool {
	return slices.ContainsFunc(seats, func(s *conversation) bool { return s != own && s.users > 0 && s.sessionID() == id })
}

// usedElsewhere returns a function that reports whether a turn in another seat of the conversation
// uses an agent session.
func (m *Model) usedElsewhere(s *conversation) func(id string) bool {
	return func(id string) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return isUsed(m.seats[s.name], s, id)
	}
}

// acquireSeat waits for exclusive use of a seat in the conversation.
func (m *Model) acquireSeat(ctx context.Context, r llm.Request) (*conversation, error) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, m.o.newError(llm.Interrupted, nil, "Hob is shutting down", "")
	}
	s := m.pickSeat(r)
	s.users++
	s.since = time.Time{}
	s.idle.Stop()
	m.open.Add(1)
	m.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
		return s, nil
	case <-ctx.Done():
	case <-m.life.Done():
	}
	m.mu.Lock()
	m.dropUser(s)
	m.mu.Unlock()
	m.open.Done()
	return nil, m.o.newError(llm.Interrupted, context.Cause(ctx), "the call was canceled", "")
}

// dropUser removes one user. If it was the last user and there is no child, it also removes the
// conversation. The caller holds m.mu.
func (m *Model) dropUser(s *conversation) {
	if s.users--; s.users == 0 && s.since.IsZero() {
		m.removeSeat(s)
	}
}

// removeSeat removes a seat, so that new callers get another one. The caller holds m.mu.
func (m *Model) removeSeat(s *conversation) {
	rest := slices.DeleteFunc(m.seats[s.name], func(x *conversation) bool { return x == s })
	if m.seats[s.name] = rest; len(rest) == 0 {
		delete(m.seats, s.name)
	}
}

// releaseSeat ends the exclusive use of a conversation. The child stays for the next call until the
// idle time ends.
func (m *Model) releaseSeat(s *conversation) {
	defer m.open.Done()
	if s.child != nil && (s.name == "" || !s.child.isAlive()) {
		s.child.endProcess()
		s.child = nil
	}
	<-s.turn
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.users > 1 || s.child == nil {
		m.dropUser(s)
		return
	}
	s.since = time.Now()
	m.dropUser(s)
	s.idle.Reset(m.o.Idle)
	var oldest *conversation
	n := 0
	for _, x := range m.allSeats() {
		if x.since.IsZero() {
			continue
		}
		if n++; oldest == nil || x.since.Before(oldest.since) {
			oldest = x
		}
	}
	if n > maxIdle {
		oldest.idle.Reset(0)
	}
}

// allSeats lists the seats of all conversations. The caller holds m.mu.
func (m *Model) allSeats() []*conversation {
	return slices.Concat(slices.Collect(maps.Values(m.seats))...)
}

// endIdle ends the child of an idle conversation.
func (m *Model) endIdle(s *conversation) {
	m.mu.Lock()
	if m.closed || s.users > 0 {
		m.mu.Unlock()
		return
	}
	m.removeSeat(s)
	m.open.Add(1)
	m.mu.Unlock()
	defer m.open.Done()
	s.endChild()
}

// endChild ends the child. The conversation is no longer in use.
func (s *conversation) endChild() {
	s.turn <- struct{}{}
	if s.child != nil {
		s.child.endProcess()
		s.child = nil
	}
	<-s.turn
}

// Close ends all children and returns when they have ended. It cancels running streams.
func (m *Model) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.die()
	m.open.Wait() // wait until no user and no idle timer is left
	var wg sync.WaitGroup
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.allSeats() {
		s.idle.Stop()
		wg.Go(s.endChild)
	}
	wg.Wait()
	clear(m.seats)
	return nil
}

// Pids lists the process ids of the agent's running processes.
func (m *Model) Pids() []int {
	l := m.o.alive
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.pids))
}

// runningChildren holds the running processes of an agent.
type runningChildren struct {
	mu   sync.Mutex
	pids map[int]bool
}

func (l *runningChildren) addPid(pid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pids[pid] = true
}

func (l *runningChildren) removePid(pid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pids, pid)
}

// ensureChild returns a running child. It starts one if needed.
func (s *conversation) ensureChild(ctx context.Context, o Options) (*child, error) {
	if s.child != nil && s.child.isAlive() {
		return s.child, nil
	}
	if s.child != nil {
		s.child.endProcess()
		s.child = nil
	}
	c, err := spawnChild(ctx, o)
	if err != nil {
		return nil, err
	}
	s.child, s.spent = c, tokens{}
	return c, nil
}
