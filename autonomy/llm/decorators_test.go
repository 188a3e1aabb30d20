package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/autonomy/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// steps is a model that runs one step per call.
type steps struct {
	name string

	mu    sync.Mutex
	calls int
	at    []time.Time
	list  []step
}

type step struct {
	events []llm.Event
	err    error
	wait   time.Duration
}

func (s *steps) Info() llm.Info { return llm.Info{Provider: s.name, Model: "m"} }

func (s *steps) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		s.mu.Lock()
		x := s.list[min(s.calls, len(s.list)-1)]
		s.calls++
		s.at = append(s.at, time.Now())
		s.mu.Unlock()
		if x.wait > 0 {
			select {
			case <-time.After(x.wait):
			case <-ctx.Done():
				yield(llm.Event{}, newError(llm.Interrupted, 0))
				return
			}
		}
		for _, e := range x.events {
			if !yield(e, nil) {
				return
			}
		}
		if x.err != nil {
			yield(llm.Event{}, x.err)
		}
	}
}

func newError(k llm.ErrorKind, after time.Duration) *llm.Error {
	return &llm.Error{Kind: k, Provider: "p", Message: string(k), RetryAfter: after}
}

func textDelta(text string) llm.Event { return llm.Event{Kind: llm.TextDelta, Text: text} }

func goodStep() step {
	return step{events: []llm.Event{textDelta("hi"), {Kind: llm.Done, Stop: llm.EndTurn}}}
}

func badStep(k llm.ErrorKind) step { return step{err: newError(k, 0)} }

func collectResponse(m llm.Model) (llm.Response, error) {
	return llm.Collect(m.Stream(context.Background(), llm.Request{}))
}

func TestRetry(t *testing.T) {
	call := []llm.Event{
		{Kind: llm.ReasoningDelta, Text: "hm"},
		{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Text: "hm"}},
		textDelta(" \n"),
		{Kind: llm.CallStart, Call: llm.ToolCall{ID: "1", Name: "add"}},
		{Kind: llm.CallDone, Call: llm.NewCall("1", "add", "{", true)},
	}
	for _, c := range []struct {
		name  string
		list  []step
		kind  llm.ErrorKind // of the final error, "" for success
		calls int
		after time.Duration // minimum duration
		until time.Duration // maximum duration
	}{
		{"success at the first attempt", []step{goodStep()}, "", 1, 0, 0},
		{"well at the third try", []step{badStep(llm.Unavailable), badStep(llm.Network), goodStep()}, "", 3, 0, 3 * time.Second},
		{"three tries", []step{badStep(llm.Unavailable)}, llm.Unavailable, 3, 0, 3 * time.Second},
		{"rate limit", []step{{err: newError(llm.RateLimited, 20*time.Second)}, goodStep()}, "", 2, 20 * time.Second, 20 * time.Second},
		{"rate limit beyond the budget", []step{{err: newError(llm.RateLimited, 61*time.Second)}, goodStep()}, llm.RateLimited, 1, 0, 0},
		{"two rate limits beyond the budget", []step{{err: newError(llm.RateLimited, 40*time.Second)}}, llm.RateLimited, 2, 40 * time.Second, 40 * time.Second},
		{"a stall uses the budget up", []step{{err: newError(llm.Stalled, 0), wait: 2 * time.Minute}, goodStep()}, llm.Stalled, 1, 2 * time.Minute, 2 * time.Minute},
		{"text was visible", []step{{events: []llm.Event{textDelta("Go")}, err: newError(llm.Network, 0)}, goodStep()}, llm.Network, 1, 0, 0},
		{"only thoughts and a broken call", []step{{events: call, err: newError(llm.Network, 0)}, goodStep()}, "", 2, 0, time.Second},
		{"unauthorized", []step{badStep(llm.Unauthorized), goodStep()}, llm.Unauthorized, 1, 0, 0},
		{"bad request", []step{badStep(llm.BadRequest), goodStep()}, llm.BadRequest, 1, 0, 0},
		{"overflow", []step{badStep(llm.Overflow), goodStep()}, llm.Overflow, 1, 0, 0},
		{"garbled", []step{badStep(llm.Garbled), goodStep()}, llm.Garbled, 1, 0, 0},
		{"no error type", []step{{err: errors.New("x")}, goodStep()}, llm.Garbled, 1, 0, 0},
		{"no end", []step{{events: []llm.Event{textDelta("x")}}, goodStep()}, llm.Garbled, 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &steps{name: "p", list: c.list}
				start := time.Now()
				r, err := collectResponse(llm.Retry(m, llm.RetryOptions{}))
				if llm.KindOf(err) != c.kind {
					t.Fatalf("error %v, want kind %q", err, c.kind)
				}
				if c.kind == "" && (r.Text() != "hi" || len(r.Parts) != 1) {
					t.Errorf("parts %+v, want only those of the last attempt", r.Parts)
				}
				if m.calls != c.calls {
					t.Errorf("%d calls, want %d", m.calls, c.calls)
				}
				if d := time.Since(start); d < c.after || d > c.until {
					t.Errorf("took %v, want %v to %v", d, c.after, c.until)
				}
			})
		})
	}
}

func TestRetry_WaitsWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		m := llm.Retry(&steps{list: []step{badStep(llm.Network)}}, llm.RetryOptions{
			Tries: 8, Budget: time.Hour, Cap: 4 * time.Second,
			OnRetry: func(_ int, w time.Duration, _ *llm.Error) { waits = append(waits, w) },
		})
		_, err := collectResponse(m)
		if err == nil || !strings.Contains(err.Error(), "tried 8 times") {
			t.Errorf("error %v", err)
		}
		same := true
		for i, w := range waits {
			if bound := min(time.Second<<i, 4*time.Second); w < 0 || w > bound {
				t.Errorf("wait %d is %v, more than %v", i, w, bound)
			}
			same = same && w == waits[0]
		}
		if len(waits) != 7 || same {
			t.Errorf("waits %v", waits)
		}
	})
}

func TestRetry_StopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		m := llm.Retry(&steps{list: []step{{err: newError(llm.RateLimited, 30*time.Second)}}}, llm.RetryOptions{})
		start := time.Now()
		_, err := llm.Collect(m.Stream(ctx, llm.Request{}))
		if llm.KindOf(err) != llm.Interrupted || time.Since(start) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestRetry_PassesThoughtsImmediately(t *testing.T) {
	events := []llm.Event{
		{Kind: llm.ReasoningDelta, Text: "hm"},
		{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Text: "hm"}},
		{Kind: llm.CallStart},
		{Kind: llm.CallDone},
		{Kind: llm.Done},
	}
	var got []llm.EventKind
	for e, err := range llm.Retry(&steps{list: []step{{events: events}}}, llm.RetryOptions{}).Stream(context.Background(), llm.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Kind)
	}
	want := []llm.EventKind{llm.ReasoningDelta, llm.ReasoningDone, llm.CallStart, llm.CallDone, llm.Done}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDecorators_StopWhenTheConsumerStops(t *testing.T) {
	for name, wrap := range map[string]func(llm.Model) llm.Model{
		"retry":    func(m llm.Model) llm.Model { return llm.Retry(m, llm.RetryOptions{}) },
		"fallback": func(m llm.Model) llm.Model { return llm.Fallback(m, m) },
		"breaker":  func(m llm.Model) llm.Model { return llm.Breaker(m, llm.BreakerOptions{}) },
	} {
		for _, first := range []llm.Event{textDelta("x"), {Kind: llm.ReasoningDelta, Text: "x"}, {Kind: llm.Done}} {
			s := &steps{list: []step{{events: []llm.Event{first, first, first}, err: newError(llm.Network, 0)}}}
			for _, err := range wrap(s).Stream(context.Background(), llm.Request{}) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			if s.calls != 1 {
				t.Errorf("%s: %d calls after the consumer stopped", name, s.calls)
			}
		}
	}
}

func TestFallback(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second step
		kind          llm.ErrorKind
		model         string // the model that answered
		calls         int    // calls of the second model
	}{
		{"first answers", goodStep(), goodStep(), "", "a/m", 0},
		{"unavailable", badStep(llm.Unavailable), goodStep(), "", "b/m", 1},
		{"network", badStep(llm.Network), goodStep(), "", "b/m", 1},
		{"rate limit", badStep(llm.RateLimited), goodStep(), "", "b/m", 1},
		{"stall", badStep(llm.Stalled), goodStep(), "", "b/m", 1},
		{"key", badStep(llm.Unauthorized), goodStep(), "", "b/m", 1},
		{"bill", badStep(llm.Payment), goodStep(), "", "b/m", 1},
		{"model not found", badStep(llm.NotFound), goodStep(), "", "b/m", 1},
		{"bad request", badStep(llm.BadRequest), goodStep(), llm.BadRequest, "", 0},
		{"overflow", badStep(llm.Overflow), goodStep(), llm.Overflow, "", 0},
		{"budget", badStep(llm.Budget), goodStep(), "", "b/m", 1}, // the next model may be free
		{"stopped", badStep(llm.Interrupted), goodStep(), llm.Interrupted, "", 0},
		{"text was visible", step{events: []llm.Event{textDelta("Go")}, err: newError(llm.Network, 0)}, goodStep(), llm.Network, "", 0},
		{"both fail", badStep(llm.Payment), badStep(llm.Network), llm.Payment, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := &steps{name: "a", list: []step{c.first}}, &steps{name: "b", list: []step{c.second}}
			m := llm.Fallback(a, b)
			r, err := collectResponse(m)
			if llm.KindOf(err) != c.kind || r.Model != c.model || b.calls != c.calls {
				t.Errorf("error %v, model %q, %d calls of the second model", err, r.Model, b.calls)
			}
			if m.Info().Provider != "a" {
				t.Errorf("info %+v", m.Info())
			}
			if c.name == "both fail" && !strings.Contains(err.Error(), "payment, and p: network") {
				t.Errorf("the error %v names only one model", err)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		if _, err := collectResponse(llm.Fallback()); llm.KindOf(err) != llm.BadRequest {
			t.Errorf("error %v", err)
		}
	})
	t.Run("one", func(t *testing.T) {
		a := &steps{name: "a", list: []step{goodStep()}}
		if llm.Fallback(a) != llm.Model(a) {
			t.Error("Fallback wraps a single model")
		}
	})
}

// TestDecorators_Combined combines the decorators as the daemon does.
func TestDecorators_Combined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &steps{name: "a", list: []step{badStep(llm.Unavailable)}}, &steps{name: "b", list: []step{goodStep()}}
		m := llm.Fallback(llm.Breaker(llm.Retry(a, llm.RetryOptions{}), llm.BreakerOptions{}), llm.Breaker(b, llm.BreakerOptions{}))
		for i := range 8 {
			start := time.Now()
			r, err := collectResponse(m)
			if err != nil || r.Model != "b/m" {
				t.Fatalf("%q, %v", r.Model, err)
			}
			if i >= 5 && time.Since(start) != 0 {
				t.Errorf("call %d waited for the failing first model", i)
			}
		}
		if a.calls != 15 {
			t.Errorf("%d calls of the first model, want 15", a.calls)
		}
		time.Sleep(time.Minute)
		a.list = []step{goodStep()}
		if r, err := collectResponse(m); err != nil || r.Model != "a/m" {
			t.Errorf("answer of %q, %v, want the first model again", r.Model, err)
		}
	})
}

func ExampleFallback() {
	primary := &steps{name: "work", list: []step{badStep(llm.Unauthorized)}}
	spare := &steps{name: "spare", list: []step{goodStep()}}
	r, err := collectResponse(llm.Fallback(llm.Breaker(llm.Retry(primary, llm.RetryOptions{}), llm.BreakerOptions{}), spare))
	fmt.Println(r.Text(), r.Model, err)
	// Output: hi spare/m <nil>
}
