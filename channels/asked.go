package channels

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hob/platform/retry"
)

// QuestionTracker tracks a channel's questions that are posted with buttons. It stores them, so
// that the buttons of a closed question are removed even if Hob was not running when it closed. If
// storing fails, the only effect is that the buttons stay. Its methods may be called concurrently.
type QuestionTracker struct {
	keep    StateStore
	buttons ButtonHandler
	log     *slog.Logger
	news    chan struct{}

	writing sync.Mutex // held while the stored state is written

	mu   sync.Mutex
	read bool // whether the stored state was read
	open []PostedQuestion
}

// PostedQuestion is a posted message with buttons.
type PostedQuestion struct {
	Question string `json:"q"`
	Chat     string `json:"c"`
	Message  string `json:"m"`
	At       int64  `json:"t"` // when it was posted, in Unix milliseconds by the clock of this machine
}

const (
	askedKey  = "asked"
	mostAsked = 200
	// bareTries is the maximum number of attempts to remove the buttons of a question.
	bareTries = 5
)

// NewAsked returns a tracker; the stored state is read on first use. keep may be nil.
func NewAsked(keep StateStore, buttons ButtonHandler, log *slog.Logger) *QuestionTracker {
	return &QuestionTracker{keep: keep, buttons: buttons, log: log, news: make(chan struct{}, 1)}
}

// Add records a question that was just posted.
func (a *QuestionTracker) Add(ctx context.Context, question, chat, message string) {
	a.changeOpen(ctx, func(open []PostedQuestion) []PostedQuestion {
		open = append(open, PostedQuestion{question, chat, message, time.Now().UnixMilli()})
		return open[max(0, len(open)-mostAsked):]
	})
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// Since returns when a question was posted in a message, or the argument otherwise if that is
// unknown.
func (a *QuestionTracker) Since(ctx context.Context, question, message string, otherwise time.Time) time.Time {
	for _, s := range a.loadOnce(ctx) {
		if s.Question == question && s.Message == message {
			return time.UnixMilli(s.At)
		}
	}
	return otherwise
}

// Watch removes the buttons of each question that is answered, on this channel or elsewhere, until
// ctx ends. It calls bare to remove the buttons of one question and retries several times, first
// after pause. Without Buttons it does nothing.
func (a *QuestionTracker) Watch(ctx context.Context, pause time.Duration, bare func(context.Context, PostedQuestion) error) {
	if a.buttons == nil {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	watched := map[PostedQuestion]bool{}
	for {
		for _, s := range a.loadOnce(ctx) {
			if !watched[s] {
				watched[s] = true
				wg.Go(func() { a.watchQuestion(ctx, pause, s, bare) })
			}
		}
		select {
		case <-a.news:
		case <-ctx.Done():
			return
		}
	}
}

func (a *QuestionTracker) watchQuestion(ctx context.Context, pause time.Duration, s PostedQuestion, bare func(context.Context, PostedQuestion) error) {
	if err := a.buttons.Ended(ctx, s.Question); err != nil {
		if ctx.Err() == nil {
			a.log.Warn("cannot check whether a question was answered; its buttons stay", "error", err)
		}
		return
	}
	err, every := bare(ctx, s), retry.Backoff{First: pause}
	for n := 0; isTransient(err) && n < bareTries && retry.Sleep(ctx, RetryIn(err, every.Delay(n+1))) == nil; n++ {
		err = bare(ctx, s)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		a.log.Warn("removing the buttons of an answered question failed", "error", err)
	}
	if !isTransient(err) { // otherwise the next start retries
		a.changeOpen(ctx, func(open []PostedQuestion) []PostedQuestion {
			return slices.DeleteFunc(open, func(o PostedQuestion) bool { return o == s })
		})
	}
}

// isTransient reports whether an error may be temporary.
func isTransient(err error) bool {
	c := ClassOf(err)
	return err != nil && (c == Temporary || c == Later)
}

func (a *QuestionTracker) changeOpen(ctx context.Context, f func([]PostedQuestion) []PostedQuestion) {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.loadOnce(ctx)
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

// loadOnce loads the stored questions on first use and returns all questions.
func (a *QuestionTracker) loadOnce(ctx context.Context) []PostedQuestion {
	a.mu.Lock()
	read := a.read || a.keep == nil
	a.mu.Unlock()
	if !read {
		if err := a.loadStored(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("loading the questions with buttons failed", "error", err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.open)
}

func (a *QuestionTracker) loadStored(ctx context.Context) error {
	raw, err := a.keep.Get(ctx, askedKey)
	if err != nil {
		return err
	}
	var had []PostedQuestion
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
