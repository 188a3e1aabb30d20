package telegram

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"hob/channels"
)

const (
	yes = "y:"
	no  = "n:"
	// maxData is the maximum size of a button's data in bytes
	// (https://core.telegram.org/bots/api#inlinekeyboardbutton).
	maxData = 64
	// pressWait is the timeout for handling a press.
	pressWait = 10 * time.Second
	maxNotice = 200 // maximum length of the reply to a press, in characters
)

// approvalKeyboard returns a keyboard with two buttons, or nil if there is no question or its id
// does not fit into a button.
func approvalKeyboard(question string) any {
	if question == "" || len(yes+question) > maxData {
		return nil
	}
	button := func(text, data string) params { return params{"text": text, "callback_data": data} }
	return params{"inline_keyboard": [][]params{{button("✅ Approve", yes+question), button("❌ Deny", no+question)}}}
}

// removeButtons removes the buttons of a question.
func (c *Channel) removeButtons(ctx context.Context, s channels.PostedQuestion) error {
	to, err := c.resolveTarget(ctx, s.Chat)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(s.Message, 10, 64)
	if err != nil {
		return channels.Errorf(channels.Permanent, "telegram: %q is not a message id", s.Message)
	}
	err = c.callMethod(ctx, "editMessageReplyMarkup", params{"chat_id": to.chat, "message_id": id, "reply_markup": params{"inline_keyboard": []any{}}}, nil)
	if hasRefusalText(err, "message is not modified") || isUneditable(err) {
		return nil
	}
	return err
}

// handlePress handles a button press. Everyone who presses gets a reply. Only the owner's press
// decides; the ButtonHandler checks this, because a client can send any data as a press by its own
// user (https://core.telegram.org/bots/api#callbackquery).
func (c *Channel) handlePress(ctx context.Context, q callback) {
	in, cancel := context.WithTimeout(ctx, pressWait)
	said, err := c.decideQuestion(in, q)
	cancel()
	if ctx.Err() != nil && err != nil {
		return // Telegram delivers the update again
	}
	alert := err != nil
	if alert {
		c.log.Info("button press had no effect", "sender", q.From.ID, "error", err)
		if said = err.Error(); errors.Is(err, channels.ErrNotOwner) {
			said = channels.ErrNotOwner.Error() // do not show the details to other people
		} else if errors.Is(err, context.DeadlineExceeded) {
			said = "That took too long. Press again."
		}
	}
	if r := []rune(said); len(r) > maxNotice {
		said = string(r[:maxNotice-3]) + "..."
	}
	// Answering fails for an old press, for example one made while Hob was not running.
	ctx, cancel = context.WithTimeout(ctx, pressWait)
	defer cancel()
	if err := c.callMethod(ctx, "answerCallbackQuery", params{"callback_query_id": q.ID, "text": said, "show_alert": alert}, nil); err != nil {
		c.log.Info("showing the result of a button press failed", "error", err)
	}
}

func (c *Channel) decideQuestion(ctx context.Context, q callback) (string, error) {
	question, approve := strings.CutPrefix(q.Data, yes)
	if !approve {
		var deny bool
		if question, deny = strings.CutPrefix(q.Data, no); !deny {
			question = ""
		}
	}
	if c.buttons == nil || question == "" || q.Message == nil || q.From.IsBot {
		return "", errors.New("this button no longer works")
	}
	return c.buttons.Press(ctx, channels.ButtonPress{
		Channel: Name, Sender: strconv.FormatInt(q.From.ID, 10), Chat: c.chatAddress(q.Message),
		Question: question, Yes: approve,
		Shown: c.asked.Since(ctx, question, sentMessage{q.Message.ID}.messageID(), time.Unix(max(q.Message.Date, q.Message.EditDate), 0)),
	})
}
