package acp

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"hob/autonomy/llm"
)

// maxIdle is the maximum number of idle children that are kept.
const maxIdle = 3

// conversation holds the child process for one conversation. The goroutine that has put a token
// into turn owns the fields below.
type conversation struct {
	name string // id of the conversation; "" for a call without one
	turn chan struct{}

	child *child
	lost  sdk.SessionId // a session that should be resumable but was unusable
	spent tokens        // the agent's token counts for its session

	// Guarded by Model.mu.
	users int // number of users: the owner and the waiting callers
	idle  *time.Timer
	since time.Time // start of the idle time while there is a child
}

// acquireSeat waits for exclusive use of a conversation.
func (m *Model) acquireSeat(ctx context.Context, name string) (*conversation, error) {
	m.mu.Lock()
	s := m.seats[name]
	if s == nil || name == "" {
		s = &conversation{name: name, turn: make(chan struct{}, 1)}
		s.idle = time.AfterFunc(m.o.Idle, func() { m.endIdle(s) })
		s.idle.Stop()
	}
	if m.closed {
		m.mu.Unlock()
		return nil, m.o.newError(llm.Interrupted, nil, "Hob is shutting down", "")
	}
	if name != "" {
		m.seats[name] = s
	}
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
	if s.users--; s.users == 0 && s.since.IsZero() && m.seats[s.name] == s {
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
	if s.child == nil || s.users > 1 {
		m.dropUser(s)
		return
	}
	s.since = time.Now()
	m.dropUser(s)
	s.idle.Reset(m.o.Idle)
	var oldest *conversation
	n := 0
	for _, x := range m.seats {
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

// endIdle ends the child of an idle conversation.
func (m *Model) endIdle(s *conversation) {
	m.mu.Lock()
	if m.closed || s.users > 0 {
		m.mu.Unlock()
		return
	}
	delete(m.seats, s.name) // new callers get a new conversation object
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
	for _, s := range m.seats {
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
