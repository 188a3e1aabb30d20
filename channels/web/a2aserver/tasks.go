package a2aserver

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"hob/autonomy/api"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// Migrations returns the package's tables. The column state is empty while the task is open, and
// stopping is 1 until the events of a canceled task have ended. In a2a_messages, message is a
// message from the client, and event is the id of the event that answers it.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "a2aserver", Steps: []string{`
CREATE TABLE a2a_tasks (
	id TEXT PRIMARY KEY, client TEXT NOT NULL, context TEXT NOT NULL, state TEXT NOT NULL DEFAULT '', stopping INTEGER NOT NULL DEFAULT 0,
	pushed TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX a2a_tasks_client ON a2a_tasks(client, updated_at);
CREATE INDEX a2a_tasks_open ON a2a_tasks(client) WHERE state = '';
CREATE TABLE a2a_messages (
	event TEXT PRIMARY KEY, task TEXT NOT NULL, message TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX a2a_messages_task ON a2a_messages(task, event);
CREATE TABLE a2a_push (
	task TEXT NOT NULL, id TEXT NOT NULL, url TEXT NOT NULL, token TEXT NOT NULL, scheme TEXT NOT NULL, credentials TEXT NOT NULL, key TEXT NOT NULL,
	PRIMARY KEY (task, id)) WITHOUT ROWID;
`}}
}

// Eraser returns the eraser for the messages of clients.
func Eraser() erase.Eraser {
	return erase.Owned{
		List:    []erase.Table{{Name: "a2a_messages", Key: []string{"event"}, Text: []string{"message"}, Event: "event"}},
		Besides: []string{"a2a_tasks", "a2a_push"}, // ids, states and addresses that a client chose
	}
}

// taskRow is a task with its messages, oldest first.
type taskRow struct {
	id, client, context string
	state               a2a.TaskState // unspecified while the task is open
	stopping            bool
	pushed              a2a.TaskState // state in the last push notification
	updated             time.Time
	messages            []taskMessage
}

// taskMessage is a message of the client and the event that answers it.
type taskMessage struct {
	event   string
	message *a2a.Message
}

const taskColumns = `id, client, context, state, stopping, pushed, updated_at`

func scanTask(r interface{ Scan(...any) error }) (t taskRow, err error) {
	var updated int64
	err = r.Scan(&t.id, &t.client, &t.context, &t.state, &t.stopping, &t.pushed, &updated)
	t.updated = store.Time(updated)
	return t, err
}

// loadTask returns a task of a client. It returns a2a.ErrTaskNotFound for the task of another client.
func (s *Server) loadTask(ctx context.Context, client, id string) (taskRow, error) {
	t, err := scanTask(s.o.Store.Read().QueryRowContext(ctx, `SELECT `+taskColumns+` FROM a2a_tasks WHERE id = ? AND client = ?`, id, client))
	if errors.Is(err, sql.ErrNoRows) {
		return t, a2a.ErrTaskNotFound
	}
	if err != nil {
		return t, fmt.Errorf("a2a: read task: %w", err)
	}
	return s.withMessages(ctx, t)
}

// taskOfEvent returns the task of an event.
func (s *Server) taskOfEvent(ctx context.Context, client, event string) (taskRow, error) {
	var id string
	err := s.o.Store.Read().QueryRowContext(ctx, `SELECT task FROM a2a_messages WHERE event = ?`, event).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return taskRow{}, a2a.ErrTaskNotFound
	}
	if err != nil {
		return taskRow{}, fmt.Errorf("a2a: read task: %w", err)
	}
	return s.loadTask(ctx, client, id)
}

func (s *Server) withMessages(ctx context.Context, t taskRow) (taskRow, error) {
	rows, err := s.o.Store.Read().QueryContext(ctx, `SELECT event, message FROM a2a_messages WHERE task = ? ORDER BY event`, t.id)
	if err != nil {
		return t, fmt.Errorf("a2a: read messages: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var m taskMessage
		var raw string
		if err := rows.Scan(&m.event, &raw); err != nil {
			return t, fmt.Errorf("a2a: read messages: %w", err)
		}
		if json.Unmarshal([]byte(raw), &m.message) != nil { // the text was erased
			m.message = &a2a.Message{ID: m.event, Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(erase.Mark)}}
		}
		m.message.TaskID, m.message.ContextID = a2a.TaskID(t.id), t.context
		t.messages = append(t.messages, m)
	}
	return t, rows.Err()
}

// selectTasks returns the tasks that match a condition, without their messages.
func (s *Server) selectTasks(ctx context.Context, where string, args ...any) (out []taskRow, err error) {
	rows, err := s.o.Store.Read().QueryContext(ctx, `SELECT `+taskColumns+` FROM a2a_tasks WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("a2a: list tasks: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		t, err := scanTask(rows)
		if err != nil {
			return nil, fmt.Errorf("a2a: list tasks: %w", err)
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

// countOpen returns the number of a client's open tasks.
func (s *Server) countOpen(ctx context.Context, client string) (n int, err error) {
	err = s.o.Store.Read().QueryRowContext(ctx, `SELECT count(*) FROM a2a_tasks WHERE client = ? AND state = ''`, client).Scan(&n)
	return n, err
}

// addMessage stores a message of the client and its event. The task becomes open. A new task has
// the id of its first event.
func (s *Server) addMessage(ctx context.Context, client, context, task, event string, m *a2a.Message, push *pushConfig) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("a2a: encode message: %w", err)
	}
	now := time.Now().UnixMilli()
	return s.o.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO a2a_tasks (id, client, context, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?4)
			ON CONFLICT (id) DO UPDATE SET state = '', updated_at = excluded.updated_at`, task, client, context, now)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO a2a_messages (event, task, message) VALUES (?,?,?) ON CONFLICT (event) DO NOTHING`, event, task, string(raw)); err != nil {
			return err
		}
		if push != nil {
			push.task = task
			if err := push.insertTx(tx); err != nil {
				return err
			}
		}
		return pruneTasks(tx, client)
	})
}

// pruneTasks deletes the oldest ended tasks of a client.
func pruneTasks(tx *store.Tx, client string) error {
	var last string
	err := tx.QueryRow(`SELECT id FROM a2a_tasks WHERE client = ? AND state <> '' ORDER BY updated_at DESC, id DESC LIMIT 1 OFFSET ?`, client, maxKept).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, q := range []string{`DELETE FROM a2a_messages WHERE task = ?`, `DELETE FROM a2a_push WHERE task = ?`, `DELETE FROM a2a_tasks WHERE id = ?`} {
		if _, err := tx.Exec(q, last); err != nil {
			return err
		}
	}
	return nil
}

// endTask stores the state of a task that has ended or that waits for its client. It does not
// change a canceled task, or a task that received another message after the event last.
func (s *Server) endTask(ctx context.Context, id, last string, state a2a.TaskState) error {
	return s.o.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE a2a_tasks SET state = ?, updated_at = ? WHERE id = ? AND state = '' AND (SELECT max(event) FROM a2a_messages WHERE task = a2a_tasks.id) = ?`,
			string(state), time.Now().UnixMilli(), id, last)
		return err
	})
}

// currentState returns the state of a task without loading its messages.
func (s *Server) currentState(ctx context.Context, t taskRow) (a2a.TaskState, error) {
	if t.state != a2a.TaskStateUnspecified {
		return t.state, nil
	}
	var last string
	if err := s.o.Store.Read().QueryRowContext(ctx, `SELECT coalesce(max(event), '') FROM a2a_messages WHERE task = ?`, t.id).Scan(&last); err != nil {
		return "", fmt.Errorf("a2a: read task: %w", err)
	}
	st, err := s.o.Engine.Event(ctx, last)
	if errors.Is(err, api.ErrNotFound) { // erased
		return a2a.TaskStateFailed, nil
	}
	return stateOf(st), err
}

// textLength returns the bytes of text in a task, approximately.
func textLength(t *a2a.Task) (n int) {
	for _, m := range t.History {
		for _, p := range m.Parts {
			text, img, _ := partContent(p) // a part that cannot be shown has no length
			n += len(text)
			if img != nil {
				n += len(img.Data)
			}
		}
	}
	return n
}

// isSettled reports whether a task in this state changes only when its client sends a message.
func isSettled(state a2a.TaskState) bool {
	return state.Terminal() || state == a2a.TaskStateInputRequired
}

// renderTask returns a task as its client sees it. history is the maximum number of messages in the
// history; nil means all.
func (s *Server) renderTask(ctx context.Context, t taskRow, history *int, artifacts bool) (*a2a.Task, error) {
	out := &a2a.Task{ID: a2a.TaskID(t.id), ContextID: t.context, Status: a2a.TaskStatus{State: t.state, Timestamp: &t.updated}}
	var question string
	for i, m := range t.messages {
		out.History = append(out.History, m.message)
		st, err := s.o.Engine.Event(ctx, m.event)
		if errors.Is(err, api.ErrNotFound) { // erased
			st, err = api.EventStatus{ID: m.event, State: "dead"}, nil
		}
		if err != nil {
			return nil, err
		}
		last := i == len(t.messages)-1
		if last && t.state == a2a.TaskStateUnspecified {
			out.Status.State = stateOf(st)
		}
		if st.State != "done" || st.Answer == "" || last && out.Status.State == a2a.TaskStateCanceled {
			continue
		}
		answer := &a2a.Message{ID: m.event + "-answer", Role: a2a.MessageRoleAgent, TaskID: out.ID, ContextID: t.context, Parts: a2a.ContentParts{a2a.NewTextPart(st.Answer)}}
		if last && out.Status.State == a2a.TaskStateInputRequired {
			question, out.Status.Message = st.Answer, answer
			continue
		}
		out.History = append(out.History, answer)
		if artifacts {
			out.Artifacts = append(out.Artifacts, &a2a.Artifact{ID: a2a.ArtifactID(m.event), Name: "answer", Parts: answer.Parts})
		}
	}
	if text := statusText(out.Status.State); text != "" && question == "" {
		out.Status.Message = &a2a.Message{ID: t.id + "-status", Role: a2a.MessageRoleAgent, TaskID: out.ID, ContextID: t.context, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
	}
	if history != nil {
		out.History = out.History[max(0, len(out.History)-max(0, *history)):]
	}
	return out, nil
}

// stateOf returns the state of a task whose last event has the given status. While an approval
// request is pending, the task is working, so that the client learns nothing about the request.
func stateOf(st api.EventStatus) a2a.TaskState {
	switch {
	case st.State == "dead":
		return a2a.TaskStateFailed
	case st.State == "done" && isQuestion(st.Answer):
		return a2a.TaskStateInputRequired
	case st.State == "done":
		return a2a.TaskStateCompleted
	case st.State == "pending" && st.Position > 0:
		return a2a.TaskStateSubmitted
	}
	return a2a.TaskStateWorking
}

// isQuestion reports whether an answer asks the client something: its last line ends with a
// question mark.
func isQuestion(answer string) bool {
	answer = strings.TrimRight(strings.TrimSpace(answer), "*_`\"')")
	return strings.HasSuffix(answer, "?") || strings.HasSuffix(answer, "？")
}

func statusText(state a2a.TaskState) string {
	switch state {
	case a2a.TaskStateFailed:
		return "The task failed. Send the message again later."
	case a2a.TaskStateCanceled:
		return "The task was canceled."
	}
	return ""
}
