package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"hob/channels"
)

// Types of interactions and of responses ("Receiving and Responding").
const (
	interactionCommand = 2
	interactionPress   = 3

	answerLater  = 5 // a message follows
	answerSilent = 6 // acknowledges a press without a visible change
)

const (
	flagNoEmbeds  = 1 << 2
	flagEphemeral = 1 << 6
	flagLoading   = 1 << 7
	flagSilent    = 1 << 12
)

const (
	// ackWait is the timeout for the first response, which is due within 3 s.
	ackWait = 2500 * time.Millisecond
	// tokenLasts is how long an interaction token is used. It is valid for 15 minutes.
	tokenLasts = 14 * time.Minute
	pressWait  = 10 * time.Second
	maxPresses = 16
)

// interaction is a slash command or a button press.
type interaction struct {
	ID     string `json:"id"`
	App    string `json:"application_id"`
	Type   int    `json:"type"`
	Token  string `json:"token"`
	Chat   string `json:"channel_id"`
	Guild  string `json:"guild_id"`
	User   *user  `json:"user"` // set in direct messages
	Member *struct {
		Nick string `json:"nick"`
		User user   `json:"user"`
	} `json:"member"`
	Data struct {
		Name    string `json:"name"`
		Button  string `json:"custom_id"`
		Options []struct {
			Value any `json:"value"`
		} `json:"options"`
	} `json:"data"`
	Message *message `json:"message"` // the message with the button
}

func (i *interaction) actingUser() user {
	switch {
	case i.Member != nil:
		return i.Member.User
	case i.User != nil:
		return *i.User
	}
	return user{}
}

func (i *interaction) displayName() string {
	nick := ""
	if i.Member != nil {
		nick = i.Member.Nick
	}
	return cmp.Or(nick, i.actingUser().Global, i.actingUser().Username)
}

// isPrivate reports whether only the user sees the answer. This is true for commands in a server,
// except for "ask", whose question is visible in the chat.
func (i *interaction) isPrivate() bool { return i.Guild != "" && i.Data.Name != "ask" }

// isComplete reports whether all fields are present and safe for a URL.
func (i *interaction) isComplete() bool {
	return isSnowflake(i.ID) && isSnowflake(i.App) && i.Token != "" && len(i.Token) < 1000 && i.Chat != "" && i.actingUser().ID != "" && !i.actingUser().Bot
}

// interactionResponder responds to the interactions of one connection within their deadlines.
type interactionResponder struct {
	c    *Channel
	wg   sync.WaitGroup
	busy chan struct{}

	mu  sync.Mutex
	ack map[string]chan bool // keyed by command; receives whether the acknowledgement succeeded
}

func newPresses(c *Channel) *interactionResponder {
	return &interactionResponder{c: c, busy: make(chan struct{}, maxPresses), ack: map[string]chan bool{}}
}

func (p *interactionResponder) waitAll() { p.wg.Wait() }

// handleInteraction responds to an interaction immediately. It handles a press completely. It
// acknowledges a command and sends the answer later.
func (p *interactionResponder) handleInteraction(ctx context.Context, data json.RawMessage) {
	var i interaction
	if json.Unmarshal(data, &i) != nil || !i.isComplete() || i.Type != interactionCommand && i.Type != interactionPress {
		return
	}
	select {
	case p.busy <- struct{}{}:
	default: // a flood: Discord shows the user that the press failed
		return
	}
	var told chan bool
	if i.Type == interactionCommand {
		told = make(chan bool, 1)
		p.mu.Lock()
		p.ack[i.ID] = told
		p.mu.Unlock()
	}
	p.wg.Go(func() {
		defer func() { <-p.busy }()
		if told != nil {
			flags := 0
			if i.isPrivate() {
				flags = flagEphemeral
			}
			told <- p.c.acknowledgeInteraction(ctx, &i, answerLater, flags)
			return
		}
		p.decideQuestion(ctx, &i)
	})
}

// acknowledgeInteraction sends the first response, and reports whether Discord has received one.
func (c *Channel) acknowledgeInteraction(ctx context.Context, i *interaction, kind, flags int) bool {
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	body := map[string]any{"type": kind, "data": map[string]any{"flags": flags}}
	raw, err := json.Marshal(body)
	if err == nil {
		err = c.doRequest(ctx, apiCall{
			what: "answer an interaction", method: http.MethodPost, path: "/interactions/" + i.ID + "/" + url.PathEscape(i.Token) + "/callback",
			mime: "application/json", body: raw, public: true,
		}, nil)
	}
	if f, ok := errors.AsType[*failure](err); ok && f.Code == 40060 { // the interaction has already been acknowledged
		return true
	}
	if err != nil {
		c.log.Warn("answering an interaction in time failed", "error", err)
	}
	return err == nil
}

// decideQuestion decides a question.
func (p *interactionResponder) decideQuestion(ctx context.Context, i *interaction) {
	yes, question, ok := parseButtonID(i.Data.Button)
	if !ok || i.Message == nil || p.c.buttons == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pressWait)
	defer cancel()
	if !p.c.acknowledgeInteraction(ctx, i, answerSilent, 0) {
		return // Discord showed the user a failure, so the press must have no effect
	}
	said, err := p.c.buttons.Press(ctx, channels.ButtonPress{
		Channel: Name, Sender: i.actingUser().ID, Chat: i.Chat, Question: question, Yes: yes,
		Shown: p.c.asked.Since(ctx, question, i.Message.ID, i.Message.sentAt()),
	})
	if err != nil {
		said = err.Error()
		p.c.log.Info("button press had no effect", "sender", i.actingUser().ID, "error", err)
	}
	what := replyContext{Interaction: i.ID, App: i.App, Token: i.Token}
	if err == nil { // edit directly, which also works for a message that only one person sees
		err = p.c.doRequest(ctx, apiCall{
			what: "remove buttons", method: http.MethodPatch, path: interactionWebhookPath(what) + "/messages/@original",
			mime: "application/json", body: []byte(`{"components":[]}`), public: true,
		}, nil)
		if err != nil {
			p.c.log.Info("removing the buttons of an answered question failed", "error", err)
		}
	}
	if _, err := p.c.followUp(ctx, what, post{Content: truncateAtRune(said, maxText/2), Flags: flagEphemeral}); err != nil {
		p.c.log.Warn("sending the result of a button press failed", "error", err)
	}
}

// The data of the buttons contains only their meaning and the question.
const (
	buttonYes = "hob:yes:"
	buttonNo  = "hob:no:"
)

func parseButtonID(id string) (yes bool, question string, ok bool) {
	if q, is := strings.CutPrefix(id, buttonYes); is {
		return true, q, q != ""
	}
	q, is := strings.CutPrefix(id, buttonNo)
	return false, q, is && q != ""
}

// forwardCommand forwards a command to Hob after telling Discord that an answer follows.
func (p *interactionResponder) forwardCommand(ctx context.Context, r channels.Receiver, data json.RawMessage) error {
	var i interaction
	if json.Unmarshal(data, &i) != nil || !i.isComplete() || i.Type != interactionCommand {
		return nil
	}
	p.mu.Lock()
	told := p.ack[i.ID]
	delete(p.ack, i.ID)
	p.mu.Unlock()
	what := replyContext{Interaction: i.ID, App: i.App, Token: i.Token, User: i.actingUser().ID, Until: time.Now().Add(tokenLasts), Private: i.isPrivate()}
	if told != nil {
		select {
		case ok := <-told:
			if !ok {
				what.Token = ""
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	} else {
		what.Token = ""
	}
	in, ok := p.c.commandInbound(&i, what)
	if !ok {
		return nil
	}
	_, err := r.Receive(ctx, in)
	if errors.Is(err, channels.ErrStranger) {
		p.refuseUnknownSender(ctx, what)
		return nil
	}
	return err
}

// refuseUnknownSender replies to a sender who is not allowed.
func (p *interactionResponder) refuseUnknownSender(ctx context.Context, what replyContext) {
	if what.Token == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pressWait)
	defer cancel()
	const words = "I only talk to my owner and people on the allow list. If I am your Hob, run this on your machine: hob channel pair discord"
	var err error
	if what.Private {
		_, err = p.c.editOriginal(ctx, what, post{Content: words})
	} else { // everyone sees the typing indicator, so remove it
		gone := apiCall{what: "remove the typing indicator", method: http.MethodDelete, path: interactionWebhookPath(what) + "/messages/@original", public: true}
		if err = p.c.doRequest(ctx, gone, nil); err == nil {
			_, err = p.c.followUp(ctx, what, post{Content: words, Flags: flagEphemeral})
		}
	}
	if err != nil {
		p.c.log.Info("replying to an unknown sender failed", "error", err)
	}
}
