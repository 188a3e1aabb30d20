package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/channels/terminal/chatui"
	"hob/channels/web"
	"hob/channels/web/apiclient"
	"hob/platform/retry"
)

// sendMessage sends the message of a turn and shows the answer while it is generated. If the daemon
// ends, it sends the message to the next one, with the same key: a message that was stored already is
// not stored again, and its answer follows.
func (t *turn) sendMessage(ctx context.Context, message web.Message) {
	ch := t.chat
	message.DedupeKey = rand.Text()
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
		if err != nil && !isLost(err) || c.finish != nil || !ch.attended && time.Since(since) > startWait {
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

// prepareRetry prepares for the events of a turn that a new daemon continues or repeats.
func (t *turn) prepareRetry() {
	if t.cut == "" {
		t.cut, t.cutPart = t.said, t.part
	}
	t.said = ""
}

// addText shows a part of the answer, without the text that was printed before the daemon ended: the new one
// repeats all of it, or what followed the last tool call. Other text waits for the whole answer, because a chat
// that connects during an answer does not receive its beginning.
func (t *turn) addText(text string) {
	t.said += text
	if t.cut == "" {
		t.showText(text)
		return
	}
	for _, shown := range []string{t.cut, t.cutPart} {
		if rest, continues := strings.CutPrefix(t.said, shown); continues {
			t.cut = ""
			t.showText(rest)
			return
		}
		if strings.HasPrefix(shown, t.said) {
			return
		}
	}
}

func (t *turn) showText(text string) {
	t.part += text
	t.view.AddText(text)
}

// startAgain shows an answer that differs from the one that was cut off.
func (t *turn) startAgain(text string) {
	t.view.EndText()
	t.view.AddText("(The answer was cut off and starts again.)\n\n" + text)
}

// endText completes the answer. answer is its last part, which is shown unless text was streamed.
func (t *turn) endText(answer string) {
	last := cmp.Or(answer, t.said)
	rest, continues := strings.CutPrefix(last, t.cutPart)
	switch {
	case t.cut == "" && t.said == "":
		t.view.AddText(answer)
	case t.cut == "" || strings.HasSuffix(t.cut, last):
	case continues:
		t.view.AddText(rest)
	default:
		t.startAgain(last)
	}
	t.cut = ""
	t.view.EndText()
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
	// received is called when the daemon has stored the message, and settled when the turn is
	// finished or is waiting for the user.
	received   func()
	settled    func()
	view       chatui.Turn
	said       string // the text of this attempt
	part       string // the text that is shown since the last tool call
	cut        string // the text that is shown from the attempt before it, until the new text continues it
	cutPart    string // the end of cut that followed the last tool call
	stored     bool   // the daemon has the message
	progressed bool   // the last stream had events
	ended      bool   // nothing follows
}

func (t *turn) handleEvent(d apiclient.TurnEvent) {
	switch d.Type {
	case "message_start":
		t.chat.claimEvent(d.Event)
	case "content_delta":
		t.addText(d.Text)
	case "tool_call_start":
		t.part = ""
		t.view.StartTool(d.ID, d.Name)
	case "tool_call_delta":
		t.view.AddArguments(d.ID, d.Arguments)
	case "tool_progress":
		t.view.ShowProgress(d.ID, d.Name, progressLine(d.Name, d.Progress))
	case "tool_result":
		t.showToolCall(d)
	case "approval_required":
		t.view.EndText()
		t.chat.askApproval(d.Approval)
		t.settled()
	case "message_end":
		t.ended = true
		t.endText(d.Answer)
		if d.Interrupted && d.Answer != "Stopped." { // a turn that was stopped before it showed text has the answer "Stopped."
			t.chat.screen.Note(chatui.Hint, "(stopped)")
		}
		t.chat.noteModel(d.Model)
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

// askApproval shows an approval request and how to answer it.
func (ch *chat) askApproval(q api.Approval) {
	how := "Answer yes or no, or /yes " + q.ID + "."
	if ch.piped { // do not read answers from a pipe
		how = "Answer with: hob approve " + q.ID + "   or: hob deny " + q.ID
	}
	ch.screen.Ask(q, how)
	ch.requestStatus()
}

// showToolCall shows a finished tool call.
func (t *turn) showToolCall(d apiclient.TurnEvent) {
	failure := ""
	switch {
	case d.Code == "cancelled":
		failure = "stopped"
	case d.OK != nil && !*d.OK:
		failure = cmp.Or(strings.TrimPrefix(d.Text, d.Code+": "), "failed")
	}
	t.view.EndTool(d.ID, d.Name, failure, d.Text)
}

func (t *turn) showFailure(msg string) {
	t.view.EndText()
	t.chat.screen.Note(chatui.Failure, "Error: "+msg)
}
