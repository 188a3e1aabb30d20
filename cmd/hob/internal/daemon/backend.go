package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/autonomy"
	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/learn"
	"hob/autonomy/pairing"
	"hob/autonomy/session"
	"hob/channels"
	"hob/platform/net/hooksig"
	"hob/platform/store"
	"hob/tools"
	"hob/watchers"
)

// backend gives the engine to the HTTP API.
type backend struct {
	d *Daemon
}

// Receive implements channels.Receiver.
func (b *backend) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	acc, err := b.d.loop.Receive(ctx, in)
	return acc, classifyError(err)
}

// Known implements channels.DuplicateChecker.
func (b *backend) Known(ctx context.Context, in channels.Inbound) (channels.Accepted, bool, error) {
	return b.d.loop.Known(ctx, in)
}

// Overhear implements channels.RejectionObserver.
func (b *backend) Overhear(ctx context.Context, in channels.Inbound) error {
	return b.d.loop.Overhear(ctx, in)
}

// Event implements api.Turns.
func (b *backend) Event(ctx context.Context, id string) (api.EventStatus, error) {
	e, err := b.d.bus.Event(ctx, id)
	if err != nil {
		return api.EventStatus{}, classifyError(err)
	}
	return b.eventStatus(ctx, e)
}

func (b *backend) eventStatus(ctx context.Context, e bus.Event) (api.EventStatus, error) {
	s := api.EventStatus{ID: e.ID, Session: e.Session, State: string(e.State), Attempts: e.Attempts, Answer: e.Answer, Error: e.Error, Tools: []api.ToolUse{}, Usage: json.RawMessage("null")}
	if e.State == bus.Pending || e.State == bus.Claimed {
		n, err := b.d.bus.QueuePosition(ctx, e)
		if err != nil {
			return s, err
		}
		s.Position = n
		waiting, err := b.d.guard.Approvals(ctx, guard.Pending, "", e.ID, 100)
		if err != nil {
			return s, err
		}
		s.Approvals = mapEach(waiting, apiApproval)
		below, err := b.questionsBelow(ctx, e)
		s.Approvals = append(s.Approvals, below...)
		return s, err
	}
	trace, err := b.d.loop.Trace(ctx, e.ID)
	if err != nil {
		return s, err
	}
	if trace == nil {
		return s, nil
	}
	if s.Usage, err = json.Marshal(trace.Usage); err != nil {
		return s, err
	}
	if trace.How == "command" || trace.How == "notice" {
		return s, nil // neither uses tools
	}
	calls, err := b.d.bus.Calls(ctx, e.ID)
	for _, c := range calls {
		s.Tools = append(s.Tools, api.ToolUse{ID: c.Call, Name: c.Tool, Args: c.Args, State: string(c.State), Text: c.Result, Data: c.Data})
	}
	return s, err
}

// Wait implements api.Turns.
func (b *backend) Wait(ctx context.Context, id string) (api.EventStatus, error) {
	for first := true; ; first = false {
		settled, cancel := b.d.bus.EventClosed(id)
		e, err := b.d.bus.Event(ctx, id)
		if err != nil {
			cancel()
			return api.EventStatus{}, classifyError(err)
		}
		if e.State == bus.Done || e.State == bus.Dead {
			cancel()
			return b.eventStatus(ctx, e)
		}
		if first && isDoneWithin(settled, soon) { // most turns are over soon
			cancel()
			continue
		}
		if s, waits, err := b.awaitsOwner(ctx, e); err != nil || waits {
			cancel()
			return s, err
		}
		// An event that waits for an earlier event gets no signal when that one asks for
		// approval, so poll now and then.
		var again <-chan time.Time
		if e.State == bus.Pending {
			again = time.After(time.Second)
		}
		select {
		case <-settled:
		case <-again:
		case <-ctx.Done():
			cancel()
			return api.EventStatus{}, ctx.Err()
		}
		cancel()
	}
}

// soon is how long Wait waits for the end before it checks for an approval request.
const soon = 50 * time.Millisecond

func isDoneWithin(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// awaitsOwner reports whether the event cannot continue before the user answers a request: its
// own, or one of an earlier event in its session.
func (b *backend) awaitsOwner(ctx context.Context, e bus.Event) (api.EventStatus, bool, error) {
	s, err := b.eventStatus(ctx, e) // a claimed one is held when an external agent asks
	if err != nil || len(s.Approvals) > 0 || s.Position == 0 {
		return s, err == nil && len(s.Approvals) > 0, err
	}
	before, err := b.d.guard.Approvals(ctx, guard.Pending, e.Session, "", 100)
	s.Approvals = append(s.Approvals, mapEach(before, apiApproval)...)
	if err != nil {
		return s, false, err
	}
	below, err := b.questionsUnder(ctx, e.Session, func(t agents.Task) bool { return !t.Background })
	s.Approvals = append(s.Approvals, below...)
	return s, len(s.Approvals) > 0, err
}

// Fire implements api.Triggers.
func (b *backend) Fire(ctx context.Context, trigger, key string, payload []byte) (api.Fired, error) {
	if _, err := b.TriggerSecret(trigger); err != nil {
		return api.Fired{}, err
	}
	acc, err := b.d.loop.Trigger(ctx, trigger, key, payload)
	return api.Fired{Event: acc.Event, Repeated: acc.Repeated}, classifyError(err)
}

// TriggerSecret implements api.Triggers.
func (b *backend) TriggerSecret(trigger string) (hooksig.Secret, error) {
	t, ok := b.d.triggers[trigger]
	if !ok {
		return hooksig.Secret{}, fmt.Errorf("trigger %q: %w; add [triggers.%s] to the configuration", trigger, api.ErrNotFound, trigger)
	}
	return t.Secret, nil
}

// Call implements api.Tools.
func (b *backend) Call(ctx context.Context, session, tool string, args json.RawMessage) (api.ToolOutcome, error) {
	if _, ok := b.d.catalogue.Get(tool); !ok {
		return api.ToolOutcome{}, fmt.Errorf("tool %q: %w; list them with: hob tool list", tool, api.ErrNotFound)
	}
	id, err := b.d.loop.Call(ctx, session, tool, args)
	if err != nil {
		return api.ToolOutcome{}, classifyError(err)
	}
	s, err := b.Wait(ctx, id)
	if err != nil {
		return api.ToolOutcome{}, err
	}
	calls, err := b.d.bus.Calls(ctx, id)
	if err != nil {
		return api.ToolOutcome{}, err
	}
	out := api.ToolOutcome{Text: s.Answer, Event: id, Approvals: s.Approvals}
	if len(calls) == 0 {
		if s.Error != "" {
			out.Code, out.Error = string(tools.Failed), s.Error
		}
		return out, nil
	}
	c := calls[len(calls)-1]
	out.Call, out.Data = c.Call, c.Data
	switch {
	case c.Code != "":
		out.Code, out.Error = c.Code, c.Result
	case c.UndoLabel != "":
		out.Undo = c.Call
	}
	if c.State == bus.CallDone {
		out.Text = c.Result
	}
	return out, nil
}

// Why implements api.Explanations.
func (b *backend) Why(ctx context.Context, kind, about string) (api.Explanation, error) {
	x, err := b.d.loop.Explain(ctx, autonomy.Question{Kind: kind, About: about})
	if errors.Is(err, autonomy.ErrUnclear) {
		return api.Explanation{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	if err != nil {
		return api.Explanation{}, classifyError(err)
	}
	out := api.Explanation{Text: x.Text(b.d.zone())}
	switch x := x.(type) {
	case autonomy.Why:
		out.Why = mapPtr(&x, apiWhy)
	case autonomy.Tick:
		out.Tick = mapPtr(&x, apiTick)
	case autonomy.SilenceReport:
		out.Silence = mapPtr(&x, apiSilence)
	}
	return out, nil
}

// Stop implements api.Turns.
func (b *backend) Stop(ctx context.Context, session string) (api.Stopped, error) {
	stopped, err := b.d.loop.Stop(ctx, session)
	return api.Stopped{Stopped: stopped}, classifyError(err)
}

// Reset implements api.Sessions.
func (b *backend) Reset(ctx context.Context, session string) (api.ResetSession, error) {
	err := b.d.store.Write(ctx, func(tx *store.Tx) error { return b.d.sessions.ResetTx(tx, session) })
	return api.ResetSession{Session: session}, classifyError(err)
}

// Backup implements api.Management.
func (b *backend) Backup(ctx context.Context) (api.Backup, error) {
	path, err := b.d.store.BackupNow(ctx)
	return api.Backup{Path: path}, classifyError(err)
}

// RotateToken implements api.Management.
func (b *backend) RotateToken(ctx context.Context) (api.RotatedToken, error) {
	return api.RotatedToken{Replaced: true}, classifyError(b.d.rotateToken(ctx))
}

// Shutdown implements api.Management.
func (b *backend) Shutdown() api.Shutdown {
	b.d.Shutdown()
	return api.Shutdown{Stopping: true}
}

// Subscribe implements api.Feed.
func (b *backend) Subscribe(after uint64) api.Subscription {
	s := &subscription{sub: b.d.bus.Feed.Subscribe(after), c: make(chan api.FeedEvent), stop: make(chan struct{})}
	go s.pumpEvents()
	return s
}

// subscription turns the bus's live events into the API's.
type subscription struct {
	sub  *bus.Subscription
	c    chan api.FeedEvent
	stop chan struct{}
}

func (s *subscription) pumpEvents() {
	defer close(s.c)
	for e := range s.sub.C() {
		select {
		case s.c <- api.FeedEvent(e):
		case <-s.stop:
			return
		}
	}
}

func (s *subscription) C() <-chan api.FeedEvent { return s.c }

func (s *subscription) Close() {
	close(s.stop)
	s.sub.Close()
}

// Ready implements api.Management.
func (b *backend) Ready() error { return b.d.notReadyError() }

// Version implements api.Management.
func (b *backend) Version() string { return b.d.opt.Version }

// classifyError maps the engine's errors to the API's classes.
func classifyError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrFull):
		return fmt.Errorf("%w: %w", api.ErrFull, err)
	case errors.Is(err, bus.ErrNotFound):
		return fmt.Errorf("%w: %w; GET /api/v1/inbox lists the ids of events, /api/v1/deliveries the ids of texts", api.ErrNotFound, err)
	case errors.Is(err, session.ErrNoSession):
		return fmt.Errorf("%w: %w; see: hob session list", api.ErrNotFound, err)
	case errors.Is(err, session.ErrNoTurn):
		return fmt.Errorf("%w: %w; see: hob session show SESSION --json, or export it", api.ErrNotFound, err)
	case errors.Is(err, autonomy.ErrNotReplayed):
		return fmt.Errorf("%w: %w; see: hob why", api.ErrInvalid, err)
	case errors.Is(err, session.ErrExists):
		return fmt.Errorf("%w: %w; choose another name", api.ErrConflict, err)
	case errors.Is(err, session.ErrNoWords):
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	case errors.Is(err, pairing.ErrNotFound):
		return fmt.Errorf("%w: %w; see: hob channel list", api.ErrNotFound, err)
	case errors.Is(err, guard.ErrNoGrant):
		return fmt.Errorf("%w: %w; see: hob grant list", api.ErrNotFound, err)
	case errors.Is(err, guard.ErrGrant), errors.Is(err, guard.ErrScope):
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	case errors.Is(err, guard.ErrNoApproval):
		return fmt.Errorf("%w: %w; see: hob approvals list --all", api.ErrNotFound, err)
	case errors.Is(err, watchers.ErrNotFound):
		return fmt.Errorf("%w: %w; see: hob watch list", api.ErrNotFound, err)
	case errors.Is(err, learn.ErrNotFound):
		return fmt.Errorf("%w: %w; see: hob memory lessons list --all, and: hob memory user list", api.ErrNotFound, err)
	case tools.CodeOf(err) == tools.Conflict:
		return fmt.Errorf("%w: %w", api.ErrConflict, err)
	case errors.Is(err, guard.ErrBeforehand):
		return fmt.Errorf("%w: %w; answer the original request", api.ErrDenied, err)
	case errors.Is(err, guard.ErrDecided):
		return fmt.Errorf("%w: %w", api.ErrConflict, err)
	case errors.Is(err, autonomy.ErrTooLong), errors.Is(err, autonomy.ErrNotText), errors.Is(err, autonomy.ErrEmpty), errors.Is(err, autonomy.ErrMixed):
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return err
}
