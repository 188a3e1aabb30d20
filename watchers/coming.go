package watchers

import (
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

// Coming returns the next n times of a timed watcher in the user's zone. It returns no times for
// other kinds and for watchers that are paused, broken or finished.
func (m *Manager) Coming(s Spec, n int) []time.Time {
	if s.NextAt.IsZero() || s.State != Active || n <= 0 {
		return nil
	}
	loc := m.opt.Zone()
	out := []time.Time{s.NextAt.In(loc)}
	made, err := m.buildWatcher(s)
	timed, ok := made.(Timed)
	if err != nil || !ok {
		return out // the loop reports the error
	}
	for at := s.NextAt; len(out) < n; {
		next, more := nextOccurrence(timed, at)
		if !more {
			break
		}
		at = next
		out = append(out, at.In(loc))
	}
	return out
}

// NextWords lists the next three times of a timed watcher in the user's zone, relative to now:
// "today at 17:00, tomorrow at 17:00 and Tue 24 Nov at 17:00". It returns "" if there are none.
func (m *Manager) NextWords(s Spec, now time.Time) string {
	var words []string
	for _, at := range m.Coming(s, 3) {
		words = append(words, dateparse.Format(at, now.In(at.Location())))
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
