package autonomy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/mind/learn"
	"hob/autonomy/payload"
	"hob/autonomy/trace"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// commitResult makes the end of an event durable in one transaction.
func (l *Loop) commitResult(ctx context.Context, t *activeTurn, end result) error {
	ev := t.ev
	learned := l.prepareLearning(ev, end)
	hint := l.rateUrgency(ctx, ev, end)
	err := l.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		res := end
		if res.Record != nil {
			if err := res.Record(tx); err != nil {
				return err
			}
		}
		if err := l.o.Sessions.AppendTx(tx, ev.Session, ev.ID, res.Messages); err != nil {
			return err
		}
		if ev.Kind == bus.Message {
			if err := l.o.Sessions.TouchTx(tx, ev.Session, ev.Channel, ev.Chat, res.how == "turn"); err != nil {
				return err
			}
		}
		if err := l.o.Guard.CloseTx(tx, ev.ID, guard.TimedOut); err != nil {
			return err
		}
		if err := l.endTask(tx, ev, res); err != nil {
			return err
		}
		if err := l.endDigest(tx, ev, &res); err != nil {
			return err
		}
		told, err := l.endGoal(tx, ev, res)
		if err != nil {
			return err
		}
		if err := l.o.Bus.Inbox.FinishTx(tx, ev.ID, cmp.Or(told, res.Answer)); err != nil {
			return err
		}
		if told != "" {
			res.said, res.Answer = true, told
		}
		if res.said {
			out := bus.OutboxItem{Provenance: res.Source, Hint: hint, Asks: res.asks, Delivery: channels.Delivery{Kind: res.kind, Session: res.session, Channel: res.channel, Chat: res.chat, Text: res.Answer}}
			if err := l.o.Bus.Outbox.EnqueueTx(tx, ev.ID, out); err != nil {
				return err
			}
		}
		tx.AfterCommit(func() {
			l.o.Bus.Feed.Publish("message_end", ev.ID, ev.Session, map[string]any{"answer": res.Answer, "usage": res.Usage, "interrupted": res.Interrupted, "model": res.Model})
		})
		if err := l.o.Book(tx); err != nil {
			return err
		}
		learned(tx)
		return traceTx(tx, t, res)
	})
	if err != nil {
		return fmt.Errorf("finish event: %w", err)
	}
	l.tidyLater(ev)
	return nil
}

// prepareLearning prepares what can be learned from the turn. The returned function runs in the
// transaction that ends the turn and never fails it.
func (l *Loop) prepareLearning(ev bus.Event, res result) func(tx *store.Tx) {
	if l.o.Learn == nil || res.how != "turn" && res.how != "error" {
		return func(*store.Tx) {}
	}
	return l.o.Learn(learn.Turn{
		Event: ev.ID, Session: ev.Session, Channel: ev.Channel, Realm: res.Realm, Text: ev.Text, Tainted: res.Source.Tainted(), At: ev.ReceivedAt,
		Owner: ev.Kind == bus.Message && ev.Provenance == provenance.Owner, Calls: res.Rounds > 1,
	})
}

func traceTx(tx *store.Tx, t *activeTurn, res result) error {
	err := trace.WriteTurnTx(tx, t.ev.ID, t.ev.Session, trace.Turn{
		How: res.how, Model: res.Model, Rounds: res.Rounds, Usage: res.Usage, Tainted: res.Source.Tainted() && res.Source != "", StartedAt: t.since, EndedAt: time.Now(),
	})
	if err != nil {
		return err
	}
	return tickTx(tx, t, ruleOf(t.ev, res), trace.TickDone)
}

// handleFailure handles a turn that ended in an error. Somebody who waits gets one sentence as an
// answer immediately. An unattended turn is retried later; the owner is notified after the last
// retry.
func (l *Loop) handleFailure(ctx context.Context, t *activeTurn, res result, cause error) error {
	ev := t.ev
	l.o.Log.Warn("turn failed", "event", ev.ID, "kind", ev.Kind, "attempt", ev.Attempts, "err", cause)
	if errors.Is(cause, store.ErrFull) {
		return cause
	}
	l.cancelDelegatedTasks(ctx, ev)
	if ev.Kind == bus.Message || ev.Kind == bus.Task {
		return l.replyWithError(ctx, t, res, cause)
	}
	permanent := false
	if e, ok := errors.AsType[*llm.Error](cause); ok {
		permanent = !e.Retryable()
	}
	if ev.Kind == bus.Goal && (permanent || ev.Attempts >= bus.MaxAttempts) {
		return l.goalFailed(ctx, t, res, cause)
	}
	if permanent || ev.Attempts >= bus.MaxAttempts {
		l.keepTick(ctx, t, ruleOf(ev, res), trace.TickDead)
		return l.tellDead(ctx, ev, llm.DescribeError(cause))
	}
	l.keepTick(ctx, t, ruleOf(ev, res), trace.TickRetry)
	return l.retryEvent(ctx, ev, cause, time.Now().Add(time.Duration(ev.Attempts)*time.Minute))
}

// replyWithError answers with the error itself.
func (l *Loop) replyWithError(ctx context.Context, t *activeTurn, res result, cause error) error {
	answer := "Sorry, that did not work: " + llm.DescribeError(cause)
	if shown := strings.TrimSpace(res.Answer); shown != "" {
		answer = shown + " … [cut off]\n" + answer
	}
	if res.Answer, res.how = answer, "error"; res.Source != provenance.Outside { // a provider's error may quote the request
		res.Source = provenance.Hob
	}
	res.said = t.ev.Kind == bus.Message
	res.kind, res.session, res.channel, res.chat = channels.Reply, t.ev.Session, t.ev.Channel, t.ev.Chat
	if len(res.Messages) > 0 {
		res.Messages = append(res.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: answer, Source: res.Source}}})
	}
	l.o.Bus.Feed.Publish("error", t.ev.ID, t.ev.Session, map[string]string{"message": llm.DescribeError(cause), "kind": string(llm.KindOf(cause))})
	return l.commitResult(ctx, t, res)
}

func (l *Loop) retryEvent(ctx context.Context, ev bus.Event, cause error, at time.Time) error {
	return l.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		_, err := l.o.Bus.Inbox.FailTx(tx, ev, cause.Error(), at, false)
		return err
	})
}

// postponeEvent puts an event off without counting it as an attempt.
func (l *Loop) postponeEvent(ctx context.Context, ev bus.Event, at time.Time) error {
	return l.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return l.o.Bus.Inbox.SuspendTx(tx, ev.ID, at)
	})
}

// tellDead stops retrying an event and notifies the owner once.
func (l *Loop) tellDead(ctx context.Context, ev bus.Event, why string) error {
	session, channel, chat := ev.Session, ev.Channel, ev.Chat
	if ev.Kind != bus.Message {
		var err error
		if session, channel, chat, err = l.resolveNoticeTarget(ctx, payload.ReportSession(ev)); err != nil {
			return err
		}
	}
	kind := channels.Notice
	if ev.Kind == bus.Message {
		kind = channels.Reply
	}
	text := fmt.Sprintf("I stopped retrying: %s. Reason: %s. `hob why %s` shows more.", textnorm.FirstLine(ev.Text), strings.TrimRight(why, ". "), ev.ID)
	return l.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if ev.State != bus.Dead {
			if _, err := l.o.Bus.Inbox.FailTx(tx, ev, why, time.Time{}, true); err != nil {
				return err
			}
		}
		if agents.IsTaskEvent(ev) { // the delegating agent receives the failure
			res := result{how: "error"}
			res.Answer, res.Source = why, provenance.Worst(provenance.Hob, ev.Provenance)
			return l.endTask(tx, ev, res)
		}
		return l.o.Bus.Outbox.EnqueueTx(tx, ev.ID, bus.OutboxItem{Provenance: provenance.Worst(provenance.Hob, ev.Provenance), Delivery: channels.Delivery{Kind: kind, Session: session, Channel: channel, Chat: chat, Text: text}})
	})
}
