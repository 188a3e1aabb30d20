package channels_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
)

// connectedChannel is a channel with a connection.
type connectedChannel struct {
	channelstest.Fake
	runs atomic.Int64
	fail atomic.Bool
}

func (*connectedChannel) Connected() {}

func (h *connectedChannel) Run(ctx context.Context, r channels.Receiver) error {
	h.runs.Add(1)
	if h.fail.Load() {
		return errors.New("no route")
	}
	return h.Fake.Run(ctx, r)
}

func TestWake_RestartsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, other := &connectedChannel{}, &channelstest.Fake{}
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": ch, "y": other}, channels.Options{})
		synctest.Wait()
		for range 3 {
			h.HandleWake()
			synctest.Wait()
		}
		if n := ch.runs.Load(); n != 4 {
			t.Errorf("Run was called %d times, want 4", n)
		}
		if s := h.Status()[0]; s.State != "running" || s.Error != "" {
			t.Errorf("waking counts as a failure: %+v", s)
		}
		ch.fail.Store(true)
		h.HandleWake()
		time.Sleep(2 * time.Hour) // by now, the channel waits long between attempts
		ch.fail.Store(false)
		n := ch.runs.Load()
		h.HandleWake()
		synctest.Wait()
		if ch.runs.Load() != n+1 || h.Status()[0].State != "running" {
			t.Errorf("a waiting channel was not restarted immediately: %+v", h.Status()[0])
		}
		if s := h.Status()[0]; s.Error == "" {
			t.Error("the reason for the restart is missing")
		}
		time.Sleep(2 * time.Minute)
		if s := h.Status()[0]; s.State != "running" || s.Error != "" {
			t.Errorf("status after the recovery = %+v", s)
		}
		h.stopManager(t)
	})
}

func TestManager_OutageLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &channelstest.Fake{}
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": f}, channels.Options{})
		f.Down()
		for i := range 5 {
			h.out.Put(newDelivery("x", "7", string(rune('a'+i))))
			time.Sleep(12 * time.Minute)
		}
		f.Up()
		time.Sleep(20 * time.Minute)
		var got string
		for _, s := range f.Arrived() {
			got += s
		}
		s := h.Status()[0]
		if got != "abcde" || s.Sent != 5 || s.SentAt.IsZero() {
			t.Errorf("arrived %q: %+v", got, s)
		}
		h.stopManager(t)
	})
}

// reconnectingChannel is a channel that reconnects by itself.
type reconnectingChannel struct {
	channelstest.Fake
	err atomic.Pointer[error]
}

func (l *reconnectingChannel) Link() error {
	if err := l.err.Load(); err != nil {
		return *err
	}
	return nil
}

func TestStatus_NotConnectedIsNotRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &reconnectingChannel{}
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": ch}, channels.Options{})
		for _, c := range []struct {
			err   error
			state string
		}{{nil, "running"}, {errors.New("no route"), "waiting"}, {nil, "running"}} {
			ch.err.Store(&c.err)
			synctest.Wait()
			if s := h.Status()[0]; s.State != c.state || (s.Error == "no route") != (c.err != nil) {
				t.Errorf("with %v: %+v", c.err, s)
			}
		}
		h.stopManager(t)
	})
}
