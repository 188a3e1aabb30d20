package agents

import (
	"encoding/json"
	"fmt"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// noticed is the maximum length of the result in a notice, in characters.
const noticed = 4000

// TaskOutcome is the outcome of a task's turn.
type TaskOutcome struct {
	State          State
	Answer         string
	Source         provenance.Source
	Origins        []provenance.Origin
	Rounds, Tokens int
}

// EndTx records the end of a task's turn in the transaction that completes its event. It starts the
// next task of the call, resumes the parent after the last task, and reports the result of a
// background task. A canceled task stays canceled.
func (c *Registry) EndTx(tx *store.Tx, ev bus.Event, e TaskOutcome) error {
	t, ok, err := taskTx(tx, `event = ?`, ev.ID)
	if err != nil || !ok { // a follow-up turn is not a task
		return err
	}
	var below struct{ rounds, tokens int }
	if err := tx.QueryRow(`SELECT coalesce(sum(rounds), 0), coalesce(sum(tokens), 0) FROM crew_tasks WHERE parent = ?`, ev.ID).Scan(&below.rounds, &below.tokens); err != nil {
		return fmt.Errorf("agents: end task: %w", err)
	}
	e.Rounds, e.Tokens = e.Rounds+below.rounds, e.Tokens+below.tokens
	if t.State.IsFinished() {
		_, err := tx.Exec(`UPDATE crew_tasks SET rounds = ?, tokens = ? WHERE id = ?`, e.Rounds, e.Tokens, t.ID)
		return err
	}
	o, err := orderOf(ev)
	if err != nil {
		return err
	}
	if err := c.closeTx(tx, t, e); err != nil || !t.Background {
		return err
	}
	t.State, t.Result, t.Source = e.State, e.Answer, e.Source
	if o.Into != "" { // SentTx may wait for the answer, which the conversation shows
		if err := c.o.Bus.Inbox.ResumeTx(tx, t.Parent); err != nil || e.State == Done {
			return err
		}
	}
	return c.tellTx(tx, t, o)
}

// closeTx ends the row of an open task and starts the next task of the call. After the last task,
// it resumes the turn that waits for the call.
func (c *Registry) closeTx(tx *store.Tx, t Task, e TaskOutcome) error {
	_, err := tx.Exec(`UPDATE crew_tasks SET state = ?, result = ?, source = ?, rounds = ?, tokens = ?, ended_at = ? WHERE id = ?`,
		e.State, e.Answer, e.Source, e.Rounds, e.Tokens, time.Now().UnixMilli(), t.ID)
	if err != nil {
		return fmt.Errorf("agents: end task: %w", err)
	}
	if e.Source.Tainted() {
		if err := origins.KeepTx(tx, origins.Task, t.ID, e.Origins); err != nil {
			return fmt.Errorf("agents: end task: %w", err)
		}
	}
	t.State = e.State
	c.publishTask(tx, t)
	c.due.InvalidateTx(tx, c.o.Bus.Inbox)
	if err := c.nextTx(tx, t.Call); err != nil || t.Background {
		return err
	}
	var open int
	err = tx.QueryRow(`SELECT count(*) FROM crew_tasks WHERE call = ? AND background = 0 AND state IN ('queued', 'open')`, t.Call).Scan(&open)
	if err != nil || open > 0 {
		return err
	}
	return c.o.Bus.Inbox.ResumeTx(tx, t.Parent)
}

// nextTx starts queued tasks of a call while slots are free.
func (c *Registry) nextTx(tx *store.Tx, call string) error {
	var open int
	if err := tx.QueryRow(`SELECT count(*) FROM crew_tasks WHERE call = ? AND state = 'open'`, call).Scan(&open); err != nil {
		return fmt.Errorf("agents: count running tasks: %w", err)
	}
	next, err := tasksTx(tx, `call = ? AND state = 'queued' ORDER BY n LIMIT ?`, call, max(0, c.o.Parallel-open))
	if err != nil {
		return err
	}
	for _, t := range next {
		if _, err := tx.Exec(`UPDATE crew_tasks SET state = 'open' WHERE id = ?`, t.ID); err != nil {
			return fmt.Errorf("agents: start queued task: %w", err)
		}
		if err := c.o.Bus.Inbox.ResumeTx(tx, t.Event); err != nil {
			return err
		}
		t.State = Open
		c.publishTask(tx, t)
	}
	return nil
}

// tellTx reports the result of a background task, either as a notice or, if requested, as a turn in
// the parent's conversation.
func (c *Registry) tellTx(tx *store.Tx, t Task, o taskPayload) error {
	if t.State == Cancelled || t.State == Stopped { // the user stopped the task and needs no notice
		return nil
	}
	text := fmt.Sprintf("The task %q (%s, %s) has ended: %s", textnorm.Ellipsize(t.Task, 80), t.ID, t.Agent, describeTask(t, noticed))
	src := provenance.Worst(provenance.Hob, t.Source)
	if !o.FollowUp {
		return c.o.Bus.Outbox.EnqueueTx(tx, t.Event, bus.OutboxItem{Provenance: src, Delivery: channels.Delivery{
			Kind: channels.Notice, Session: o.Report, Channel: o.Channel, Chat: o.Chat, Text: text,
		}})
	}
	o.Follow = t.ID
	var err error
	if o.Origins, err = origins.Of(tx, origins.Task, t.ID); err != nil {
		return fmt.Errorf("agents: end task: %w", err)
	}
	payload, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("agents: encode task: %w", err)
	}
	_, err = c.o.Bus.Inbox.PutTx(tx, bus.Event{
		Kind: bus.Task, Source: Source, Session: t.Session, Channel: o.Channel, Chat: o.Chat, Sender: t.Agent, Text: text, Payload: payload,
		Provenance: src, Key: "follow:" + t.ID,
	})
	return err
}
