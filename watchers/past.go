package watchers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// maxPast limits the occurrences of a timed watcher in the result of Past.
const maxPast = 1000

// ErrNoPast is wrapped if Past cannot compute past signals.
var ErrNoPast = errors.New("the source has no history")

// Past returns the signals that a watcher would have fired in [since, until), oldest first. The
// watcher does not have to be stored. Past does not write to the database.
func (m *Manager) Past(ctx context.Context, s Spec, since, until time.Time) (out []Signal, err error) {
	defer func() {
		if x := recover(); x != nil {
			m.opt.Log.Error("watcher panicked", "kind", s.Kind, "panic", fmt.Sprint(x), "stack", string(debug.Stack()))
			err = fmt.Errorf("the %s watcher crashed: %v", s.Kind, x)
		}
	}()
	if err := s.ExtractPace(); err != nil {
		return nil, err
	}
	if s.CreatedAt.IsZero() {
		s.CreatedAt = since
	}
	made, err := m.buildWatcher(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	switch w := made.(type) {
	case Timed:
		at, ok := nextOccurrence(w, since.Add(-time.Millisecond))
		for ; ok && at.Before(until) && len(out) < maxPast; at, ok = nextOccurrence(w, at) {
			out = append(out, Signal{Text: m.noticeLabel(s), At: at, Source: sourceOf(s)})
		}
		return out, nil
	case Historian:
		ctx, cancel := context.WithTimeout(ctx, pollTimeout)
		defer cancel()
		out, err := w.Past(ctx, since)
		return slices.DeleteFunc(out, func(s Signal) bool { return !s.At.Before(until) }), err
	}
	return nil, fmt.Errorf("%w: the kind %s cannot be tested", ErrNoPast, s.Kind)
}
