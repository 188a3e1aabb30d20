package autonomy

import (
	"context"
	"encoding/json"

	"hob/autonomy/bus"
)

// startLiveReply streams the growing answer to the sender on channels that support it; elsewhere it does
// nothing. The text comes from the live feed, which redacts known secrets. stop waits until the
// display is removed.
func (l *Loop) startLiveReply(ctx context.Context, ev bus.Event) (stop func()) {
	if l.o.Show == nil {
		return func() {}
	}
	shown := l.o.Show(ctx, ev.ID, ev.Channel, ev.Chat)
	if shown == nil {
		return func() {}
	}
	sub := l.o.Bus.Feed.Subscribe(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		afresh := false // the next text belongs to another step
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
