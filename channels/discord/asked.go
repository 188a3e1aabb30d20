package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"hob/channels"
)

// maxOpen bounds the questions whose buttons are remembered.
const maxOpen = 200

// open is a question with buttons under it.
type open struct {
	Question string    `json:"q"`
	Chat     string    `json:"c"`
	Message  string    `json:"m"`
	At       time.Time `json:"t"`
}

// asked are the questions whose buttons have to be taken away once they are answered.
// They outlive a restart.
type asked struct {
	keep channels.Keeper
	wake chan struct{}

	mu     sync.Mutex
	loaded bool
	open   []open
}

const askedKey = "asked"

func (a *asked) load(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loaded || a.keep == nil {
		return nil
	}
	raw, err := a.keep.Get(ctx, askedKey)
	if err != nil {
		return fmt.Errorf("discord: which questions are open: %w", err)
	}
	var had []open
	if raw != nil {
		if err := json.Unmarshal(raw, &had); err != nil {
			return fmt.Errorf("discord: which questions are open cannot be understood: %w", err)
		}
	}
	a.open, a.loaded = append(had, a.open...), true
	return nil
}

// add remembers one. That it cannot be kept loses no more than that its buttons stay.
func (a *asked) add(ctx context.Context, o open) {
	a.change(ctx, func() {
		a.open = append(a.open, o)
		if len(a.open) > maxOpen {
			a.open = a.open[len(a.open)-maxOpen:]
		}
	})
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *asked) drop(ctx context.Context, o open) {
	a.change(ctx, func() { a.open = slices.DeleteFunc(a.open, func(have open) bool { return have == o }) })
}

func (a *asked) change(ctx context.Context, f func()) {
	a.mu.Lock()
	f()
	raw, err := json.Marshal(a.open)
	a.mu.Unlock()
	if a.keep != nil && err == nil {
		_ = a.keep.Set(ctx, askedKey, raw) // see add
	}
}

func (a *asked) all() []open {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.open)
}

// shown is since when the buttons of a question have stood under a message.
func (a *asked) shown(question, message string) (time.Time, bool) {
	for _, o := range a.all() {
		if o.Question == question && o.Message == message {
			return o.At, true
		}
	}
	return time.Time{}, false
}

// watchAsked takes the buttons away of each question that was answered, here or
// elsewhere, until ctx ends.
func (c *Channel) watchAsked(ctx context.Context) {
	if c.buttons == nil {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	watched := map[open]bool{}
	for {
		for _, o := range c.asked.all() {
			if !watched[o] {
				watched[o] = true
				wg.Go(func() { c.watch(ctx, o) })
			}
		}
		select {
		case <-c.asked.wake:
		case <-ctx.Done():
			return
		}
	}
}

func (c *Channel) watch(ctx context.Context, o open) {
	if err := c.buttons.Ended(ctx, o.Question); err != nil {
		if ctx.Err() == nil {
			c.log.Warn("whether a question was answered is not known; its buttons stay", "error", err)
		}
		return
	}
	path, err := chatPath(o.Chat)
	if err == nil {
		err = c.bare(ctx, path+"/messages/"+o.Message)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		c.log.Info("the buttons of a question that was answered stay", "error", err)
	}
	c.asked.drop(ctx, o)
}

// bare takes the buttons of a message away, trying for a while.
func (c *Channel) bare(ctx context.Context, path string) error {
	for n := 0; ; n++ {
		err := c.send(ctx, "take buttons away", http.MethodPatch, path, map[string]any{"components": []row{}}, nil)
		class := channels.ClassOf(err)
		if err == nil || n == 5 || class != channels.Temporary && class != channels.Later {
			return err
		}
		if !channels.Sleep(ctx, time.Second<<n) {
			return ctx.Err()
		}
	}
}
