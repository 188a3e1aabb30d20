package email

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/retry"
)

// maxRecent is the number of newest messages that a box keeps in memory for its watchers.
const maxRecent = 100

// errBoxOver is the result of requests that are pending when the connection ends.
var errBoxOver = errors.New("the connection to the mail server ended")

// box is the connection to one folder. Only its own goroutine communicates with the server.
type box struct {
	hub     *hub
	at      folderRef
	account pim.Account
	log     *slog.Logger
	cancel  context.CancelFunc
	done    chan struct{}
	users   int // guarded by hub.mu
	// refused is true if the last request failed, so that an open connection does not mean that the
	// folder works. Only the box's goroutine uses it.
	refused bool
	// refusals counts failed reads by UID. Only the box's goroutine uses it.
	refusals map[uint32]int

	wake chan struct{} // interrupts the wait for the server; buffer size 1

	mu      sync.Mutex
	online  bool
	untold  bool          // true if a watcher must still report news.err
	asks    []connRequest // pending requests; nil while offline
	changed chan struct{} // closed and replaced each time news changes
	news    boxState
}

// boxState is the published state of a box.
type boxState struct {
	count    int // incremented with each change
	validity uint32
	next     uint32 // the UID of the next message: 1 + the UID of the newest message
	// recent contains the newest messages: all with UID >= from.
	recent []pim.Message
	from   uint32
	// err is the connection error. It is set when the user must be notified of the error.
	err error
}

// connRequest is a request to run a function on the connection.
type connRequest struct {
	do   func(context.Context, *imapmail.Conn) error
	done chan error // buffer size 1
}

func (b *box) runBox(ctx context.Context) {
	defer close(b.done)
	if retry.Sleep(ctx, b.hub.retryDelay(b.at)) != nil {
		return
	}
	s := retry.Supervisor{Failed: func(err error, _ time.Duration) (time.Duration, bool) {
		grave, untold := b.hub.recordFailure(b.at, err)
		b.log.InfoContext(ctx, "mail server is unreachable; retrying", "account", b.at.account, "folder", b.at.folder, "err", err)
		if grave {
			b.publishNews(func(n *boxState) {
				n.err = err
				b.untold = b.untold || untold
			})
		}
		return b.hub.retryDelay(b.at), true
	}}
	_ = s.Run(ctx, func(ctx context.Context) error { // the supervisor restarts serveConnection after every error
		return b.recoverPanic(func() error { return b.serveConnection(ctx) })
	})
}

// serveConnection runs one connection until it ends.
func (b *box) serveConnection(ctx context.Context) (err error) {
	c, err := imapmail.Open(ctx, b.account)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }() //nolint:contextcheck // signing out has a separate time limit
	s, err := c.Select(ctx, b.at.folder)
	if err != nil {
		return err
	}
	if !b.refused {
		b.hub.clearFailure(b.at)
	}
	next := s.Next
	if next == 0 { // old servers do not report the next UID
		if next, err = nextUID(ctx, c, 1); err != nil {
			return err
		}
	}
	defer b.markOffline()
	b.publishNews(func(n *boxState) {
		b.online = true
		if n.validity != s.Validity || n.next > next {
			*n = boxState{count: n.count, validity: s.Validity}
			clear(b.refusals)
		}
		if n.next < next {
			n.recent, n.from = nil, next
		}
		n.next, n.err = next, nil
	})
	for ctx.Err() == nil {
		if err := b.answerRequests(ctx, c); err != nil {
			return err
		}
		if err := c.Wait(ctx, b.wake); err != nil || ctx.Err() != nil {
			return err
		}
		if err := b.checkNewMail(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// nextUID returns the UID of the newest message plus 1.
func nextUID(ctx context.Context, c *imapmail.Conn, from uint32) (uint32, error) {
	all, err := c.After(ctx, from)
	if err != nil || len(all) == 0 {
		return from, err
	}
	return all[len(all)-1] + 1, nil
}

// answerRequests runs requests until none is pending.
func (b *box) answerRequests(ctx context.Context, c *imapmail.Conn) error {
	for ctx.Err() == nil {
		b.mu.Lock()
		if len(b.asks) == 0 {
			b.mu.Unlock()
			return nil
		}
		a := b.asks[0]
		b.asks = b.asks[1:]
		b.mu.Unlock()
		err := b.recoverPanic(func() error { return a.do(ctx, c) })
		if err != nil { // the next connection may answer the next request
			b.refused = true
			a.done <- errBoxOver
			return err
		}
		if b.refused {
			b.refused = false
			b.hub.clearFailure(b.at)
			b.publishNews(func(*boxState) {})
		}
		a.done <- nil
	}
	return nil
}

// recoverPanic converts a panic to an error. No other function recovers panics of this goroutine.
func (b *box) recoverPanic(do func() error) error {
	err := retry.Recover(do)
	if p, ok := errors.AsType[*retry.PanicError](err); ok {
		b.log.Error("mail reader panicked", "account", b.at.account, "panic", fmt.Sprint(p.Value), "stack", string(p.Stack))
		err = fmt.Errorf("mail reader crashed: %v", p.Value)
	}
	return err
}

// markOffline fails all pending requests.
func (b *box) markOffline() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.online = false
	for _, a := range b.asks {
		a.done <- errBoxOver
	}
	b.asks = nil
}

// checkNewMail fetches and publishes the messages that arrived since the last call.
func (b *box) checkNewMail(ctx context.Context, c *imapmail.Conn) error {
	b.mu.Lock()
	next := b.news.next
	b.mu.Unlock()
	uids, err := c.After(ctx, next)
	if err != nil || len(uids) == 0 {
		return err
	}
	var fresh []pim.Message
	if len(uids) <= maxRecent {
		for page := range slices.Chunk(uids, imapmail.Page) {
			some, err := b.readHeaders(ctx, c, page)
			if err != nil {
				return err
			}
			fresh = append(fresh, some...)
		}
	}
	b.publishNews(func(n *boxState) {
		n.next = uids[len(uids)-1] + 1
		if n.recent = append(slices.Clone(n.recent), fresh...); len(uids) > maxRecent {
			n.recent, n.from = nil, n.next
		}
		if over := len(n.recent) - maxRecent; over > 0 {
			n.from = n.recent[over-1].UID + 1
			n.recent = slices.Clone(n.recent[over:])
		}
	})
	return nil
}

func (b *box) publishNews(change func(*boxState)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.news)
	b.news.count++
	close(b.changed)
	b.changed = make(chan struct{})
}

// awaitNews blocks until the state of the box is known and its count differs from seen.
func (b *box) awaitNews(ctx context.Context, seen int) (boxState, error) {
	for {
		b.mu.Lock()
		n, changed := b.news, b.changed
		b.mu.Unlock()
		if n.count != seen && (n.validity != 0 || n.err != nil) {
			return n, nil
		}
		select {
		case <-ctx.Done():
			return n, ctx.Err()
		case <-changed:
		}
	}
}

// mustReport reports whether the caller has to report the mailbox's error.
func (b *box) mustReport() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	mine := b.untold
	b.untold = false
	return mine
}

// runOnConn runs f on the connection and waits for the result. It returns errBoxOver if there is no
// connection or the connection ends.
func (b *box) runOnConn(ctx context.Context, f func(context.Context, *imapmail.Conn) error) error {
	a := connRequest{f, make(chan error, 1)}
	b.mu.Lock()
	if !b.online {
		b.mu.Unlock()
		return errBoxOver
	}
	b.asks = append(b.asks, a)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
	select {
	case err := <-a.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fetchOnConn runs a function on the connection and returns its result. The result is discarded if
// the caller has stopped waiting.
func fetchOnConn[T any](ctx context.Context, b *box, f func(context.Context, *imapmail.Conn) (T, error)) (out T, err error) {
	got := make(chan T, 1)
	err = b.runOnConn(ctx, func(ctx context.Context, c *imapmail.Conn) error {
		v, err := f(ctx, c)
		if err == nil {
			got <- v
		}
		return err
	})
	if err == nil {
		out = <-got
	}
	return out, err
}
