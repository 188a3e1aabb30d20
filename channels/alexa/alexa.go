// Package alexa lets the owner speak with Hob through a custom skill of his own on
// Alexa devices. Amazon posts what was said to /hooks/alexa, and speaks the answer;
// how the web server is reached from outside is the owner's matter (docs/alexa.md).
//
// Each request has to carry Amazon's signature and the id of the owner's skill
// (verify.go). Who speaks is the Amazon account that enabled the skill: it is the owner's
// once it is paired. Everybody in the room speaks as that account, so what is said
// decides nothing, but for one thing: a yes or no to the question that was spoken right
// before it, by a voice that the owner has named and Alexa has recognised (asked.go).
//
// A request waits 6.5 of its 8 seconds for the answer; after 2 of them Alexa says that it
// takes a moment (progress.go). What comes later is kept, also over a new start, until
// somebody asks for it.
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
	"hob/platform/markup"
	"hob/platform/safehttp"
)

// Name is the channel's, and that of its section.
const Name = "alexa"

// Config is the section [channels.alexa]; "enabled" is the manager's.
type Config struct {
	// Skill is the id of the owner's skill, "amzn1.ask.skill...".
	Skill string `toml:"skill"`
	// Allow are further accounts that are heard ("amzn1.ask.account...").
	Allow []string `toml:"allow"`
	// Voices are the people ("amzn1.ask.person...") whose recognised voice may answer
	// the question that was just spoken, in the name of a paired account.
	Voices []string `toml:"voices"`
}

// Driver makes the channel from its configuration.
type Driver struct{}

// Name implements channels.Driver.
func (Driver) Name() string { return Name }

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return channels.Make(decode, deps, New)
}

// Options of New for tests; the zero value is what owners get.
type Options struct {
	Roots *x509.CertPool // of certificates; nil: those of the system
	Now   func() time.Time
	Wait  time.Duration // for an answer (6.5 s)
	Slow  time.Duration // after which Alexa says that it takes a moment (2 s)
}

// patience is how long a request waits: Alexa gives up after 8 seconds
// (developer.amazon.com/docs/alexa/custom-skills, "Request and Response JSON
// Reference").
const patience = 6500 * time.Millisecond

// Channel is one skill.
type Channel struct {
	conf  Config
	log   *slog.Logger
	proof *verifier
	box   *box
	now   func() time.Time
	wait  time.Duration
	slow  time.Duration

	buttons channels.Buttons // nil: no question is answered here
	spoke   questions

	mu    sync.Mutex
	to    channels.Receiver // nil: the channel does not run
	heard time.Time
	voice string               // the last one that Alexa has recognised
	ids   map[string]time.Time // of the requests that can still be repeated
}

// New checks the configuration; it connects to nothing.
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

// Limits implements channels.Limiter: so much can be spoken at once, with what
// escaping adds.
func (*Channel) Limits() channels.Limits { return channels.Limits{MaxText: 6000} }

// Dedupes implements channels.Deduper: what was put into the box once is not put there
// again.
func (*Channel) Dedupes() {}

// Describe implements channels.Describer.
func (c *Channel) Describe() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heard.IsZero() {
		return "no request received yet"
	}
	out := "last request at " + c.heard.UTC().Format("2006-01-02 15:04 MST")
	if c.voice != "" {
		out += ", by the voice " + c.voice
	}
	return out
}

// Run implements channels.Channel: while it runs, requests are answered.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	if err := c.box.load(c.now()); err != nil {
		return fmt.Errorf("alexa: read stored answers: %w", err)
	}
	c.listen(r)
	defer c.listen(nil)
	<-ctx.Done()
	return nil
}

func (c *Channel) listen(r channels.Receiver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = r
}

// Send implements channels.Channel: what is said to somebody lies in the box until he
// asks, or is asking. Nobody can be spoken to who has not spoken first.
func (c *Channel) Send(_ context.Context, d channels.Delivery) (channels.Receipt, error) {
	switch d.Kind {
	case channels.Status: // that it takes a while is said by the request itself
		return channels.Receipt{}, nil
	case channels.Reply, channels.Question:
	case channels.Notice, channels.Send:
		return channels.Receipt{}, channels.Errorf(channels.Unsupported, "alexa: cannot send without a request from you; choose another channel in [notify]")
	}
	if err := c.box.put(d, markup.Plain(d.Markdown()), c.now()); err != nil {
		return channels.Receipt{}, channels.Errorf(channels.Temporary, "alexa: store the answer: %w", err)
	}
	return channels.Receipt{}, nil
}

// Hook implements channels.Hooked.
func (c *Channel) Hook(ctx context.Context, p channels.Post) channels.Posted {
	ctx, cancel := context.WithTimeout(ctx, max(patience, c.wait)) // for all of it
	defer cancel()
	now := c.now()
	if err := c.proof.verify(ctx, p.Header, p.Body, now); err != nil {
		c.log.Warn("request rejected: not signed by Amazon", "error", err)
		return channels.Posted{Status: http.StatusUnauthorized}
	}
	q, err := parse(p.Body)
	if err == nil {
		err = q.check(c.conf.Skill, now)
	}
	if err != nil {
		c.log.Warn("request from Amazon rejected", "error", err)
		return channels.Posted{Status: http.StatusUnauthorized}
	}
	c.mu.Lock()
	to := c.to
	c.heard, c.voice = now, ""
	if p := q.Context.System.Person; p.ID != "" {
		c.voice = fmt.Sprintf("%s (certainty %d of %d)", p.ID, p.Sure.Level, sure)
	}
	c.mu.Unlock()
	what, text := q.means()
	switch {
	case to == nil:
		return channels.Posted{Status: http.StatusServiceUnavailable}
	case c.repeated(q.Request.ID, now) && what != speaks: // a message is taken once by its id
		c.log.Warn("repeated request from Amazon rejected")
		return channels.Posted{Status: http.StatusUnauthorized}
	}
	ctx, answered := context.WithTimeout(ctx, c.wait)
	defer answered()
	return channels.Posted{Status: http.StatusOK, Body: c.answer(ctx, to, q, what, text)}
}

// repeated reports whether a request was here before. Once it is too old nobody takes it.
func (c *Channel) repeated(id string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.ids, func(_ string, at time.Time) bool { return now.Sub(at).Abs() > 2*tolerance })
	_, was := c.ids[id]
	c.ids[id] = now
	return was
}

// The sentences that Hob says itself.
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
	// elsewhere is said after a question that this voice cannot answer.
	elsewhere  = "Answer that in a chat or on my page: I cannot verify your voice here."
	byItsID    = "Answer that in a chat or on my page. The question comes from a background task, so I cannot accept a spoken yes."
	askAgain   = "Another request came in since then. Ask me for the answer to hear the question again."
	voiceless  = "I did not recognize your voice, so that question stays open."
	again      = "Please say that again: yes, or no?"
	unanswered = "I could not accept that answer. The question may already be answered."
)

// answer does what was asked.
func (c *Channel) answer(ctx context.Context, to channels.Receiver, q *request, what meaning, text string) response {
	if what == agrees || what == refuses {
		if a, ok := c.spoke.get(q.Session.ID); ok {
			return c.decide(ctx, q, a, what == agrees)
		}
		what = speaks // an answer to something else
	}
	c.spoke.set(q.Session.ID, asked{})
	switch what {
	case opens:
		if r, ok := c.kept(ctx, q, ""); ok {
			return r
		}
		return say(hello, help)
	case ends:
		return last(bye)
	case helps:
		return say(help, more)
	case collects:
		return c.await(ctx, q, "")
	case speaks:
		return c.ask(ctx, to, q, text)
	case nothingHeard:
		return say(unheard, help)
	}
	return response{Version: "1.0"} // the session is over, and nobody listens
}

// kept speaks what waits for somebody, of one event or ("") of all. There is something
// only for who was heard as one whose words count.
func (c *Channel) kept(ctx context.Context, q *request, event string) (response, bool) {
	for {
		said, asks, err := c.box.take(q.user(), event, c.now())
		if err != nil {
			c.log.Error("storing answers failed", "error", err)
		}
		if said == "" {
			return response{}, false
		}
		if asks == nil || c.buttons == nil {
			return say(said, more), true
		}
		question, err := c.buttons.Open(ctx, channels.Delivery{ID: asks.ID, Event: asks.Event, Kind: channels.Question, Channel: Name, Chat: asks.Chat, Text: asks.Text})
		switch {
		case err != nil:
			c.log.Warn("finding the spoken question failed", "error", err)
			return say(said, more), true
		case question == "":
			c.drop(asks.ID)
			if asks.Spoken && said == asks.Text { // it was answered since
				continue
			}
			return say(said, more), true
		}
		how := elsewhere
		bare, err := c.buttons.Spoken(ctx, voiceClient(q), channels.Delivery{ID: asks.ID, Event: asks.Event, Kind: channels.Question, Channel: Name, Chat: asks.Chat, Text: asks.Text})
		if err != nil {
			c.log.Warn("checking whether a spoken yes may answer a question failed", "error", err)
		}
		if bare != question { // of a task in the background, say, or of before
			return say(said+"\n\n"+byItsID, more), true
		}
		if c.voiced(q) || len(c.conf.Voices) > 0 && q.Context.System.Person.ID == "" { // the next words may be recognised
			how = yesOrNo
		}
		c.spoke.set(q.Session.ID, asked{asks.ID, question, asks.Event, c.now()})
		return say(said+"\n\n"+how, how), true
	}
}

func (c *Channel) drop(id string) {
	if err := c.box.drop(id); err != nil {
		c.log.Error("storing answers failed", "error", err)
	}
}

// await speaks what comes for somebody, or that it is not there yet.
func (c *Channel) await(ctx context.Context, q *request, event string) response {
	late := time.NewTimer(c.slow)
	defer late.Stop()
	for {
		waits, changed := c.box.waiting(q.user())
		if r, ok := c.kept(ctx, q, event); ok {
			return r
		}
		if event == "" && !waits {
			return say(nothing, more)
		}
		select {
		case <-changed:
		case <-late.C:
			c.progress(ctx, q)
		case <-ctx.Done():
			return say(busy, help)
		}
	}
}

// ask hands a message in and waits for its answer.
func (c *Channel) ask(ctx context.Context, to channels.Receiver, q *request, text string) response {
	user := q.user()
	acc, err := to.Receive(ctx, channels.Inbound{Chat: user, Sender: user, Text: text, Key: q.Request.ID, At: q.at, Unknown: true})
	switch {
	case errors.Is(err, channels.ErrStranger):
		return last(stranger)
	case err != nil:
		c.log.Warn("message not accepted", "error", err)
		return say(notTaken, help)
	}
	c.box.expect(user, acc.Event)
	return c.await(ctx, q, acc.Event)
}
