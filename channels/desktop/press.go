package desktop

import (
	"context"
	"errors"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/host/desktop"
)

// pressWait is the timeout for handling a press.
const pressWait = 10 * time.Second

// handleEvent handles an event from a notification.
func (c *Channel) handleEvent(ctx context.Context, e desktop.Event) {
	if e.Closed != 0 {
		c.resetFold(e.Note)
		c.forgetShown(e.Note)
		return
	}
	what, ok := c.lookupShown(e.Note)
	if !ok || c.buttons == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pressWait)
	defer cancel()
	switch {
	case e.Pressed == desktop.Default, e.Pressed == keyOpen:
		c.resetFold(e.Note)
		c.openConversation(ctx, e.Note, what)
	case e.Pressed == keyLater && what.delivery != "":
		said, err := c.buttons.Later(ctx, what.delivery)
		c.reportPressResult(ctx, e.Note, what, said, err)
	case e.Pressed == keyUndo && what.sends != "":
		said, err := c.buttons.Cancel(ctx, Name, what.sends)
		c.reportPressResult(ctx, e.Note, what, said, err)
	case what.question == "":
		return // no other button was shown
	case e.Pressed == keyYes+what.question:
		c.answerQuestion(ctx, e.Note, what, true)
	case e.Pressed == keyNo+what.question:
		c.answerQuestion(ctx, e.Note, what, false)
	}
}

func (c *Channel) forgetShown(id string) {
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

// answerQuestion decides a question.
func (c *Channel) answerQuestion(ctx context.Context, id string, what shownNote, yes bool) {
	said, err := c.buttons.Answer(ctx, Name, what.question, what.at, yes)
	if errors.Is(err, channels.ErrQuick) {
		c.log.Info("button press ignored: too soon", "note", id)
		if c.showAgain(ctx, id, what) == nil {
			return
		}
	}
	c.reportPressResult(ctx, id, what, said, err)
}

// showAgain shows a question again, since most desktops close a pressed notification.
func (c *Channel) showAgain(ctx context.Context, id string, what shownNote) error {
	const mark = " again"
	if err := c.note.Withdraw(ctx, id); err != nil {
		c.log.Debug("closing a pressed notification failed", "note", id, "err", err)
	}
	c.forgetShown(id)
	n := what.note
	if trimmed, twice := strings.CutSuffix(id, mark); twice {
		n.ID = trimmed
	} else {
		n.ID = id + mark
	}
	n.Title = "Hob asks (that press came too soon)"
	return c.showNote(ctx, n, what)
}

// reportPressResult shows the result of a button press.
func (c *Channel) reportPressResult(ctx context.Context, id string, what shownNote, said string, err error) {
	n := desktop.Notification{Title: "Hob", Body: said, Urgency: desktop.Low, Transient: true}
	if err != nil {
		c.log.Warn("button press had no effect", "note", id, "err", err)
		n = desktop.Notification{Title: "That did not work", Body: err.Error(), Urgency: desktop.Normal}
	}
	c.showText(ctx, id, what, n)
}

// openConversation shows the conversation in the owner's browser.
func (c *Channel) openConversation(ctx context.Context, id string, what shownNote) {
	page := c.buttons.Page(what.session)
	if page == "" {
		return
	}
	if err := c.note.Open(ctx, page); err != nil {
		c.log.Info("opening the browser failed", "err", err)
		c.showText(ctx, id, what, desktop.Notification{Title: "Hob", Body: "I cannot open the browser on this desktop. Open " + page + " yourself, or run: hob open", Urgency: desktop.Low})
	}
}

// showText shows a message from the channel itself.
func (c *Channel) showText(ctx context.Context, id string, what shownNote, n desktop.Notification) {
	text, _ := fitNote(strings.TrimSpace(n.Body))
	n.ID, n.Body = id+" told", text
	if err := c.note.Notify(ctx, n); err != nil {
		c.log.Warn("showing the result of a button press failed", "session", what.session, "err", err)
	}
}
