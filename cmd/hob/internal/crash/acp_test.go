//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/autonomy/llm/acp/acptest"
)

// agentFixture is a daemon whose model is an external agent, which is this test's own binary.
type agentFixture struct{ *daemonFixture }

func newAgentFixture(t *testing.T) agentFixture {
	t.Helper()
	w := agentFixture{newFixture(t, uint64(envNumber("HOB_CRASH_SEED", 1)))}
	exe, err := os.Executable()
	failOnError(t, err)
	args, err := json.Marshal(acptest.Args())
	failOnError(t, err)
	config := filepath.Join(w.Home, "config.toml")
	text, err := os.ReadFile(config)
	failOnError(t, err)
	conf := strings.Replace(string(text), `model = "test/test"`, "model = \"tester\"\nfallback = [\"none\"]", 1)
	conf += fmt.Sprintf("[providers.tester]\nkind = \"acp\"\ncommand = %q\nargs = %s\ncwd = %q\n", exe, args, filepath.Join(w.dir, "work"))
	failOnError(t, os.WriteFile(config, []byte(conf), 0o600))
	return w
}

type openQuestion struct{ ID, Event, Session string }

// pendingQuestions returns the pending approval requests, or none while the daemon is not running.
func (w agentFixture) pendingQuestions(ctx context.Context) (list []openQuestion) {
	_ = w.Call(ctx, http.MethodGet, "/api/v1/approvals?state=pending", nil, &list)
	return list
}

// awaitQuestion waits for a pending approval request of an event. It ignores the request except, from
// before a restart.
func (w agentFixture) awaitQuestion(ctx context.Context, event, except string) (q openQuestion) {
	w.waitUntil(ctx, "a question of "+event, func() bool {
		for _, q = range w.pendingQuestions(ctx) {
			if q.Event == event && q.ID != except {
				return true
			}
		}
		return false
	})
	return q
}

func (w agentFixture) approveQuestion(ctx context.Context, q openQuestion) error {
	var out json.RawMessage
	return w.Call(ctx, http.MethodPost, "/api/v1/sessions/"+q.Session+"/approvals/"+q.ID, map[string]bool{"approved": true}, &out)
}

// eventState returns the state of an event.
func (w agentFixture) eventState(ctx context.Context, event string) string {
	var e struct{ State string }
	_ = w.Call(ctx, http.MethodGet, "/api/v1/inbox/"+event, nil, &e)
	return e.State
}

// countReplies counts the replies to an event that the receiver got.
func (w agentFixture) countReplies(event string) (n int) {
	for _, d := range w.receiver.All() {
		if d.Event == event && d.Kind == "reply" {
			n++
		}
	}
	return n
}

// countActions returns how often the agent performed each action.
func (w agentFixture) countActions(t *testing.T) map[string]int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, "work", "done"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, l := range strings.Fields(string(b)) {
		out[l]++
	}
	return out
}

// TestExternalAgent_KilledWhileItAsks kills the daemon while a turn of an external agent waits for
// an approval, at each stage of a later turn of the conversation. Both turns are answered once, and
// no action happens twice.
func TestExternalAgent_KilledWhileItAsks(t *testing.T) {
	t.Parallel()
	w := newAgentFixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w.daemonUp()
	for n, stage := range []string{"answered", "running", "asking", "running, the first is approved"} {
		session, one, two, file := fmt.Sprint("webhook:stage", n), fmt.Sprint("one", n), fmt.Sprint("two", n), filepath.Join(w.dir, "work", fmt.Sprint("file", n))
		first := w.sendTo(ctx, session, "do execute "+one)
		asked, other := w.awaitQuestion(ctx, first, ""), openQuestion{}
		text := map[string]string{"answered": "say Hello.", "asking": "do execute " + two}[stage]
		if text == "" {
			text = "await " + file
		}
		second := w.sendTo(ctx, session, text)
		switch stage {
		case "answered":
			w.waitUntil(ctx, "the second answer", func() bool { return w.isDone(ctx, second) })
		case "asking":
			other = w.awaitQuestion(ctx, second, "")
		default:
			w.waitUntil(ctx, "the second turn", func() bool { return w.eventState(ctx, second) == "claimed" })
			if strings.Contains(stage, "approved") {
				failOnError(t, w.approveQuestion(ctx, asked))
			}
		}
		third := w.sendTo(ctx, session, "say Bye.")
		if !w.Kill() {
			t.Fatal("the daemon had died")
		}
		w.daemonUp()
		again := w.awaitQuestion(ctx, first, asked.ID)
		if stage == "asking" {
			failOnError(t, w.approveQuestion(ctx, w.awaitQuestion(ctx, second, other.ID)))
		}
		failOnError(t, os.WriteFile(file, nil, 0o600))
		for _, id := range []string{second, third} { // later turns do not wait for the first
			w.waitUntil(ctx, "a later answer", func() bool { return w.isDone(ctx, id) })
		}
		if n := w.countActions(t)[one]; n != 0 {
			t.Errorf("%s: the agent acted %d times before the approval", stage, n)
		}
		failOnError(t, w.approveQuestion(ctx, again))
		w.waitUntil(ctx, "the first answer", func() bool { return w.isDone(ctx, first) })
		w.waitUntil(ctx, "the replies", func() bool { return w.countReplies(first)*w.countReplies(second)*w.countReplies(third) > 0 })
		if n := w.countActions(t); n[one] != 1 || n[two] != map[bool]int{true: 1}[stage == "asking"] || w.countReplies(first)+w.countReplies(second)+w.countReplies(third) != 3 {
			t.Errorf("%s: the agent did %v, replies %d, %d, %d", stage, n, w.countReplies(first), w.countReplies(second), w.countReplies(third))
		}
	}
	w.Stop()
}

// TestExternalAgent_KilledAtAnyInstant kills the daemon at random instants while messages arrive,
// some of which need approval. All requests are approved. Each message is answered once, and no
// action happens more often than it was approved.
func TestExternalAgent_KilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	w := newAgentFixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	w.daemonUp()
	var mu sync.Mutex
	events, approved := map[string]string{}, map[string]int{} // keyed by text, and by event
	working, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	workers.Go(func() { // the user approves
		for ; working.Err() == nil; pauseFor(working, 30*time.Millisecond) {
			for _, q := range w.pendingQuestions(ctx) {
				if err := w.approveQuestion(ctx, q); err == nil || !strings.Contains(err.Error(), "refused") { // if the outcome is unknown, the approval may count
					mu.Lock()
					approved[q.Event]++
					mu.Unlock()
				}
			}
		}
	})
	feeding, full := context.WithCancel(ctx)
	var feeder sync.WaitGroup
	feeder.Go(func() {
		for n := 0; feeding.Err() == nil; n++ {
			text := fmt.Sprintf("do execute n%d", n)
			if n%3 > 0 {
				text = fmt.Sprintf("say answer %d.", n)
			}
			event := w.sendTo(ctx, fmt.Sprint("webhook:chat", n%2), text)
			mu.Lock()
			events[text] = event
			mu.Unlock()
			pauseFor(feeding, 150*time.Millisecond)
		}
	})
	kills := envNumber("HOB_CRASH_AGENT_KILLS", 5)
	for n := range kills {
		w.killOnce(n)
	}
	w.daemonUp()
	full()
	feeder.Wait()
	for _, event := range events {
		w.waitUntil(ctx, "event "+event, func() bool { return w.isDone(ctx, event) })
		w.waitUntil(ctx, "the reply to "+event, func() bool { return w.countReplies(event) > 0 })
	}
	stop()
	workers.Wait()
	acted := w.countActions(t)
	for text, event := range events {
		if n := w.countReplies(event); n != 1 {
			t.Errorf("%q was answered %d times", text, n)
		}
		action, isAction := strings.CutPrefix(text, "do execute ")
		if n := acted[action]; isAction && (n == 0 || n > approved[event]) {
			t.Errorf("%q ran %d times after %d approvals", action, n, approved[event])
		}
	}
	t.Logf("%d kills, %d messages", kills, len(events))
	w.Stop()
}
