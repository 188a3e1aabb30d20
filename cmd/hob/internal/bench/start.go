package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

func startUp(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	h, err := newHome(o, nil)
	if err != nil {
		return nil, err
	}
	defer h.removeDir()
	var took []time.Duration
	for range r.starts + 1 {
		if err := h.startProgram(ctx); err != nil {
			return nil, err
		}
		took = append(took, h.took)
		if err := h.stopProgram(ctx); err != nil {
			return nil, err
		}
	}
	first, again := took[0], took[1:] // the first start creates the database
	slices.Sort(again)
	return []Figure{
		{Name: "ready", Value: milliseconds(percentileAt(again, 50)), Unit: "ms", Target: 40, About: "from process start until it accepts messages, median"},
		{Name: "ready_first", Value: milliseconds(first), Unit: "ms", About: "the same in an empty home, which creates the database"},
	}, nil
}

// firstRequest repeatedly starts the program, sends hello when it accepts messages, and measures
// the time until the model receives the request.
func firstRequest(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	m, err := newModel()
	if err != nil {
		return nil, err
	}
	defer m.stopServing(ctx)
	h, err := newHome(o, m)
	if err != nil {
		return nil, err
	}
	defer h.removeDir()
	var took []time.Duration
	var size int
	for i := range r.starts + 1 {
		m.forgetFirst()
		if err := h.startProgram(ctx); err != nil {
			return nil, err
		}
		err := h.sendAndWait(ctx, fmt.Sprintf("first-%d", i), "hello")
		if err := errors.Join(err, h.stopProgram(ctx)); err != nil {
			return nil, err
		}
		when, body := m.firstRequest()
		size = len(body)
		if i > 0 { // the first start creates the database
			took = append(took, when.Sub(h.began))
		}
	}
	slices.Sort(took)
	return []Figure{
		{Name: "first_request", Value: milliseconds(percentileAt(took, 50)), Unit: "ms", Target: 40, About: "from process start until the model receives \"hello\", median"},
		{Name: "prompt_hello", Value: float64(size) / 4, Unit: "tokens", Target: 2000, About: "size of the request for \"hello\" with the whole tool catalog available, bytes / 4"},
	}, nil
}
