package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/hooks"
	"hob/autonomy/intake"
	"hob/autonomy/llm"
	"hob/autonomy/notify"
	"hob/autonomy/payload"
	"hob/autonomy/trace"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// Fail handles a turn that ended with an error. If a person is waiting, Fail immediately sends a
// one-sentence answer. An unattended turn is retried later; the owner is notified after the last
// retry.
func (c *Committer) Fail(ctx context.Context, t Claim, res Outcome, cause error) error {
	ev := t.Event
	c.o.Log.Warn("turn failed", "event", ev.ID, "kind", ev.Kind, "attempt", ev.Attempts, "err", cause)
	if store.IsOutage(cause) {
		return cause
	}
	c.cancelDelegatedTasks(ctx, ev)
	if ev.Kind == bus.Message || ev.Kind == bus.Task {
		return c.replyWithError(ctx, t, res, cause)
	}
	permanent := false
	if e, ok := errors.AsType[*llm.Error](cause); ok {
		permanent = !e.Retryable()
	}
	if ev.Kind == bus.Goal && (permanent || ev.Attempts >= bus.MaxAttempts) {
		return c.goalFailed(ctx, t, res, cause)
	}
	if permanent || ev.Attempts >= bus.MaxAttempts {
		c.noteTick(ctx, t, ruleOf(ev, res), trace.TickDead)
		return c.giveUpEvent(ctx, ev, llm.DescribeError(cause), errorSource(cause))
	}
	c.noteTick(ctx, t, ruleOf(ev, res), trace.TickRetry)
	return c.Retry(ctx, ev, cause, time.Now().Add(time.Duration(ev.Attempts)*time.Minute))
}

// replyWithError answers with the text of the error.
func (c *Committer) replyWithError(ctx context.Context, t Claim, res Outcome, cause error) error {
	answer := "Sorry, that did not work: " + llm.DescribeError(cause)
	if shown := strings.TrimSpace(res.Answer); shown != "" {
		answer = shown + " … [cut off]\n" + answer
	}
	if res.Answer, res.How = answer, "error"; res.Source != provenance.Outside { // a provider's error may quote the request
		res.Source = errorSource(cause)
	}
	res.Send = t.Event.Kind == bus.Message
	res.Kind, res.Target = channels.Reply, notify.Target{Session: t.Event.Session, Channel: t.Event.Channel, Chat: t.Event.Chat}
	if len(res.Messages) > 0 {
		res.Messages = append(res.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: answer, Source: res.Source}}})
	}
	c.o.Bus.Feed.Publish("error", t.Event.ID, t.Event.Session, map[string]string{"message": llm.DescribeError(cause), "kind": string(llm.KindOf(cause))})
	return c.Commit(ctx, t, res)
}

// Retry requeues an event until the given time and counts an attempt.
func (c *Committer) Retry(ctx context.Context, ev bus.Event, cause error, at time.Time) error {
	return c.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		_, err := c.o.Bus.Inbox.FailTx(tx, ev, cause.Error(), at, false)
		return err
	})
}

// errorSource returns the provenance of the text of an error. The reason of a hook is untrusted.
func errorSource(cause error) provenance.Source {
	if _, refused := errors.AsType[*hooks.Refusal](cause); refused {
		return provenance.Outside
	}
	return provenance.Hob
}

// GiveUp stops retrying an event and notifies the owner once.
func (c *Committer) GiveUp(ctx context.Context, ev bus.Event, why string) error {
	return c.giveUpEvent(ctx, ev, why, provenance.Hob)
}

// giveUpEvent stops retrying an event, like GiveUp. src is the provenance of the reason.
func (c *Committer) giveUpEvent(ctx context.Context, ev bus.Event, why string, src provenance.Source) error {
	to := notify.Target{Session: ev.Session, Channel: ev.Channel, Chat: ev.Chat}
	if ev.Kind != bus.Message {
		var err error
		if to, err = c.o.Delivery.ResolveTarget(ctx, payload.ReportSession(ev)); err != nil {
			return err
		}
	}
	kind := channels.Notice
	if ev.Kind == bus.Message {
		kind = channels.Reply
	}
	text := fmt.Sprintf("I stopped retrying: %s. Reason: %s. `hob why %s` shows more.", textnorm.FirstLine(ev.Text), strings.TrimRight(why, ". "), ev.ID)
	return c.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if ev.State != bus.Dead {
			if _, err := c.o.Bus.Inbox.FailTx(tx, ev, why, time.Time{}, true); err != nil {
				return err
			}
		}
		if agents.IsTaskEvent(ev) { // the delegating agent receives the failure
			res := Outcome{How: "error"}
			res.Answer, res.Source = why, provenance.Worst(src, ev.Provenance)
			return c.endTask(tx, ev, res)
		}
		return c.o.Bus.Outbox.EnqueueTx(tx, ev.ID, bus.OutboxItem{Provenance: provenance.Worst(src, ev.Provenance), Delivery: channels.Delivery{Kind: kind, Session: to.Session, Channel: to.Channel, Chat: to.Chat, Text: text}})
	})
}

// cancelDelegatedTasks stops the running tasks of a turn that failed.
func (c *Committer) cancelDelegatedTasks(ctx context.Context, ev bus.Event) {
	if c.o.Tasks == nil {
		return
	}
	if err := c.o.Tasks.Abandon(context.WithoutCancel(ctx), ev.ID); err != nil {
		c.o.Log.Warn("cannot end the tasks of a failed turn", "event", ev.ID, "err", err)
	}
}

// goalFailed ends a goal's event that cannot be handled. The goal stays active until its next
// review.
func (c *Committer) goalFailed(ctx context.Context, t Claim, res Outcome, cause error) error {
	if res.Goal == nil {
		return c.giveUpEvent(ctx, t.Event, llm.DescribeError(cause), errorSource(cause))
	}
	why := llm.DescribeError(cause)
	res.How, res.Send, res.Answer = "error", false, why
	res.Goal.Err, res.Goal.Failed = cause, why
	if res.Source != provenance.Outside { // a provider's error may quote the request
		res.Source = errorSource(cause)
	}
	name, record := strings.TrimPrefix(strings.TrimPrefix(t.Event.Text, "Review of "), "Work on "), res.Record
	key := fmt.Sprintf("goal-failed:%s:%s", res.Goal.Order.Goal, time.Now().In(c.o.Zone()).Format(time.DateOnly))
	text := fmt.Sprintf("I could not work on %s: %s. I will try again at its next review; `hob why %s` shows more.", name, strings.TrimRight(why, ". "), t.Event.ID)
	from, report := provenance.Worst(provenance.Hob, t.Event.Provenance, res.Source), res.Session
	res.Record = func(tx *store.Tx) error {
		if record != nil {
			if err := record(tx); err != nil {
				return err
			}
		}
		return c.o.Notices.NotifyTx(tx, intake.Notice{Key: key, Text: text, Report: report, Source: from})
	}
	return c.Commit(ctx, t, res)
}
