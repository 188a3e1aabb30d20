package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/platform/retry"
	"hob/platform/store"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Run follows the open tasks until ctx ends: it stores the state of each ended task, sends push
// notifications, stops the events of canceled tasks, and removes the tasks of clients whose token is
// no longer valid. After a restart it continues.
func (s *Server) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	var mu sync.Mutex
	followed := map[string]bool{}
	for {
		err := s.dropInvalidClients(ctx)
		open, selectErr := s.selectTasks(ctx, `state = '' OR stopping = 1`)
		if err = errors.Join(err, selectErr); err != nil && ctx.Err() == nil {
			s.o.Log.Error("a2a: cannot follow all tasks", "err", err)
		}
		for _, t := range open {
			mu.Lock()
			known := followed[t.id]
			followed[t.id] = true
			mu.Unlock()
			if known {
				continue
			}
			wg.Go(func() {
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					delete(followed, t.id)
				}()
				s.followTask(ctx, t)
			})
		}
		// While a task is open, the next check does not depend on a signal, because a signal may
		// arrive while the task is still followed.
		wait := recheckTime
		if err == nil && len(open) == 0 {
			wait = idleTime
		}
		if retry.Wait(ctx, wait, s.wake) != nil {
			return nil
		}
	}
}

func (s *Server) signalWake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// followTask follows a task until it is settled.
func (s *Server) followTask(ctx context.Context, t taskRow) {
	backoff := retry.Backoff{First: time.Second, Max: time.Minute}
	for failures := 0; ctx.Err() == nil; {
		settled, err := s.followOnce(ctx, t.client, t.id)
		switch {
		case errors.Is(err, a2a.ErrTaskNotFound) || settled && err == nil:
			return
		case err == nil:
			failures = 0
			continue
		case ctx.Err() == nil:
			s.o.Log.Warn("a2a: cannot follow a task", "task", t.id, "err", err)
		}
		failures++
		_ = retry.Sleep(ctx, backoff.Delay(failures)) // the loop checks ctx
	}
}

// followOnce waits for a change of a task and handles it.
func (s *Server) followOnce(ctx context.Context, client, id string) (settled bool, err error) {
	t, err := s.loadTask(ctx, client, id)
	if err != nil {
		return false, err
	}
	if t.stopping {
		if err := s.stopEvents(ctx, t); err != nil {
			return false, err
		}
	}
	task, err := s.renderTask(ctx, t, nil, true)
	if err != nil {
		return false, err
	}
	if isSettled(task.Status.State) && t.state == a2a.TaskStateUnspecified {
		if err := s.endTask(ctx, id, t.messages[len(t.messages)-1].event, task.Status.State); err != nil {
			return false, err
		}
	}
	if valid, err := s.o.Engine.IsClientValid(ctx, Channel, t.client); err != nil || !valid { // dropInvalidClients ends the task
		return err == nil, err
	}
	if task.Status.State != t.pushed {
		if err := s.pushTask(ctx, task); err != nil {
			return false, err
		}
	}
	if isSettled(task.Status.State) {
		return true, nil
	}
	st, err := s.o.Engine.Wait(ctx, t.messages[len(t.messages)-1].event)
	if errors.Is(err, api.ErrNotFound) {
		return false, nil
	}
	if err == nil && st.State != "done" && st.State != "dead" { // the user is asked
		err = retry.Wait(ctx, askedTime, nil)
	}
	return false, err
}

// cancelTask cancels a task durably.
func (s *Server) cancelTask(ctx context.Context, t taskRow) error {
	err := s.o.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE a2a_tasks SET state = ?, stopping = 1, updated_at = ? WHERE id = ? AND state IN ('', ?)`,
			string(a2a.TaskStateCanceled), time.Now().UnixMilli(), t.id, string(a2a.TaskStateInputRequired))
		return err
	})
	if err != nil {
		return err
	}
	defer s.signalWake() // send the push notification
	return s.stopEvents(ctx, t)
}

// dropInvalidClients cancels the open tasks of clients that were revoked or have expired, and
// deletes their ended tasks and all their addresses for push notifications.
func (s *Server) dropInvalidClients(ctx context.Context) error {
	rows, err := s.o.Store.Read().QueryContext(ctx, `SELECT DISTINCT client FROM a2a_tasks`)
	if err != nil {
		return fmt.Errorf("a2a: list clients: %w", err)
	}
	defer rows.Close()
	var clients []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return fmt.Errorf("a2a: list clients: %w", err)
		}
		clients = append(clients, id)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("a2a: list clients: %w", err)
	}
	for _, id := range clients {
		if valid, err := s.o.Engine.IsClientValid(ctx, Channel, id); err != nil {
			return err
		} else if !valid {
			if err := s.dropClient(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropClient removes the data of a client. A task whose events have not ended yet is removed at the
// next call.
func (s *Server) dropClient(ctx context.Context, client string) error {
	err := s.o.Store.Write(ctx, func(tx *store.Tx) error {
		for _, q := range []string{
			`DELETE FROM a2a_push WHERE task IN (SELECT id FROM a2a_tasks WHERE client = ?)`,
			`DELETE FROM a2a_messages WHERE task IN (SELECT id FROM a2a_tasks WHERE client = ? AND state <> '' AND stopping = 0)`,
			`DELETE FROM a2a_tasks WHERE client = ? AND state <> '' AND stopping = 0`,
		} {
			if _, err := tx.Exec(q, client); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("a2a: remove a client: %w", err)
	}
	open, err := s.selectTasks(ctx, `client = ?`, client)
	if err != nil {
		return err
	}
	for _, t := range open {
		if t, err = s.withMessages(ctx, t); err == nil {
			err = s.cancelTask(ctx, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stopEvents stops the events of a canceled task. Until all of them have ended, Run calls it again,
// also after a crash.
func (s *Server) stopEvents(ctx context.Context, t taskRow) error {
	for _, m := range t.messages {
		if _, err := s.o.Engine.CancelEvent(ctx, m.event); err != nil && !errors.Is(err, api.ErrNotFound) {
			return err
		}
		st, err := s.o.Engine.Event(ctx, m.event)
		if err != nil && !errors.Is(err, api.ErrNotFound) {
			return err
		}
		if err == nil && st.State != "done" && st.State != "dead" {
			return nil
		}
	}
	return s.o.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE a2a_tasks SET stopping = 0 WHERE id = ?`, t.id)
		return err
	})
}
