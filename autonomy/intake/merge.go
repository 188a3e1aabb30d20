package intake

import (
	"encoding/json"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/payload"
	"hob/autonomy/undo"
	"hob/channels"
)

// Limits of a merged message.
const (
	maxJoined  = 20       // maximum pieces of untrusted text
	joinedText = 64 << 10 // in bytes
	joinedData = 24 << 20 // maximum bytes of the payload
)

// debounceDelay returns how long a message waits for the next one from the same sender. Complete
// instructions do not wait: a command, the answer to a question, "undo that". If no question is
// open, "no, don't" belongs to the message before it.
func debounceDelay(ev bus.Event, in channels.Inbound) time.Duration {
	command, _ := chattext.ParseCommand(in.Text)
	if in.Debounce <= 0 || in.Forwarded && !in.FromOwner || in.Unknown || command != "" || undo.IsRequest(in.Text) || ev.Lane != "" && ev.Lane != ev.Session {
		return 0
	}
	return in.Debounce
}

// mergeMessages merges two messages: their text on separate lines, and the attachments of both. The
// channel data comes from the newer message, because the answer refers to that message.
func mergeMessages(waiting, next bus.Event) (text string, merged json.RawMessage, ok bool) {
	var a, b payload.Message
	if json.Unmarshal(waiting.Payload, &a) != nil || json.Unmarshal(next.Payload, &b) != nil {
		return "", nil, false
	}
	if a.Via != b.Via || a.Shared != b.Shared || !a.Until.IsZero() || !b.Until.IsZero() || a.Refused+b.Refused != "" || len(a.Outside)+len(b.Outside) > maxJoined ||
		len(waiting.Payload)+len(next.Payload) > joinedData || len(waiting.Text)+len(next.Text) > joinedText {
		return "", nil, false
	}
	if len(b.OutsideFrom) > 0 { // keep the sources of b next to the text of b
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
	return strings.TrimSpace(strings.TrimSpace(waiting.Text) + "\n" + strings.TrimSpace(next.Text)), encodePayload(a), true
}
