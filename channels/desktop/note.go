package desktop

import (
	"context"
	"strings"
	"unicode/utf8"

	"hob/channels"
	"hob/platform/host/desktop"
)

// Limits of one notification. Desktops truncate longer text, and the user must see the complete
// question before approving. Longer questions have no buttons here.
const (
	mostChars    = 700
	mostLines    = 14
	mostQuestion = 500 // maximum length of a notification with buttons
)

// Button keys. The key of an answer contains the question's id, so that a press counts for
// that question even if the notification was replaced.
const (
	keyOpen  = "open"
	keyLater = "later"
	keyUndo  = "undo"
	keyYes   = "yes "
	keyNo    = "no "
)

// toRead is appended to truncated text.
const toRead = "\n… (open to read the rest)"

// noteOf builds the notification for a delivery.
func (c *Channel) noteOf(ctx context.Context, d channels.Delivery) (desktop.Notification, shownNote, error) {
	text, whole := fitNote(d.Text)
	n := desktop.Notification{ID: d.ID, Title: "Hob", Body: text, Urgency: desktop.Normal}
	what := shownNote{session: d.Session}
	if c.buttons == nil {
		return n, what, nil
	}
	page := c.buttons.Page(d.Session)
	if page != "" {
		n.Actions = append(n.Actions, desktop.Action{Key: desktop.Default, Label: "Open", URL: page})
	}
	if d.Kind == channels.Question {
		n.Title, n.Urgency = "Hob asks", desktop.Critical
		if whole && utf8.RuneCountInString(text) <= mostQuestion {
			q, err := c.buttons.Asked(ctx, d)
			if err != nil {
				return n, what, err
			}
			what.question, what.asks = q, text
		}
	}
	if d.Kind == channels.Notice {
		what.delivery = d.ID
		n.Actions = append(n.Actions, desktop.Action{Key: keyLater, Label: "In an hour"})
	}
	if d.Kind == channels.Reply || d.Kind == channels.Notice {
		waits, err := c.buttons.CanCancel(ctx, d)
		if err != nil {
			return n, what, err
		}
		if waits {
			what.sends = d.Event
			n.Actions = append(n.Actions, desktop.Action{Key: keyUndo, Label: "Cancel sending"})
		}
	}
	if what.question != "" {
		n.Actions = append(n.Actions, desktop.Action{Key: keyYes + what.question, Label: "Approve"}, desktop.Action{Key: keyNo + what.question, Label: "Deny"})
	}
	if page != "" {
		n.Actions = append(n.Actions, desktop.Action{Key: keyOpen, Label: "Open", URL: page})
	}
	return n, what, nil
}

// fitNote truncates text to fit in one notification, and reports whether the result is complete.
func fitNote(text string) (string, bool) {
	whole := true
	if lines := strings.SplitN(text, "\n", mostLines+1); len(lines) > mostLines {
		text, whole = strings.Join(lines[:mostLines], "\n"), false
	}
	if utf8.RuneCountInString(text) > mostChars {
		text, whole = strings.TrimRight(string([]rune(text)[:mostChars]), " \n"), false
	}
	if !whole {
		text += toRead
	}
	return text, whole
}
