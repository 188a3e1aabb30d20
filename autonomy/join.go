package autonomy

import (
	"encoding/json"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
)

// Limits of what becomes one message.
const (
	maxJoined  = 20       // pieces of outside text
	joinedText = 64 << 10 // bytes
	joinedData = 24 << 20 // bytes of the payload
)

// settles is how long a message waits for the next one of the same person. What is an
// order to Hob by itself waits for nothing: a command, the answer to a question, "undo
// that". Where nothing was asked, "no, don't" belongs to what was said before it.
func settles(ev bus.Event, in channels.Inbound) time.Duration {
	command, _ := parseCommand(in.Text)
	if in.Settle <= 0 || in.Forwarded && !in.FromOwner || in.Unknown || command != "" || takesBack(in.Text) || ev.Lane != "" && ev.Lane != ev.Session {
		return 0
	}
	return in.Settle
}

// joined makes one message of two: the words below each other, and what came with
// either. What it had for its channel is that of the newer one: that is the message
// which is answered.
func joined(waiting, next bus.Event) (text string, payload json.RawMessage, ok bool) {
	var a, b message
	if json.Unmarshal(waiting.Payload, &a) != nil || json.Unmarshal(next.Payload, &b) != nil {
		return "", nil, false
	}
	if a.Via != b.Via || a.Shared != b.Shared || !a.Until.IsZero() || !b.Until.IsZero() || len(a.Outside)+len(b.Outside) > maxJoined ||
		len(waiting.Payload)+len(next.Payload) > joinedData || len(waiting.Text)+len(next.Text) > joinedText {
		return "", nil, false
	}
	if len(b.OutsideFrom) > 0 { // the sources of b stay beside the texts of b
		a.OutsideFrom = append(a.OutsideFrom, make([]channels.TextSource, len(a.Outside)-len(a.OutsideFrom))...)
		a.OutsideFrom = append(a.OutsideFrom, b.OutsideFrom...)
	}
	a.Outside = append(a.Outside, b.Outside...)
	a.Images = append(a.Images, b.Images...)
	if b.Name != "" {
		a.Name = b.Name
	}
	if len(b.Extra) > 0 && string(b.Extra) != "null" {
		a.Extra = b.Extra
	}
	return strings.TrimSpace(strings.TrimSpace(waiting.Text) + "\n" + strings.TrimSpace(next.Text)), mustJSON(a), true
}
