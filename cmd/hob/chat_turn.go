package main

import (
	"context"
	"encoding/json"
	"strings"
)

// say sends one message and shows the answer as it is generated. settled is called when the
// turn is finished or waits for the user.
func (ch *chat) say(ctx context.Context, message map[string]any, settled func()) {
	defer settled()
	ch.running(1)
	defer ch.running(-1)
	t := &turn{chat: ch, settled: settled, text: ch.screen.paragraph()}
	defer t.text.end()
	path := "/api/v1/sessions/" + pathPart(ch.session) + "/messages"
	for e, err := range ch.client.stream(ctx, "POST", path, "", message) {
		if err != nil {
			if ctx.Err() == nil {
				t.fail(err.Error())
			}
			return
		}
		t.event(e)
	}
}

func (ch *chat) running(d int) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.busy += d
}

// claim marks an event as this chat's own: the feed does not repeat it.
func (ch *chat) claim(event string) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.mine[event] = true
}

// turn shows one answer.
type turn struct {
	chat    *chat
	settled func()
	text    paragraph
	said    bool
}

// turnEvent contains the fields of all events of a turn.
type turnEvent struct {
	Event       string `json:"event"`
	Text        string `json:"text"`
	Answer      string `json:"answer"`
	Interrupted bool   `json:"interrupted"`
	Name        string `json:"name"`
	OK          *bool  `json:"ok"`
	Code        string `json:"code"`
	Message     string `json:"message"`
	Remedy      string `json:"remedy"`
	progress
}

func (t *turn) event(e sse) {
	var d turnEvent
	_ = json.Unmarshal(e.data, &d) // what cannot be read shows nothing
	switch e.name {
	case "message_start":
		t.chat.claim(d.Event)
	case "content_delta":
		t.said = true
		t.text.add(d.Text)
	case "tool_result":
		t.text.end()
		t.tool(d)
	case "tool_progress":
		if t.chat.tty {
			t.text.end()
			t.chat.screen.note(dim, "  … "+d.line(d.Name))
		}
	case "approval_required":
		t.text.end()
		var q approval
		_ = json.Unmarshal(e.data, &q)
		how := "Answer yes or no, or /yes " + q.ID + "."
		if t.chat.piped { // no answer is taken from there
			how = "Answer with: hob approve " + q.ID + "   or: hob deny " + q.ID
		}
		t.chat.screen.note(amber, "Hob asks: "+q.asked()+"  "+how)
		t.settled()
	case "message_end":
		if !t.said {
			t.text.add(d.Answer)
		}
		t.text.end()
		if d.Interrupted && d.Answer != "Stopped." { // the answer of a turn that had said nothing yet
			t.chat.screen.note(dim, "(stopped)")
		}
	case "error":
		msg := d.Message
		if d.Remedy != "" {
			msg += "; " + d.Remedy
		}
		t.fail(msg)
	}
}

// tool shows a finished tool call on a terminal.
func (t *turn) tool(d turnEvent) {
	if !t.chat.tty {
		return
	}
	name := strings.ReplaceAll(d.Name, "_", " ")
	if d.Code == "cancelled" {
		t.chat.screen.note(dim, "  ✗ "+name)
		return
	}
	if d.OK != nil && !*d.OK {
		t.chat.screen.note(red, "  ✗ "+name+": "+oneLine(strings.TrimPrefix(d.Text, d.Code+": ")))
		return
	}
	t.chat.screen.note(dim, "  ✓ "+name)
}

func (t *turn) fail(msg string) {
	t.text.end()
	t.chat.screen.note(red, "Error: "+msg)
}
