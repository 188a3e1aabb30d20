package desktop

import (
	"context"
	"sync"
)

// LastingNotifier shows notifications until they are closed. It keeps its connection open, because
// some desktops remove a notification when its sender disconnects. Its methods may be called
// concurrently.
type LastingNotifier struct {
	client *NotificationClient

	mu   sync.Mutex
	stop context.CancelFunc // nil if there is no connection
	done chan struct{}
}

// NewLastingNotifier returns a notifier. It connects with the first notification.
func NewLastingNotifier(o Options) *LastingNotifier { return &LastingNotifier{client: New(o)} }

// Notify shows a notification. Clicks on it are ignored.
func (s *LastingNotifier) Notify(ctx context.Context, n Notification) error {
	s.mu.Lock()
	if s.stop == nil {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		s.stop, s.done = stop, done
		go func() {
			defer close(done)
			_ = s.client.Run(ctx, func(Event) {}) // returns nil when ctx ends
		}()
	}
	s.mu.Unlock()
	return s.client.Notify(ctx, n)
}

// Close disconnects. It does nothing for a nil notifier.
func (s *LastingNotifier) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
		<-s.done
		s.stop = nil
	}
}
