package desktop

import (
	"context"
	"sync"
)

// asked is a note that shows a question.
type asked struct{ note, question string }

// withdraw takes the notes of questions off the screen that wait for no answer any
// more, wherever they were answered.
func (c *Channel) withdraw(ctx context.Context, waits *sync.WaitGroup) {
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
					c.log.Warn("a question that was answered may be shown still", "note", a.note, "err", err)
				}
			})
		}
	}
}
