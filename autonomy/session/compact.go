package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge/store"
)

// Numbers of compaction.
const (
	pause    = 10 * time.Minute // after a failure, for the conversation
	patience = 2 * time.Minute  // for the model's summary
	fullness = 0.8              // of the model's window: more is too much
	target   = 0.6              // of the model's window: less is enough
	wholeEnd = 4                // messages whose results never become stubs
	maxAsked = 120_000          // bytes of messages in one question for a summary
)

// ErrNothing says that there is nothing in the window that could be shortened.
var ErrNothing = errors.New("nothing of the conversation can be left out")

// errMoved: somebody moved the window meanwhile; what was made is thrown away.
var errMoved = errors.New("the window was moved meanwhile")

// Report says what a compaction came to.
type Report struct {
	Session string
	Turn    string // the event it happened for
	How     string // "summary", "digest" (no model was asked), "stubs", "trim"
	Model   string
	Before  int // bytes of the window
	After   int
	Tainted bool // outside text had a part in it
}

// CompactorOptions of NewCompactor; Model is required.
type CompactorOptions struct {
	// Model is the brain of a conversation, which is asked for summaries, with
	// the budget around it.
	Model func(ctx context.Context, session string) (llm.Model, error)
	// Chars and Keep are the limits of a window (default 60,000) and how many of
	// its newest messages stay (default 10).
	Chars, Keep int
	// Hurried: the process may end at any time, so Tidy asks for no summary.
	Hurried bool
	// Record is told of each compaction, in its transaction.
	Record func(tx *store.Tx, r Report) error
	Log    *slog.Logger
}

// Compactor keeps windows within what a model takes. It works on one
// conversation once at a time; its methods may be called concurrently. When a
// summary cannot be had, or is none, the window stays as it is and nothing is
// tried for ten minutes.
type Compactor struct {
	s *Sessions
	o CompactorOptions

	mu     sync.Mutex
	busy   map[string]chan struct{}
	failed map[string]time.Time
}

// NewCompactor checks the options.
func NewCompactor(s *Sessions, o CompactorOptions) (*Compactor, error) {
	if s == nil || o.Model == nil {
		return nil, errors.New("session: a compactor needs sessions and a model")
	}
	o.Chars, o.Keep = cmp.Or(o.Chars, MaxChars), cmp.Or(o.Keep, 10)
	if o.Record == nil {
		o.Record = func(*store.Tx, Report) error { return nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Compactor{s: s, o: o, busy: map[string]chan struct{}{}, failed: map[string]time.Time{}}, nil
}

// Tidy makes the window of a conversation smaller when it has outgrown its
// limits. It is called when an answer has been delivered; turn is the one that
// was answered, and what came after it stays. A brain that cannot summarise
// gets a window from which the oldest turns are gone. unattended: nobody asked
// for that turn.
func (c *Compactor) Tidy(ctx context.Context, session, turn string, unattended bool) error {
	e, err := c.s.window(ctx, session)
	if err != nil {
		return err
	}
	c.s.mu.Lock()
	w := e.Value.(*window)
	chars, count := w.chars, len(w.msgs)
	c.s.mu.Unlock()
	if chars <= 4000 && count <= MaxMessages { // the least that any limit may be
		return nil
	}
	model, err := c.o.Model(ctx, session)
	if err != nil {
		return err
	}
	if !summarises(model.Info()) {
		return c.s.Trim(ctx, session)
	}
	limit := c.limit(session, model)
	if chars <= limit || c.o.Hurried || c.pausing(session) {
		return nil
	}
	release, err := c.hold(ctx, session)
	if err != nil {
		return err
	}
	defer release()
	if _, err := c.stubs(ctx, session, turn, 2*limit); err != nil { // the turn alone may be too long
		return err
	}
	p, err := c.plan(ctx, session, turn, limit, limit/2, c.o.Keep)
	if err != nil || p == nil {
		return err
	}
	p.unattended = unattended
	return c.settle(ctx, p, c.summarise(ctx, model, p))
}

// summarises reports whether a brain can be asked for a summary. One that acts
// by itself has nobody here whom it could ask first.
func summarises(i llm.Info) bool { return i.Provider != "offline" && !i.Acts }

// limit is how many bytes the window may have for a model.
func (c *Compactor) limit(session string, m llm.Model) int {
	limit := c.o.Chars
	if n := m.Info().Context; n > 0 {
		g := c.s.gaugeOf(session)
		limit = min(limit, int(fullness*float64(n)*g.ratio)-g.overhead)
	}
	return max(limit, 4000)
}

// Room is how many bytes of a request a model with this window takes, and
// Enough how many it should be brought down to when it is more; 0 when nobody
// knows.
func (c *Compactor) Room(session string, m llm.Model) (room, enough int) {
	n := float64(m.Info().Context) * c.s.PerToken(session)
	return int(fullness * n), int(target * n)
}

// Shrink makes the window smaller in the middle of a turn because a model does
// not take it: results of tools become stubs, older turns a summary, or where
// no summary can be had a digest of their beginnings. room is what the messages
// may have. ErrNothing means that it is as small as it gets.
func (c *Compactor) Shrink(ctx context.Context, model llm.Model, session, turn string, room int) error {
	release, err := c.hold(ctx, session)
	if err != nil {
		return err
	}
	defer release()
	before, err := c.size(ctx, session)
	if err != nil {
		return err
	}
	stubbed, err := c.stubs(ctx, session, turn, room)
	if err != nil {
		return err
	}
	now, err := c.size(ctx, session)
	if err != nil || stubbed && now <= room {
		return err
	}
	p, err := c.plan(ctx, session, turn, -1, room, math.MaxInt)
	switch {
	case err != nil:
		return err
	case p == nil && before == now:
		return ErrNothing
	case p == nil:
		return nil
	}
	if summarises(model.Info()) && !c.pausing(session) {
		err := c.settle(ctx, p, c.summarise(ctx, model, p))
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	err = c.digest(ctx, p)
	switch {
	case errors.Is(err, errMoved):
		return nil
	case errors.Is(err, errAnswer) && before == now: // the beginnings are as long as the whole
		return ErrNothing
	case errors.Is(err, errAnswer):
		return nil
	}
	return err
}

// digest keeps the beginnings of what was said, where no summary can be had.
// Outside texts are not repeated: they can be looked up.
func (c *Compactor) digest(ctx context.Context, p *plan) error {
	p.next.Clean = extract(p.prev.Clean, p.old)
	p.next.Outside, p.next.Pins, p.next.Aged = p.prev.Outside, p.prev.Pins, true
	if tainted(p.old) {
		p.next.Outside.Lines = append(slices.Clone(p.prev.Outside.Lines), fmt.Sprintf("messages %d to %d", p.old[0].id, p.next.Last))
	}
	return c.commit(ctx, p, Report{How: "digest"})
}

func (c *Compactor) size(ctx context.Context, session string) (int, error) {
	e, err := c.s.window(ctx, session)
	if err != nil {
		return 0, err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return e.Value.(*window).chars, nil
}

// stubs cuts results of the running turn down, when that alone is too long.
func (c *Compactor) stubs(ctx context.Context, session, turn string, room int) (bool, error) {
	e, err := c.s.window(ctx, session)
	if err != nil {
		return false, err
	}
	c.s.mu.Lock()
	w := e.Value.(*window)
	begin := len(w.turns)
	for begin > w.begin() && w.turns[begin-1] == turn {
		begin--
	}
	at := w.place
	at.stubs = w.stubsFor(begin, room/2, wholeEnd)
	rep := Report{Session: session, Turn: turn, How: "stubs", Before: w.chars, After: w.stubbed(at.stubs)}
	same := at == w.place
	c.s.mu.Unlock()
	if same {
		return false, nil
	}
	return true, c.s.db.Write(ctx, func(tx *store.Tx) error {
		if err := c.s.moveTx(tx, session, at); err != nil {
			return err
		}
		return c.o.Record(tx, rep)
	})
}

// settle notes a failure, after which the conversation is left alone a while.
func (c *Compactor) settle(ctx context.Context, p *plan, err error) error {
	switch {
	case err == nil, errors.Is(err, errMoved):
		return nil
	case ctx.Err() != nil: // stopped, not failed
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[p.session] = time.Now()
	return fmt.Errorf("summarise the conversation %s: %w", p.session, err)
}

func (c *Compactor) pausing(session string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, failed := c.failed[session]
	if failed && time.Since(at) >= pause {
		delete(c.failed, session)
		return false
	}
	return failed
}

// hold waits until nobody else works on the conversation.
func (c *Compactor) hold(ctx context.Context, session string) (release func(), err error) {
	for {
		c.mu.Lock()
		other := c.busy[session]
		if other == nil {
			mine := make(chan struct{})
			c.busy[session] = mine
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.busy, session)
				c.mu.Unlock()
				close(mine)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
