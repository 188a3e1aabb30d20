package channels

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Asked are the questions of a channel that stand on its platform with buttons under
// them. They are kept, so that the buttons go once a question waits for nothing any more,
// also when Hob was off then. That one cannot be kept loses no more than that its buttons
// stay. Its methods may be called concurrently.
type Asked struct {
	keep    Keeper
	buttons Buttons
	log     *slog.Logger
	news    chan struct{}

	writing sync.Mutex // held while what is kept is written

	mu   sync.Mutex
	read bool // what was kept was read
	open []Standing
}

// Standing is a message with buttons under it.
type Standing struct {
	Question string `json:"q"`
	Chat     string `json:"c"`
	Message  string `json:"m"`
	At       int64  `json:"t"` // since when, in milliseconds by the clock of this machine
}

const (
	askedKey  = "asked"
	mostAsked = 200
	// bareTries is how often is tried again to take buttons away.
	bareTries = 5
)

// NewAsked reads nothing yet. keep may be nil.
func NewAsked(keep Keeper, buttons Buttons, log *slog.Logger) *Asked {
	return &Asked{keep: keep, buttons: buttons, log: log, news: make(chan struct{}, 1)}
}

// Add remembers a question that has just been put.
func (a *Asked) Add(ctx context.Context, question, chat, message string) {
	a.change(ctx, func(open []Standing) []Standing {
		open = append(open, Standing{question, chat, message, time.Now().UnixMilli()})
		return open[max(0, len(open)-mostAsked):]
	})
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// Since is when a question appeared in a message; otherwise where that is not known.
func (a *Asked) Since(ctx context.Context, question, message string, otherwise time.Time) time.Time {
	for _, s := range a.all(ctx) {
		if s.Question == question && s.Message == message {
			return time.UnixMilli(s.At)
		}
	}
	return otherwise
}

// Watch takes the buttons away of each question that ends, here or elsewhere, until ctx
// does. bare does it for one; it is tried again for a while, first after pause. Nothing
// is to be done where the channel has no Buttons.
func (a *Asked) Watch(ctx context.Context, pause time.Duration, bare func(context.Context, Standing) error) {
	if a.buttons == nil {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	watched := map[Standing]bool{}
	for {
		for _, s := range a.all(ctx) {
			if !watched[s] {
				watched[s] = true
				wg.Go(func() { a.watch(ctx, pause, s, bare) })
			}
		}
		select {
		case <-a.news:
		case <-ctx.Done():
			return
		}
	}
}

func (a *Asked) watch(ctx context.Context, pause time.Duration, s Standing, bare func(context.Context, Standing) error) {
	if err := a.buttons.Ended(ctx, s.Question); err != nil {
		if ctx.Err() == nil {
			a.log.Warn("cannot check whether a question was answered; its buttons stay", "error", err)
		}
		return
	}
	err := bare(ctx, s)
	for n := 0; passes(err) && n < bareTries && Sleep(ctx, RetryIn(err, pause<<n)); n++ {
		err = bare(ctx, s)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		a.log.Warn("removing the buttons of an answered question failed", "error", err)
	}
	if !passes(err) { // otherwise it is tried at the next start
		a.change(ctx, func(open []Standing) []Standing {
			return slices.DeleteFunc(open, func(o Standing) bool { return o == s })
		})
	}
}

// passes reports whether an error may be over later.
func passes(err error) bool {
	c := ClassOf(err)
	return err != nil && (c == Temporary || c == Later)
}

func (a *Asked) change(ctx context.Context, f func([]Standing) []Standing) {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.all(ctx)
	a.mu.Lock()
	a.open = f(a.open)
	raw, err := json.Marshal(a.open)
	a.mu.Unlock()
	if a.keep != nil && err == nil {
		err = a.keep.Set(ctx, askedKey, raw)
	}
	if err != nil && ctx.Err() == nil {
		a.log.Warn("storing the questions with buttons failed", "error", err)
	}
}

// all are the questions, those of before among them.
func (a *Asked) all(ctx context.Context) []Standing {
	a.mu.Lock()
	read := a.read || a.keep == nil
	a.mu.Unlock()
	if !read {
		if err := a.load(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("loading the questions with buttons failed", "error", err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.open)
}

func (a *Asked) load(ctx context.Context) error {
	raw, err := a.keep.Get(ctx, askedKey)
	if err != nil {
		return err
	}
	var had []Standing
	if raw != nil {
		if e := json.Unmarshal(raw, &had); e != nil {
			err, had = fmt.Errorf("decode the stored state: %w", e), nil
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.read {
		a.open, a.read = append(had, a.open...), true
	}
	return err
}
