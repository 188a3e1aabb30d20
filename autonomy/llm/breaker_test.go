package llm_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy/llm"
)

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &steps{name: "a", list: []step{badStep(llm.Unavailable)}}
		m := llm.Breaker(s, llm.BreakerOptions{})
		for range 5 {
			_, err := collectResponse(m)
			if errors.Is(err, llm.ErrOpen) {
				t.Fatal("the breaker opened too early")
			}
		}
		time.Sleep(20 * time.Second)
		_, err := collectResponse(m)
		var e *llm.Error
		if !errors.As(err, &e) || !errors.Is(err, llm.ErrOpen) || e.Kind != llm.Unavailable || e.RetryAfter != 40*time.Second || s.calls != 5 {
			t.Fatalf("error %v, %d calls", err, s.calls)
		}
		time.Sleep(40 * time.Second)
		if _, err = collectResponse(m); errors.Is(err, llm.ErrOpen) || s.calls != 6 {
			t.Fatalf("no trial call after the pause: %v, %d calls", err, s.calls)
		}
		if _, err = collectResponse(m); !errors.Is(err, llm.ErrOpen) {
			t.Fatalf("the breaker closed after a failed trial: %v", err)
		}
		time.Sleep(time.Minute)
		s.list = append(make([]step, 6), goodStep(), badStep(llm.Network))
		if _, err = collectResponse(m); err != nil {
			t.Fatalf("trial call = %v", err)
		}
		if _, err = collectResponse(m); errors.Is(err, llm.ErrOpen) {
			t.Fatal("the breaker is open after a successful trial and one failure")
		}
	})
}

func TestBreaker_CountsFailures(t *testing.T) {
	for _, c := range []struct {
		kind llm.ErrorKind
		open bool
	}{
		{llm.Network, true},
		{llm.RateLimited, true},
		{llm.Stalled, true},
		{llm.Unauthorized, true},
		{llm.Garbled, true},
		{llm.Interrupted, false},
		{llm.Budget, false},
		{llm.BadRequest, false},
		{llm.Overflow, false},
	} {
		s := &steps{list: []step{badStep(c.kind)}}
		m := llm.Breaker(s, llm.BreakerOptions{Failures: 2})
		for range 3 {
			_, _ = collectResponse(m)
		}
		if open := s.calls == 2; open != c.open {
			t.Errorf("%s: open %v, want %v", c.kind, open, c.open)
		}
	}
}

func TestBreaker_TriesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &steps{list: []step{badStep(llm.Network), {events: goodStep().events, wait: 10 * time.Second}}}
		m := llm.Breaker(s, llm.BreakerOptions{Failures: 1})
		_, _ = collectResponse(m)
		time.Sleep(time.Minute)
		ctx, stop := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { // the trial call, which the user cancels
			if _, err := llm.Collect(m.Stream(ctx, llm.Request{})); llm.KindOf(err) != llm.Interrupted {
				t.Errorf("trial call = %v", err)
			}
		})
		synctest.Wait()
		if _, err := collectResponse(m); !errors.Is(err, llm.ErrOpen) {
			t.Errorf("second call during the trial = %v, want ErrOpen", err)
		}
		stop()
		wg.Wait()
		if _, err := collectResponse(m); err != nil {
			t.Errorf("call after an interrupted trial = %v, want another trial", err)
		}
	})
}
