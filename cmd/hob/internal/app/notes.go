package app

import (
	"context"
	"sync"

	notes "hob/platform/host/desktop"
)

// shownNotes shows the notifications that tools request. It keeps its connection open, because
// some desktops remove a notification when its sender disconnects.
type shownNotes struct {
	note *notes.NotificationClient

	mu   sync.Mutex
	stop context.CancelFunc // nil: no connection
	done chan struct{}
}

// Notify implements the tools' Notes. The fate of a notification is ignored.
func (s *shownNotes) Notify(ctx context.Context, n notes.Notification) error {
	s.mu.Lock()
	if s.stop == nil {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		s.stop, s.done = stop, done
		go func() {
			defer close(done)
			_ = s.note.Run(ctx, func(notes.Event) {}) // nil, once ctx ends
		}()
	}
	s.mu.Unlock()
	return s.note.Notify(ctx, n)
}

// Close lets go of the connection.
func (s *shownNotes) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
		<-s.done
		s.stop = nil
	}
}

// noNotes is a machine without a desktop.
type noNotes struct{}

func (noNotes) Notify(context.Context, notes.Notification) error { return notes.ErrNoSession }
