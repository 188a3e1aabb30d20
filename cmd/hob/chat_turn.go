package main

import (
	"context"
	"strings"

	"hob/channels/web"
	"hob/channels/web/apiclient"
)

// sendMessage sends one message and shows the answer while it is generated. It calls settled when
// the turn is finished or waits for the user.
func (ch *chat) sendMessage(ctx context.Context, message web.Message, settled func()) {
	defer settled()
	ch.addRunning(1)
	defer ch.addRunning(-1)
	t := &turn{chat: ch, settled: settled, text: ch.screen.newParagraph()}
	defer t.text.endText()
	for e, err := range ch.client.SendStreaming(ctx, ch.session, message) {
		if err != nil {
			if ctx.Err() == nil {
				t.showFailure(err.Error())
			}
			return
		}
		t.handleEvent(e)
	}
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
	chat    *chat
	settled func()
	text    paragraph
	said    bool
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
		if !t.said {
			t.text.addText(d.Answer)
		}
		t.text.endText()
		if d.Interrupted && d.Answer != "Stopped." { // the answer of a turn that has shown no text
			t.chat.screen.printNote(dim, "(stopped)")
		}
	case "error":
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
