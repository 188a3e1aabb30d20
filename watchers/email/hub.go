package email

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"hob/platform/pim"
)

// The pace of a connection that does not come about.
const (
	firstPause = 2 * time.Second
	mostPause  = 5 * time.Minute
	// refusedPause is the wait after a refused sign-in: who tries again and again
	// is locked out.
	refusedPause = 15 * time.Minute
	// tellAfter is how long a server may be away before the owner hears of it.
	tellAfter = 15 * time.Minute
)

// place is one folder of one account.
type place struct{ account, folder string }

// hub has the connections of all email watchers, one for each folder.
type hub struct {
	mu    sync.Mutex
	boxes map[place]*box
	marks map[place]mark
}

// mark is what is remembered of a place while nobody is connected.
type mark struct {
	down  time.Time // since when it does not work
	again time.Time // when to try again
	fails int
	told  bool // the owner has heard of it
}

func newHub() *hub { return &hub{boxes: map[place]*box{}, marks: map[place]mark{}} }

// join gives the box of a place, which it starts when it is the first there.
func (h *hub) join(a pim.Account, folder string, log *slog.Logger) *box {
	at := place{a.Name, folder}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.boxes[at]
	if b == nil {
		ctx, cancel := context.WithCancel(context.Background()) // it outlives who came first
		b = &box{hub: h, at: at, account: a, log: log, cancel: cancel, done: make(chan struct{}), changed: make(chan struct{}), wake: make(chan struct{}, 1), refusals: map[uint32]int{}}
		h.boxes[at] = b
		go b.run(ctx)
	}
	b.users++
	return b
}

// leave ends the box with its last user, and waits for that.
func (h *hub) leave(b *box) {
	h.mu.Lock()
	b.users--
	last := b.users == 0
	if last {
		delete(h.boxes, b.at)
	}
	h.mu.Unlock()
	if last {
		b.cancel()
		<-b.done
	}
}

// wait is how long to wait before the next try.
func (h *hub) wait(at place) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Until(h.marks[at].again)
}

// failed notes a failure and reports whether it is one to hear of, and whether
// the owner has not heard of it yet.
func (h *hub) failed(at place, err error) (grave, untold bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.marks[at]
	now := time.Now()
	if m.fails++; m.down.IsZero() {
		m.down = now
	}
	lasting := errors.Is(err, pim.ErrSignIn) || errors.Is(err, pim.ErrNoFolder)
	pause := mostPause
	if m.fails < 9 {
		pause = min(firstPause<<(m.fails-1), mostPause)
	}
	if lasting {
		pause = refusedPause
	}
	m.again = now.Add(pause/2 + rand.N(pause/2+1))
	grave = lasting || now.Sub(m.down) >= tellAfter
	untold = grave && !m.told
	m.told = m.told || grave
	h.marks[at] = m
	return grave, untold
}

// fine reports whether a place works, as far as is known.
func (h *hub) fine(at place) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, down := h.marks[at]
	return !down
}

func (h *hub) works(at place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.marks, at)
}
