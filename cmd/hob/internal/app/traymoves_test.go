package app

import (
	"sync"
	"testing"
	"time"

	"hob/autonomy/guard"
)

// When a question is answered the next one moves up, under a pointer that was meant for
// the first.
func TestTrayMovesUp(t *testing.T) {
	h := openOffline(t)
	m := &trayMenu{d: h.d, poke: make(chan struct{}, 1), asked: map[string]bool{}}
	var open []guard.Approval
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		open = append(open, guard.Approval{ID: id})
	}
	show := func(open []guard.Approval) {
		var wg sync.WaitGroup
		m.watchApprovals(t.Context(), &wg, open)
		wg.Wait() // there are no such questions: none is waited for
	}
	show(open)
	long := time.Now().Add(-time.Hour)
	m.moved = long
	show(open)
	if !m.shownSince("a").Equal(long) || !m.shownSince("e").Equal(long) {
		t.Error("the menu is as it was, and counts as changed")
	}
	show(open[1:])
	for _, id := range []string{"b", "f"} {
		if time.Since(m.shownSince(id)) > time.Minute {
			t.Errorf("%s came under the pointer, and counts as having stood there", id)
		}
	}
	if !m.shownSince("a").IsZero() {
		t.Error("what has ended is said to be too quick, in place of that")
	}
	h.stop()
}
