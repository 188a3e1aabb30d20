package a2a

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"hob/platform/net/safehttp"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

const (
	lookTime     = 10 * time.Second // interval at which Run checks for work if no signal arrives
	streamTime   = 5 * time.Minute  // time for which one stream is read before the task is read again
	cancelTime   = 10 * time.Second // time limit for canceling a task at the agent
	cancelTries  = 3
	progressTime = time.Second // minimum interval of progress reports
	maxEvents    = 10_000      // maximum number of events in one stream
	maxRefusals  = 5           // consecutive failures to read a task before the call fails
)

// pollBackoff returns the delays between two reads of a task.
func pollBackoff() retry.Backoff { return retry.Backoff{First: time.Second, Max: 30 * time.Second} }

// Run works on the open calls until ctx ends. Calls that a restart interrupted while they were
// being sent end with an unknown outcome.
func (c *Client) Run(ctx context.Context) error {
	if len(c.o.Agents) == 0 {
		if open, err := selectCalls(ctx, c.o.Store.Read(), openStates); err == nil && len(open) == 0 {
			<-ctx.Done()
			return nil
		}
	}
	if err := c.endInterrupted(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		list, err := selectCalls(ctx, c.o.Store.Read(), openStates+` OR canceling = 1`)
		if err != nil && ctx.Err() == nil {
			c.o.Log.Error("a2a: cannot read the open calls", "err", err)
		}
		for _, row := range list {
			work, cancel := context.WithCancel(ctx)
			if !c.claimCall(row.call, cancel) {
				cancel()
				continue
			}
			wg.Go(func() {
				defer c.releaseCall(row.call)
				defer cancel()
				c.performCall(work, row)
			})
		}
		if retry.Wait(ctx, lookTime, c.wake) != nil {
			return nil
		}
	}
}

// claimCall marks a call as in progress. It returns false if another goroutine already works on the
// call.
func (c *Client) claimCall(call string, cancel context.CancelFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[call] != nil {
		return false
	}
	c.running[call] = cancel
	return true
}

func (c *Client) releaseCall(call string) {
	c.mu.Lock()
	delete(c.running, call)
	c.mu.Unlock()
	c.signalWake() // the call may have been stopped, so its task must be canceled at the agent
}

// endInterrupted ends the calls whose message may or may not have arrived.
func (c *Client) endInterrupted(ctx context.Context) error {
	list, err := selectCalls(ctx, c.o.Store.Read(), `state = 'sending'`)
	if err != nil {
		return err
	}
	for _, row := range list {
		if err := c.endCall(ctx, row, stateFailed, unknownOutcome(row).text, tools.OutcomeUnknown, false); err != nil {
			return err
		}
	}
	return nil
}

func unknownOutcome(row callRow) *failedCall {
	return &failedCall{code: tools.OutcomeUnknown, text: fmt.Sprintf("the connection to the agent %s ended while the task was being sent, so it is unknown whether the agent received it; the task was not sent again", row.agent)}
}

// endCall records the end of a call and resumes its turn.
func (c *Client) endCall(ctx context.Context, row callRow, state, result string, code tools.Code, outside bool) error {
	return c.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		res, err := tx.Exec(`UPDATE a2a_calls SET state = ?, result = ?, code = ?, outside = ? WHERE call = ? AND `+openStates, state, result, code, outside, row.call)
		if err != nil {
			return fmt.Errorf("a2a: end call: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return c.o.Resume(tx, row.event)
	})
}

// performCall works on a call until it has ended or ctx ends.
func (c *Client) performCall(ctx context.Context, row callRow) {
	if row.canceling {
		c.cancelRemote(ctx, row)
		return
	}
	var state, text string
	var err error
	if row.state == stateSending { // a database error interrupted the call
		err = unknownOutcome(row)
	} else {
		state, text, err = c.deliverTask(ctx, &row)
	}
	if ctx.Err() != nil {
		return // the call was stopped, or continues after the restart
	}
	if f, ok := errors.AsType[*failedCall](err); ok {
		err = c.endCall(ctx, row, stateFailed, f.text, f.code, f.outside)
	} else if err == nil {
		err = c.endCall(ctx, row, state, text, "", true)
	}
	if err != nil && ctx.Err() == nil {
		c.o.Log.Error("a2a: call not completed; trying again", "call", row.call, "agent", row.agent, "err", err)
		_ = retry.Sleep(ctx, time.Second) // the next check continues
	}
}

// deliverTask sends the task, unless the agent already has it, and waits for the answer.
func (c *Client) deliverTask(ctx context.Context, row *callRow) (state, text string, err error) {
	conn, err := c.Connect(ctx, row.agent)
	if err != nil {
		return "", "", c.describeError(*row, err, false)
	}
	defer func() { _ = conn.Destroy() }()
	c.publishProgress(*row, "connected", "")
	if row.state == stateNew {
		task, said, err := c.sendTask(ctx, conn, row)
		switch {
		case err != nil:
			return "", "", err
		case task == nil:
			return stateDone, said, nil
		}
		if state, text, err := taskOutcome(*row, task); state != "" || err != nil {
			return state, text, err
		}
	}
	return c.followTask(ctx, conn, *row)
}

// setState records the progress of a call. It fails if the call has ended.
func (c *Client) setState(ctx context.Context, row *callRow, state string) error {
	ended := false
	err := c.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		res, err := tx.Exec(`UPDATE a2a_calls SET state = ?, remote = ?, context = ? WHERE call = ? AND `+openStates, state, row.remote, row.context, row.call)
		if err != nil {
			return fmt.Errorf("a2a: update call: %w", err)
		}
		n, err := res.RowsAffected()
		if err != nil || n > 0 {
			return err
		}
		ended = true // the user stopped the call while it was sent, so its task must be canceled at the agent
		_, err = tx.Exec(`UPDATE a2a_calls SET remote = ?, canceling = 1 WHERE call = ? AND remote = '' AND ? <> ''`, row.remote, row.call, row.remote)
		return err
	})
	if err == nil && ended {
		return context.Canceled
	}
	row.state = state
	return err
}

// sendTask sends the task. The agent answers with a task, or directly with text.
func (c *Client) sendTask(ctx context.Context, conn *Connection, row *callRow) (*a2a.Task, string, error) {
	m := &a2a.Message{ID: row.call, Role: a2a.MessageRoleUser, TaskID: a2a.TaskID(row.remote), ContextID: row.context, Parts: a2a.ContentParts{a2a.NewTextPart(row.task)}}
	if err := c.setState(ctx, row, stateSending); err != nil {
		return nil, "", err
	}
	short, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	r, err := conn.SendMessage(short, &a2a.SendMessageRequest{Message: m, Config: &a2a.SendMessageConfig{ReturnImmediately: true, AcceptedOutputModes: []string{"text/plain"}}})
	if err != nil {
		return nil, "", c.describeError(*row, err, true)
	}
	switch r := r.(type) {
	case *a2a.Message:
		return nil, cutText(partsText(r.Parts)), nil
	case *a2a.Task:
		if r.ID == "" || len(r.ID) > 500 || len(r.ContextID) > 500 {
			return nil, "", unknownOutcome(*row)
		}
		row.remote, row.context = string(r.ID), r.ContextID
		return r, "", c.setState(ctx, row, stateOpen)
	}
	return nil, "", unknownOutcome(*row)
}

// followTask waits for the end of the task at the agent.
func (c *Client) followTask(ctx context.Context, conn *Connection, row callRow) (state, text string, err error) {
	backoff, failures, reads := pollBackoff(), 0, 0
	for {
		short, cancel := context.WithTimeout(ctx, requestTime)
		task, err := conn.GetTask(short, &a2a.GetTaskRequest{ID: a2a.TaskID(row.remote)})
		cancel()
		switch {
		case ctx.Err() != nil:
			return "", "", ctx.Err()
		case err == nil && task != nil:
			failures = 0
			if state, text, err := taskOutcome(row, task); state != "" || err != nil {
				return state, text, err
			}
			c.publishProgress(row, string(task.Status.State), "")
		case errors.Is(err, a2a.ErrTaskNotFound) || errors.Is(err, errUnauthorized):
			return "", "", c.describeError(row, err, false)
		default:
			if failures++; failures >= maxRefusals {
				return "", "", c.describeError(row, err, false)
			}
		}
		if conn.Card.Capabilities.Streaming && failures == 0 {
			c.readStream(ctx, conn, row)
		}
		reads++
		if err := retry.Sleep(ctx, backoff.Delay(reads)); err != nil {
			return "", "", err
		}
	}
}

// readStream reads the events of a task until it has ended or the stream ends. The
// events only show the progress; the answer is read with GetTask.
func (c *Client) readStream(ctx context.Context, conn *Connection, row callRow) {
	ctx, cancel := context.WithTimeout(ctx, streamTime)
	defer cancel()
	n, told := 0, time.Time{}
	for e, err := range conn.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(row.remote)}) {
		if n++; err != nil || n > maxEvents {
			return
		}
		var status a2a.TaskStatus
		switch e := e.(type) {
		case *a2a.TaskStatusUpdateEvent:
			status = e.Status
		case *a2a.Task:
			status = e.Status
		default:
			continue
		}
		note := ""
		if status.Message != nil {
			note = partsText(status.Message.Parts)
		}
		if time.Since(told) >= progressTime {
			told = time.Now()
			c.publishProgress(row, string(status.State), note)
		}
		if status.State.Terminal() || status.State == a2a.TaskStateInputRequired || status.State == a2a.TaskStateAuthRequired {
			return
		}
	}
}

// publishProgress shows the progress of a call. note is the agent's text.
func (c *Client) publishProgress(row callRow, state, note string) {
	d := map[string]any{"tool": toolName, "id": row.call, "agent": row.agent, "state": state}
	if note != "" {
		d["note"] = textnorm.Ellipsize(textnorm.FirstLine(note), 200)
	}
	c.o.Publish("status", row.event, row.session, d)
}

// taskOutcome returns the outcome of a call if its task has ended or needs an answer.
func taskOutcome(row callRow, t *a2a.Task) (state, text string, err error) {
	text = answerText(t)
	fail := func(what string) error {
		if text != "" {
			what += ": " + textnorm.Ellipsize(text, 2000)
		}
		return &failedCall{code: tools.Failed, text: what, outside: true}
	}
	switch t.Status.State {
	case a2a.TaskStateCompleted:
		if text == "" {
			text = "The agent completed the task without an answer."
		}
		return stateDone, text, nil
	case a2a.TaskStateInputRequired:
		return stateInput, "The agent asks (answer with another call of " + toolName + "):\n" + text, nil
	case a2a.TaskStateAuthRequired:
		return "", "", fail("the agent " + row.agent + " requires a sign-in; the user must sign in at the agent, then call the tool again")
	case a2a.TaskStateFailed:
		return "", "", fail("the agent " + row.agent + " failed")
	case a2a.TaskStateRejected:
		return "", "", fail("the agent " + row.agent + " rejected the task")
	case a2a.TaskStateCanceled:
		return "", "", fail("the task was canceled at the agent " + row.agent)
	}
	return "", "", nil
}

// describeError converts an error of the connection. sent is true if the task may have arrived.
func (c *Client) describeError(row callRow, err error, sent bool) error {
	if f, ok := errors.AsType[*failedCall](err); ok {
		return f
	}
	err = bareError(err)
	var protocol *a2a.Error
	network, offline := errors.AsType[*safehttp.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, errUnauthorized):
		return &failedCall{code: tools.Failed, text: fmt.Sprintf("the agent %s rejected the token; the user must check the token of [a2a.agents.%s]", row.agent, row.agent)}
	case errors.Is(err, errRedirect):
		return &failedCall{code: tools.Failed, text: fmt.Sprintf("the agent %s redirects to another address, which Hob does not follow; the user must set the url of [a2a.agents.%s] to the final address", row.agent, row.agent)}
	case offline && (network.Refusal() || !network.Sent):
		return &failedCall{code: tools.Failed, text: fmt.Sprintf("the agent %s cannot be reached: %s", row.agent, network.Error()), outside: true}
	case errors.As(err, &protocol) && !(sent && errors.Is(err, a2a.ErrInternalError)):
		return &failedCall{code: tools.Failed, text: fmt.Sprintf("the agent %s refused: %s", row.agent, textnorm.Ellipsize(protocol.Error(), 1000)), outside: true}
	case sent: // the agent may have accepted the task
		return unknownOutcome(row)
	}
	return &failedCall{code: tools.Failed, text: textnorm.Ellipsize(err.Error(), 1000), outside: true}
}

// cancelRemote cancels a task at the agent. It tries cancelTries times.
func (c *Client) cancelRemote(ctx context.Context, row callRow) {
	backoff := pollBackoff()
	for try := 1; row.remote != "" && try <= cancelTries; try++ {
		err := c.tryCancel(ctx, row)
		if err == nil || errors.Is(err, a2a.ErrTaskNotFound) || errors.Is(err, a2a.ErrTaskNotCancelable) || errors.Is(err, a2a.ErrUnsupportedOperation) {
			break
		}
		c.o.Log.Warn("a2a: cannot cancel the task at the agent", "agent", row.agent, "try", try, "err", err)
		if retry.Sleep(ctx, backoff.Delay(try)) != nil {
			return
		}
	}
	err := c.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE a2a_calls SET canceling = 0 WHERE call = ?`, row.call)
		return err
	})
	if err != nil {
		c.o.Log.Error("a2a: update call", "err", err)
	}
}

func (c *Client) tryCancel(ctx context.Context, row callRow) error {
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	conn, err := c.Connect(ctx, row.agent)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Destroy() }()
	_, err = conn.CancelTask(ctx, &a2a.CancelTaskRequest{ID: a2a.TaskID(row.remote)})
	return err
}
