package channelstest

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/platform/net/safehttp/safehttptest"
)

// Stalls makes a platform hang. The zero value does not make it hang. Its methods may be called
// concurrently.
type Stalls struct {
	mu   sync.Mutex
	held chan struct{}
}

// Stall implements Platform.
func (s *Stalls) Stall() (release func()) {
	held := make(chan struct{})
	s.mu.Lock()
	s.held = held
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.held = nil
		s.mu.Unlock()
		close(held)
	})
}

// Stalled waits for the release. It returns an error if ctx ends first.
func (s *Stalls) Stalled(ctx context.Context) error {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Site contains the common parts of test platforms that are reached over HTTP: an in-process
// network that contains the platform, and the dependencies of a channel in that network.
type Site struct {
	T     testing.TB
	Net   *safehttptest.Internet
	Keep  *Keeper
	Deps  channels.Deps // dependencies of the channels opened here, with the senders they admit
	Allow []string
	Stalls
}

// NewSite starts a Site that ends with the test. h serves the platform.
func NewSite(t testing.TB, h http.Handler) *Site {
	t.Helper()
	s := &Site{T: t, Net: safehttptest.New(t, h), Keep: &Keeper{}}
	s.Deps = channels.Deps{Log: slog.New(slog.DiscardHandler), Network: s.Net.Client(t), Keep: s.Keep}
	return s
}

// Down implements Outage.
func (s *Site) Down() { s.Net.Down() }

// Up implements Outage.
func (s *Site) Up() { s.Net.Up() }

// Driver returns a driver that creates channels with open. They connect to this site instead of the
// real platform.
func Driver[C any, T channels.Channel](s *Site, name string, open func(C, channels.Deps) (T, error)) channels.Driver {
	return driver{name, func(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
		var c C
		if err := decode(&c); err != nil {
			return nil, err
		}
		deps.Network = s.Net.Client(s.T)
		return open(c, deps)
	}}
}

type driver struct {
	name string
	open func(func(any) error, channels.Deps) (channels.Channel, error)
}

// Describe implements channels.Driver.
func (d driver) Describe() channels.Description { return channels.Description{Name: d.name} }

// New implements channels.Driver.
func (d driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return d.open(decode, deps)
}

// Running runs a channel until the test ends or stop is called. stop returns the result of Run.
func Running(t *testing.T, ch channels.Channel, r channels.Receiver) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, r) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			t.Error("Run continues although its context has ended")
			return nil
		}
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// Run is like Running, but fails the test if the channel's Run returns an error.
func Run(t *testing.T, ch channels.Channel, r channels.Receiver) (stop func()) {
	t.Helper()
	end := Running(t, ch, r)
	return func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

// Until waits until the condition holds.
func Until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}
