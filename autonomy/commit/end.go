package commit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/guard"
	"hob/autonomy/hooks"
	"hob/autonomy/llm"
	"hob/autonomy/mind/learn"
	"hob/autonomy/trace"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// Commit makes the end of an event durable in one transaction.
func (c *Committer) Commit(ctx context.Context, t Claim, end Outcome) error {
	ev := t.Event
	end = c.runPrograms(ctx, ev, end)
	learned := c.prepareLearning(ev, end)
	hint := c.rateUrgency(ctx, ev, end)
	err := c.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		res := end
		if res.Record != nil {
			if err := res.Record(tx); err != nil {
				return err
			}
		}
		if err := c.o.Sessions.AppendTx(tx, ev.Session, ev.ID, res.Messages); err != nil {
			return err
		}
		if ev.Kind == bus.Message {
			if err := c.o.Sessions.TouchTx(tx, ev.Session, ev.Channel, ev.Chat, res.How == "turn"); err != nil {
				return err
			}
		}
		if err := c.o.Guard.CloseTx(tx, ev.ID, guard.TimedOut); err != nil {
			return err
		}
		if err := c.endTask(tx, ev, res); err != nil {
			return err
		}
		if err := c.endDigest(tx, ev, &res); err != nil {
			return err
		}
		told, err := c.endGoal(tx, ev, res)
		if err != nil {
			return err
		}
		if err := c.o.Bus.Inbox.FinishTx(tx, ev.ID, cmp.Or(told, res.Answer)); err != nil {
			return err
		}
		if told != "" {
			res.Send, res.Answer = true, told
		}
		if res.Send {
			out := res.item()
			out.Hint = hint
			if err := c.o.Bus.Outbox.EnqueueTx(tx, ev.ID, out); err != nil {
				return err
			}
		}
		tx.AfterCommit(func() {
			c.o.Bus.Feed.Publish("message_end", ev.ID, ev.Session, map[string]any{"answer": res.Answer, "usage": res.Usage, "interrupted": res.Interrupted, "model": res.Model})
		})
		if err := c.recordUsage(tx); err != nil {
			return err
		}
		learned(tx)
		return traceTx(tx, t, res)
	})
	if err != nil {
		return fmt.Errorf("finish event: %w", err)
	}
	c.o.Maintenance.TidyLater(ev)
	return nil
}

// runPrograms runs the user's hooks for an answer that a model wrote, before anyone reads it. If a
// hook refuses the answer, the user gets the reason instead, and the history does not contain the
// answer either.
func (c *Committer) runPrograms(ctx context.Context, ev bus.Event, res Outcome) Outcome {
	if !res.Send || res.Kind != channels.Reply || res.How != "turn" && res.How != "error" {
		return res
	}
	e := hooks.NewEvent(config.AnswerBefore, ev)
	e.Text, e.Tainted = res.Answer, res.Source.Tainted()
	added, err := c.o.Programs.Run(context.WithoutCancel(ctx), e)
	if err == nil && len(added) == 0 {
		return res
	}
	res.Source = provenance.Outside
	for _, a := range added {
		res.Origins = provenance.Join(res.Origins, []provenance.Origin{a.Origin()})
	}
	if res.Answer = hooks.Join(res.Answer, added); err != nil {
		res.Answer = "I withheld my answer: " + err.Error()
	}
	if n := len(res.Messages); n > 0 && res.Messages[n-1].Role == llm.Assistant {
		res.Messages = slices.Clone(res.Messages)
		res.Messages[n-1].Parts = []llm.Part{{Text: res.Answer, Source: res.Source, Origins: res.Origins}}
	}
	return res
}

// recordUsage stores the usage of model calls together with the end of a turn.
func (c *Committer) recordUsage(tx *store.Tx) error {
	if c.o.Usage == nil {
		return nil
	}
	return c.o.Usage.FlushTx(tx)
}

// prepareLearning prepares what can be learned from the turn. The returned function runs in the
// transaction that ends the turn and never makes it fail.
func (c *Committer) prepareLearning(ev bus.Event, res Outcome) func(tx *store.Tx) {
	if res.How != "turn" && res.How != "error" {
		return func(*store.Tx) {}
	}
	t := learn.Turn{
		Event: ev.ID, Session: ev.Session, Channel: ev.Channel, Realm: res.Realm, Text: ev.Text, Tainted: res.Source.Tainted(), At: ev.ReceivedAt,
		Owner: ev.Kind == bus.Message && ev.Provenance == provenance.Owner, Calls: res.Rounds > 1, BuiltIn: res.Model == llm.Offline, Reply: res.Answer,
	}
	learned := make([]func(*store.Tx), len(c.o.Learners))
	for i, l := range c.o.Learners {
		learned[i] = l.Study(t)
	}
	return func(tx *store.Tx) {
		for _, learnTx := range learned {
			learnTx(tx)
		}
	}
}

func traceTx(tx *store.Tx, t Claim, res Outcome) error {
	err := trace.WriteTurnTx(tx, t.Event.ID, t.Event.Session, trace.Turn{
		How: res.How, Model: res.Model, Rounds: res.Rounds, Usage: res.Usage, Tainted: res.Source.Tainted() && res.Source != "", StartedAt: t.Since, EndedAt: time.Now(),
	})
	if err != nil {
		return err
	}
	return tickTx(tx, t, ruleOf(t.Event, res), trace.TickDone)
}

// endTask stores the result of a task's turn.
func (c *Committer) endTask(tx *store.Tx, ev bus.Event, res Outcome) error {
	if c.o.Tasks == nil || !agents.IsTaskEvent(ev) {
		return nil
	}
	if err := c.o.Sessions.TouchTx(tx, ev.Session, ev.Channel, ev.Chat, true); err != nil {
		return err
	}
	e := agents.TaskOutcome{State: agents.Done, Answer: res.Answer, Source: res.Source, Origins: res.Origins, Rounds: res.Rounds, Tokens: res.Usage.Output}
	switch {
	case res.Interrupted:
		e.State = agents.Cancelled
	case res.How == "error":
		e.State = agents.Failed
	}
	return c.o.Tasks.EndTx(tx, ev, e)
}

// endGoal records the end of a goal's event. It returns additional text for the owner, or "".
func (c *Committer) endGoal(tx *store.Tx, ev bus.Event, res Outcome) (string, error) {
	if c.o.Goals == nil || res.Goal == nil {
		return "", nil
	}
	e := *res.Goal
	e.Now, e.Source = time.Now(), provenance.Worst(provenance.Hob, res.Source, ev.Provenance)
	out, err := c.o.Goals.EndTx(tx, ev, e)
	return out.Told, err
}

// endDigest reads a digest's notices in the transaction that ends its event.
func (c *Committer) endDigest(tx *store.Tx, ev bus.Event, res *Outcome) (err error) {
	if !res.Digest {
		return nil
	}
	res.Answer, res.Source, err = c.o.Delivery.DigestTx(tx, ev.ID)
	res.Send = res.Answer != ""
	return err
}

// rateUrgency asks a model to rate the urgency of a notice.
func (c *Committer) rateUrgency(ctx context.Context, ev bus.Event, res Outcome) bus.Hint {
	if !res.Send || res.Kind != channels.Notice || res.Digest || res.Goal != nil {
		return bus.Hint{}
	}
	return c.o.Delivery.RateUrgency(ctx, ev.ID, res.item())
}
