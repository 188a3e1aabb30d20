package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"hob/autonomy/llm"
	"hob/platform/provenance"
)

// maxWords is how many bytes of an answer are taken.
const maxWords = 1 << 20

// talk is one prompt and what comes of it. Its run method belongs to the
// goroutine of the stream; the child's messages come in by others, through
// events and permit.
type talk struct {
	o     Options
	seat  *seat
	child *child
	req   llm.Request
	yield func(llm.Event, error) bool
	id    sdk.SessionId // the agent's session
	taken bool          // it was taken up again for this prompt

	visible bool // something was said that cannot be taken back
	words   int  // bytes of the answer so far
	apart   bool // something was done since the last words
	gone    bool // nobody listens any more

	in queue

	ctx context.Context // of the prompt; set by listen

	mu    sync.Mutex
	calls map[string]*call
	grew  chan struct{} // closed when calls gets more, and made anew
	acted bool          // something with effects may have happened
	lapse string        // the question that nobody answered in time, if any
	asks  int           // questions that wait
	asked int           // questions so far
	over  bool          // no more questions
	wait  sync.WaitGroup
}

func newTalk(o Options, s *seat, r llm.Request, yield func(llm.Event, error) bool) *talk {
	return &talk{o: o, seat: s, req: r, yield: yield, calls: map[string]*call{}, grew: make(chan struct{}), in: queue{ready: make(chan struct{}, 1)}}
}

// run returns the error to yield; nil when Done was yielded or nobody listens.
func (t *talk) run(ctx context.Context) error {
	c, err := t.seat.wake(ctx, t.o)
	if err != nil {
		return err
	}
	t.child = c
	known, first, err := t.open(ctx)
	if err != nil {
		return err
	}
	blocks, err := t.blocks(known, first)
	if err != nil {
		return t.o.fail(llm.BadRequest, err, err.Error(), "")
	}
	return t.prompt(ctx, blocks)
}

type reply struct {
	resp sdk.PromptResponse
	err  error
}

// prompt sends the prompt and passes on what comes until the agent is done.
func (t *talk) prompt(ctx context.Context, blocks []sdk.ContentBlock) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.child.listen(ctx, t)
	replies := make(chan reply, 1)
	var sending sync.WaitGroup
	sending.Go(func() {
		resp, err := sdk.SendRequest[sdk.PromptResponse](t.child.conn, context.WithoutCancel(ctx), sdk.AgentMethodSessionPrompt,
			sdk.PromptRequest{SessionId: t.id, Prompt: blocks})
		replies <- reply{resp, err}
	})
	err := t.follow(ctx, replies)
	t.hush(ctx)
	cancel() // questions that wait come back
	if t.gone || err != nil && llm.KindOf(err) != llm.Unavailable && llm.KindOf(err) != llm.Unauthorized {
		t.child.kill()
		<-t.child.gone
	}
	t.wait.Wait()
	sending.Wait()
	if err != nil || t.gone {
		t.account(ctx, err)
		return t.judged(err)
	}
	return nil
}

// follow is the loop of one prompt. A nil error means that Done was yielded, or
// that nobody listens.
func (t *talk) follow(ctx context.Context, replies <-chan reply) error {
	silence := time.NewTimer(t.o.Silence)
	defer silence.Stop()
	for {
		select {
		case <-t.in.ready:
			silence.Reset(t.o.Silence)
			if err := t.drain(ctx); err != nil || t.gone {
				return err
			}
		case r := <-replies:
			if err := t.drain(ctx); err != nil || t.gone {
				return err
			}
			return t.finish(ctx, r)
		case <-silence.C:
			if t.asking() { // the owner may take his time
				silence.Reset(t.o.Silence)
				continue
			}
			return t.o.fail(llm.Stalled, nil, "it has said nothing for "+t.o.Silence.String(), "ask again; if it happens each time, start it by hand to see why: "+t.o.line())
		case <-ctx.Done():
			t.cancel(ctx, replies)
			return t.o.fail(llm.Interrupted, context.Cause(ctx), "the call was stopped", "")
		}
	}
}

// cancel tells the agent that its turn is over and lets it end its work in good
// order, but not for long: what the owner stops must stop. The caller kills it.
func (t *talk) cancel(ctx context.Context, replies <-chan reply) {
	t.wait.Go(func() { // a child that does not read holds it up until it is killed
		err := t.child.conn.SendNotification(context.WithoutCancel(ctx), sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: t.id})
		if err != nil {
			t.o.Log.Debug("cannot cancel", "err", err)
		}
	})
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-replies:
	case <-timer.C:
	}
}

// judged completes an error with what has happened before it.
func (t *talk) judged(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Visible, e.Acted = t.visible, t.acted
	return e
}

// finish ends the stream as the agent's reply says.
func (t *talk) finish(ctx context.Context, r reply) error {
	if r.err != nil {
		if t.taken && !t.visible { // not every agent can use what it has loaded
			t.seat.lost, t.child.loaded = t.id, ""
		}
		return t.child.failure(ctx, r.err, llm.Unavailable, "it could not answer")
	}
	t.account(ctx, nil)
	stop := llm.EndTurn
	switch r.resp.StopReason {
	case sdk.StopReasonMaxTokens:
		stop = llm.MaxTokens
	case sdk.StopReasonRefusal:
		stop = llm.Refused
	}
	if !t.note(r.resp.StopReason) || !t.say(llm.Event{Kind: llm.TextDelta, Signature: t.mark()}) {
		return nil
	}
	t.yield(llm.Event{Kind: llm.Done, Stop: stop, Usage: t.usage(r.resp.Usage), Source: provenance.Outside}, nil) // who leaves now has all
	return nil
}

// note says in Hob's words what the agent's own leave out: an empty answer
// would be asked for again. False when nobody listens.
func (t *talk) note(why sdk.StopReason) bool {
	t.mu.Lock()
	lapse := t.lapse
	t.mu.Unlock()
	text := ""
	switch {
	case lapse != "":
		text = fmt.Sprintf("(Nobody answered in time whether %s may do this, so it was not allowed: %s)", t.o.Provider, lapse)
	case why == sdk.StopReasonCancelled:
		text = "(" + t.o.Provider + " broke off.)"
	case why == sdk.StopReasonMaxTurnRequests:
		text = "(" + t.o.Provider + " has reached its own limit of steps for one turn.)"
	case why == sdk.StopReasonRefusal:
		text = "(" + t.o.Provider + " refused to go on.)"
	case !t.visible:
		text = "(" + t.o.Provider + " is done, and had nothing to say.)"
	}
	if text == "" {
		return true
	}
	if t.visible {
		text = "\n\n" + text
	}
	return t.say(llm.Event{Kind: llm.TextDelta, Text: text})
}

// mark is the signature under the answer; "" when the session cannot be found
// again anyway.
func (t *talk) mark() string {
	if t.req.Session == "" || len(t.id) > 512 {
		return ""
	}
	return mark{Provider: t.o.Provider, Session: t.req.Session, ID: string(t.id)}.String()
}

// say passes an event on. All that an agent says may come from files, pages and
// servers that Hob has not seen: it counts as text from outside.
func (t *talk) say(e llm.Event) bool {
	e.Source = provenance.Outside
	if e.Kind == llm.TextDelta && strings.TrimSpace(e.Text) != "" {
		t.visible = true
	}
	if !t.gone && !t.yield(e, nil) {
		t.gone = true
	}
	return !t.gone
}

// drain passes on what has come.
func (t *talk) drain(ctx context.Context) error {
	items, full := t.in.take()
	for _, i := range items {
		switch {
		case i.action != nil:
			t.apart = true
			if t.req.Desk != nil {
				t.req.Desk.Tell(ctx, *i.action)
			}
		case i.note != "":
			if t.req.Desk != nil {
				t.req.Desk.Note(i.note)
			}
		default:
			if !t.speak(i) {
				return nil
			}
		}
		if t.words > maxWords {
			full = true
		}
	}
	if full {
		return t.o.fail(llm.Garbled, nil, "its answer does not end", "ask again, or ask for less")
	}
	return nil
}

// speak passes on words, thoughts and pictures.
func (t *talk) speak(i item) bool {
	e := llm.Event{Kind: i.kind, Text: string(i.text), Image: i.image}
	if e.Kind == llm.TextDelta {
		if t.apart && t.visible { // a new thing is said after something was done
			e.Text = "\n\n" + strings.TrimLeft(e.Text, "\n")
		}
		t.apart = false
	}
	t.words += len(i.text) + len(i.image.Data)
	return t.say(e)
}

// hush ends the time of questions.
func (t *talk) hush(ctx context.Context) {
	t.child.listen(ctx, nil)
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
}

func (t *talk) asking() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asks > 0
}

// account ends what the agent began and did not report the end of.
func (t *talk) account(ctx context.Context, err error) {
	if t.req.Desk == nil {
		return
	}
	t.mu.Lock()
	var open []llm.Action
	for _, c := range t.calls {
		switch a := c.action(t.o); a.State {
		case llm.Planned:
			a.State = llm.Dropped
			open = append(open, a)
		case llm.Begun:
			if err != nil || t.gone {
				continue // the desk knows that its outcome is unknown
			}
			a.State, a.Result = llm.Ended, "("+t.o.Provider+" did not say what came of it)"
			open = append(open, a)
		}
	}
	t.mu.Unlock()
	for _, a := range open {
		t.req.Desk.Tell(context.WithoutCancel(ctx), a)
	}
}

// tokens is what an agent counts over a whole session.
type tokens struct {
	in, out, read, write int
	unknown              bool // what came before is not known
}

// usage is what this prompt cost. The protocol counts over all turns of a
// session; the field is young, and many agents leave it out.
func (t *talk) usage(u *sdk.Usage) llm.Usage {
	if u == nil {
		return llm.Usage{}
	}
	value := func(p *int) int {
		if p == nil {
			return 0
		}
		return max(0, *p)
	}
	now := tokens{in: max(0, u.InputTokens), out: max(0, u.OutputTokens), read: value(u.CachedReadTokens), write: value(u.CachedWriteTokens)}
	was := t.seat.spent
	t.seat.spent = now
	if was.unknown {
		return llm.Usage{}
	}
	if now.in < was.in || now.out < was.out { // it counts for each turn after all
		was = tokens{}
	}
	return llm.Usage{
		Input: now.in - was.in, Output: now.out - was.out, CacheRead: max(0, now.read-was.read), CacheWrite: max(0, now.write-was.write), Known: true,
	}
}
