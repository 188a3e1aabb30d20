package usage

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestLimiter(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := limiter{max: 3}
	steps := []struct {
		after time.Duration // since the start
		ok    bool
		back  time.Duration // when to retry, since the start
	}{
		{0, true, 0},
		{10 * time.Second, true, 0},
		{10 * time.Second, true, 0},
		{20 * time.Second, false, time.Minute},
		{time.Minute - 1, false, time.Minute},
		{time.Minute, true, 0},
		{time.Minute, false, 70 * time.Second},
		{70 * time.Second, true, 0},
		{70 * time.Second, true, 0},
		{70 * time.Second, false, 2 * time.Minute},
		{time.Hour, true, 0},
	}
	for i, s := range steps {
		ok, back := r.takeSlot(at.Add(s.after))
		if ok != s.ok || (!ok && !back.Equal(at.Add(s.back))) {
			t.Errorf("step %d at %v: %v, retry at %v", i, s.after, ok, back.Sub(at))
		}
	}
	if ok, back := (&limiter{max: -1}).takeSlot(at); ok || !back.After(at) {
		t.Errorf("takeSlot without any slot = %v, %v", ok, back)
	}
}

func TestLimiter_IsShared(t *testing.T) {
	r := limiter{max: 10}
	var passed atomic.Int32
	var wg sync.WaitGroup
	now := time.Now()
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if ok, _ := r.takeSlot(now); ok {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := passed.Load(); n != 10 {
		t.Errorf("%d passed", n)
	}
}
