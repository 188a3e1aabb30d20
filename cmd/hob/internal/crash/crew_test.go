//go:build unix

package crash

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestDelegation_Killed checks that turns get their results although the daemon is killed
// while their tasks run: each answer once, each task once, and no effect of a task twice.
func TestDelegation_Killed(t *testing.T) {
	t.Parallel()
	kills := envNumber("HOB_CRASH_CREW_KILLS", 5)
	w := newFixture(t, uint64(envNumber("HOB_CRASH_SEED", 1)))
	if !w.startDaemon("") {
		t.Fatal("the daemon did not start")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	feeding, stop := context.WithCancel(ctx)
	var mu sync.Mutex
	crews := map[int]string{} // number -> event
	var feeder sync.WaitGroup
	feeder.Go(func() {
		tick := time.NewTicker(80 * time.Millisecond)
		defer tick.Stop()
		for n := 1; feeding.Err() == nil; n++ {
			event := w.sendMessage(ctx, fmt.Sprintf("crew %d", n))
			mu.Lock()
			crews[n] = event
			mu.Unlock()
			select {
			case <-feeding.Done():
			case <-tick.C:
			}
		}
	})
	for n := range kills {
		w.killOnce(n)
	}
	w.daemonUp()
	stop()
	feeder.Wait()
	w.waitUntil(ctx, "every answer", func() bool { return len(w.receiver.All()) >= len(crews) })
	answers, texts := map[string]int{}, map[string]string{}
	for _, d := range w.receiver.All() {
		answers[d.Event]++
		texts[d.Event] = d.Text
	}
	b, err := os.ReadFile(w.effectsLog)
	failOnError(t, err)
	lines := map[string]int{}
	for l := range strings.Lines(string(b)) {
		lines[strings.TrimSpace(l)]++
	}
	for n, event := range crews {
		if answers[event] != 1 {
			t.Errorf("crew %d was answered %d times", n, answers[event])
		}
		for _, part := range []string{fmt.Sprintf("part %d1", n), fmt.Sprintf("part %d2", n)} {
			unknown := strings.Contains(texts[event], "answer to "+part+": error outcome_unknown")
			if !strings.Contains(texts[event], "answer to "+part+":") || lines[part] > 1 || lines[part] == 0 && !unknown {
				t.Errorf("%s was written %d times; the answer: %s", part, lines[part], texts[event])
			}
		}
	}
	t.Logf("%d kills, %d turns with two tasks each", kills, len(crews))
	w.Stop()
}
