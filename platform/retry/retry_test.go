package retry_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/platform/retry"
)

func TestBackoff_GrowsToItsBound(t *testing.T) {
	tests := []struct {
		name    string
		backoff retry.Backoff
		want    []time.Duration // after 0, 1, 2 ... failures
	}{
		{"doubles", retry.Backoff{First: time.Second, Max: 5 * time.Second}, []time.Duration{1e9, 1e9, 2e9, 4e9, 5e9, 5e9}},
		{"stays the same", retry.Backoff{First: time.Second, Max: time.Second}, []time.Duration{1e9, 1e9, 1e9}},
		{"has a first delay above its bound", retry.Backoff{First: time.Minute, Max: time.Second}, []time.Duration{1e9, 1e9}},
		{"has an offset", retry.Backoff{First: 1, Max: 3, Offset: 10}, []time.Duration{11, 11, 12, 13}},
		{"is zero", retry.Backoff{}, []time.Duration{0, 0, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for n, want := range tt.want {
				if got := tt.backoff.Delay(n); got != want {
					t.Errorf("Delay(%d) = %s, want %s", n, got, want)
				}
			}
		})
	}
	for _, n := range []int{64, 1000, math.MaxInt} {
		if got := (retry.Backoff{First: 3}).Delay(n); got != 24*time.Hour {
			t.Errorf("Delay(%d) without a bound = %s", n, got)
		}
	}
}

func TestBackoff_StaysWithinItsJitter(t *testing.T) {
	tests := []struct {
		jitter      float64
		least, most time.Duration
	}{
		{0, 4 * time.Second, 4 * time.Second},
		{0.5, 2 * time.Second, 4 * time.Second},
		{1, 0, 4 * time.Second},
		{7, 0, 4 * time.Second},
	}
	for _, tt := range tests {
		b, seen := retry.Backoff{First: time.Second, Max: time.Hour, Jitter: tt.jitter}, map[time.Duration]bool{}
		for range 200 {
			d := b.Delay(3)
			if d < tt.least || d > tt.most {
				t.Fatalf("jitter %v: Delay(3) = %s, want %s to %s", tt.jitter, d, tt.least, tt.most)
			}
			seen[d] = true
		}
		if random := len(seen) > 1; random != (tt.jitter > 0) {
			t.Errorf("jitter %v: %d different delays", tt.jitter, len(seen))
		}
	}
}

func TestSleep_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := retry.Sleep(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("Sleep = %v after %s, want nil after 1 h", err, time.Since(began))
		}
		began = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := retry.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("Sleep = %v after %s, want the end of its context after 1 min", err, time.Since(began))
		}
		for range 100 { // the result must not depend on the timer, which has also fired
			if err := retry.Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Sleep(0) after the end of its context = %v", err)
			}
		}
	})
}

func TestWait_EndsWhenWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		time.AfterFunc(time.Minute, func() { close(wake) })
		began := time.Now()
		if err := retry.Wait(t.Context(), time.Hour, wake); err != nil || time.Since(began) != time.Minute {
			t.Errorf("Wait = %v after %s, want nil after 1 min", err, time.Since(began))
		}
	})
}

// TestSupervisor_RestartsAfterFailures checks what users notice when a part fails: it restarts
// after a delay that grows up to a limit, and the delay starts over after a healthy period.
func TestSupervisor_RestartsAfterFailures(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name string
		runs []func() error  // what the part does in each run; the last run waits until ctx ends
		want []time.Duration // the time between the runs
		as   []string        // the errors passed to Failed
	}{
		{
			name: "after errors, with growing and bounded delays",
			runs: slices.Repeat([]func() error{func() error { return broken }}, 5),
			want: []time.Duration{1e9, 2e9, 4e9, 5e9, 5e9},
			as:   slices.Repeat([]string{"broken"}, 5),
		},
		{
			name: "after a panic",
			runs: []func() error{func() error { panic("oh no") }, func() error { return broken }},
			want: []time.Duration{1e9, 2e9},
			as:   []string{"panic: oh no", "broken"},
		},
		{
			name: "with the first delay after a healthy period",
			runs: []func() error{
				func() error { return broken },
				func() error { return broken },
				func() error { time.Sleep(time.Minute); return broken },
				func() error { time.Sleep(time.Minute - 1); return broken },
			},
			want: []time.Duration{1e9, 2e9, time.Minute + 1e9, time.Minute - 1 + 2e9},
			as:   slices.Repeat([]string{"broken"}, 4),
		},
		{
			name: "at once on request, which ends a series of failures",
			runs: []func() error{
				func() error { return broken },
				func() error { return broken },
				func() error { return errors.Join(broken, retry.ErrRestart) },
				func() error { return broken },
			},
			want: []time.Duration{1e9, 2e9, 0, 1e9},
			as:   slices.Repeat([]string{"broken"}, 3),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var began []time.Time
				var failures []string
				s := retry.Supervisor{
					Backoff: retry.Backoff{First: time.Second, Max: 5 * time.Second}, Healthy: time.Minute,
					Failed: func(err error, delay time.Duration) (time.Duration, bool) {
						failures = append(failures, err.Error())
						return delay, true
					},
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() {
					ended <- s.Run(ctx, func(ctx context.Context) error {
						began = append(began, time.Now())
						if n := len(began); n <= len(tt.runs) {
							return tt.runs[n-1]()
						}
						<-ctx.Done()
						return ctx.Err()
					})
				}()
				time.Sleep(time.Hour)
				cancel()
				if err := <-ended; err != nil { // the bubble checks that no goroutine is left
					t.Errorf("Run = %v, want nil", err)
				}
				var between []time.Duration
				for i := range began[1:] {
					between = append(between, began[i+1].Sub(began[i]))
				}
				if !slices.Equal(between, tt.want) {
					t.Errorf("time between runs is %s, want %s", between, tt.want)
				}
				if !slices.Equal(failures, tt.as) {
					t.Errorf("failures are %q, want %q", failures, tt.as)
				}
			})
		})
	}
}

func TestSupervisor_Ends(t *testing.T) {
	fatal := errors.New("fatal")
	refuse := func(error, time.Duration) (time.Duration, bool) { return 0, false }
	tests := []struct {
		name   string
		failed func(error, time.Duration) (time.Duration, bool)
		run    func() error
		want   error
		after  time.Duration
	}{
		{"when the function returns nil", nil, func() error { return nil }, nil, 0},
		{"when a failure is final", refuse, func() error { return fatal }, fatal, 0},
		{"in a delay, with its context", nil, func() error { return fatal }, nil, time.Minute},
		{"with its context, whatever the function returns", refuse, func() error { time.Sleep(time.Hour); return fatal }, nil, time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began, runs := time.Now(), 0
				s := retry.Supervisor{Backoff: retry.Backoff{First: time.Hour}, Failed: tt.failed}
				err := s.Run(ctx, func(context.Context) error { runs++; return tt.run() })
				if !errors.Is(err, tt.want) || time.Since(began) != tt.after || runs != 1 {
					t.Errorf("Run = %v after %s and %d runs, want %v after %s and 1 run", err, time.Since(began), runs, tt.want, tt.after)
				}
				if s.Run(ctx, func(context.Context) error { runs++; return nil }); ctx.Err() != nil && runs != 1 {
					t.Error("Run called the function after the end of its context")
				}
			})
		})
	}
}

func TestSupervisor_WakesFromItsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		s := retry.Supervisor{Backoff: retry.Backoff{First: time.Hour}, Wake: func() <-chan struct{} { return wake }}
		runs := 0
		began := time.Now()
		time.AfterFunc(time.Minute, func() { close(wake) })
		err := s.Run(t.Context(), func(context.Context) error {
			if runs++; runs == 1 {
				return errors.New("broken")
			}
			return nil
		})
		if err != nil || runs != 2 || time.Since(began) != time.Minute {
			t.Errorf("Run = %v after %d runs and %s, want nil after 2 runs and 1 min", err, runs, time.Since(began))
		}
	})
}

func TestRecover_KeepsTheStackApart(t *testing.T) {
	err := retry.Recover(func() error { panic("oh no") })
	p, ok := errors.AsType[*retry.PanicError](err)
	if !ok || err.Error() != "panic: oh no" || p.Value != "oh no" || !strings.Contains(p.LogValue().String(), "retry_test.go") {
		t.Errorf("Recover = %v", err)
	}
	if err := retry.Recover(func() error { return nil }); err != nil {
		t.Errorf("Recover = %v, want nil", err)
	}
}

// TestRunTogether_StopsAllWhenOneEnds checks that Hob does not continue to run without a part that
// failed.
func TestRunTogether_StopsAllWhenOneEnds(t *testing.T) {
	broken := errors.New("broken")
	until := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err() // as a part does that is stopped while it is starting
	}
	for _, tt := range []struct {
		name string
		part func(context.Context) error
		stop bool // the caller ends ctx
		want error
	}{
		{"a failure", func(context.Context) error { return broken }, false, broken},
		{"an end without an error", func(context.Context) error { return nil }, false, nil},
		{"the end of the context", until, true, nil},
		{"a failure while stopping", func(ctx context.Context) error { <-ctx.Done(); return broken }, true, broken},
		{"a cancellation that Hob did not request", func(context.Context) error { return context.Canceled }, false, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := false
				slow := func(ctx context.Context) error {
					<-ctx.Done()
					time.Sleep(time.Second) // closes its files
					ended = true
					return nil
				}
				if tt.stop {
					time.AfterFunc(time.Minute, cancel)
				}
				if err := retry.RunTogether(ctx, cancel, []func(context.Context) error{until, tt.part, slow}); !errors.Is(err, tt.want) {
					t.Errorf("RunTogether = %v, want %v", err, tt.want)
				}
				if !ended {
					t.Error("RunTogether returned before the slowest part had ended")
				}
			})
		})
	}
}
