package api

import (
	"encoding/json"
	"time"
)

// Feed is the stream of live events.
type Feed interface {
	// Subscribe opens the feed after the given id (0: from now). The feed may drop events for
	// slow readers and reports that with an event "dropped".
	Subscribe(after uint64) Subscription
}

// Subscription is one reader of the live feed.
type Subscription interface {
	// C delivers events in order; Close closes it.
	C() <-chan FeedEvent
	Close()
}

// FeedEvent is one live event. Type is one of message_start, content_delta,
// tool_call_start, tool_call_delta, approval_required, tool_start,
// tool_progress, tool_result,
// message_end, error (these belong to Event), delivery, watcher, status,
// dropped. Data is an object: content_delta {text}, tool_call_start {id, name},
// tool_call_delta {id, arguments}, tool_start {id, name} when it really begins,
// tool_progress {id, name, seconds, percent?, note?} when it says how far it is
// and every 15 s while it runs, tool_result {id, name, ok, text, code},
// approval_required and delivery as in the lists of these names, message_end
// {answer, usage, interrupted, model}, error {message, kind}, dropped {dropped}.
type FeedEvent struct {
	ID      uint64          `json:"id"`
	Type    string          `json:"type" schema:"enum=message_start|content_delta|tool_call_start|tool_call_delta|approval_required|tool_start|tool_progress|tool_result|message_end|error|delivery|watcher|status|dropped"`
	Event   string          `json:"event,omitempty"`
	Session string          `json:"session,omitempty"`
	At      time.Time       `json:"at"`
	Data    json.RawMessage `json:"data"`
}
