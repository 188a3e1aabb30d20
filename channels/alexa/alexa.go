// Package alexa implements a channel for the owner's custom Alexa skill. Amazon posts requests to
// /hooks/alexa, and Alexa speaks the response; the owner makes the web server reachable
// (docs/alexa.md).
//
// Each request must carry Amazon's signature and the id of the owner's skill (verify.go). The
// sender is the Amazon account that enabled the skill. The account is treated as the owner's after
// pairing. Everyone in the room speaks as that account, so spoken words approve nothing, with one
// exception: an answer directly after a spoken question, by a voice that the owner configured and
// Alexa recognized (asked.go).
//
// A request waits 6.5 of its 8 seconds for the answer; after 2 of them Alexa says that the answer
// takes a moment (progress.go). Later answers are stored, also across restarts, until the user asks
// for them.
package alexa

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/net/safehttp"
	"hob/platform/text/markup"
)

// Name is the name of the channel and of its configuration section.
const Name = "alexa"

// Config is the section [channels.alexa]. The manager reads the key "enabled".
type Config struct {
	// Skill is the id of the owner's skill, "amzn1.ask.skill...".
	Skill string `toml:"skill"`
	// Allow lists other accounts that may use Hob ("amzn1.ask.account...").
	Allow []string `toml:"allow"`
	// Voices lists the ids of people ("amzn1.ask.person...") whose recognized voice may answer the
	// last spoken question for a paired account.
	Voices []string `toml:"voices"`
}

// Driver creates the channel from its configuration.
type Driver struct{}

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return channels.Make(decode, deps, New)
}

// Options holds test settings. The zero value is used in production.
type Options struct {
	Roots *x509.CertPool // root certificates; nil means the system's root certificates
	Now   func() time.Time
	Wait  time.Duration // maximum wait for an answer (6.5 s)
	Slow  time.Duration // wait after which Alexa says that the answer takes a moment (2 s)
}

// patience is the maximum time that a request waits for an answer. Alexa stops waiting after 8 s
// (developer.amazon.com/docs/alexa/custom-skills, "Request and Response JSON Reference").
const patience = 6500 * time.Millisecond

// Channel is one skill.
type Channel struct {
	conf  Config
	log   *slog.Logger
	proof *verifier
	box   *speechQueue
	now   func() time.Time
	wait  time.Duration
	slow  time.Duration

	buttons channels.ButtonHandler // nil if approval requests cannot be answered on this channel
	spoke   questions

	mu    sync.Mutex
	to    channels.Receiver // nil while the channel does not run
	heard time.Time
	voice string               // the voice that Alexa last recognized
	ids   map[string]time.Time // times of the requests that can still be replayed
}

// New validates the configuration. It does not connect.
func New(c Config, deps channels.Deps, o Options) (*Channel, error) {
	if !strings.HasPrefix(c.Skill, "amzn1.ask.skill.") {
		return nil, errors.New(`skill is missing; set skill = "amzn1.ask.skill..." in [channels.alexa]: the id of your skill from developer.amazon.com/alexa/console/ask`)
	}
	network := deps.Network
	if network == nil {
		var err error
		if network, err = safehttp.New(safehttp.Options{}); err != nil {
			return nil, err
		}
	}
	ch := &Channel{
		conf: c, log: deps.Log, now: o.Now, wait: cmp.Or(o.Wait, patience), slow: cmp.Or(o.Slow, slow), buttons: deps.Buttons, ids: map[string]time.Time{},
		proof: &verifier{network: network, roots: o.Roots, chains: map[string]chain{}}, box: newBox(deps.Dir),
	}
	if ch.log == nil {
		ch.log = slog.New(slog.DiscardHandler)
	}
	if ch.now == nil {
		ch.now = time.Now
	}
	return ch, nil
}

// Allow implements channels.Allower.
func (c *Channel) Allow() []string { return c.conf.Allow }

// Limits implements channels.Limiter. MaxText leaves room for escapes within the maximum length of
// speech.
func (*Channel) Limits() channels.Limits { return channels.Limits{MaxText: 6000} }

// Dedupes implements channels.Deduper: the queue stores each delivery once.
func (*Channel) Dedupes() {}

// DescribeStatus implements channels.StatusDescriber.
func (c *Channel) DescribeStatus() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heard.IsZero() {
		return "no request received yet"
	}
	out := "last request at " + c.heard.UTC().Format("2006-01-02 15:04 MST")
	if c.voice != "" {
		out += ", from the voice " + c.voice
	}
	return out
}

// Run implements channels.Channel. The channel answers requests while Run is running.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	if err := c.box.loadFile(c.now()); err != nil {
		return fmt.Errorf("alexa: read stored answers: %w", err)
	}
	c.setReceiver(r)
	defer c.setReceiver(nil)
	<-ctx.Done()
	return nil
}

func (c *Channel) setReceiver(r channels.Receiver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = r
}

// Send implements channels.Channel. It queues the text until the user asks for it or a request is
// waiting, because Alexa cannot speak without a request.
func (c *Channel) Send(_ context.Context, d channels.Delivery) (channels.Receipt, error) {
	switch d.Kind {
	case channels.Status: // the request itself reports progress
		return channels.Receipt{}, nil
	case channels.Reply, channels.Question:
	case channels.Notice, channels.Send:
		return channels.Receipt{}, channels.Errorf(channels.Unsupported, "alexa: cannot send without a request from you; choose another channel in [notify]")
	}
	if err := c.box.enqueueText(d, markup.Plain(d.Markdown()), c.now()); err != nil {
		return channels.Receipt{}, channels.Errorf(channels.Temporary, "alexa: store the answer: %w", err)
	}
	return channels.Receipt{}, nil
}

// Hook implements channels.WebhookReceiver.
func (c *Channel) Hook(ctx context.Context, p channels.WebhookRequest) channels.WebhookResponse {
	ctx, cancel := context.WithTimeout(ctx, max(patience, c.wait)) // time limit of the whole request
	defer cancel()
	now := c.now()
	if err := c.proof.verifyRequest(ctx, p.Header, p.Body, now); err != nil {
		c.log.Warn("request rejected: not signed by Amazon", "error", err)
		return channels.WebhookResponse{Status: http.StatusUnauthorized}
	}
	q, err := parseRequest(p.Body)
	if err == nil {
		err = q.checkRequest(c.conf.Skill, now)
	}
	if err != nil {
		c.log.Warn("request from Amazon rejected", "error", err)
		return channels.WebhookResponse{Status: http.StatusUnauthorized}
	}
	c.mu.Lock()
	to := c.to
	c.heard, c.voice = now, ""
	if p := q.Context.System.Person; p.ID != "" {
		c.voice = fmt.Sprintf("%s (certainty %d of %d)", p.ID, p.Sure.Level, sure)
	}
	c.mu.Unlock()
	what, text := q.parseMeaning()
	switch {
	case to == nil:
		return channels.WebhookResponse{Status: http.StatusServiceUnavailable}
	case c.isRepeatedRequest(q.Request.ID, now) && what != speaks: // repeated messages are detected elsewhere
		c.log.Warn("repeated request from Amazon rejected")
		return channels.WebhookResponse{Status: http.StatusUnauthorized}
	}
	ctx, answered := context.WithTimeout(ctx, c.wait)
	defer answered()
	return channels.WebhookResponse{Status: http.StatusOK, Body: c.answerRequest(ctx, to, q, what, text)}
}

// isRepeatedRequest reports whether a request was received before. Requests older than the stored
// ids are rejected because of their timestamps.
func (c *Channel) isRepeatedRequest(id string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.ids, func(_ string, at time.Time) bool { return now.Sub(at).Abs() > 2*tolerance })
	_, was := c.ids[id]
	c.ids[id] = now
	return was
}

// Fixed replies.
const (
	hello    = "This is Hob. What can I do for you?"
	more     = "What else?"
	help     = "Ask me a question, such as: what is on today. Or tell me something to remember. If I need more time, ask later: what is the answer. To end, say stop."
	unheard  = "I did not understand that. Start with ask, then say what you want."
	bye      = "Goodbye."
	busy     = "I am still working on it. Ask me for the answer in a moment."
	nothing  = "There are no new answers."
	stranger = "This account is not paired yet. Create a code with hob channel pair alexa. Then say: the code is, followed by its letters and digits one by one."
	notTaken = "I could not receive that. Please say it again."
	moreWait = "There is more: ask me for the answer."
	moment   = "One moment."
	yesOrNo  = "Say yes or no."
	// elsewhere is spoken after a question that this voice cannot answer.
	elsewhere  = "Answer that in a chat or on my page: I cannot verify your voice here."
	byItsID    = "Answer that in a chat or on my page. The question comes from a background task, so I cannot accept a spoken yes."
	askAgain   = "Another request came in since then. Ask me for the answer to hear the question again."
	voiceless  = "I did not recognize your voice, so that question stays open."
	again      = "Please say that again: yes, or no?"
	unanswered = "I could not accept that answer. The question may already be answered."
)

// answerRequest handles a request.
func (c *Channel) answerRequest(ctx context.Context, to channels.Receiver, q *request, what requestMeaning, text string) response {
	if what == agrees || what == refuses {
		if a, ok := c.spoke.openQuestion(q.Session.ID); ok {
			return c.decideSpokenQuestion(ctx, q, a, what == agrees)
		}
		what = speaks // not an answer to the question
	}
	c.spoke.setQuestion(q.Session.ID, spokenQuestion{})
	switch what {
	case opens:
		if r, ok := c.speakQueued(ctx, q, ""); ok {
			return r
		}
		return speakAndListen(hello, help)
	case ends:
		return speakAndEnd(bye)
	case helps:
		return speakAndListen(help, more)
	case collects:
		return c.awaitSpeech(ctx, q, "")
	case speaks:
		return c.askAndWait(ctx, to, q, text)
	case nothingHeard:
		return speakAndListen(unheard, help)
	}
	return response{Version: "1.0"} // the session has ended, so Alexa speaks no response
}

// speakQueued returns the queued messages for a user: those of one event, or all if event is "".
// Only accepted senders have queued messages.
func (c *Channel) speakQueued(ctx context.Context, q *request, event string) (response, bool) {
	for {
		said, asks, err := c.box.takeSpeech(q.userID(), event, c.now())
		if err != nil {
			c.log.Error("storing answers failed", "error", err)
		}
		if said == "" {
			return response{}, false
		}
		if asks == nil || c.buttons == nil {
			return speakAndListen(said, more), true
		}
		question, err := c.buttons.Open(ctx, channels.Delivery{ID: asks.ID, Event: asks.Event, Kind: channels.Question, Channel: Name, Chat: asks.Chat, Text: asks.Text})
		switch {
		case err != nil:
			c.log.Warn("cannot find the spoken question", "error", err)
			return speakAndListen(said, more), true
		case question == "":
			c.dropQueuedText(asks.ID)
			if asks.Spoken && said == asks.Text { // this question has already been answered
				continue
			}
			return speakAndListen(said, more), true
		}
		how := elsewhere
		bare, err := c.buttons.Spoken(ctx, voiceClient(q), channels.Delivery{ID: asks.ID, Event: asks.Event, Kind: channels.Question, Channel: Name, Chat: asks.Chat, Text: asks.Text})
		if err != nil {
			c.log.Warn("cannot check whether a spoken yes may answer a question", "error", err)
		}
		if bare != question { // the question comes from a background task
			return speakAndListen(said+"\n\n"+byItsID, more), true
		}
		if c.hasOwnerVoice(q) || len(c.conf.Voices) > 0 && q.Context.System.Person.ID == "" { // Alexa may recognize the voice that answers
			how = yesOrNo
		}
		c.spoke.setQuestion(q.Session.ID, spokenQuestion{asks.ID, question, asks.Event, c.now()})
		return speakAndListen(said+"\n\n"+how, how), true
	}
}

func (c *Channel) dropQueuedText(id string) {
	if err := c.box.dropText(id); err != nil {
		c.log.Error("storing answers failed", "error", err)
	}
}

// awaitSpeech returns the answer to an event, or a response saying that the answer is not ready
// yet.
func (c *Channel) awaitSpeech(ctx context.Context, q *request, event string) response {
	late := time.NewTimer(c.slow)
	defer late.Stop()
	for {
		waits, changed := c.box.waitState(q.userID())
		if r, ok := c.speakQueued(ctx, q, event); ok {
			return r
		}
		if event == "" && !waits {
			return speakAndListen(nothing, more)
		}
		select {
		case <-changed:
		case <-late.C:
			c.sendProgress(ctx, q)
		case <-ctx.Done():
			return speakAndListen(busy, help)
		}
	}
}

// askAndWait submits a message and waits for its answer.
func (c *Channel) askAndWait(ctx context.Context, to channels.Receiver, q *request, text string) response {
	user := q.userID()
	acc, err := to.Receive(ctx, channels.Inbound{Chat: user, Sender: user, Text: text, Key: q.Request.ID, At: q.at, Unknown: true})
	switch {
	case errors.Is(err, channels.ErrStranger):
		return speakAndEnd(stranger)
	case err != nil:
		c.log.Warn("message not accepted", "error", err)
		return speakAndListen(notTaken, help)
	}
	c.box.expectAnswer(user, acc.Event)
	return c.awaitSpeech(ctx, q, acc.Event)
}
