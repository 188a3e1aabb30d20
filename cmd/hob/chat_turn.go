package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"hob/channels/web"
	"hob/channels/web/apiclient"
	"hob/platform/retry"
)

// sendMessage sends one message and shows the answer while it is generated. It calls received when
// the daemon has stored the message, and settled when the turn is finished or is waiting for the
// user. If the daemon ends, it sends the message to the next one, with the same key: a message that
// was stored already is not stored again, and its answer follows.
func (ch *chat) sendMessage(ctx context.Context, message web.Message, received, settled func()) {
	defer settled()
	ch.addRunning(1)
	defer ch.addRunning(-1)
	message.DedupeKey = rand.Text()
	t := &turn{chat: ch, received: received, settled: settled, text: ch.screen.newParagraph()}
	defer t.text.endText()
	pauses, since := retry.Backoff{First: feedPause, Max: feedMax}, time.Time{}
	for fails := 1; ; fails++ {
		c := ch.daemonClient()
		err := t.streamOnce(ctx, c, message)
		if t.ended || ctx.Err() != nil {
			return
		}
		if since.IsZero() || t.progressed {
			since, fails = time.Now(), 1
		}
		if err != nil && !isLost(err) || c.finish != nil || !ch.tty && time.Since(since) > startWait {
			t.showFailure(cmp.Or(err, errCutShort).Error())
			return
		}
		t.prepareRetry()
		if retry.Sleep(ctx, pauses.Delay(fails)) != nil {
			return
		}
		// After an orderly stop, only a message that Hob has not received starts Hob again.
		start := !t.stored || ch.hasCrashed(c)
		if err := ch.replaceClient(ctx, c, start); err != nil && start && !ch.noStart && ctx.Err() == nil {
			t.showFailure("Hob cannot be started: " + err.Error())
			return
		}
	}
}

// errCutShort means that a stream ended before its turn.
var errCutShort = errors.New("the answer ended early; see it with: hob session show")

// isLost reports whether a request failed because the daemon ended, or is ending or starting.
func isLost(err error) bool {
	if _, lost := errors.AsType[*apiclient.ConnectionError](err); lost {
		return true
	}
	e, ok := errors.AsType[*apiclient.ResponseError](err)
	return ok && e.Status == http.StatusServiceUnavailable
}

// streamOnce sends the message once and shows the events until the stream ends.
func (t *turn) streamOnce(ctx context.Context, c *client, message web.Message) error {
	t.progressed = false
	for e, err := range c.SendStreaming(ctx, t.chat.session, message) {
		if err != nil {
			return err
		}
		t.received()
		t.stored, t.progressed = true, true
		t.handleEvent(e)
	}
	return nil
}

// prepareRetry prepares for the events of a turn that a new daemon continues.
func (t *turn) prepareRetry() {
	t.text.endText()
	if t.said {
		t.chat.screen.printNote(dim, "The answer was cut off and starts again.")
	}
	t.said = false
}

func (ch *chat) addRunning(d int) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.busy += d
}

// claimEvent marks an event as belonging to this chat, so that the feed does not repeat it.
func (ch *chat) claimEvent(event string) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.mine[event] = true
}

// turn shows the answer of one turn.
type turn struct {
	chat *chat
	// received is called when the daemon has stored the message.
	received   func()
	settled    func()
	text       paragraph
	said       bool
	stored     bool // the daemon has the message
	progressed bool // the last stream had events
	ended      bool // nothing follows
}

func (t *turn) handleEvent(d apiclient.TurnEvent) {
	switch d.Type {
	case "message_start":
		t.chat.claimEvent(d.Event)
	case "content_delta":
		t.said = true
		t.text.addText(d.Text)
	case "tool_result":
		t.text.endText()
		t.showToolCall(d)
	case "tool_progress":
		if t.chat.tty {
			t.text.endText()
			t.chat.screen.printNote(dim, "  … "+progressLine(d.Name, d.Progress))
		}
	case "approval_required":
		t.text.endText()
		q := d.Approval
		how := "Answer yes or no, or /yes " + q.ID + "."
		if t.chat.piped { // do not read answers from a pipe
			how = "Answer with: hob approve " + q.ID + "   or: hob deny " + q.ID
		}
		t.chat.screen.printNote(amber, "Hob asks: "+approvalText(q)+"  "+how)
		t.settled()
	case "message_end":
		t.ended = true
		if !t.said {
			t.text.addText(d.Answer)
		}
		t.text.endText()
		if d.Interrupted && d.Answer != "Stopped." { // a turn that was stopped before it showed text has the answer "Stopped."
			t.chat.screen.printNote(dim, "(stopped)")
		}
	case "error":
		if d.Code == "stopping" { // the next daemon answers
			return
		}
		t.ended = true
		msg := d.Message
		if d.Remedy != "" {
			msg += "; " + d.Remedy
		}
		t.showFailure(msg)
	}
}

// showToolCall prints a finished tool call on a terminal.
func (t *turn) showToolCall(d apiclient.TurnEvent) {
	if !t.chat.tty {
		return
	}
	name := strings.ReplaceAll(d.Name, "_", " ")
	if d.Code == "cancelled" {
		t.chat.screen.printNote(dim, "  ✗ "+name)
		return
	}
	if d.OK != nil && !*d.OK {
		t.chat.screen.printNote(red, "  ✗ "+name+": "+oneLine(strings.TrimPrefix(d.Text, d.Code+": ")))
		return
	}
	t.chat.screen.printNote(dim, "  ✓ "+name)
}

func (t *turn) showFailure(msg string) {
	t.text.endText()
	t.chat.screen.printNote(red, "Error: "+msg)
}
