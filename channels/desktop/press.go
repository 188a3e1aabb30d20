package desktop

import (
	"context"
	"errors"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/desktop"
)

// pressWait is the timeout for handling a press.
const pressWait = 10 * time.Second

// happened handles an event of a notification.
func (c *Channel) happened(ctx context.Context, e desktop.Event) {
	if e.Closed != 0 {
		c.seen(e.Note)
		c.forget(e.Note)
		return
	}
	what, ok := c.what(e.Note)
	if !ok || c.buttons == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pressWait)
	defer cancel()
	switch {
	case e.Pressed == desktop.Default, e.Pressed == keyOpen:
		c.seen(e.Note)
		c.open(ctx, e.Note, what)
	case e.Pressed == keyLater && what.delivery != "":
		said, err := c.buttons.Later(ctx, what.delivery)
		c.came(ctx, e.Note, what, said, err)
	case what.question == "":
		return // no other button was shown
	case e.Pressed == keyYes+what.question:
		c.answer(ctx, e.Note, what, true)
	case e.Pressed == keyNo+what.question:
		c.answer(ctx, e.Note, what, false)
	}
}

func (c *Channel) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.shown, id)
	for i, o := range c.order {
		if o == id {
			c.order = append(c.order[:i], c.order[i+1:]...)
			break
		}
	}
}

// answer decides a question.
func (c *Channel) answer(ctx context.Context, id string, what shown, yes bool) {
	said, err := c.buttons.Answer(ctx, Name, what.question, what.at, yes)
	if errors.Is(err, channels.ErrQuick) {
		c.log.Info("button press ignored: too soon", "note", id)
		if c.again(ctx, id, what) == nil {
			return
		}
	}
	c.came(ctx, id, what, said, err)
}

// again shows a question again, since most desktops close a pressed notification.
func (c *Channel) again(ctx context.Context, id string, what shown) error {
	const mark = " again"
	if err := c.note.Withdraw(ctx, id); err != nil {
		c.log.Debug("closing a pressed notification failed", "note", id, "err", err)
	}
	c.forget(id)
	n := what.note
	if trimmed, twice := strings.CutSuffix(id, mark); twice {
		n.ID = trimmed
	} else {
		n.ID = id + mark
	}
	n.Title = "Hob asks (that press came too soon)"
	return c.show(ctx, n, what)
}

// came shows the result of a press.
func (c *Channel) came(ctx context.Context, id string, what shown, said string, err error) {
	n := desktop.Note{Title: "Hob", Body: said, Urgency: desktop.Low, Transient: true}
	if err != nil {
		c.log.Warn("button press had no effect", "note", id, "err", err)
		n = desktop.Note{Title: "That did not work", Body: err.Error(), Urgency: desktop.Normal}
	}
	c.say(ctx, id, what, n)
}

// open shows the conversation in the owner's browser.
func (c *Channel) open(ctx context.Context, id string, what shown) {
	page := c.buttons.Page(what.session)
	if page == "" {
		return
	}
	if err := c.note.Open(ctx, page); err != nil {
		c.log.Info("opening the browser failed", "err", err)
		c.say(ctx, id, what, desktop.Note{Title: "Hob", Body: "I cannot open the browser on this desktop. Open " + page + " yourself, or run: hob open", Urgency: desktop.Low})
	}
}

// say shows a message of the channel itself.
func (c *Channel) say(ctx context.Context, id string, what shown, n desktop.Note) {
	text, _ := fit(strings.TrimSpace(n.Body))
	n.ID, n.Body = id+" told", text
	if err := c.note.Notify(ctx, n); err != nil {
		c.log.Warn("showing the result of a button press failed", "session", what.session, "err", err)
	}
}
