package a2aserver

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"hob/autonomy/api"
	"hob/channels"
)

// requests implements a2asrv.RequestHandler for both bindings.
type requests struct{ s *Server }

// GetTask implements a2asrv.RequestHandler.
func (q requests) GetTask(ctx context.Context, r *a2a.GetTaskRequest) (*a2a.Task, error) {
	t, err := q.s.ownTask(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	if r.HistoryLength != nil && *r.HistoryLength < 0 {
		return nil, a2a.NewError(a2a.ErrInvalidParams, "historyLength must not be negative")
	}
	return q.s.taskOrError(q.s.renderTask(ctx, t, r.HistoryLength, true))
}

// ownTask returns a task of the calling client.
func (s *Server) ownTask(ctx context.Context, id a2a.TaskID) (taskRow, error) {
	c, err := callerOf(ctx)
	if err != nil {
		return taskRow{}, err
	}
	if id == "" {
		return taskRow{}, a2a.NewError(a2a.ErrInvalidParams, "the id of the task is missing")
	}
	t, err := s.loadTask(ctx, c.id, string(id))
	if err != nil && !errors.Is(err, a2a.ErrTaskNotFound) {
		return t, s.hideError(err)
	}
	return t, err
}

// hideError logs an error and returns one that reveals nothing to the client.
func (s *Server) hideError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.o.Log.Error("a2a: request failed", "err", err)
	return a2a.NewError(a2a.ErrInternalError, "the request failed; try again later")
}

func (s *Server) taskOrError(t *a2a.Task, err error) (*a2a.Task, error) {
	if err != nil {
		return nil, s.hideError(err)
	}
	return t, nil
}

// The page size of ListTasks (specification, section 3.1.4).
const (
	standardPage = 50
	maxPage      = 100
)

func taskStates() []a2a.TaskState {
	return []a2a.TaskState{
		a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired, a2a.TaskStateCompleted, a2a.TaskStateCanceled, a2a.TaskStateFailed, a2a.TaskStateRejected,
	}
}

// ListTasks implements a2asrv.RequestHandler. The tasks are ordered by their last change, newest
// first.
func (q requests) ListTasks(ctx context.Context, r *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	c, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	size := r.PageSize
	if size == 0 {
		size = standardPage
	}
	if size < 1 || size > maxPage || r.HistoryLength != nil && *r.HistoryLength < 0 {
		return nil, a2a.NewError(a2a.ErrInvalidParams, "pageSize must be from 1 to 100, and historyLength must not be negative")
	}
	if r.Status != a2a.TaskStateUnspecified && !slices.Contains(taskStates(), r.Status) {
		return nil, a2a.NewError(a2a.ErrInvalidParams, "status must be the name of a state, such as TASK_STATE_WORKING")
	}
	list, err := q.s.selectTasks(ctx, `client = ?1 AND (?2 = '' OR context = ?2) ORDER BY updated_at DESC, id DESC LIMIT ?3`, c.id, r.ContextID, maxKept+maxOpen)
	if err != nil {
		return nil, q.s.hideError(err)
	}
	out := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, PageSize: size}
	begun, length := r.PageToken == "", 0
	for _, t := range list {
		isListed := begun
		begun = begun || t.id == r.PageToken
		if r.StatusTimestampAfter != nil && t.updated.Before(*r.StatusTimestampAfter) {
			continue
		}
		if r.Status != a2a.TaskStateUnspecified {
			state, err := q.s.currentState(ctx, t)
			if err != nil {
				return nil, q.s.hideError(err)
			}
			if state != r.Status {
				continue
			}
		}
		out.TotalSize++
		switch {
		case !isListed || out.NextPageToken != "":
			continue
		case len(out.Tasks) == size || length > maxListed:
			out.NextPageToken = string(out.Tasks[len(out.Tasks)-1].ID)
			continue
		}
		task, err := q.s.renderListed(ctx, t, r)
		if err != nil {
			return nil, q.s.hideError(err)
		}
		out.Tasks = append(out.Tasks, task)
		length += textLength(task)
	}
	if !begun {
		return nil, a2a.NewError(a2a.ErrInvalidParams, "the pageToken is not valid; begin without one")
	}
	return out, nil
}

// renderListed returns a task for a page of ListTasks.
func (s *Server) renderListed(ctx context.Context, t taskRow, r *a2a.ListTasksRequest) (*a2a.Task, error) {
	t, err := s.withMessages(ctx, t)
	if err != nil {
		return nil, err
	}
	return s.renderTask(ctx, t, r.HistoryLength, r.IncludeArtifacts)
}

// CancelTask implements a2asrv.RequestHandler.
func (q requests) CancelTask(ctx context.Context, r *a2a.CancelTaskRequest) (*a2a.Task, error) {
	t, err := q.s.ownTask(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	task, err := q.s.renderTask(ctx, t, nil, true)
	if err != nil {
		return nil, q.s.hideError(err)
	}
	if task.Status.State.Terminal() {
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, "the task has ended")
	}
	if err := q.s.cancelTask(context.WithoutCancel(ctx), t); err != nil {
		return nil, q.s.hideError(err)
	}
	return q.GetTask(ctx, &a2a.GetTaskRequest{ID: r.ID})
}

// SendMessage implements a2asrv.RequestHandler.
func (q requests) SendMessage(ctx context.Context, r *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	t, err := q.s.acceptMessage(ctx, r)
	if err != nil {
		return nil, err
	}
	var history *int
	if r.Config != nil {
		history = r.Config.HistoryLength
	}
	if r.Config == nil || !r.Config.ReturnImmediately {
		if err := q.s.awaitTask(ctx, t); err != nil {
			return nil, err
		}
		if t, err = q.s.loadTask(ctx, t.client, t.id); err != nil {
			return nil, q.s.hideError(err)
		}
	}
	return q.s.taskOrError(q.s.renderTask(ctx, t, history, true))
}

// awaitTask waits for at most blockTime until a task has ended, or until its client or the user
// must answer.
func (s *Server) awaitTask(ctx context.Context, t taskRow) error {
	end, err := s.beginCall(t.client)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, blockTime)
	defer cancel()
	_, err = s.o.Engine.Wait(ctx, t.messages[len(t.messages)-1].event)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, api.ErrNotFound) {
		return s.hideError(err)
	}
	return nil
}

// beginCall counts a call that waits for a task.
func (s *Server) beginCall(client string) (end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[client] >= maxCalls {
		return nil, a2a.NewError(a2a.ErrServerError, "too many calls of this client are waiting; end some, or send with returnImmediately")
	}
	s.calls[client]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.calls[client]--; s.calls[client] == 0 {
			delete(s.calls, client)
		}
	}, nil
}

// SendStreamingMessage implements a2asrv.RequestHandler.
func (q requests) SendStreamingMessage(ctx context.Context, r *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t, err := q.s.acceptMessage(ctx, r)
		if err != nil {
			yield(nil, err)
			return
		}
		first := &a2a.Task{ID: a2a.TaskID(t.id), ContextID: t.context, Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: &t.updated}}
		for _, m := range t.messages {
			first.History = append(first.History, m.message)
		}
		if yield(first, nil) {
			q.s.streamTask(ctx, t, first, yield)
		}
	}
}

// SubscribeToTask implements a2asrv.RequestHandler.
func (q requests) SubscribeToTask(ctx context.Context, r *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t, err := q.s.ownTask(ctx, r.ID)
		if err != nil {
			yield(nil, err)
			return
		}
		first, err := q.s.renderTask(ctx, t, nil, true)
		switch {
		case err != nil:
			yield(nil, q.s.hideError(err))
		case first.Status.State.Terminal():
			yield(nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended; read it with GetTask"))
		case yield(first, nil):
			q.s.streamTask(ctx, t, first, yield)
		}
	}
}

// streamTask streams the changes of a task until it has ended or waits for its client. The answer
// is sent as a whole, because Hob checks it only at the end of the turn.
func (s *Server) streamTask(ctx context.Context, t taskRow, shown *a2a.Task, yield func(a2a.Event, error) bool) {
	end, err := s.beginCall(t.client)
	if err != nil {
		yield(nil, err)
		return
	}
	defer end()
	checked := time.Now()
	for !isSettled(shown.Status.State) {
		if err := s.awaitChange(ctx, t); err != nil {
			yield(nil, err)
			return
		}
		if time.Since(checked) > recheckTime {
			checked = time.Now()
			if c, err := callerOf(ctx); err == nil {
				_, err = s.o.Engine.AuthenticateClient(ctx, Channel, c.token)
				if err != nil {
					yield(nil, a2a.ErrUnauthenticated)
					return
				}
			}
		}
		if t, err = s.loadTask(ctx, t.client, t.id); err != nil {
			yield(nil, s.hideError(err))
			return
		}
		now, err := s.renderTask(ctx, t, nil, true)
		if err != nil {
			yield(nil, s.hideError(err))
			return
		}
		if now.Status.State == shown.Status.State {
			continue
		}
		for _, a := range now.Artifacts {
			if !slices.ContainsFunc(shown.Artifacts, func(b *a2a.Artifact) bool { return b.ID == a.ID }) &&
				!yield(&a2a.TaskArtifactUpdateEvent{TaskID: now.ID, ContextID: now.ContextID, Artifact: a, LastChunk: true}, nil) {
				return
			}
		}
		if !yield(&a2a.TaskStatusUpdateEvent{TaskID: now.ID, ContextID: now.ContextID, Status: now.Status}, nil) {
			return
		}
		shown = now
	}
}

// awaitChange waits until the last event of a task has ended, but only for a short time.
func (s *Server) awaitChange(ctx context.Context, t taskRow) error {
	began := time.Now()
	short, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()
	st, err := s.o.Engine.Wait(short, t.messages[len(t.messages)-1].event)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && st.State != "done" && st.State != "dead" { // the user is asked
		select {
		case <-time.After(max(0, pollTime-time.Since(began))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, api.ErrNotFound) {
		return s.hideError(err)
	}
	return nil
}

// GetExtendedAgentCard implements a2asrv.RequestHandler. There is only the public card.
func (q requests) GetExtendedAgentCard(ctx context.Context, _ *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	if _, err := callerOf(ctx); err != nil {
		return nil, err
	}
	return nil, a2a.ErrExtendedCardNotConfigured
}

// acceptMessage puts a message into the inbox and returns its task. A repeated message returns the
// task of the first one.
func (s *Server) acceptMessage(ctx context.Context, r *a2a.SendMessageRequest) (taskRow, error) {
	c, err := callerOf(ctx)
	if err != nil {
		return taskRow{}, err
	}
	in, err := newInbound(c, r)
	if err != nil {
		return taskRow{}, err
	}
	m, before := r.Message, taskRow{context: r.Message.ContextID}
	if m.TaskID != "" {
		if before, err = s.continuedTask(ctx, m); err != nil {
			return taskRow{}, err
		}
	}
	if before.context == "" {
		before.context = a2a.NewContextID()
	}
	var push *pushConfig
	if r.Config != nil && r.Config.PushConfig != nil {
		if push, err = s.newPushConfig(c, r.Config.PushConfig); err != nil {
			return taskRow{}, err
		}
	}
	if n, err := s.countOpen(ctx, c.id); err != nil {
		return taskRow{}, s.hideError(err)
	} else if n >= maxOpen && before.id == "" {
		return taskRow{}, a2a.NewError(a2a.ErrServerError, "too many open tasks; wait until some have ended, or cancel some")
	}
	in.Session = Channel + ":" + c.name + ":" + c.id + ":" + before.context
	acc, err := s.o.Engine.Receive(ctx, in)
	switch {
	case errors.Is(err, channels.ErrStranger):
		return taskRow{}, a2a.NewError(a2a.ErrServerError, "too many messages in an hour; try again later")
	case errors.Is(err, api.ErrInvalid):
		return taskRow{}, a2a.NewError(a2a.ErrInvalidParams, "the message is empty or not valid text")
	case err != nil:
		return taskRow{}, s.hideError(err)
	case acc.Differs:
		return taskRow{}, a2a.NewError(a2a.ErrInvalidParams, "this messageId was already used for another message; use a new one")
	}
	if acc.Repeated {
		if t, err := s.taskOfEvent(ctx, c.id, acc.Event); !errors.Is(err, a2a.ErrTaskNotFound) {
			return t, err
		}
	}
	id := before.id
	if id == "" {
		id = acc.Event
	}
	if err := s.addMessage(context.WithoutCancel(ctx), c.id, before.context, id, acc.Event, storedMessage(m), push); err != nil {
		return taskRow{}, s.hideError(err)
	}
	s.signalWake()
	t, err := s.loadTask(ctx, c.id, id)
	if err != nil {
		return t, s.hideError(err)
	}
	return t, nil
}

// continuedTask returns the open task to which a message belongs.
func (s *Server) continuedTask(ctx context.Context, m *a2a.Message) (taskRow, error) {
	t, err := s.ownTask(ctx, m.TaskID)
	if err != nil {
		return t, err
	}
	if m.ContextID != "" && m.ContextID != t.context {
		return t, a2a.NewError(a2a.ErrInvalidParams, "the task belongs to another context; leave contextId out")
	}
	task, err := s.renderTask(ctx, t, nil, false)
	if err != nil {
		return t, s.hideError(err)
	}
	if task.Status.State.Terminal() {
		return t, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended; send the message without taskId")
	}
	if len(t.messages) >= maxMessages {
		return t, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has too many messages; send the message without taskId")
	}
	return t, nil
}
