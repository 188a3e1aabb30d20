package watchers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hob/platform/store"
	"hob/watchers"
	"hob/watchers/message"
)

// Events at night fire once in the morning, also after a restart; with the policy skip they are
// dropped. The test starts at midnight.
func TestActiveHoursOfEvents(t *testing.T) {
	for _, c := range []struct {
		name, config   string
		night, morning []string
	}{
		{"always", `{}`, []string{"0", "1"}, []string{"0", "1", "2"}},
		{"held", `{"active_hours":"08:00-18:00"}`, nil, []string{"0", "1", "2"}},
		{"skipped", `{"active_hours":"08:00-18:00","missed":"skip"}`, nil, []string{"2"}},
		{"another day", `{"active_hours":"sun 08:00-18:00"}`, nil, nil}, // the test begins on a Saturday
		{"a limit", `{"active_hours":"08:00-18:00","per_day":1}`, nil, []string{"0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := make(chan string, 3)
				d := &scriptedKind{live: func(ctx context.Context, _ int, _ watchers.Deps, fire fireFunc) error {
					for {
						select {
						case <-ctx.Done():
							return nil
						case key := <-next:
							s := watchers.Signal{Key: key, Text: key, At: time.Now(), Source: "tool"}
							if err := fire(ctx, []watchers.Signal{s}, func(*store.Tx) error { return nil }); err != nil {
								return err
							}
						}
					}
				}}
				h := newFixture(t, d)
				h.startManager()
				s := h.createWatcher("scripted", c.config)
				next <- "0"
				time.Sleep(time.Hour)
				h.stop()
				h.startManager()
				next <- "1"
				time.Sleep(6 * time.Hour)
				synctest.Wait()
				if got := h.listKeys(); !slices.Equal(got, c.night) {
					t.Errorf("at night notices = %v, want %v", got, c.night)
				}
				time.Sleep(2 * time.Hour)
				next <- "2"
				time.Sleep(time.Hour)
				synctest.Wait()
				h.stop()
				if got := h.listKeys(); !slices.Equal(got, c.morning) {
					t.Errorf("in the morning notices = %v, want %v", got, c.morning)
				}
				if got := h.getSpec(s.ID); got.Fired != len(c.morning) {
					t.Errorf("Fired = %d", got.Fired)
				}
				if c.name == "held" && h.sink.Fired()[0].Late != 8*time.Hour {
					t.Errorf("reported delay = %s", h.sink.Fired()[0].Late)
				}
			})
		})
	}
}

// Deferred signals are deleted when their watcher is canceled or paused. Signals of message
// watchers are deferred, too.
func TestDeferred_DeletedWithTheirWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, message.New())
		h.startManager()
		hear := func(n int) {
			t.Helper()
			err := h.writeTx(func(tx *store.Tx) error {
				heard, err := h.m.DispatchTx(tx, watchers.Message{ID: fmt.Sprint(n), Channel: "x", Sender: "ada", Text: "launch", At: time.Now()})
				for _, s := range heard {
					h.sink.TakeTx(tx, s.Spec.ID, s.Signal)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		const config = `{"words":"launch","active_hours":"08:00-18:00"}`
		goes, pauses, stays := h.createWatcher("message", config), h.createWatcher("message", config), h.createWatcher("message", config)
		hear(1)
		if held, err := h.m.Held(t.Context(), stays.ID); err != nil || len(held) != 1 || held[0].Hours != "08:00-18:00" {
			t.Errorf("deferred signals = %+v, %v", held, err)
		}
		err := h.writeTx(func(tx *store.Tx) error {
			for _, state := range []watchers.State{watchers.Paused, watchers.Active} {
				if _, err := h.m.SetStateTx(tx, pauses.ID, state); err != nil {
					return err
				}
			}
			_, err := h.m.CancelTx(tx, goes.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Hour)
		synctest.Wait()
		hear(2)
		h.stop()
		got := map[string][]string{}
		for _, f := range h.sink.Fired() {
			got[f.Watcher] = append(got[f.Watcher], f.Key)
		}
		if len(got) != 2 || !slices.Equal(got[stays.ID], []string{"1", "2"}) || !slices.Equal(got[pauses.ID], []string{"2"}) {
			t.Errorf("fired %v", got)
		}
	})
}

// Signals that were deferred before a watcher broke fire when the watcher works again.
func TestDeferred_FireAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scriptedKind{live: func(ctx context.Context, n int, _ watchers.Deps, fire fireFunc) error {
			if n > 1 {
				<-ctx.Done()
				return nil
			}
			s := watchers.Signal{Key: "0", Text: "0", At: time.Now(), Source: "tool"}
			if err := fire(ctx, []watchers.Signal{s}, func(*store.Tx) error { return nil }); err != nil {
				return err
			}
			return fmt.Errorf("%w: the folder was deleted", watchers.ErrPermanent)
		}}
		h := newFixture(t, d)
		h.startManager()
		s := h.createWatcher("scripted", `{"active_hours":"08:00-18:00"}`)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := h.getSpec(s.ID); got.State != watchers.Broken {
			t.Fatalf("state = %s", got.State)
		}
		err := h.writeTx(func(tx *store.Tx) error {
			_, err := h.m.SetStateTx(tx, s.ID, watchers.Active)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * time.Hour)
		synctest.Wait()
		h.stop()
		if got := h.listKeys(); !slices.Equal(got, []string{"0"}) {
			t.Errorf("fired %v", got)
		}
	})
}
