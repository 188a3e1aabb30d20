package a2aserver

import (
	"context"
	"errors"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/platform/retry"
	"hob/platform/store"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Run follows the open tasks until ctx ends: it stores the state of each ended task, sends push
// notifications, and stops the events of canceled tasks. After a restart it continues.
func (s *Server) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	var mu sync.Mutex
	followed := map[string]bool{}
	for {
		open, err := s.selectTasks(ctx, `state = '' OR stopping = 1`)
		if err != nil && ctx.Err() == nil {
			s.o.Log.Error("a2a: cannot read the open tasks", "err", err)
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
		// The next look does not depend on a signal, because a signal may arrive while a task is
		// still followed.
		if retry.Wait(ctx, recheckTime, s.wake) != nil {
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
	defer s.signalWake() // for the push notification
	return s.stopEvents(ctx, t)
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
