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
	"hob/platform/store"
)

// Limits and timeouts of compaction.
const (
	pause    = 10 * time.Minute // delay after a failure, per conversation
	patience = 2 * time.Minute  // time limit for the model's summary
	fullness = 0.8              // share of the model's context window above which a request is compacted
	target   = 0.6              // share of the model's context window that compaction aims for
	wholeEnd = 4                // number of newest messages whose results never become stubs
	maxAsked = 120_000          // maximum bytes of messages per summary request
)

// ErrNothing means that the window cannot be shortened.
var ErrNothing = errors.New("the conversation cannot be shortened further")

// errMoved means that the window was moved concurrently and the compaction is discarded.
var errMoved = errors.New("the context window changed in the meantime")

// Report describes a compaction.
type Report struct {
	Session string
	Turn    string // event that caused the compaction
	How     string // "summary", "digest" (without a model call), "stubs" or "trim"
	Model   string
	Before  int // size of the window in bytes
	After   int
	Tainted bool // whether untrusted text influenced the compaction
}

// CompactorOptions holds the settings of a Compactor. Model is required.
type CompactorOptions struct {
	// Model returns the model that summarizes a conversation, wrapped with the budget.
	Model func(ctx context.Context, session string) (llm.Model, error)
	// Chars is the maximum size of a window in bytes (default 60,000). Keep is the number of newest
	// messages that stay (default 10).
	Chars, Keep int
	// Hurried reports whether the process may end at any time. CompactIfNeeded then requests no
	// summary.
	Hurried bool
	// Record is called for each compaction, in the transaction of the compaction.
	Record func(tx *store.Tx, r Report) error
	Log    *slog.Logger
}

// Compactor keeps windows within the limits of a model. It runs one compaction per conversation at
// a time. Its methods may be called concurrently. If a summary fails or is unusable, the window
// stays unchanged and the next attempt is made after ten minutes.
type Compactor struct {
	s *Sessions
	o CompactorOptions

	mu     sync.Mutex
	busy   map[string]chan struct{}
	failed map[string]time.Time
}

// NewCompactor returns a Compactor after checking the options.
func NewCompactor(s *Sessions, o CompactorOptions) (*Compactor, error) {
	if s == nil || o.Model == nil {
		return nil, errors.New("session: compactor needs sessions and a model")
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

// CompactIfNeeded shortens the window of a conversation if it exceeds the limits. It is called
// after the answer to turn was delivered. Later messages stay. For models that cannot summarize,
// the window loses its oldest turns. unattended reports whether the user did not request the turn.
func (c *Compactor) CompactIfNeeded(ctx context.Context, session, turn string, unattended bool) error {
	c.s.dropForeignWindow(session)
	e, err := c.s.windowOf(ctx, session)
	if err != nil {
		return err
	}
	c.s.mu.Lock()
	w := e.Value.(*window)
	chars, count := w.chars, len(w.msgs)
	c.s.mu.Unlock()
	if chars <= 4000 && count <= MaxMessages { // no limit is smaller than these values
		return nil
	}
	model, err := c.o.Model(ctx, session)
	if err != nil {
		return err
	}
	if !canSummarize(model.Info()) {
		return c.s.Trim(ctx, session)
	}
	limit := c.windowLimit(session, model)
	if chars <= limit || c.o.Hurried || c.isPausing(session) {
		return nil
	}
	release, err := c.lockSession(ctx, session)
	if err != nil {
		return err
	}
	defer release()
	if _, err := c.stubResults(ctx, session, turn, 2*limit); err != nil { // a single turn may be too long
		return err
	}
	p, err := c.planCompaction(ctx, session, turn, limit, limit/2, c.o.Keep)
	if err != nil || p == nil {
		return err
	}
	p.unattended = unattended
	return c.recordFailure(ctx, p, c.writeSummary(ctx, model, p))
}

// canSummarize reports whether a model can write summaries. External agents cannot, because they
// cannot request permissions during a compaction.
func canSummarize(i llm.Info) bool { return i.Provider != "offline" && !i.Acts }

// windowLimit returns the maximum size of a window in bytes for a model.
func (c *Compactor) windowLimit(session string, m llm.Model) int {
	limit := c.o.Chars
	if n := m.Info().Context; n > 0 {
		g := c.s.gaugeOf(session)
		limit = min(limit, int(fullness*float64(n)*g.ratio)-g.overhead)
	}
	return max(limit, 4000)
}

// ByteLimits returns the maximum size of a request for a model (room) and the size that compaction
// aims for (enough), in bytes. Both are 0 if the size of the context window is unknown.
func (c *Compactor) ByteLimits(session string, m llm.Model) (room, enough int) {
	n := float64(m.Info().Context) * c.s.BytesPerToken(session)
	return int(fullness * n), int(target * n)
}

// CompactForOverflow shortens the window during a turn because the model rejected the request as
// too large. Results from tools become stubs. Older turns become a summary or, without a model, a
// digest of their first lines. room is the available size for messages in bytes. CompactForOverflow
// returns ErrNothing if the window cannot be shortened further.
func (c *Compactor) CompactForOverflow(ctx context.Context, model llm.Model, session, turn string, room int) error {
	release, err := c.lockSession(ctx, session)
	if err != nil {
		return err
	}
	defer release()
	before, err := c.windowSize(ctx, session)
	if err != nil {
		return err
	}
	stubbed, err := c.stubResults(ctx, session, turn, room)
	if err != nil {
		return err
	}
	now, err := c.windowSize(ctx, session)
	if err != nil || stubbed && now <= room {
		return err
	}
	p, err := c.planCompaction(ctx, session, turn, -1, room, math.MaxInt)
	switch {
	case err != nil:
		return err
	case p == nil && before == now:
		return ErrNothing
	case p == nil:
		return nil
	}
	if canSummarize(model.Info()) && !c.isPausing(session) {
		err := c.recordFailure(ctx, p, c.writeSummary(ctx, model, p))
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	err = c.storeDigest(ctx, p)
	switch {
	case errors.Is(err, errMoved):
		return nil
	case errors.Is(err, errAnswer) && before == now: // the digest is as long as the messages
		return ErrNothing
	case errors.Is(err, errAnswer):
		return nil
	}
	return err
}

// CompactNow shortens the window of a conversation although it is within its limits: the newest
// messages (CompactorOptions.Keep) stay, and a summary or, without a model that can write one, a
// digest of the first lines replaces the others. It returns ErrNoSession if there is no such
// conversation, and ErrNothing if nothing would become shorter.
func (c *Compactor) CompactNow(ctx context.Context, session string) (Report, error) {
	if _, ok, err := c.s.Get(ctx, session); err != nil || !ok {
		return Report{}, cmp.Or(err, fmt.Errorf("%s: %w", session, ErrNoSession))
	}
	release, err := c.lockSession(ctx, session)
	if err != nil {
		return Report{}, err
	}
	defer release()
	last, err := c.lastTurn(ctx, session)
	if err != nil {
		return Report{}, err
	}
	p, err := c.planCompaction(ctx, session, last, math.MaxInt, math.MaxInt, c.o.Keep)
	if err != nil || p == nil {
		return Report{}, cmp.Or(err, ErrNothing)
	}
	if model, err := c.o.Model(ctx, session); err == nil && canSummarize(model.Info()) {
		err := c.writeSummary(ctx, model, p)
		if err == nil || ctx.Err() != nil {
			return p.report, err
		}
		c.o.Log.Info("summary failed; using a digest", "session", session, "err", err)
	}
	switch err = c.storeDigest(ctx, p); {
	case errors.Is(err, errAnswer): // the digest is as long as the messages
		err = ErrNothing
	case errors.Is(err, errMoved):
		err = fmt.Errorf("%w; try again", err)
	}
	return p.report, err
}

// lastTurn returns the newest turn in the window, or "".
func (c *Compactor) lastTurn(ctx context.Context, session string) (string, error) {
	e, err := c.s.windowOf(ctx, session)
	if err != nil {
		return "", err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if w := e.Value.(*window); len(w.turns) > 0 {
		return w.turns[len(w.turns)-1], nil
	}
	return "", nil
}

// storeDigest stores the first lines of messages if no summary is possible. It omits untrusted
// text, which can be read in the stored messages.
func (c *Compactor) storeDigest(ctx context.Context, p *plan) error {
	p.next.Clean = extractLines(p.prev.Clean, p.old)
	p.next.Outside, p.next.Pins, p.next.Aged = p.prev.Outside, p.prev.Pins, true
	if hasTainted(p.old) {
		p.next.Outside.Lines = append(slices.Clone(p.prev.Outside.Lines), fmt.Sprintf("messages %d to %d", p.old[0].id, p.next.Last))
	}
	return c.commitSummary(ctx, p, Report{How: "digest"})
}

func (c *Compactor) windowSize(ctx context.Context, session string) (int, error) {
	e, err := c.s.windowOf(ctx, session)
	if err != nil {
		return 0, err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return e.Value.(*window).chars, nil
}

// stubResults replaces the oldest results with stubs if the messages of turn exceed half of room.
// It reports whether it changed the window.
func (c *Compactor) stubResults(ctx context.Context, session, turn string, room int) (bool, error) {
	e, err := c.s.windowOf(ctx, session)
	if err != nil {
		return false, err
	}
	c.s.mu.Lock()
	w := e.Value.(*window)
	begin := len(w.turns)
	for begin > w.firstIndex() && w.turns[begin-1] == turn {
		begin--
	}
	at := w.windowStart
	at.stubs = w.stubsFor(begin, room/2, wholeEnd)
	rep := Report{Session: session, Turn: turn, How: "stubs", Before: w.chars, After: w.stubbedSize(at.stubs)}
	same := at == w.windowStart
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

// recordFailure records a failure. The conversation is then not compacted for some time.
func (c *Compactor) recordFailure(ctx context.Context, p *plan, err error) error {
	switch {
	case err == nil, errors.Is(err, errMoved):
		return nil
	case ctx.Err() != nil: // the compaction was canceled and did not fail
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[p.session] = time.Now()
	return fmt.Errorf("summarize the conversation %s: %w", p.session, err)
}

func (c *Compactor) isPausing(session string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, failed := c.failed[session]
	if failed && time.Since(at) >= pause {
		delete(c.failed, session)
		return false
	}
	return failed
}

// lockSession waits for other compactions of the conversation and then locks the conversation.
func (c *Compactor) lockSession(ctx context.Context, session string) (release func(), err error) {
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
