package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// sessions is over how many conversations the load is spread.
const sessions = 8

func offlineTurns(ctx context.Context, o Options, r rounds) ([]Figure, error) {
	return withHome(ctx, o, nil, func(h *home) ([]Figure, error) {
		hello, err := h.time(ctx, r.turns, "hello")
		if err != nil {
			return nil, err
		}
		task, err := h.time(ctx, r.turns, "add a task: water the plants")
		if err != nil {
			return nil, err
		}
		return []Figure{
			{Name: "turn_builtin_p50", Value: ms(at(hello, 50)), Unit: "ms", Target: 4, About: "\"hello\" to the built-in brain, durable, over HTTP"},
			{Name: "turn_builtin_p95", Value: ms(at(hello, 95)), Unit: "ms", About: "the same, 95th percentile"},
			{Name: "turn_builtin_tool_p50", Value: ms(at(task, 50)), Unit: "ms", About: "a turn with one tool call"},
		}, nil
	})
}

func modelTurns(ctx context.Context, o Options, r rounds) ([]Figure, error) {
	m, err := newModel()
	if err != nil {
		return nil, err
	}
	defer m.close(ctx)
	first, err := firstRequests(ctx, o, r, m)
	if err != nil {
		return nil, err
	}
	return withHome(ctx, o, m, func(h *home) ([]Figure, error) {
		plain, err := h.time(ctx, r.turns, "hello")
		if err != nil {
			return nil, err
		}
		tools, err := h.time(ctx, r.turns, "use a tool")
		if err != nil {
			return nil, err
		}
		perSecond, err := h.load(ctx, r.load)
		if err != nil {
			return nil, err
		}
		return append(first, []Figure{
			{Name: "turn_p50", Value: ms(at(plain, 50)), Unit: "ms", Target: 4, About: "own time of a turn, everything durable"},
			{Name: "turn_p95", Value: ms(at(plain, 95)), Unit: "ms", About: "the same, 95th percentile"},
			{Name: "tool_step_p50", Value: ms(at(tools, 50) - at(plain, 50)), Unit: "ms", Target: 2, About: "what a tool call adds: request, gate, ledger, tool"},
			{Name: "turns_per_second", Value: perSecond, Unit: "/s", Target: 500, AtLeast: true, About: fmt.Sprintf("over %d conversations", sessions)},
		}...), nil
	})
}

// firstRequests starts the program again and again, says hello as soon as it
// takes messages, and looks when the model hears of it.
func firstRequests(ctx context.Context, o Options, r rounds, m *model) ([]Figure, error) {
	h, err := newHome(o, m)
	if err != nil {
		return nil, err
	}
	defer h.remove()
	var took []time.Duration
	var size int
	for i := range r.starts + 1 {
		m.forget()
		if err := h.start(ctx); err != nil {
			return nil, err
		}
		err := h.say(ctx, fmt.Sprintf("first-%d", i), "hello")
		if err := errors.Join(err, h.stop(ctx)); err != nil {
			return nil, err
		}
		got := m.first()
		size = got.bytes
		if i > 0 { // the first start makes the database
			took = append(took, got.at.Sub(h.began))
		}
	}
	slices.Sort(took)
	return []Figure{
		{Name: "first_model_request", Value: ms(at(took, 50)), Unit: "ms", Target: 40, About: "from the start of the process until the model hears of \"hello\", median"},
		{Name: "prompt_hello", Value: float64(size) / 4, Unit: "tokens", Target: 2000, About: "the request for \"hello\" with the whole catalogue behind it, bytes / 4"},
	}, nil
}

// events measures how fast messages that nobody waits for are taken and worked
// off.
func events(ctx context.Context, o Options, r rounds) ([]Figure, error) {
	return withHome(ctx, o, nil, func(h *home) ([]Figure, error) {
		began := time.Now()
		ids := make([]string, r.events)
		err := parallel(ctx, sessions, func(ctx context.Context, n int) (err error) {
			for i := n; i < len(ids) && err == nil; i += sessions {
				ids[i], err = h.send(ctx, fmt.Sprintf("load-%d", i%50), "what time is it?")
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		taken := time.Since(began)
		for _, id := range ids {
			if err := h.finished(ctx, id); err != nil {
				return nil, err
			}
		}
		n := float64(r.events)
		return []Figure{
			{Name: "events_taken", Value: n / taken.Seconds(), Unit: "/s", About: "messages made durable, 8 senders"},
			{Name: "events_done", Value: n / time.Since(began).Seconds(), Unit: "/s", About: "the same, answered by the built-in brain, over 50 conversations"},
		}, nil
	})
}

func withHome(ctx context.Context, o Options, m *model, fn func(*home) ([]Figure, error)) (_ []Figure, err error) {
	h, err := newHome(o, m)
	if err != nil {
		return nil, err
	}
	defer h.remove()
	if err := h.start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.stop(ctx)) }()
	return fn(h)
}

// time says the same n times in one conversation and returns how long each
// answer took, sorted.
func (h *home) time(ctx context.Context, n int, text string) ([]time.Duration, error) {
	var out []time.Duration
	for i := range n + n/10 {
		began := time.Now()
		// A fresh conversation now and then, so that its length does not count.
		if err := h.say(ctx, fmt.Sprintf("bench-%d-%d", len(text), i/20), text); err != nil {
			return nil, err
		}
		if i >= n/10 { // the first ones warm caches
			out = append(out, time.Since(began))
		}
	}
	slices.Sort(out)
	return out, nil
}

// load runs turns in all conversations at once.
func (h *home) load(ctx context.Context, d time.Duration) (float64, error) {
	var done atomic.Int64
	began := time.Now()
	err := parallel(ctx, sessions, func(ctx context.Context, n int) error {
		for i := 0; time.Since(began) < d; i++ {
			if err := h.say(ctx, fmt.Sprintf("load-%d-%d", n, i/20), "hello"); err != nil {
				return err
			}
			done.Add(1)
		}
		return nil
	})
	return float64(done.Load()) / time.Since(began).Seconds(), err
}

func parallel(ctx context.Context, n int, fn func(context.Context, int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if errs[i] = fn(ctx, i); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return ctx.Err()
}
