package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/channels"
)

// asked is a message with buttons.
type asked struct {
	Chat     string `json:"chat"`
	Message  int64  `json:"message"`
	Question string `json:"question"`
	At       int64  `json:"at"` // since when, in milliseconds of this machine
}

const (
	yes = "y:"
	no  = "n:"
	// maxData is what a button carries, in bytes
	// (https://core.telegram.org/bots/api#inlinekeyboardbutton).
	maxData  = 64
	maxAsked = 100
	// pressWait bounds what a press sets off.
	pressWait = 10 * time.Second
	maxNotice = 200 // characters of an answer to a press
)

// keyboard is two buttons; nil without a question.
func keyboard(question string) any {
	if question == "" || len(yes+question) > maxData {
		return nil
	}
	button := func(text, data string) params { return params{"text": text, "callback_data": data} }
	return params{"inline_keyboard": [][]params{{button("✅ Approve", yes+question), button("❌ Deny", no+question)}}}
}

// remember keeps that a message has buttons, which are taken away once its question
// waits for nothing any more. err is that of sending it.
func (c *Channel) remember(ctx context.Context, err error, to *target, id, question string) error {
	n, bad := strconv.ParseInt(id, 10, 64)
	if err != nil || question == "" || bad != nil {
		return err
	}
	if err := c.change(ctx, func(open []asked) []asked {
		open = append(open, asked{to.chat, n, question, time.Now().UnixMilli()})
		return open[max(0, len(open)-maxAsked):]
	}); err != nil {
		c.log.Warn("the buttons of a question may stay when it was answered", "error", err)
	}
	select {
	case c.asked <- struct{}{}:
	default:
	}
	return nil
}

// change changes the list of messages with buttons, here and where it is kept.
func (c *Channel) change(ctx context.Context, f func([]asked) []asked) error {
	if _, err := c.questions(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	c.open = f(append([]asked(nil), c.open...))
	b, err := json.Marshal(c.open)
	c.mu.Unlock()
	if err == nil && c.keep != nil {
		err = c.keep.Set(ctx, keyAsked, b)
	}
	return err
}

func (c *Channel) questions(ctx context.Context) ([]asked, error) {
	c.mu.Lock()
	known := c.opened
	c.mu.Unlock()
	var was []asked
	if !known && c.keep != nil {
		kept, err := c.keep.Get(ctx, keyAsked)
		if err != nil {
			return nil, fmt.Errorf("telegram: which questions have buttons: %w", err)
		}
		if kept != nil && json.Unmarshal(kept, &was) != nil {
			was = nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.opened {
		c.open, c.opened = was, true
	}
	return append([]asked(nil), c.open...), nil
}

// watchQuestions takes buttons away whose question was answered, here or elsewhere.
func (c *Channel) watchQuestions(ctx context.Context) {
	var waits sync.WaitGroup
	defer waits.Wait()
	watched := map[asked]bool{}
	for {
		open, err := c.questions(ctx)
		if err != nil && ctx.Err() == nil {
			c.log.Warn("buttons of questions may stay", "error", err)
		}
		for _, a := range open {
			if !watched[a] {
				watched[a] = true
				waits.Go(func() { c.disarm(ctx, a) })
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-c.asked:
		}
	}
}

// disarm waits until a question was answered, and takes its buttons away.
func (c *Channel) disarm(ctx context.Context, a asked) {
	err := c.buttons.Ended(ctx, a.Question)
	for failures := 0; err == nil && failures < 6; failures++ {
		if err = c.withoutButtons(ctx, a); err == nil || channels.ClassOf(err) == channels.Permanent {
			break
		}
		channels.Sleep(ctx, channels.RetryIn(err, c.opt.Pause<<failures))
		err = ctx.Err()
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		c.log.Warn("a question that was answered may keep its buttons", "error", err)
	}
	if err := c.change(ctx, func(open []asked) []asked {
		var left []asked
		for _, o := range open {
			if o != a {
				left = append(left, o)
			}
		}
		return left
	}); err != nil && ctx.Err() == nil {
		c.log.Warn("which questions have buttons cannot be kept", "error", err)
	}
}

func (c *Channel) withoutButtons(ctx context.Context, a asked) error {
	to, err := c.target(ctx, a.Chat)
	if err != nil {
		return err
	}
	err = c.call(ctx, "editMessageReplyMarkup", params{"chat_id": to.chat, "message_id": a.Message, "reply_markup": params{"inline_keyboard": []any{}}}, nil)
	if says(err, "message is not modified") || gone(err) {
		return nil
	}
	return err
}

// pressed handles a press on a button. Whoever presses gets a word; only the owner's
// press decides, which is for Buttons to judge: a client can send any data as any
// press of its own user (https://core.telegram.org/bots/api#callbackquery).
func (c *Channel) pressed(ctx context.Context, q callback) {
	in, cancel := context.WithTimeout(ctx, pressWait)
	said, err := c.decide(in, q)
	cancel()
	if ctx.Err() != nil && err != nil {
		return // it is handed in again
	}
	alert := err != nil
	if alert {
		c.log.Info("a press did nothing", "sender", q.From.ID, "error", err)
		if said = err.Error(); errors.Is(err, channels.ErrNotOwner) {
			said = channels.ErrNotOwner.Error() // and nothing of what happens here
		} else if errors.Is(err, context.DeadlineExceeded) {
			said = "That took too long. Press again."
		}
	}
	if r := []rune(said); len(r) > maxNotice {
		said = string(r[:maxNotice-3]) + "..."
	}
	// A press that waits too long cannot be answered any more, as when Hob was off.
	ctx, cancel = context.WithTimeout(ctx, pressWait)
	defer cancel()
	if err := c.call(ctx, "answerCallbackQuery", params{"callback_query_id": q.ID, "text": said, "show_alert": alert}, nil); err != nil {
		c.log.Info("what became of a press could not be shown", "error", err)
	}
}

func (c *Channel) decide(ctx context.Context, q callback) (string, error) {
	question, approve := strings.CutPrefix(q.Data, yes)
	if !approve {
		var deny bool
		if question, deny = strings.CutPrefix(q.Data, no); !deny {
			question = ""
		}
	}
	if c.buttons == nil || question == "" || q.Message == nil || q.From.IsBot {
		return "", errors.New("this button does nothing any more")
	}
	return c.buttons.Press(ctx, channels.Press{
		Channel: Name, Sender: strconv.FormatInt(q.From.ID, 10), Chat: c.address(q.Message),
		Question: question, Shown: c.shownSince(ctx, q.Message, question), Yes: approve,
	})
}

// shownSince is when the buttons of a message appeared, by the clock of this machine,
// which may differ from the server's.
func (c *Channel) shownSince(ctx context.Context, m *message, question string) time.Time {
	open, err := c.questions(ctx)
	if err != nil {
		c.log.Warn("since when a question is shown is told by the server", "error", err)
	}
	for _, a := range open {
		if a.Message == m.ID && a.Question == question && a.At > 0 {
			return time.UnixMilli(a.At)
		}
	}
	return time.Unix(max(m.Date, m.EditDate), 0)
}
