// Package soak keeps a complete daemon busy for a long time, in eight concurrent conversations and
// with all kinds of errors, and checks the resources that it retains: memory, goroutines, open
// files, the database. It contains only tests.
package soak

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// talkers is the number of concurrent conversations.
const talkers = 8

// TestSoak runs HOB_SOAK_TURNS turns (default 400): plain turns, turns with tools of every kind,
// /new, /stop, model errors, and messages so long that the history is summarized. The caches are
// warm after the first fifth of the turns. From then on, the resources may grow only a little.
func TestSoak(t *testing.T) {
	defer goleak.VerifyNone(t)
	turns := envNumber("HOB_SOAK_TURNS", 400)
	w := newSoakRun(t)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour)
	defer cancel()
	warm := turns / 5
	w.runTurns(ctx, 0, warm)
	first := w.measureIdle(ctx)
	w.runTurns(ctx, warm, turns)
	last := w.measureIdle(ctx)
	took := time.Since(began)
	w.stop()
	w.formatReport(first, last, took)
	w.compareHeld(first, last)
}

func envNumber(env string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil && n > 0 {
		return n
	}
	return def
}

// runTurns runs the turns with the numbers from..to. Each talker uses a separate conversation.
func (w *soakRun) runTurns(ctx context.Context, from, to int) {
	var next atomic.Int64
	next.Store(int64(from))
	var wg sync.WaitGroup
	for n := range talkers {
		wg.Go(func() {
			for !w.t.Failed() && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= to {
					return
				}
				w.runTurn(ctx, fmt.Sprintf("soak-%d", n), i)
				if i%1000 == 999 {
					w.t.Logf("%d turns", i+1)
				}
			}
		})
	}
	wg.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// kinds lists the kinds of turns. share is the number of turns of the kind per hundred turns.
var kinds = []struct {
	name  string
	share int
	words string // the owner's message; %d is the number of the turn
	sure  bool   // the reply must be exactly the model's answer
}{
	{"plain", 46, "hello %d", true},
	{"own tool", 16, "task %d", true},
	{"file", 6, "file %d", true},
	{"search", 6, "search %d", true},
	{"many calls", 4, "many %d", true},
	{"wrong call", 3, "wrong %d", true},
	{"long", 5, "long %d", true},
	{"retried", 2, "retry %d", true},
	{"refused", 2, "refuse %d", false},
	{"too large", 1, "overflow %d", false},
	{"stopped", 3, "slow %d", false},
	{"new", 3, "/new", false},
	{"status", 2, "/status", false},
	{"undone", 1, "/undo", false},
}

// kindOf spreads the kinds evenly over the turns.
func kindOf(i int) int {
	at := i * 37 % 100
	for k := range kinds {
		if at -= kinds[k].share; at < 0 {
			return k
		}
	}
	return 0
}

// runTurn runs one turn and checks the answer.
func (w *soakRun) runTurn(ctx context.Context, session string, i int) {
	k := kinds[kindOf(i)]
	text := k.words
	if text[0] != '/' {
		text = fmt.Sprintf(k.words, i)
	}
	if k.name == "long" {
		text += w.ballast
	}
	w.counts[kindOf(i)].Add(1)
	if k.name == "stopped" {
		w.interruptTurn(ctx, session, i, text)
		return
	}
	answer, err := w.sendMessage(ctx, session, text)
	if want := fmt.Sprintf("Done with "+k.words+".", i); err != nil || answer == "" || k.sure && answer != want {
		w.t.Errorf("turn %d (%s): %q, %v", i, k.name, answer, err)
	}
}

// interruptTurn stops a turn while the model is still sending its answer.
func (w *soakRun) interruptTurn(ctx context.Context, session string, i int, text string) {
	asked := w.modelAsked(i)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := w.sendMessage(ctx, session, text); err != nil {
			w.t.Errorf("turn %d, which is stopped: %v", i, err)
		}
	})
	select {
	case <-asked:
	case <-time.After(time.Minute):
		w.t.Errorf("turn %d: the model got no request", i)
	}
	if _, err := w.sendMessage(ctx, session, "/stop"); err != nil {
		w.t.Errorf("turn %d: /stop: %v", i, err)
	}
	wg.Wait()
}
