package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/channels"
	"hob/platform/net/hooksig"
)

// The limits of posts.
const (
	waits    = 25 * time.Second // maximum time to wait for an answer
	maxName  = 200              // maximum bytes of an id, a sender, a chat or a session
	keeps    = 15 * time.Minute // how long an answer is stored for a later post that asks for it
	maxKept  = 100
	settling = 5 * time.Second // wait for posts that are just arriving
)

// message is the body of a post. A valid signature with the channel's secret shows that a program of
// the owner sent it. Without a sender, the text counts as the owner's. With a sender, the text
// belongs to that person, who must be allowed or paired. Unknown fields are rejected, and outgoing
// bodies always contain fields that message does not have. So a body that Hob signed cannot be
// replayed to Hob as the owner's message.
type message struct {
	ID         string    `json:"id"`   // messages with the same id are processed once
	Text       string    `json:"text"` //
	Sender     string    `json:"sender"`
	SenderName string    `json:"sender_name"`
	Chat       string    `json:"chat"`    // returned with the answer
	Session    string    `json:"session"` // the conversation; only the owner may set it
	At         time.Time `json:"at"`
	Wait       bool      `json:"wait"` // whether to wait for the answer, for at most 25 s
}

// acceptedPost is the response to a post.
type acceptedPost struct {
	Event    string `json:"event"`
	Repeated bool   `json:"repeated,omitempty"`
	Answer   string `json:"answer,omitempty"`
	Question string `json:"question,omitempty"` // the question for the owner
}

// Hook implements channels.WebhookReceiver.
func (c *Channel) Hook(ctx context.Context, p channels.WebhookRequest) channels.WebhookResponse {
	proof, err := hooksig.Read(p.Header, c.secret, p.Body, time.Now())
	if err != nil || !proof.Fits || proof.Stale {
		return channels.WebhookResponse{Status: http.StatusUnauthorized}
	}
	m, wrong := parseMessage(p.Body)
	if wrong != "" {
		return channels.WebhookResponse{Status: http.StatusBadRequest, Error: wrong}
	}
	r, done := c.in.currentReceiver()
	if r == nil {
		done()
		return channels.WebhookResponse{Status: http.StatusServiceUnavailable}
	}
	in := m.toInbound(proof.ID, time.Now())
	in.Unknown = p.Unknown
	acc, err := r.Receive(ctx, in)
	if err != nil {
		done()
		if errors.Is(err, channels.ErrStranger) {
			return channels.WebhookResponse{Status: http.StatusForbidden, Error: "the sender is neither paired nor on the allow list"}
		}
		return channels.WebhookResponse{Status: http.StatusServiceUnavailable}
	}
	if acc.Differs {
		done()
		return channels.WebhookResponse{Status: http.StatusConflict, Error: "this Idempotency-Key or id was used for another text; use a new one for each message"}
	}
	out := acceptedPost{Event: acc.Event, Repeated: acc.Repeated}
	if !m.Wait {
		done()
		return channels.WebhookResponse{Status: http.StatusAccepted, Body: out}
	}
	end := c.in.expectAnswer(acc.Event)
	done()
	said := c.in.awaitAnswer(ctx, acc.Event)
	end()
	out.Answer, out.Question = said.answer, said.question
	if said.answered {
		out.Question = ""
		return channels.WebhookResponse{Status: http.StatusOK, Body: struct {
			acceptedPost
			Answer string `json:"answer"` // may be empty
		}{out, said.answer}}
	}
	return channels.WebhookResponse{Status: http.StatusAccepted, Body: out}
}

// parseMessage decodes a body strictly, and describes errors.
func parseMessage(b []byte) (m message, wrong string) {
	if !utf8.Valid(b) {
		return m, "the body is not valid UTF-8"
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return m, "unknown field " + name + "; the fields are id, text, sender, sender_name, chat, session, at and wait"
		}
		return m, "the body is not valid JSON for this request: " + strings.TrimPrefix(err.Error(), "json: ")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return m, "there is data after the end of the JSON object"
	}
	return m, m.validationError()
}

func (m message) validationError() string {
	for _, f := range []struct{ name, value string }{
		{"id", m.ID}, {"sender", m.Sender}, {"sender_name", m.SenderName}, {"chat", m.Chat}, {"session", m.Session},
	} {
		if len(f.value) > maxName || strings.ContainsFunc(f.value, unicode.IsControl) {
			return f.name + " must be at most 200 bytes without control characters"
		}
	}
	switch {
	case strings.TrimSpace(m.Text) == "":
		return "text is empty"
	case m.Sender != "" && m.Session != "":
		return "session is only for messages from the user; omit session or sender"
	case m.Sender != "" && channels.SenderID(m.Sender) == "":
		return "sender contains invisible characters"
	case strings.Contains(m.Chat, ":") || strings.HasPrefix(m.Chat, person):
		return "chat must not contain a colon or start with " + person
	}
	return ""
}

// person is the chat name prefix for a sender whose message names no chat. It keeps the name
// unique.
const person = "from/"

func (m message) toInbound(key string, now time.Time) channels.Inbound {
	in := channels.Inbound{Chat: m.Chat, Sender: m.Sender, SenderName: m.SenderName, Text: m.Text, Key: key, At: m.At}
	if m.ID != "" {
		in.Key = hooksig.Digest("own:", []byte(m.ID))
	}
	if in.At.IsZero() || in.At.After(now) {
		in.At = now
	}
	if m.Sender == "" {
		in.FromOwner, in.Session, in.Chat = true, m.Session, cmp.Or(m.Chat, "main")
		return in
	}
	in.Group, in.Mentioned = m.Chat != "", true // several senders may use the same chat name
	in.Chat = cmp.Or(m.Chat, person+channels.SenderID(m.Sender))
	return in
}

// messageReply holds the replies to a message so far.
type messageReply struct {
	answered         bool
	answer, question string
	last             string // id of the last delivery that was stored
	at               time.Time
}

// postQueue holds the replies that posts are waiting for.
type postQueue struct {
	mu      sync.Mutex
	to      channels.Receiver       // nil while the channel does not run
	coming  int                     // number of posts whose event is not known yet
	wanted  map[string]int          // number of waiting posts by event
	kept    map[string]messageReply // keyed by event
	changed chan struct{}           // closed and replaced when one of these fields changes
}

func (i *postQueue) init() {
	i.wanted, i.kept, i.changed = map[string]int{}, map[string]messageReply{}, make(chan struct{})
}

// notifyWaiters wakes all waiting posts. The caller holds i.mu.
func (i *postQueue) notifyWaiters() {
	close(i.changed)
	i.changed = make(chan struct{})
}

func (i *postQueue) setReceiver(r channels.Receiver) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.to = r
	i.notifyWaiters()
}

// currentReceiver returns the receiver. Until done is called, the post counts as one whose event is
// not known yet.
func (i *postQueue) currentReceiver() (r channels.Receiver, done func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.coming++
	return i.to, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.coming--
		i.notifyWaiters()
	}
}

// expectAnswer reserves the answer to an event for a post. If the post ends without the answer, the
// answer is stored for the next post that asks for it.
func (i *postQueue) expectAnswer(event string) (end func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wanted[event]++
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.wanted[event]--; i.wanted[event] == 0 {
			delete(i.wanted, event)
		}
		if _, ok := i.kept[event]; !ok {
			i.storeAnswer(event, messageReply{at: time.Now()})
		}
	}
}

// awaitAnswer waits for the replies to an event.
func (i *postQueue) awaitAnswer(ctx context.Context, event string) messageReply {
	ctx, cancel := context.WithTimeout(ctx, waits)
	defer cancel()
	for {
		i.mu.Lock()
		s, ok := i.kept[event]
		changed, over := i.changed, i.to == nil
		i.mu.Unlock()
		if ok && (s.answered || s.question != "") || over {
			return s
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return messageReply{}
		}
	}
}

// offerAnswer passes a message to the waiting posts. alone reports that there is no other
// destination. The result reports whether the delivery is complete.
func (i *postQueue) offerAnswer(ctx context.Context, d channels.Delivery, alone bool) (bool, error) {
	if d.Event == "" || d.Kind != channels.Reply && d.Kind != channels.Question && d.Kind != channels.Status {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for {
		i.mu.Lock()
		wanted := i.wanted[d.Event] > 0
		if wanted && d.Kind == channels.Status || alone && d.Kind == channels.Status {
			i.mu.Unlock()
			return true, nil // waiting posts need no progress reports
		}
		if wanted || alone {
			i.keepText(d, time.Now())
			i.mu.Unlock()
			return true, nil
		}
		coming, changed := i.coming, i.changed
		if _, waited := i.kept[d.Event]; waited && coming == 0 && d.Kind != channels.Status {
			i.keepText(d, time.Now()) // a later post may ask for the message again; the URL also receives it
		}
		i.mu.Unlock()
		if coming == 0 {
			return false, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return false, nil
			}
			return false, ctx.Err()
		}
	}
}

// keepText stores a message for the posts that are waiting for its event. The caller holds i.mu.
func (i *postQueue) keepText(d channels.Delivery, now time.Time) {
	s := i.kept[d.Event]
	switch {
	case s.last == d.ID: // the delivery is a retry
		return
	case d.Kind == channels.Question:
		s.question = d.Text
	case s.answered:
		s.answer += "\n\n" + d.Text // the next part of the answer
	default:
		s.answered, s.answer = true, d.Text
	}
	s.at, s.last = now, d.ID
	i.storeAnswer(d.Event, s)
	i.notifyWaiters()
}

// storeAnswer stores the replies to an event and drops old ones. The caller holds i.mu.
func (i *postQueue) storeAnswer(event string, s messageReply) {
	var oldest string
	for id, o := range i.kept {
		if s.at.Sub(o.at) > keeps {
			delete(i.kept, id)
		} else if oldest == "" || o.at.Before(i.kept[oldest].at) {
			oldest = id
		}
	}
	if len(i.kept) >= maxKept {
		delete(i.kept, oldest)
	}
	i.kept[event] = s
}
