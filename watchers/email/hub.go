package email

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hob/platform/pim"
	"hob/platform/retry"
)

// Delays after a failed connection.
const (
	firstPause = 2 * time.Second
	mostPause  = 5 * time.Minute
	// refusedPause is the delay after a rejected sign-in, because servers lock out clients that
	// retry too often.
	refusedPause = 15 * time.Minute
	// tellAfter is the time after which the user is notified that a server cannot be reached.
	tellAfter = 15 * time.Minute
)

// folderRef is one folder of one account.
type folderRef struct{ account, folder string }

// hub owns the connections of all email watchers. There is one connection per folder.
type hub struct {
	mu    sync.Mutex
	boxes map[folderRef]*box
	marks map[folderRef]failureMark
}

// failureMark is the failure state of a folder whose connection failed.
type failureMark struct {
	down  time.Time // start of the failure
	again time.Time // time of the next attempt
	fails int
	told  bool // true after the user was notified
}

func newHub() *hub { return &hub{boxes: map[folderRef]*box{}, marks: map[folderRef]failureMark{}} }

// joinBox returns the box of a folder. For the first watcher of the folder, it starts the box.
func (h *hub) joinBox(a pim.Account, folder string, log *slog.Logger) *box {
	at := folderRef{a.Name, folder}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.boxes[at]
	if b == nil {
		ctx, cancel := context.WithCancel(context.Background()) // the box may outlive its first watcher
		b = &box{hub: h, at: at, account: a, log: log, cancel: cancel, done: make(chan struct{}), changed: make(chan struct{}), wake: make(chan struct{}, 1), refusals: map[uint32]int{}}
		h.boxes[at] = b
		go b.runBox(ctx)
	}
	b.users++
	return b
}

// leaveBox removes a watcher from the box. When the last watcher leaves, it stops the box and waits
// until the box has ended.
func (h *hub) leaveBox(b *box) {
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

// retryDelay returns the delay before the next attempt.
func (h *hub) retryDelay(at folderRef) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Until(h.marks[at].again)
}

// recordFailure records a failure. grave reports whether the user should be notified, and untold
// whether no notification has been sent yet.
func (h *hub) recordFailure(at folderRef, err error) (grave, untold bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.marks[at]
	now := time.Now()
	if m.fails++; m.down.IsZero() {
		m.down = now
	}
	lasting := errors.Is(err, pim.ErrSignIn) || errors.Is(err, pim.ErrNoFolder)
	pauses := retry.Backoff{First: firstPause, Max: mostPause, Jitter: 0.5}
	if lasting {
		pauses.First, pauses.Max = refusedPause, refusedPause
	}
	m.again = now.Add(pauses.Delay(m.fails))
	grave = lasting || now.Sub(m.down) >= tellAfter
	untold = grave && !m.told
	m.told = m.told || grave
	h.marks[at] = m
	return grave, untold
}

// isWorking reports whether no failure of the folder is known.
func (h *hub) isWorking(at folderRef) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, down := h.marks[at]
	return !down
}

func (h *hub) clearFailure(at folderRef) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.marks, at)
}
