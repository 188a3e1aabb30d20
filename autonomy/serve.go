package autonomy

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/turn"
	"hob/platform/provenance"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/store/lease"
)

// processEvent processes one claimed event until it ends.
func (l *Loop) processEvent(ctx context.Context, t *activeTurn) {
	ev := t.Event
	res, err := l.answerWithRecover(ctx, ev)
	switch {
	case l.o.Bus.Lease.Check() != nil:
		return // the claim has ended, and nothing of this turn may count
	case err == nil && res.Suspended:
		l.committer.NoteWaiting(ctx, t.Claim, res)
		return
	case err == nil:
		err = l.committer.Commit(ctx, t.Claim, res)
	case errors.Is(err, turn.ErrDraining):
		err = l.o.Bus.Inbox.Release(context.WithoutCancel(ctx), ev.ID)
	default:
		err = l.committer.Fail(ctx, t.Claim, res, err)
	}
	if err == nil || errors.Is(err, lease.ErrLost) {
		return
	}
	// The end of the event could not be stored, for example because the disk is full. The event
	// stays claimed. putBack puts it back as soon as the store accepts writes again.
	l.o.Log.Error("cannot finish an event; trying again", "event", ev.ID, "err", err)
	l.putBack(ctx, ev, err)
}

// answerWithRecover turns an event into an outcome. A panic fails only this turn, because one message must not
// end the daemon.
func (l *Loop) answerWithRecover(ctx context.Context, ev bus.Event) (res commit.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			l.o.Log.Error("turn panicked", "event", ev.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error (%v); see Hob's log for details", p)
		}
	}()
	if res, err = l.dispatcher.Answer(ctx, ev); err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return l.outcomeOfHalted(ctx, ev, res, err)
	}
	return res, err
}

// outcomeOfHalted handles a turn that was stopped before its agent began. Database reads then fail
// because ctx was canceled, but this is not a failure of the turn.
func (l *Loop) outcomeOfHalted(ctx context.Context, ev bus.Event, res commit.Outcome, err error) (commit.Outcome, error) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, turn.ErrDraining):
		return res, turn.ErrDraining
	case errors.Is(cause, turn.ErrStopped) && ev.Kind == bus.Message:
		res = commit.NewReply(ev, "turn")
		res.Answer, res.Source, res.Interrupted = "Stopped.", provenance.Hob, true
		return res, nil
	}
	return res, err
}

func (l *Loop) putBack(ctx context.Context, ev bus.Event, cause error) {
	for wait := 2 * time.Second; ; wait = 5 * time.Second {
		if retry.Sleep(ctx, wait) != nil {
			return // after the next start, the claimed event is put back
		}
		if err := l.giveBack(ctx, ev, cause); err == nil {
			l.o.Bus.Inbox.SignalWork()
			return
		}
	}
}

// giveBack does not count an attempt that an outage of the database interrupted. Other errors count as failed
// attempts, because they may recur and cost a model call each time.
func (l *Loop) giveBack(ctx context.Context, ev bus.Event, cause error) error {
	switch {
	case store.IsOutage(cause):
		return l.o.Bus.Inbox.Release(ctx, ev.ID)
	case ev.Attempts >= bus.MaxAttempts:
		return l.committer.GiveUp(ctx, ev, cause.Error())
	}
	return l.committer.Retry(ctx, ev, cause, time.Now())
}
