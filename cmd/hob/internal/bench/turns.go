package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sessions is the number of conversations that share the load.
	sessions = 8
	// perSession is the number of turns per conversation. After that, turns use a new conversation,
	// because the growing history would affect the figures.
	perSession = 20
	// steps is the number of sequential tool calls per turn.
	steps = 8
)

func builtinTurns(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	return withHome(ctx, o, nil, func(h *home) ([]Figure, error) {
		hello, err := h.runTurns(ctx, r.turns, "hello")
		if err != nil {
			return nil, err
		}
		task, err := h.runTurns(ctx, r.turns, "add a task: water the plants")
		if err != nil {
			return nil, err
		}
		return []Figure{
			{Name: "turn_builtin_p50", Value: milliseconds(percentileAt(hello, 50)), Unit: "ms", Target: 4, About: "\"hello\" to the built-in brain, durable, over HTTP"},
			{Name: "turn_builtin_p95", Value: milliseconds(percentileAt(hello, 95)), Unit: "ms", About: "time of turn_builtin_p50, 95th percentile"},
			{Name: "turn_builtin_task_p50", Value: milliseconds(percentileAt(task, 50)), Unit: "ms", About: "\"add a task\" to the built-in brain: a turn with one tool call"},
		}, nil
	})
}

func modelTurns(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	return withModel(ctx, o, func(h *home) ([]Figure, error) {
		plain, err := h.runTurns(ctx, r.turns, "hello")
		if err != nil {
			return nil, err
		}
		task, err := h.runTurns(ctx, r.steps, callText("create_task", steps))
		if err != nil {
			return nil, err
		}
		file, err := h.runTurns(ctx, r.steps, callText("write_file", steps))
		if err != nil {
			return nil, err
		}
		kept, resent, err := h.measurePrefixReuse(ctx)
		if err != nil {
			return nil, err
		}
		step := func(turns []time.Duration) float64 {
			return milliseconds((percentileAt(turns, 50) - percentileAt(plain, 50)) / steps)
		}
		return []Figure{
			{Name: "turn_p50", Value: milliseconds(percentileAt(plain, 50)), Unit: "ms", Target: 4, About: "a turn over HTTP with an instant model, everything durable, minus the model server's time"},
			{Name: "turn_p95", Value: milliseconds(percentileAt(plain, 95)), Unit: "ms", About: "time of turn_p50, 95th percentile"},
			{Name: "tool_step_p50", Value: step(task), Unit: "ms", Target: 2, About: fmt.Sprintf("additional time for a call of create_task: another request, policy check, ledger, audit, tool (mean of %d in a turn)", steps)},
			{Name: "file_step_p50", Value: step(file), Unit: "ms", Target: 2, About: "the same for write_file, which is in the ledger before and after it runs"},
			{Name: "prompt_prefix", Value: kept, Unit: "%", Target: 100, AtLeast: true, About: fmt.Sprintf("of the requests in a conversation of %d turns begin with the whole previous request", conversation)},
			{Name: "prompt_resent", Value: resent, Unit: "%", AtLeast: true, About: "of the bytes that such a conversation sends repeat the previous request, so a provider can read them from its cache"},
		}, nil
	})
}

// measureLoad runs turns in all conversations in parallel.
func measureLoad(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	return withModel(ctx, o, func(h *home) ([]Figure, error) {
		if _, err := h.measureThroughput(ctx, r.load/5); err != nil { // this fills the caches
			return nil, err
		}
		before, known := usageOf(h.processID())
		began := time.Now()
		done, err := h.measureThroughput(ctx, r.load)
		if err != nil {
			return nil, err
		}
		out := []Figure{{Name: "turns_per_second", Value: done / time.Since(began).Seconds(), Unit: "/s", Target: 500, AtLeast: true, About: fmt.Sprintf("over %d conversations at once, on the cores that this program and the model server share", sessions)}}
		if after, err := usageOf(h.processID()); known == nil && err == nil {
			out = append(out, Figure{Name: "turn_cpu", Value: milliseconds(after.cpu-before.cpu) / done, Unit: "ms", About: "processor time per turn"})
		}
		return out, nil
	})
}

func withHome(ctx context.Context, o Options, m *model, fn func(*home) ([]Figure, error)) (_ []Figure, err error) {
	h, err := newHome(o, m)
	if err != nil {
		return nil, err
	}
	defer h.removeDir()
	if err := h.startProgram(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.stopProgram(ctx)) }()
	return fn(h)
}

// withModel is like withHome, but with a model server that answers immediately.
func withModel(ctx context.Context, o Options, fn func(*home) ([]Figure, error)) ([]Figure, error) {
	m, err := newModel()
	if err != nil {
		return nil, err
	}
	defer m.stopServing(ctx)
	return withHome(ctx, o, m, fn)
}

// runTurns sends the same message n times and waits for each answer. It returns the sorted times
// without the time spent in the model server.
func (h *home) runTurns(ctx context.Context, n int, text string) ([]time.Duration, error) {
	var out []time.Duration
	warm := n/10 + 1
	for i := range n + warm {
		began, spent := time.Now(), h.model.timeSpent()
		if err := h.sendAndWait(ctx, fmt.Sprintf("bench-%s-%d", text, i/perSession), text); err != nil {
			return nil, err
		}
		if i >= warm { // the first turns warm the caches
			out = append(out, time.Since(began)-(h.model.timeSpent()-spent))
		}
	}
	slices.Sort(out)
	return out, nil
}

func (h *home) measureThroughput(ctx context.Context, d time.Duration) (float64, error) {
	var done atomic.Int64
	began := time.Now()
	err := runParallel(ctx, sessions, func(ctx context.Context, n int) error {
		for i := 0; time.Since(began) < d; i++ {
			if err := h.sendAndWait(ctx, fmt.Sprintf("load-%d-%d-%d", began.UnixMilli(), n, i/perSession), "hello"); err != nil {
				return err
			}
			done.Add(1)
		}
		return nil
	})
	return float64(done.Load()), err
}

// conversation is the number of turns in the measured conversation.
const conversation = 50

// measurePrefixReuse runs a conversation with and without tools. It returns two percentages: the
// share of requests that begin byte for byte with the previous request's messages, and the share of
// bytes that were sent before in such a prefix, which a provider can cache.
func (h *home) measurePrefixReuse(ctx context.Context) (kept, resent float64, err error) {
	bodies := h.model.recordRequests()
	for i := range conversation {
		text := fmt.Sprintf("hello %d", i)
		if i%4 == 1 {
			text = callText("create_task", 2)
		}
		if err := h.sendAndWait(ctx, "prefixes", text); err != nil {
			return 0, 0, err
		}
	}
	var last, offered []byte
	n, sent, same := 0, 0, 0
	all := bodies()
	for i, b := range all {
		var r struct{ Messages, Tools json.RawMessage }
		if err := json.Unmarshal(b, &r); err != nil {
			return 0, 0, err
		}
		sent += len(r.Messages) + len(r.Tools)
		if i > 0 && bytes.Equal(r.Tools, offered) {
			common := 0
			for common < len(last) && common < len(r.Messages) && last[common] == r.Messages[common] {
				common++
			}
			same += len(r.Tools) + common
			if common == len(last) {
				n++
			}
		}
		last, offered = bytes.TrimSuffix(r.Messages, []byte("]")), r.Tools
	}
	return 100 * float64(n) / float64(len(all)-1), 100 * float64(same) / float64(sent), nil
}

func runParallel(ctx context.Context, n int, fn func(context.Context, int) error) error {
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
