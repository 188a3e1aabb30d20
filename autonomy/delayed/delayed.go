// Package delayed carries out calls that were delayed so that the user could cancel them: emails,
// invitations and answers to invitations. A call is a durable row (bus.ScheduledSends). After a
// crash before the call could reach someone, Hob repeats the call. A later crash may leave the
// outcome unknown; Hob then notifies the user instead. The ledger and the audit log record each
// outcome.
package delayed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/intake"
	"hob/platform/failpoint"
	"hob/platform/pim"
	"hob/platform/pim/smtpmail"
	"hob/platform/provenance"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/tools"
)

// Options are the options of New; those without a default are required.
type Options struct {
	Store *store.Store
	Bus   *bus.Bus
	Guard *guard.Guard
	// Tool finds a tool by its name.
	Tool func(name string) (tools.Tool, bool)
	// Notify puts a notice for the user into the inbox.
	Notify func(tx *store.Tx, n intake.Notice) error
	// Zone returns the user's current time zone.
	Zone func() *time.Location
	Log  *slog.Logger // nil discards
}

// Sender carries out delayed calls.
type Sender struct {
	o Options
	// handover holds a value while a call is transferred and neither its acceptance nor its outcome is
	// recorded. One call at a time is in that state, so that a crash leaves at most one outcome
	// unknown.
	handover chan struct{}
}

const (
	width = 4 // maximum number of concurrent calls
	// usualTimeout is the time limit of a call whose tool has none.
	usualTimeout = 2 * time.Minute
	// maxAttempts is the number of attempts at a call: with the delays of retryBackoff, they take
	// 24 hours.
	maxAttempts = 150
	// warnAfter is the number of failed attempts after which the user is notified.
	warnAfter = 3
	// longestWait bounds a sleep: a timer does not advance while the computer sleeps.
	longestWait = 20 * time.Second
)

// New returns a Sender after checking the options.
func New(o Options) (*Sender, error) {
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Tool == nil || o.Notify == nil || o.Zone == nil {
		return nil, errors.New("delayed: Options needs Store, Bus, Guard, Tool, Notify and Zone")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Sender{o, make(chan struct{}, 1)}, nil
}

func retryBackoff() retry.Backoff {
	return retry.Backoff{First: 5 * time.Second, Max: 10 * time.Minute, Jitter: 0.2}
}

// Run carries out due calls until ctx ends. It returns when the calls in progress have ended; a call
// that has not reached anyone is stopped and runs after the next start.
func (x *Sender) Run(ctx context.Context) error {
	s := retry.Supervisor{Backoff: retry.Backoff{First: time.Second, Max: time.Minute, Jitter: 0.2}, Healthy: time.Minute, Failed: func(err error, d time.Duration) (time.Duration, bool) {
		x.o.Log.Error("delayed sends stopped; trying again", "err", err, "in", d)
		return d, true
	}}
	return s.Run(ctx, x.runDue)
}

func (x *Sender) runDue(ctx context.Context) error {
	lost, err := x.o.Bus.Scheduled.Recover(ctx)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, s := range lost {
		wg.Go(func() { x.settleInterrupted(ctx, s) })
	}
	slots := make(chan struct{}, width)
	ended := make(chan struct{}, 1)
	for ctx.Err() == nil {
		list, err := x.o.Bus.Scheduled.Claim(ctx, width-len(slots))
		if err != nil {
			return err
		}
		for _, s := range list {
			slots <- struct{}{}
			wg.Go(func() {
				x.carryOut(ctx, s)
				<-slots
				select {
				case ended <- struct{}{}:
				default:
				}
			})
		}
		if err := x.waitForWork(ctx, len(slots) == width, ended); err != nil {
			return err
		}
	}
	return nil
}

// waitForWork waits until the next call is due, or a call was added or has ended.
func (x *Sender) waitForWork(ctx context.Context, full bool, ended <-chan struct{}) error {
	at, ok, err := x.o.Bus.Scheduled.Next(ctx)
	if err != nil {
		return err
	}
	var timer <-chan time.Time
	if ok && !full {
		t := time.NewTimer(max(0, min(time.Until(at), longestWait)))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
	case <-timer:
	case <-ended:
	case <-x.o.Bus.Scheduled.Wake():
	}
	return nil
}

// attempt is one run of a delayed call.
type attempt struct {
	ctx      context.Context
	limit    context.Context // ctx with the time limit of the call
	handover chan struct{}   // see Sender
	sends    *bus.ScheduledSends
	call     string
	log      *slog.Logger

	mu        sync.Mutex
	reserved  bool // holds the handover
	committed bool
	accepted  bool
}

// reserveHandover waits until no other call is between its transfer and its acceptance.
func (a *attempt) reserveHandover() error {
	a.mu.Lock()
	reserved := a.reserved || a.committed
	a.mu.Unlock()
	if reserved {
		return nil
	}
	select {
	case a.handover <- struct{}{}:
	case <-a.limit.Done():
		return a.limit.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reserved = true
	return nil
}

// releaseHandover lets the next call be transferred.
func (a *attempt) releaseHandover() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reserved {
		<-a.handover
		a.reserved = false
	}
}

// commitSend records that the call is about to reach someone, unless Hob stops or the user canceled it.
func (a *attempt) commitSend() error {
	if err := a.reserveHandover(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.committed {
		return nil
	}
	if err := a.ctx.Err(); err != nil {
		return err
	}
	failpoint.Hit("delayed.commit.before")
	err := a.sends.Commit(context.WithoutCancel(a.ctx), a.call)
	a.committed = err == nil
	failpoint.Hit("delayed.commit.after")
	return err
}

// recordAcceptance records that a committed call was sent. Otherwise a crash during the slow rest
// of the call, such as saving a copy in the folder of sent emails, would leave the outcome unknown.
func (a *attempt) recordAcceptance() {
	failpoint.Hit("delayed.accept.before")
	if err := a.sends.Accept(context.WithoutCancel(a.ctx), a.call); err != nil {
		a.log.Error("acceptance of a delayed send not recorded", "call", a.call, "err", err)
		return // the handover is released when the outcome is recorded
	}
	failpoint.Hit("delayed.accept.after")
	a.mu.Lock()
	a.accepted = true
	a.mu.Unlock()
	a.releaseHandover()
}

// sendProgress returns how far the call got.
func (a *attempt) sendProgress() (committed, accepted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.committed, a.accepted
}

// newCall returns the tool call that was delayed, with its original context.
func (x *Sender) newCall(s bus.ScheduledSend) tools.Call {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil || s.Zone == "Local" {
		zone = x.o.Zone()
	}
	return tools.Call{
		ID: s.Call, Session: s.Session, Event: s.Event, Args: s.Args, Now: s.CreatedAt.In(zone), Report: s.Report, Agent: s.Agent, Realm: s.Realm,
		Provenance: s.Provenance, Exact: s.Exact, Frozen: s.Frozen,
	}
}

// carryOut runs a claimed call and records its outcome.
func (x *Sender) carryOut(ctx context.Context, s bus.ScheduledSend) {
	a := &attempt{ctx: ctx, handover: x.handover, sends: x.o.Bus.Scheduled, call: s.Call, log: x.o.Log}
	defer a.releaseHandover()
	failpoint.Hit("delayed.send.before")
	res, err := x.runCall(ctx, s, a)
	failpoint.Hit("delayed.send.after")
	committed, accepted := a.sendProgress()
	if !committed {
		a.releaseHandover()
	}
	if err != nil && accepted {
		text := fmt.Sprintf("%s was sent, but then an error occurred: %v.", upperFirst(s.What), err)
		res, err = tools.Result{Text: text, Source: provenance.Worst(s.Provenance, tools.SourceOf(err)), Incomplete: true}, nil
	}
	_, panicked := errors.AsType[*retry.PanicError](err)
	if panicked && committed {
		err = tools.Errorf(tools.OutcomeUnknown, "%s crashed while it was running", tools.Clean(s.Tool))
	}
	switch {
	case err == nil:
		x.persistOutcome(ctx, s, func() error { return x.recordOutcome(ctx, s, bus.SendSent, res, nil) })
	case tools.CodeOf(err) == tools.OutcomeUnknown:
		x.persistOutcome(ctx, s, func() error { return x.recordOutcome(ctx, s, bus.SendUnknown, res, err) })
	case errors.Is(err, bus.ErrCancelled):
	case ctx.Err() != nil && !committed: // continues after the next start
	case (isTemporary(err) || !committed && !panicked && !isPermanent(err)) && s.Attempts < maxAttempts:
		x.persistOutcome(ctx, s, func() error { return x.retryLater(ctx, s, err) })
	default:
		x.persistOutcome(ctx, s, func() error { return x.recordOutcome(ctx, s, bus.SendFailed, res, err) })
	}
}

// persistOutcome records an outcome. It retries while the store does not accept it, for example
// because the disk is full. If Hob stops before that, the next start handles the call as
// interrupted.
func (x *Sender) persistOutcome(ctx context.Context, s bus.ScheduledSend, record func() error) {
	for n := 1; ; n++ {
		err := record()
		if err == nil || errors.Is(err, bus.ErrCancelled) {
			return
		}
		x.o.Log.Error("outcome of a delayed send not recorded; trying again", "call", s.Call, "err", err)
		if retry.Sleep(ctx, retryBackoff().Delay(n)) != nil {
			return
		}
	}
}

// runCall runs the tool. Until the call is committed, it ends when ctx ends.
func (x *Sender) runCall(ctx context.Context, s bus.ScheduledSend, a *attempt) (res tools.Result, err error) {
	t, ok := x.o.Tool(s.Tool)
	if !ok {
		return res, tools.Errorf(tools.Unsupported, "the tool %s no longer exists", tools.Clean(s.Tool))
	}
	limit := t.Spec().Timeout
	if limit <= 0 {
		limit = usualTimeout
	}
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	a.limit = inner
	stop := context.AfterFunc(ctx, func() {
		if committed, _ := a.sendProgress(); !committed {
			cancel()
		}
	})
	defer stop()
	if sent, err := x.wasSentBeforeRestore(inner, s); err != nil {
		return res, err
	} else if sent {
		return tools.Result{Text: upperFirst(s.What) + " had been sent before the restore; Hob did not send it again.", Source: s.Provenance, Incomplete: true}, nil
	}
	c := x.newCall(s)
	c.SendHooks = pim.SendHooks{Reserve: a.reserveHandover, Commit: a.commitSend, Accepted: a.recordAcceptance}
	err = retry.Recover(func() error {
		res, err = t.Call(inner, c)
		return err
	})
	return res, err
}

// isPermanent reports whether a later attempt would fail, too.
func isPermanent(err error) bool {
	if errors.Is(err, smtpmail.ErrLater) {
		return false
	}
	for _, permanent := range []error{pim.ErrSignIn, pim.ErrRefused, pim.ErrNoServer, pim.ErrInvalid, pim.ErrTooLarge} {
		if errors.Is(err, permanent) {
			return true
		}
	}
	return !slices.Contains([]tools.Code{tools.Failed, tools.TimedOut, tools.Cancelled}, tools.CodeOf(err))
}

// isTemporary reports whether a call that may have reached someone has certainly failed, for a
// temporary reason.
func isTemporary(err error) bool {
	switch {
	case isPermanent(err):
		return false
	case tools.CodeOf(err) != tools.Failed:
		return true
	}
	_, busy := errors.AsType[*pim.BusyError](err)
	_, network := errors.AsType[net.Error](err)
	return busy || network || errors.Is(err, smtpmail.ErrLater) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// retryLater schedules the next attempt of a call. It notifies the user once, after warnAfter
// failures.
func (x *Sender) retryLater(ctx context.Context, s bus.ScheduledSend, cause error) error {
	at := time.Now().Add(retryBackoff().Delay(s.Attempts))
	x.o.Log.Warn("delayed send failed; trying again", "call", s.Call, "err", cause, "at", at)
	if err := x.o.Bus.Scheduled.Retry(context.WithoutCancel(ctx), s.Call, at, cause.Error()); err != nil || s.Attempts != warnAfter {
		return err
	}
	text := fmt.Sprintf("%s has not been sent yet: %v. Hob will keep trying for 24 hours; to cancel: hob undo %s", upperFirst(s.What), cause, s.Call)
	return x.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return x.o.Notify(tx, intake.Notice{Key: "delayed-retry:" + s.Call, Text: text, Report: s.Report, Source: provenance.Worst(s.Provenance, tools.SourceOf(cause))})
	})
}

// recordOutcome records the outcome in the row, the ledger and the audit log, and notifies the user of
// everything but a complete success, in one transaction.
func (x *Sender) recordOutcome(ctx context.Context, s bus.ScheduledSend, state bus.SendState, res tools.Result, cause error) error {
	e := bus.Entry{Call: s.Call, State: bus.CallDone, Result: res.Text, Source: res.Source}
	outcome, text, why := "done", "", ""
	if u := res.Undo; u != nil {
		e.UndoLabel, e.Undo = u.Label, u.Data
	}
	if cause != nil {
		why, outcome = cause.Error(), string(tools.CodeOf(cause))
		e.State, e.Code, e.Source = bus.CallFailed, outcome, provenance.Worst(s.Provenance, tools.SourceOf(cause))
		text = fmt.Sprintf("%s was not sent: %s. See: hob why %s", upperFirst(s.What), why, s.Call)
		if state == bus.SendUnknown {
			e.State = bus.CallUnknown
			text = fmt.Sprintf("Outcome unknown: %s may have been sent. %s. See: hob why %s", s.What, upperFirst(why), s.Call)
		}
		e.Result = text
	} else if res.Incomplete {
		text = res.Text
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return x.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := x.o.Bus.Scheduled.EndTx(tx, s.Call, state, why); err != nil {
			return err
		}
		if err := x.o.Bus.Ledger.EndScheduledTx(tx, e); err != nil {
			return err
		}
		if text != "" {
			n := intake.Notice{Key: "delayed:" + s.Call, Text: text, Report: s.Report, Source: provenance.Worst(s.Provenance, e.Source)}
			if err := x.o.Notify(tx, n); err != nil {
				return err
			}
		}
		return x.o.Guard.AuditTx(tx, guard.Record{
			Actor: "hob", Action: "send", Event: s.Event, Session: s.Session, Origin: "delay", Tool: s.Tool, Call: s.Call, Effects: s.Effects,
			Verdict: "allow", Rule: "delayed send", Tainted: s.Provenance.Tainted(), Outcome: outcome, Args: s.Args,
		})
	})
}

// settleInterrupted finds out whether a call that a crash interrupted took effect. If that is
// impossible, it reports that the outcome is unknown. It never repeats the call.
func (x *Sender) settleInterrupted(ctx context.Context, s bus.ScheduledSend) {
	sent, err := s.State == bus.SendAccepted, error(nil)
	for n := 1; !sent && n <= warnAfter; n++ {
		if sent, err = x.wasSent(ctx, s); err == nil {
			break
		}
		if retry.Sleep(ctx, retryBackoff().Delay(n)) != nil {
			return // the next start checks again
		}
	}
	x.persistOutcome(ctx, s, func() error {
		if sent {
			return x.recordOutcome(ctx, s, bus.SendSent, tools.Result{Text: upperFirst(s.What) + " was sent, but Hob was interrupted before it could record the result.", Source: s.Provenance}, nil)
		}
		return x.recordOutcome(ctx, s, bus.SendUnknown, tools.Result{}, tools.Errorf(tools.OutcomeUnknown, "Hob was interrupted while sending and did not try again. Check whether the message arrived before you retry"))
	})
}

// wasSentBeforeRestore reports whether a call that is older than the last restore was sent after the
// snapshot. The restored row does not know this.
func (x *Sender) wasSentBeforeRestore(ctx context.Context, s bus.ScheduledSend) (bool, error) {
	hold, err := x.o.Bus.Hold.Status(ctx)
	if err != nil || !s.CreatedAt.Before(hold.RestoredAt) {
		return false, err
	}
	sent, err := x.wasSent(ctx, s)
	if err != nil {
		return false, fmt.Errorf("check whether the call was sent before the restore: %w", err)
	}
	return sent, nil
}

func (x *Sender) wasSent(ctx context.Context, s bus.ScheduledSend) (sent bool, err error) {
	t, ok := x.o.Tool(s.Tool)
	d, delays := t.(tools.Delayer)
	if !ok || !delays {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, usualTimeout)
	defer cancel()
	err = retry.Recover(func() error {
		sent, err = d.WasSent(ctx, x.newCall(s))
		return err
	})
	return sent, err
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
