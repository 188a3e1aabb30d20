package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/platform/failpoint"
	"hob/platform/provenance"
)

// callModel makes one model call.
func (r *turnRun) callModel(ctx context.Context) (llm.Response, error) {
	r.round++
	if err := r.fitWindow(ctx); err != nil {
		return llm.Response{}, err
	}
	q := modelCall{req: llm.Request{System: r.system, Messages: r.shownTo(), Tools: r.offered, Session: r.t.Event.Session, Now: time.Now().In(r.o.Zone()), Account: r.billingAccount()}}
	if err := r.beforeModel(ctx, &q); err != nil {
		return q.resp, err
	}
	if err := r.streamFitting(ctx, &q); err != nil {
		r.partial = q.resp.Text()
		return q.resp, err
	}
	r.recordTokenCount(q.resp.Usage)
	r.afterModel(ctx, &q)
	r.usage = r.usage.Add(q.resp.Usage)
	r.by = q.resp.Model
	if q.req.NoTools {
		q.resp.Parts = dropCalls(q.resp.Parts)
	}
	r.assignCallIDs(q.resp.Parts)
	return q.resp, nil
}

// readStream reads the answer to its end and publishes it to the live feed.
func (r *turnRun) readStream(ctx context.Context, q *modelCall) error {
	desk, leave := r.newPermissionBroker(ctx)
	defer leave()
	q.req.Desk = desk
	r.partial = ""
	r.begun = map[string]string{}
	starts := 0
	shown := r.o.Redact.Stream()
	asked := time.Now()
	failpoint.Hit("model.call.before")
	for e, err := range r.model.Stream(ctx, q.req) {
		if err != nil {
			return err
		}
		if e.Kind == llm.CallStart { // calls run in the order in which they begin
			r.begun[e.Call.ID] = r.callID(starts)
			starts++
		}
		if e.Source == provenance.Outside {
			r.strange.Store(true)
		}
		q.resp.Add(e)
		if e.Kind == llm.TextDelta {
			e.Text = shown.Push(e.Text)
		}
		r.publishModelEvent(e)
	}
	r.publishModelEvent(llm.Event{Kind: llm.TextDelta, Text: shown.End()})
	leave() // actions of an external agent are recorded with the answer
	failpoint.Hit("model.call.after")
	q.took = time.Since(asked)
	return nil
}

// appendAnswer appends the model's answer, in the form in which it is stored.
func (r *turnRun) appendAnswer(parts []llm.Part) {
	src := r.answerSource()
	for i := range parts {
		p := &parts[i]
		p.Source, p.Text = src, r.o.Redact.Text(strings.ToValidUTF8(p.Text, "\uFFFD"))
		if p.Call == nil {
			continue
		}
		if args := string(p.Call.Args); r.o.Redact.Known(args) != args { // see secrets: it does not run
			p.Call.Args = json.RawMessage(r.o.Redact.Known(args))
		}
		var b bytes.Buffer
		if json.Compact(&b, p.Call.Args) == nil {
			p.Call.Args = b.Bytes()
			continue
		}
		p.Call.Truncated = true
		p.Call.Args, _ = json.Marshal(string(p.Call.Args)) // a string always encodes
	}
	r.msgs = append(r.msgs, llm.Message{Role: llm.Assistant, Parts: parts})
}

// assignCallIDs assigns every call an id that is stable over a crash and unique in the conversation. It
// ignores the ids of the model.
func (r *turnRun) assignCallIDs(parts []llm.Part) {
	n := 0
	for i := range parts {
		if c := parts[i].Call; c != nil {
			c.ID = r.callID(n)
			n++
		}
	}
}

// callID returns the id of the nth call of the next answer.
func (r *turnRun) callID(n int) string {
	return fmt.Sprintf("call_%s_%d_%d", lastIDChars(r.t.Event.ID, 12), len(r.msgs)-r.own, n)
}

func lastIDChars(s string, n int) string {
	s = strings.ReplaceAll(s, "-", "")
	return s[max(0, len(s)-n):]
}

func (r *turnRun) publishModelEvent(e llm.Event) {
	feed, id, sess := r.o.Bus.Feed, r.t.Event.ID, r.t.Event.Session
	switch e.Kind {
	case llm.TextDelta:
		if e.Text == "" { // a signature alone
			return
		}
		feed.Publish("content_delta", id, sess, map[string]string{"text": e.Text})
	case llm.CallStart:
		feed.Publish("tool_call_start", id, sess, map[string]string{"id": r.begun[e.Call.ID], "name": e.Call.Name})
	case llm.CallDelta:
		feed.Publish("tool_call_delta", id, sess, map[string]string{"id": r.begun[e.Call.ID], "arguments": r.o.Redact.Known(e.Text)})
	}
}

// estimateTokens estimates the tokens of an answer, for models that do not report them.
func estimateTokens(parts []llm.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text)
		if p.Call != nil {
			n += len(p.Call.Name) + len(p.Call.Args)
		}
		if p.Reasoning != nil {
			n += len(p.Reasoning.Text)
		}
	}
	return n / 4
}

func dropCalls(parts []llm.Part) []llm.Part {
	out := parts[:0]
	for _, p := range parts {
		if p.Call == nil {
			out = append(out, p)
		}
	}
	return out
}

func callsOf(m llm.Message) []llm.ToolCall {
	r := llm.Response{Parts: m.Parts}
	return r.Calls()
}

func textOf(m llm.Message) string {
	r := llm.Response{Parts: m.Parts}
	return strings.TrimSpace(r.Text())
}
