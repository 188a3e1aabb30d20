package desktop

import (
	"context"
	"sync"
	"time"

	"hob/platform/host/desktop"
)

// shownQuestion is a visible notification that asks a question.
type shownQuestion struct{ note, question string }

// withdrawAnswered closes the notifications of questions that are no longer open, regardless of
// where they were answered.
func (c *Channel) withdrawAnswered(ctx context.Context, waits *sync.WaitGroup) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-c.asked:
			waits.Go(func() {
				err := c.buttons.Ended(ctx, a.question)
				if err == nil {
					err = c.note.Withdraw(ctx, a.note)
				}
				if err != nil && ctx.Err() == nil {
					c.log.Warn("removing an answered question from the screen failed", "note", a.note, "err", err)
				}
			})
		}
	}
}

// disarmWait is the timeout for updating the screen when Hob stops.
const disarmWait = 2 * time.Second

// disarmButtons removes the buttons of visible questions. A press after Hob has stopped is lost,
// even if Hob runs again. Because most desktops close a pressed notification, the question would
// look answered.
func (c *Channel) disarmButtons(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, disarmWait)
	defer cancel()
	c.mu.Lock()
	open := map[string]string{}
	for id, what := range c.shown {
		if what.question != "" {
			open[id] = what.asks
		}
	}
	c.mu.Unlock()
	for id, text := range open {
		n := desktop.Notification{ID: id, Title: "Hob asks (but is not running)", Body: text + "\n(Answer when Hob is running again: in the chat, on its page or with hob approve.)", Urgency: desktop.Normal}
		if err := c.note.Notify(ctx, n); err != nil {
			c.log.Warn("removing the buttons of a question failed; they no longer work", "note", id, "err", err)
		}
	}
}
