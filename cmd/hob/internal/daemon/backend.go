package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/autonomy"
	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/learn"
	"hob/autonomy/pairing"
	"hob/autonomy/session"
	"hob/channels"
	"hob/channels/web"
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

// Event implements web.Backend.
func (b *backend) Event(ctx context.Context, id string) (web.EventStatus, error) {
	e, err := b.d.bus.Event(ctx, id)
	if err != nil {
		return web.EventStatus{}, classifyError(err)
	}
	return b.eventStatus(ctx, e)
}

func (b *backend) eventStatus(ctx context.Context, e bus.Event) (web.EventStatus, error) {
	s := web.EventStatus{ID: e.ID, Session: e.Session, State: string(e.State), Attempts: e.Attempts, Answer: e.Answer, Error: e.Error, Tools: []web.ToolUse{}, Usage: json.RawMessage("null")}
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
		for _, a := range waiting {
			s.Approvals = append(s.Approvals, a)
		}
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
		s.Tools = append(s.Tools, web.ToolUse{ID: c.Call, Name: c.Tool, Args: c.Args, State: string(c.State), Text: c.Result, Data: c.Data})
	}
	return s, err
}

// Wait implements web.Backend.
func (b *backend) Wait(ctx context.Context, id string) (web.EventStatus, error) {
	for first := true; ; first = false {
		settled, cancel := b.d.bus.EventClosed(id)
		e, err := b.d.bus.Event(ctx, id)
		if err != nil {
			cancel()
			return web.EventStatus{}, classifyError(err)
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
			return web.EventStatus{}, ctx.Err()
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
func (b *backend) awaitsOwner(ctx context.Context, e bus.Event) (web.EventStatus, bool, error) {
	s, err := b.eventStatus(ctx, e) // a claimed one is held when an external agent asks
	if err != nil || len(s.Approvals) > 0 || s.Position == 0 {
		return s, err == nil && len(s.Approvals) > 0, err
	}
	before, err := b.d.guard.Approvals(ctx, guard.Pending, e.Session, "", 100)
	for _, a := range before {
		s.Approvals = append(s.Approvals, a)
	}
	if err != nil {
		return s, false, err
	}
	below, err := b.questionsUnder(ctx, e.Session, func(t agents.Task) bool { return !t.Background })
	s.Approvals = append(s.Approvals, below...)
	return s, len(s.Approvals) > 0, err
}

// Fire implements web.Backend.
func (b *backend) Fire(ctx context.Context, trigger, key string, payload []byte) (channels.Accepted, error) {
	if _, err := b.TriggerSecret(trigger); err != nil {
		return channels.Accepted{}, err
	}
	acc, err := b.d.loop.Trigger(ctx, trigger, key, payload)
	return acc, classifyError(err)
}

// TriggerSecret implements web.Backend.
func (b *backend) TriggerSecret(trigger string) (hooksig.Secret, error) {
	t, ok := b.d.triggers[trigger]
	if !ok {
		return hooksig.Secret{}, fmt.Errorf("trigger %q: %w; add [triggers.%s] to the configuration", trigger, web.ErrNotFound, trigger)
	}
	return t.Secret, nil
}

// Call implements web.Backend.
func (b *backend) Call(ctx context.Context, session, tool string, args json.RawMessage) (web.ToolOutcome, error) {
	if _, ok := b.d.catalogue.Get(tool); !ok {
		return web.ToolOutcome{}, fmt.Errorf("tool %q: %w; list them with: hob tool list", tool, web.ErrNotFound)
	}
	id, err := b.d.loop.Call(ctx, session, tool, args)
	if err != nil {
		return web.ToolOutcome{}, classifyError(err)
	}
	s, err := b.Wait(ctx, id)
	if err != nil {
		return web.ToolOutcome{}, err
	}
	calls, err := b.d.bus.Calls(ctx, id)
	if err != nil {
		return web.ToolOutcome{}, err
	}
	out := web.ToolOutcome{Text: s.Answer, Event: id, Approvals: s.Approvals}
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

// Why implements web.Backend.
func (b *backend) Why(ctx context.Context, kind, about string) (any, error) {
	x, err := b.d.loop.Explain(ctx, autonomy.Question{Kind: kind, About: about})
	if errors.Is(err, autonomy.ErrUnclear) {
		return nil, fmt.Errorf("%w: %w", web.ErrInvalid, err)
	}
	if err != nil {
		return nil, classifyError(err)
	}
	text := x.Text(b.d.zone())
	switch x := x.(type) {
	case autonomy.Why:
		return struct {
			autonomy.Why
			Text string `json:"text"`
		}{x, text}, nil
	case autonomy.Tick:
		return struct {
			autonomy.Tick
			Text string `json:"text"`
		}{x, text}, nil
	case autonomy.SilenceReport:
		return struct {
			autonomy.SilenceReport
			Text string `json:"text"`
		}{x, text}, nil
	}
	return map[string]string{"text": text}, nil
}

// Manage implements web.Backend.
func (b *backend) Manage(ctx context.Context, name string, q web.Query) (any, error) {
	switch name {
	case "backup":
		path, err := b.d.store.BackupNow(ctx)
		return map[string]string{"path": path}, classifyError(err)
	case "stop":
		if q.Of == "" {
			return nil, fmt.Errorf("%w: name the session to stop", web.ErrInvalid)
		}
		stopped, err := b.d.loop.Stop(ctx, q.Of)
		return map[string]bool{"stopped": stopped}, classifyError(err)
	case "new":
		err := b.d.store.Write(ctx, func(tx *store.Tx) error { return b.d.sessions.ResetTx(tx, q.Of) })
		return map[string]string{"session": q.Of}, classifyError(err)
	case "memory/lessons", "memory/user":
		return b.changeLearned(ctx, name, q)
	case "notices/release", "notices/snooze", "notices/quiet":
		return b.manageNotices(ctx, name, q)
	case "pause":
		return b.changePause(ctx, q.Text)
	case "cancel":
		t, err := b.d.crew.Cancel(ctx, q.Of)
		return t, classifyError(err)
	case "token":
		return map[string]bool{"replaced": true}, classifyError(b.d.rotateToken(ctx))
	case "shutdown":
		b.d.Shutdown()
		return map[string]bool{"stopping": true}, nil
	}
	return nil, fmt.Errorf("%q: %w", name, web.ErrNotFound)
}

// Subscribe implements web.Backend.
func (b *backend) Subscribe(after uint64) web.Subscription {
	s := &subscription{sub: b.d.bus.Feed.Subscribe(after), c: make(chan web.FeedEvent), stop: make(chan struct{})}
	go s.pumpEvents()
	return s
}

// subscription turns the bus's live events into the API's.
type subscription struct {
	sub  *bus.Subscription
	c    chan web.FeedEvent
	stop chan struct{}
}

func (s *subscription) pumpEvents() {
	defer close(s.c)
	for e := range s.sub.C() {
		select {
		case s.c <- web.FeedEvent(e):
		case <-s.stop:
			return
		}
	}
}

func (s *subscription) C() <-chan web.FeedEvent { return s.c }

func (s *subscription) Close() {
	close(s.stop)
	s.sub.Close()
}

// Ready implements web.Backend.
func (b *backend) Ready() error { return b.d.notReadyError() }

// Version implements web.Backend.
func (b *backend) Version() string { return b.d.opt.Version }

// classifyError maps the engine's errors to the API's classes.
func classifyError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrFull):
		return fmt.Errorf("%w: %w", web.ErrFull, err)
	case errors.Is(err, bus.ErrNotFound):
		return fmt.Errorf("%w: %w; GET /api/v1/inbox lists the ids of events, /api/v1/deliveries the ids of texts", web.ErrNotFound, err)
	case errors.Is(err, session.ErrNoSession):
		return fmt.Errorf("%w: %w; see: hob session list", web.ErrNotFound, err)
	case errors.Is(err, session.ErrNoTurn):
		return fmt.Errorf("%w: %w; see: hob session show SESSION --json, or export it", web.ErrNotFound, err)
	case errors.Is(err, autonomy.ErrNotReplayed):
		return fmt.Errorf("%w: %w; see: hob why", web.ErrInvalid, err)
	case errors.Is(err, session.ErrExists):
		return fmt.Errorf("%w: %w; choose another name", web.ErrConflict, err)
	case errors.Is(err, session.ErrNoWords):
		return fmt.Errorf("%w: %w", web.ErrInvalid, err)
	case errors.Is(err, pairing.ErrNotFound):
		return fmt.Errorf("%w: %w; see: hob channel list", web.ErrNotFound, err)
	case errors.Is(err, guard.ErrNoGrant):
		return fmt.Errorf("%w: %w; see: hob grant list", web.ErrNotFound, err)
	case errors.Is(err, guard.ErrGrant), errors.Is(err, guard.ErrScope):
		return fmt.Errorf("%w: %w", web.ErrInvalid, err)
	case errors.Is(err, guard.ErrNoApproval):
		return fmt.Errorf("%w: %w; see: hob approvals list --all", web.ErrNotFound, err)
	case errors.Is(err, watchers.ErrNotFound):
		return fmt.Errorf("%w: %w; see: hob watch list", web.ErrNotFound, err)
	case errors.Is(err, learn.ErrNotFound):
		return fmt.Errorf("%w: %w; see: hob memory lessons list --all, and: hob memory user list", web.ErrNotFound, err)
	case tools.CodeOf(err) == tools.Conflict:
		return fmt.Errorf("%w: %w", web.ErrConflict, err)
	case errors.Is(err, guard.ErrBeforehand):
		return fmt.Errorf("%w: %w; answer the original request", web.ErrDenied, err)
	case errors.Is(err, guard.ErrDecided):
		return fmt.Errorf("%w: %w", web.ErrConflict, err)
	case errors.Is(err, autonomy.ErrTooLong), errors.Is(err, autonomy.ErrNotText), errors.Is(err, autonomy.ErrEmpty), errors.Is(err, autonomy.ErrMixed):
		return fmt.Errorf("%w: %w", web.ErrInvalid, err)
	}
	return err
}
