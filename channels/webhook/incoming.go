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
	"hob/platform/signature"
)

// The limits of posts.
const (
	waits    = 25 * time.Second // for an answer
	maxName  = 200              // bytes of an id, a sender, a chat or a session
	keeps    = 15 * time.Minute // an answer, for a post that asks again
	maxKept  = 100
	settling = 5 * time.Second // for posts that are just coming in
)

// message is what a program posts. The secret proves the owner's own program. What it
// says of nobody else is his word; with a sender it is that person's, who has to be
// allowed or paired like anywhere else. None of the fields is one of those that go
// out, save for those that both have, so that nothing which Hob has signed can be sent
// back to it as its owner's word.
type message struct {
	ID         string    `json:"id"`   // by which a second copy is known
	Text       string    `json:"text"` //
	Sender     string    `json:"sender"`
	SenderName string    `json:"sender_name"`
	Chat       string    `json:"chat"`    // comes back with the answer
	Session    string    `json:"session"` // of the owner's: the conversation
	At         time.Time `json:"at"`
	Wait       bool      `json:"wait"` // for the answer, as long as a request can
}

// taken is the answer to a post.
type taken struct {
	Event    string `json:"event"`
	Repeated bool   `json:"repeated,omitempty"`
	Answer   string `json:"answer,omitempty"`
	Question string `json:"question,omitempty"` // that the owner has to answer first
}

// Hook implements channels.Hooked.
func (c *Channel) Hook(ctx context.Context, p channels.Post) channels.Posted {
	proof, err := signature.Read(p.Header, c.secret, p.Body, time.Now())
	if err != nil || !proof.Fits || proof.Stale {
		return channels.Posted{Status: http.StatusUnauthorized}
	}
	m, wrong := parse(p.Body)
	if wrong != "" {
		return channels.Posted{Status: http.StatusBadRequest, Error: wrong}
	}
	r, done := c.in.receive()
	if r == nil {
		done()
		return channels.Posted{Status: http.StatusServiceUnavailable}
	}
	in := m.inbound(proof.ID, time.Now())
	in.Unknown = p.Unknown
	acc, err := r.Receive(ctx, in)
	if err != nil {
		done()
		if errors.Is(err, channels.ErrStranger) {
			return channels.Posted{Status: http.StatusForbidden, Error: "the sender is neither paired nor on the allow list"}
		}
		return channels.Posted{Status: http.StatusServiceUnavailable}
	}
	out := taken{Event: acc.Event, Repeated: acc.Repeated}
	if !m.Wait {
		done()
		return channels.Posted{Status: http.StatusAccepted, Body: out}
	}
	end := c.in.want(acc.Event)
	done()
	said := c.in.await(ctx, acc.Event)
	end()
	out.Answer, out.Question = said.answer, said.question
	if said.answered {
		out.Question = ""
		return channels.Posted{Status: http.StatusOK, Body: struct {
			taken
			Answer string `json:"answer"` // also an empty one
		}{out, said.answer}}
	}
	return channels.Posted{Status: http.StatusAccepted, Body: out}
}

// parse reads a body strictly, and says what is wrong with it.
func parse(b []byte) (m message, wrong string) {
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
		return m, "there is something after the end of the JSON object"
	}
	return m, m.wrong()
}

func (m message) wrong() string {
	for _, f := range []struct{ name, value string }{
		{"id", m.ID}, {"sender", m.Sender}, {"sender_name", m.SenderName}, {"chat", m.Chat}, {"session", m.Session},
	} {
		if len(f.value) > maxName || strings.ContainsFunc(f.value, unicode.IsControl) {
			return f.name + " has at most 200 bytes and no control characters"
		}
	}
	switch {
	case strings.TrimSpace(m.Text) == "":
		return "text is empty"
	case m.Sender != "" && m.Session != "":
		return "session is for the owner's own words; leave it out, or leave sender out"
	case m.Sender != "" && channels.SenderID(m.Sender) == "":
		return "sender contains invisible characters"
	case strings.Contains(m.Chat, ":") || strings.HasPrefix(m.Chat, person):
		return "chat must not contain a colon or start with " + person
	}
	return ""
}

// person begins the chat of somebody whose message names none, so that no other chat
// is called the same.
const person = "from/"

func (m message) inbound(key string, now time.Time) channels.Inbound {
	in := channels.Inbound{Chat: m.Chat, Sender: m.Sender, SenderName: m.SenderName, Text: m.Text, Key: key, At: m.At}
	if m.ID != "" {
		in.Key = signature.Digest("own:", []byte(m.ID))
	}
	if in.At.IsZero() || in.At.After(now) {
		in.At = now
	}
	if m.Sender == "" {
		in.FromOwner, in.Session, in.Chat = true, m.Session, cmp.Or(m.Chat, "main")
		return in
	}
	in.Group, in.Mentioned = m.Chat != "", true // several senders may name one chat
	in.Chat = cmp.Or(m.Chat, person+channels.SenderID(m.Sender))
	return in
}

// said is what was said to a message so far.
type said struct {
	answered         bool
	answer, question string
	last             string // the delivery that was kept last
	at               time.Time
}

// incoming is what posts wait for.
type incoming struct {
	mu      sync.Mutex
	to      channels.Receiver // nil: the channel does not run
	coming  int               // posts whose event is not known yet
	wanted  map[string]int    // posts that wait, by event
	kept    map[string]said   // by event
	changed chan struct{}     // closed, and made anew, when any of these changes
}

func (i *incoming) init() {
	i.wanted, i.kept, i.changed = map[string]int{}, map[string]said{}, make(chan struct{})
}

// change tells everybody who waits. i.mu is held.
func (i *incoming) change() {
	close(i.changed)
	i.changed = make(chan struct{})
}

func (i *incoming) listen(r channels.Receiver) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.to = r
	i.change()
}

// receive returns who takes messages. Until done is called nobody knows whether the
// post will wait for what is said to it.
func (i *incoming) receive() (r channels.Receiver, done func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.coming++
	return i.to, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.coming--
		i.change()
	}
}

// want makes the answer to an event wait for a post. When that has ended without one, the
// answer is kept for the next post that asks.
func (i *incoming) want(event string) (end func()) {
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
			i.put(event, said{at: time.Now()})
		}
	}
}

// await waits for what is said to an event.
func (i *incoming) await(ctx context.Context, event string) said {
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
			return said{}
		}
	}
}

// answered hands a text to the posts that wait for it; alone: there is no other way
// for it. It reports whether the text is where it belongs.
func (i *incoming) answered(ctx context.Context, d channels.Delivery, alone bool) (bool, error) {
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
			return true, nil // that it takes a while, who waits knows
		}
		if wanted || alone {
			i.keep(d, time.Now())
			i.mu.Unlock()
			return true, nil
		}
		coming, changed := i.coming, i.changed
		if _, waited := i.kept[d.Event]; waited && coming == 0 && d.Kind != channels.Status {
			i.keep(d, time.Now()) // a post may ask again, and the address gets it all the same
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

// keep keeps a text for posts of its event. i.mu is held.
func (i *incoming) keep(d channels.Delivery, now time.Time) {
	s := i.kept[d.Event]
	switch {
	case s.last == d.ID: // it is sent again
		return
	case d.Kind == channels.Question:
		s.question = d.Text
	case s.answered:
		s.answer += "\n\n" + d.Text // its next part
	default:
		s.answered, s.answer = true, d.Text
	}
	s.at, s.last = now, d.ID
	i.put(d.Event, s)
	i.change()
}

// put keeps what was said to an event, and forgets what is old. i.mu is held.
func (i *incoming) put(event string, s said) {
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
