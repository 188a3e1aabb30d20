package delivery

import (
	"context"
	"encoding/json"

	"hob/autonomy/bus"
)

// ShowWork shows in a chat that Hob is working on a message, until stop is called. If the channel
// supports it, the sender sees the answer while it is written.
func (d *Delivery) ShowWork(ctx context.Context, ev bus.Event) (stop func()) {
	if d.o.Chats == nil {
		return func() {}
	}
	stopTyping := d.o.Chats.Typing(ctx, ev.Channel, ev.Chat)
	stopReply := d.startLiveReply(ctx, ev)
	return func() {
		stopReply()
		stopTyping()
	}
}

// startLiveReply shows the answer to the sender while it is written, on channels that support this.
// The text comes from the live feed, which redacts known secrets. stop waits until the display is
// removed.
func (d *Delivery) startLiveReply(ctx context.Context, ev bus.Event) (stop func()) {
	shown := d.o.Chats.Show(ctx, ev.ID, ev.Channel, ev.Chat)
	if shown == nil {
		return func() {}
	}
	sub := d.o.Bus.Feed.Subscribe(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		afresh := false // the next text belongs to a new step and starts a new display
		for e := range sub.C() {
			if e.Event != ev.ID {
				continue
			}
			switch e.Type {
			case "content_delta":
				var data struct {
					Text string `json:"text"`
				}
				if json.Unmarshal(e.Data, &data) != nil {
					continue
				}
				if afresh {
					shown.Reset()
					afresh = false
				}
				shown.Add(data.Text)
			case "message_start", "tool_call_start":
				afresh = true
			case "approval_required":
				shown.Break()
				afresh = false
			}
		}
	}()
	return func() {
		sub.Close()
		<-done
		shown.Stop()
	}
}
