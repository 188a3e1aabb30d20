package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// channelMessages measures the full path of a message in a chat on the webhook channel: the message
// is stored and answered, and the answer is sent from the outbox to the platform.
func channelMessages(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	to, err := newHearer()
	if err != nil {
		return nil, err
	}
	defer to.stopServing(ctx)
	o.more += fmt.Sprintf("[channels.webhook]\nurl = %q\nsecret = \"of-the-measurement\"\n", "http://"+to.addr+"/")
	return withHome(ctx, o, nil, func(h *home) ([]Figure, error) {
		var took []time.Duration
		for i := range r.turns {
			d, err := h.measureRoundTrip(ctx, to, fmt.Sprintf("chat-%d", i/perSession))
			if err != nil {
				return nil, err
			}
			took = append(took, d)
		}
		slices.Sort(took)
		began := time.Now()
		err := runParallel(ctx, sessions, func(ctx context.Context, n int) error {
			for i := n; i < r.events/2; i += sessions {
				if _, err := h.measureRoundTrip(ctx, to, fmt.Sprintf("busy-%d-%d", n, i/perSession/sessions)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return []Figure{
			{Name: "channel_p50", Value: milliseconds(percentileAt(took, 50)), Unit: "ms", About: "from a message in a webhook chat until the platform has the answer, everything durable, built-in brain"},
			{Name: "channel_p95", Value: milliseconds(percentileAt(took, 95)), Unit: "ms", About: "time of channel_p50, 95th percentile"},
			{Name: "channel_messages", Value: float64(r.events/2) / time.Since(began).Seconds(), Unit: "/s", AtLeast: true, About: fmt.Sprintf("messages per second in %d parallel chats", sessions)},
		}, nil
	})
}

// measureRoundTrip writes a message in a chat on the channel and waits until the answer has
// arrived.
func (h *home) measureRoundTrip(ctx context.Context, to *replyReceiver, chat string) (time.Duration, error) {
	began := time.Now()
	event, err := h.sendMessage(ctx, "webhook:"+chat, "hello")
	if err != nil {
		return 0, err
	}
	select {
	case at := <-to.answerTime(event):
		return at.Sub(began), nil
	case <-time.After(askWait):
		return 0, fmt.Errorf("no answer to %s within %s", event, askWait)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// replyReceiver receives the answers.
type replyReceiver struct {
	*localServer

	mu    sync.Mutex
	comes map[string]chan time.Time // keyed by event
}

func newHearer() (h *replyReceiver, err error) {
	h = &replyReceiver{comes: map[string]chan time.Time{}}
	h.localServer, err = serveLocally(h)
	return h, err
}

// ServeHTTP receives an answer.
func (h *replyReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var said struct{ Event, Kind string }
	if err := json.NewDecoder(r.Body).Decode(&said); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if said.Kind == "reply" {
		select {
		case h.answerTime(said.Event) <- time.Now():
		default: // the delivery is repeated
		}
	}
}

// answerTime returns a channel that receives the time at which the answer to an event arrived.
func (h *replyReceiver) answerTime(event string) chan time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.comes[event]
	if c == nil {
		c = make(chan time.Time, 1)
		h.comes[event] = c
	}
	return c
}
