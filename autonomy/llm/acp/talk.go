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

// maxWords is the maximum length of an answer in bytes.
const maxWords = 1 << 20

// promptTurn is one prompt and its answer. The stream's goroutine executes runPrompt. The child's
// messages arrive on other goroutines, in handleUpdate and handlePermission.
type promptTurn struct {
	o     Options
	seat  *conversation
	child *child
	req   llm.Request
	yield func(llm.Event, error) bool
	id    sdk.SessionId // the agent's session id
	// usedElsewhere reports whether another turn of the conversation uses an agent session.
	usedElsewhere func(id string) bool
	taken         bool // whether the session was resumed for this prompt
	// servers lists the MCP servers for the agent's session; never nil.
	servers []sdk.McpServer

	visible bool // whether visible output was sent
	words   int  // size of the answer so far, in bytes
	apart   bool // whether an action happened since the last text
	gone    bool // whether the consumer stopped

	in queue

	ctx context.Context // context of the prompt; set by child.setTurn

	mu    sync.Mutex
	calls map[string]*call
	grew  chan struct{} // closed and replaced when a call is added to calls
	acted bool          // whether an action with effects may have happened
	lapse string        // the last permission request that timed out, if any
	asks  int           // number of open requests
	asked int           // number of requests so far
	over  bool          // whether further requests are refused
	wait  sync.WaitGroup
}

func newTalk(o Options, s *conversation, r llm.Request, usedElsewhere func(string) bool, yield func(llm.Event, error) bool) *promptTurn {
	return &promptTurn{o: o, seat: s, req: r, usedElsewhere: usedElsewhere, yield: yield, calls: map[string]*call{}, grew: make(chan struct{}), in: queue{ready: make(chan struct{}, 1)}}
}

// runPrompt returns the error to yield, or nil if Done was yielded or the consumer stopped.
func (t *promptTurn) runPrompt(ctx context.Context) error {
	c, err := t.seat.ensureChild(ctx, t.o)
	if err != nil {
		return err
	}
	t.child = c
	fresh, first, err := t.openSession(ctx)
	if err != nil {
		return err
	}
	t.seat.session.Store(t.id)
	blocks, err := t.promptBlocks(fresh, first)
	if err != nil {
		return t.o.newError(llm.BadRequest, err, err.Error(), "")
	}
	return t.sendPrompt(ctx, blocks)
}

type reply struct {
	resp sdk.PromptResponse
	err  error
}

// sendPrompt sends the prompt and passes on the output until the agent has finished.
func (t *promptTurn) sendPrompt(ctx context.Context, blocks []sdk.ContentBlock) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.child.setTurn(ctx, t)
	replies := make(chan reply, 1)
	var sending sync.WaitGroup
	sending.Go(func() {
		resp, err := sdk.SendRequest[sdk.PromptResponse](t.child.conn, context.WithoutCancel(ctx), sdk.AgentMethodSessionPrompt,
			sdk.PromptRequest{SessionId: t.id, Prompt: blocks})
		replies <- reply{resp, err}
	})
	err := t.followPrompt(ctx, replies)
	t.stopAsking(ctx)
	cancel() // makes open requests return
	if t.gone || err != nil && llm.KindOf(err) != llm.Unavailable && llm.KindOf(err) != llm.Unauthorized {
		t.child.killProcess()
		<-t.child.gone
	}
	t.wait.Wait()
	sending.Wait()
	if err != nil || t.gone {
		t.closeActions(ctx, err)
		return t.completeError(err)
	}
	return nil
}

// followPrompt runs the event loop for one prompt. A nil error means that Done was yielded or the
// consumer stopped.
func (t *promptTurn) followPrompt(ctx context.Context, replies <-chan reply) error {
	silence := time.NewTimer(t.o.Silence)
	defer silence.Stop()
	for {
		select {
		case <-t.in.ready:
			silence.Reset(t.o.Silence)
			if err := t.drainQueue(ctx); err != nil || t.gone {
				return err
			}
		case r := <-replies:
			if err := t.drainQueue(ctx); err != nil || t.gone {
				return err
			}
			return t.finishStream(ctx, r)
		case <-silence.C:
			if t.isAsking() { // no time limit applies while the user has not answered
				silence.Reset(t.o.Silence)
				continue
			}
			return t.o.newError(llm.Stalled, nil, "it has been silent for "+t.o.Silence.String(), "try again; if the error persists, start it manually to see why: "+t.o.commandLine())
		case <-ctx.Done():
			t.cancelPrompt(ctx, replies)
			return t.o.newError(llm.Interrupted, context.Cause(ctx), "the call was canceled", "")
		}
	}
}

// cancelPrompt asks the agent to stop and waits for a short time until it has stopped, so that a
// stop by the user takes effect soon. The caller kills the process afterwards.
func (t *promptTurn) cancelPrompt(ctx context.Context, replies <-chan reply) {
	t.wait.Go(func() { // blocks until the child is killed if the child does not read
		err := t.child.conn.SendNotification(context.WithoutCancel(ctx), sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: t.id})
		if err != nil {
			t.o.Log.Debug("cancellation not sent", "err", err)
		}
	})
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-replies:
	case <-timer.C:
	}
}

// completeError adds information about earlier events to an error.
func (t *promptTurn) completeError(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Visible, e.Acted = t.visible, t.acted
	return e
}

// finishStream ends the stream according to the agent's reply.
func (t *promptTurn) finishStream(ctx context.Context, r reply) error {
	if r.err != nil {
		if t.taken && !t.visible { // some agents cannot use a loaded session
			t.seat.lost, t.child.loaded = t.id, ""
		}
		return t.child.requestError(ctx, r.err, llm.Unavailable, "it could not answer")
	}
	t.closeActions(ctx, nil)
	stop := llm.EndTurn
	switch r.resp.StopReason {
	case sdk.StopReasonMaxTokens:
		stop = llm.MaxTokens
	case sdk.StopReasonRefusal:
		stop = llm.Refused
	}
	if !t.addNotice(r.resp.StopReason) || !t.emitEvent(llm.Event{Kind: llm.TextDelta, Signature: t.answerSignature()}) {
		return nil
	}
	t.yield(llm.Event{Kind: llm.Done, Stop: stop, Usage: t.promptUsage(r.resp.Usage), Source: provenance.Outside}, nil) // the consumer has now received everything
	return nil
}

// addNotice adds a notice if the answer has no text, because an empty answer would be retried. It
// returns false if the consumer stopped.
func (t *promptTurn) addNotice(why sdk.StopReason) bool {
	t.mu.Lock()
	lapse := t.lapse
	t.mu.Unlock()
	text := ""
	switch {
	case lapse != "":
		text = fmt.Sprintf("(Not allowed, because you did not answer the request of %s in time: %s)", t.o.Provider, lapse)
	case why == sdk.StopReasonCancelled:
		text = "(" + t.o.Provider + " was interrupted.)"
	case why == sdk.StopReasonMaxTurnRequests:
		text = "(" + t.o.Provider + " has reached its own limit of steps per turn.)"
	case why == sdk.StopReasonRefusal:
		text = "(" + t.o.Provider + " refused to continue.)"
	case !t.visible:
		text = "(" + t.o.Provider + " has finished without a message.)"
	}
	if text == "" {
		return true
	}
	if t.visible {
		text = "\n\n" + text
	}
	return t.emitEvent(llm.Event{Kind: llm.TextDelta, Text: text})
}

// answerSignature returns the signature for the answer, or "" if the session cannot be resumed
// anyway.
func (t *promptTurn) answerSignature() string {
	if t.req.Session == "" || len(t.id) > 512 {
		return ""
	}
	return sessionRef{Provider: t.o.Provider, Session: t.req.Session, ID: string(t.id), Seen: newestTime(t.req.Messages)}.String()
}

// emitEvent passes an event to the consumer. All output from an agent is untrusted, because it may
// come from files, pages and servers that Hob has not read.
func (t *promptTurn) emitEvent(e llm.Event) bool {
	e.Source = provenance.Outside
	if e.Kind == llm.TextDelta && strings.TrimSpace(e.Text) != "" {
		t.visible = true
	}
	if !t.gone && !t.yield(e, nil) {
		t.gone = true
	}
	return !t.gone
}

// drainQueue passes the queued output to the consumer.
func (t *promptTurn) drainQueue(ctx context.Context) error {
	items, full := t.in.takeItems()
	for _, i := range items {
		switch {
		case i.action != nil:
			t.apart = true
			if t.req.Broker != nil {
				t.req.Broker.RecordAction(ctx, *i.action)
			}
		case i.note != "":
			if t.req.Broker != nil {
				t.req.Broker.PublishStatus(i.note)
			}
		default:
			if !t.emitItem(i) {
				return nil
			}
		}
		if t.words > maxWords {
			full = true
		}
	}
	if full {
		return t.o.newError(llm.Garbled, nil, "its answer is too long", "try again, or request less")
	}
	return nil
}

// emitItem passes text, thoughts and pictures to the consumer.
func (t *promptTurn) emitItem(i item) bool {
	e := llm.Event{Kind: i.kind, Text: string(i.text), Image: i.image}
	if e.Kind == llm.TextDelta {
		if t.apart && t.visible { // text after an action starts a new paragraph
			e.Text = "\n\n" + strings.TrimLeft(e.Text, "\n")
		}
		t.apart = false
	}
	t.words += len(i.text) + len(i.image.Data)
	return t.emitEvent(e)
}

// stopAsking stops accepting permission requests.
func (t *promptTurn) stopAsking(ctx context.Context) {
	t.child.setTurn(ctx, nil)
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
}

func (t *promptTurn) isAsking() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asks > 0
}

// closeActions reports the end of actions for which the agent reported a start but no end.
func (t *promptTurn) closeActions(ctx context.Context, err error) {
	if t.req.Broker == nil {
		return
	}
	t.mu.Lock()
	var open []llm.Action
	for _, c := range t.calls {
		switch a := c.toAction(t.o); a.State {
		case llm.Planned:
			a.State = llm.Dropped
			open = append(open, a)
		case llm.Begun:
			if err != nil || t.gone {
				continue // the broker records that the outcome is unknown
			}
			a.State, a.Result = llm.Ended, "("+t.o.Provider+" did not report the result)"
			open = append(open, a)
		}
	}
	t.mu.Unlock()
	for _, a := range open {
		t.req.Broker.RecordAction(context.WithoutCancel(ctx), a)
	}
}

// tokens holds an agent's token counts for a session.
type tokens struct {
	in, out, read, write int
	unknown              bool // whether earlier counts are unknown
}

// promptUsage returns the tokens used for this prompt. The protocol reports totals for a session.
// The field is new, and many agents omit it.
func (t *promptTurn) promptUsage(u *sdk.Usage) llm.Usage {
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
	if now.in < was.in || now.out < was.out { // the agent reports counts per turn instead of totals
		was = tokens{}
	}
	return llm.Usage{
		Input: now.in - was.in, Output: now.out - was.out, CacheRead: max(0, now.read-was.read), CacheWrite: max(0, now.write-was.write), Known: true,
	}
}
