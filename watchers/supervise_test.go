package watchers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/platform/store"
	"hob/watchers"
)

type fireFunc = func(context.Context, []watchers.Signal, func(*store.Tx) error) error

func commitNothing(*store.Tx) error { return nil }

func newSignals(key string) []watchers.Signal {
	return []watchers.Signal{{Key: key, Text: key, Payload: json.RawMessage(`{}`), Source: "outside", At: time.Now()}}
}

func TestSupervision(t *testing.T) {
	disk := errors.New("disk on fire")
	for _, c := range []struct {
		name     string
		live     func(ctx context.Context, n int) error
		for_     time.Duration
		lives    [2]int // minimum and maximum number of runs
		troubles int
		state    watchers.State
		lastErr  string
	}{
		{
			"works", func(ctx context.Context, _ int) error { <-ctx.Done(); return nil },
			time.Hour,
			[2]int{1, 1},
			0, watchers.Active, "",
		},
		{
			"fails again and again", func(context.Context, int) error { return disk },
			time.Hour,
			[2]int{15, 45},
			1, watchers.Active, "disk on fire",
		},
		{
			"fails and recovers", func(ctx context.Context, n int) error {
				if n < 3 {
					return disk
				}
				<-ctx.Done()
				return nil
			},
			time.Hour,
			[2]int{3, 3},
			1, watchers.Active, "",
		},
		{
			"fails, recovers and fails", func(ctx context.Context, _ int) error {
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(20 * time.Minute):
					return disk
				}
			},
			time.Hour,
			[2]int{3, 3},
			2, watchers.Active, "",
		},
		{
			"two kinds of errors", func(_ context.Context, n int) error {
				if n%2 == 0 {
					return disk
				}
				return fmt.Errorf("again: %w", errors.New("no power"))
			},
			time.Hour,
			[2]int{15, 45},
			2, watchers.Active, "disk on fire",
		},
		{
			"permanent", func(context.Context, int) error { return fmt.Errorf("%w: no such place", watchers.ErrPermanent) },
			time.Hour,
			[2]int{1, 1},
			1, watchers.Broken, "no such place",
		},
		{
			"panics", func(context.Context, int) error { panic("oops") },
			time.Minute,
			[2]int{3, 12},
			1, watchers.Active, "crashed: oops",
		},
		{
			"stops without an error", func(context.Context, int) error { return nil },
			time.Minute,
			[2]int{3, 12},
			1, watchers.Active, "stopped without an error",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &scriptedKind{live: func(ctx context.Context, n int, _ watchers.Deps, _ fireFunc) error { return c.live(ctx, n) }}
				h := newFixture(t, d)
				h.startManager()
				s := h.createWatcher("scripted", `{}`)
				time.Sleep(c.for_ + time.Second)
				synctest.Wait()
				if n := d.countRuns(); n < c.lives[0] || n > c.lives[1] {
					t.Errorf("%d lives, want %v", n, c.lives)
				}
				if n := len(h.sink.Troubles()); n != c.troubles {
					t.Errorf("reported %d times, want %d: %v", n, c.troubles, h.sink.Troubles())
				}
				got := h.getSpec(s.ID)
				if got.State != c.state || (c.lastErr == "") != (got.LastError == "") && c.troubles < 2 || !strings.Contains(got.LastError, c.lastErr) && c.troubles < 2 {
					t.Errorf("state %s, error %q", got.State, got.LastError)
				}
				h.stop()
			})
		})
	}
}

func TestSupervise_ResumesBrokenWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scriptedKind{live: func(ctx context.Context, n int, _ watchers.Deps, _ fireFunc) error {
			if n == 1 {
				return watchers.ErrPermanent
			}
			<-ctx.Done()
			return nil
		}}
		h := newFixture(t, d)
		h.startManager()
		s := h.createWatcher("scripted", `{}`)
		synctest.Wait()
		h.stop()
		h.startManager() // a restart does not retry it
		time.Sleep(time.Hour)
		synctest.Wait()
		if d.countRuns() != 1 {
			t.Fatalf("%d lives", d.countRuns())
		}
		failOnError(t, h.writeTx(func(tx *store.Tx) error { _, err := h.m.SetStateTx(tx, s.ID, watchers.Active); return err }))
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := h.getSpec(s.ID); d.countRuns() != 2 || got.State != watchers.Active || got.LastError != "" {
			t.Errorf("%d lives, %+v", d.countRuns(), got)
		}
		h.stop()
	})
}

func TestSupervise_NewFailsAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scriptedKind{live: func(ctx context.Context, _ int, _ watchers.Deps, _ fireFunc) error { <-ctx.Done(); return nil }}
		h := newFixture(t, d)
		later, never := h.createWatcher("scripted", `{}`), h.createWatcher("scripted", `{}`)
		begin := time.Now()
		d.check = func(s watchers.Spec) error {
			switch {
			case s.ID == never.ID:
				return watchers.ErrPermanent
			case time.Since(begin) < time.Minute:
				return errors.New("not allowed now")
			}
			return nil
		}
		h.startManager()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := h.getSpec(later.ID); got.State != watchers.Active || got.LastError != "" || d.countRuns() != 1 {
			t.Errorf("%+v, %d lives", got, d.countRuns())
		}
		if got := h.getSpec(never.ID); got.State != watchers.Broken {
			t.Errorf("%+v", got)
		}
		h.stop()
	})
}

func TestSupervise_PartialError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scriptedKind{live: func(ctx context.Context, _ int, deps watchers.Deps, _ fireFunc) error {
			for range 3 {
				deps.Trouble(ctx, "w", errors.New("cannot look into it"))
			}
			<-ctx.Done()
			return nil
		}}
		h := newFixture(t, d)
		h.startManager()
		s := h.createWatcher("scripted", `{}`, func(s *watchers.Spec) { s.ID = "w" })
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := h.getSpec(s.ID); got.LastError != "cannot look into it" || len(h.sink.Troubles()) != 1 {
			t.Errorf("%+v, reported %d times", got, len(h.sink.Troubles()))
		}
		h.stop()
		h.startManager() // the user was already notified
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(h.sink.Troubles()) != 1 {
			t.Errorf("reported %d times", len(h.sink.Troubles()))
		}
		h.stop()
	})
}

// Signals of a watcher that is being canceled are dropped.
func TestFire_DuringCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan struct{})
		var fired, saved error
		d := &scriptedKind{live: func(ctx context.Context, _ int, _ watchers.Deps, fire fireFunc) error {
			<-cancelled
			saved = fire(context.WithoutCancel(ctx), nil, commitNothing)
			fired = fire(context.WithoutCancel(ctx), newSignals("late"), commitNothing)
			return fired
		}}
		h := newFixture(t, d)
		h.startManager()
		s := h.createWatcher("scripted", `{}`)
		synctest.Wait()
		failOnError(t, h.writeTx(func(tx *store.Tx) error { _, err := h.m.CancelTx(tx, s.ID); return err }))
		close(cancelled)
		synctest.Wait()
		if fired == nil || saved == nil || len(h.listKeys()) != 0 || len(h.sink.Troubles()) != 0 {
			t.Errorf("fired: %v, saved: %v, stored %v, reported %v", fired, saved, h.listKeys(), h.sink.Troubles())
		}
		h.stop()
	})
}

func TestFire_Counts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scriptedKind{live: func(ctx context.Context, _ int, _ watchers.Deps, fire fireFunc) error {
			if err := errors.Join(fire(ctx, newSignals("a"), commitNothing), fire(ctx, nil, commitNothing), fire(ctx, newSignals("b"), commitNothing)); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		}}
		h := newFixture(t, d)
		h.startManager()
		s := h.createWatcher("scripted", `{}`)
		synctest.Wait()
		if got := h.getSpec(s.ID); got.Fired != 2 || !got.FiredAt.Equal(time.Now()) || len(h.listKeys()) != 2 {
			t.Errorf("%+v, %v", got, h.listKeys())
		}
		h.stop()
	})
}

// A reported error stays the watcher's error until the watcher reports recovery.
func TestSupervise_ErrorStaysUntilRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var id string
		d := &scriptedKind{check: func(s watchers.Spec) error { id = s.ID; return nil }}
		d.live = func(ctx context.Context, _ int, deps watchers.Deps, _ fireFunc) error {
			for range 2 {
				for range 5 {
					deps.Trouble(ctx, id, errors.New("the server is away"))
					time.Sleep(time.Hour)
				}
				deps.Trouble(ctx, id, nil)
				time.Sleep(time.Hour)
			}
			<-ctx.Done()
			return nil
		}
		h := newFixture(t, d)
		h.startManager()
		s := h.createWatcher("scripted", `{}`)
		for hour := range 12 {
			time.Sleep(30 * time.Minute)
			synctest.Wait()
			if got := h.getSpec(s.ID).LastError; (got != "") != (hour%6 < 5) {
				t.Errorf("in hour %d the error is %q", hour, got)
			}
			time.Sleep(30 * time.Minute)
		}
		if n := len(h.sink.Troubles()); n != 2 {
			t.Errorf("reported %d times: %v", n, h.sink.Troubles())
		}
		h.stop()
	})
}

// The daily limit applies to event-driven watchers, whose events anyone can cause, also across
// restarts.
func TestFire_DailyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := 0
		d := &scriptedKind{live: func(ctx context.Context, _ int, _ watchers.Deps, fire fireFunc) error {
			for range 100 {
				next++
				if err := fire(ctx, append(newSignals(fmt.Sprint("a", next)), newSignals(fmt.Sprint("b", next))...), commitNothing); err != nil {
					return err
				}
			}
			<-ctx.Done()
			return nil
		}}
		h := newFixture(t, d)
		h.startManager()
		s := h.createWatcher("scripted", `{"per_day":5}`)
		for range 3 {
			time.Sleep(time.Minute)
			synctest.Wait()
			h.stop()
			h.startManager()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := h.getSpec(s.ID); len(h.listKeys()) != 5 || got.Fired != 5 || len(h.sink.Notices()) != 1 {
			t.Errorf("fired %v, %d times, and reported %v", h.listKeys(), got.Fired, h.sink.Notices())
		}
		time.Sleep(24 * time.Hour)
		h.stop()
		h.startManager()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(h.listKeys()); n != 10 {
			t.Errorf("%d signals by the next day", n)
		}
		h.stop()
	})
}
