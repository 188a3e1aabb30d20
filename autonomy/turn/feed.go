package turn

import (
	"context"
	"sync"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/autonomy/turn/results"
	"hob/tools"
)

// liveFeed publishes the turn's progress. Events may be lost; no other code depends on them.
type liveFeed struct {
	o     *Options
	t     *Turn
	begun map[string]string // the provider's call id -> the id in the turn, for calls that are being streamed
}

// publishEvent publishes an event of the turn to the live feed.
func (f *liveFeed) publishEvent(typ string, data map[string]any) {
	f.o.Bus.Feed.Publish(typ, f.t.Event.ID, f.t.Event.Session, data)
}

func (f *liveFeed) publishModelEvent(e llm.Event) {
	feed, id, sess := f.o.Bus.Feed, f.t.Event.ID, f.t.Event.Session
	switch e.Kind {
	case llm.TextDelta:
		if e.Text == "" || f.o.Programs.Has(config.AnswerBefore) { // without text the event contains only a signature
			return // a hook checks the complete answer before anyone reads it
		}
		feed.Publish("content_delta", id, sess, map[string]string{"text": e.Text})
	case llm.CallStart:
		feed.Publish("tool_call_start", id, sess, map[string]string{"id": f.begun[e.Call.ID], "name": e.Call.Name})
	case llm.CallDelta:
		feed.Publish("tool_call_delta", id, sess, map[string]string{"id": f.begun[e.Call.ID], "arguments": f.o.Redact.Known(e.Text)})
	}
}

// streamFurtherText streams additional text of the answer.
func (f *liveFeed) streamFurtherText(text string) {
	f.publishModelEvent(llm.Event{Kind: llm.TextDelta, Text: text})
}

// feedMiddleware publishes a call's outcome to the live feed.
func (f *liveFeed) feedMiddleware() middleware {
	return middleware{name: "feed", afterTool: func(_ context.Context, s *callStep) { f.publishResult(s) }}
}

func (f *liveFeed) publishResult(s *callStep) {
	d := map[string]any{"id": s.call.ID, "name": s.call.Name, "ok": s.err == nil, "text": s.text}
	if s.tool != nil {
		d["name"] = s.tool.Spec().Name
	}
	if s.err != nil {
		d["text"], d["code"] = results.Shorten(s.err.Error(), ""), tools.CodeOf(s.err)
	}
	f.publishEvent("tool_result", d)
}

// heartbeat is the interval between live events about a running tool. reports is the minimum
// interval between progress reports from the tool.
const (
	heartbeat = 15 * time.Second
	reports   = 200 * time.Millisecond
)

// progressReporter publishes the progress of a tool: at the start, for each report from the tool,
// and at every heartbeat. It publishes nothing after the tool ends.
type progressReporter struct {
	publish func(typ string, data map[string]any)
	call    map[string]any // id and name of the call
	began   time.Time

	mu       sync.Mutex
	ended    bool
	beats    *time.Timer
	told     time.Time // when the last report from the tool was published
	fraction float64   // negative if unknown
	note     string
}

// newPulse publishes the start of a tool. It then publishes the tool's progress until ctx ends or
// the caller calls end.
func newPulse(ctx context.Context, id, name string, publish func(typ string, data map[string]any)) (p *progressReporter, end func()) {
	p = &progressReporter{publish: publish, call: map[string]any{"id": id, "name": name}, began: time.Now(), fraction: -1}
	publish("tool_start", p.call)
	p.mu.Lock() // the timer may fire before the variable is set
	p.beats = time.AfterFunc(heartbeat, p.sendHeartbeat)
	p.mu.Unlock()
	forget := context.AfterFunc(ctx, p.stopHeartbeat)
	return p, func() {
		forget()
		p.stopHeartbeat()
	}
}

func (p *progressReporter) stopHeartbeat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.beats.Stop()
}

func (p *progressReporter) sendHeartbeat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.publishProgress()
	p.beats.Reset(heartbeat)
}

// reportProgress stores a report from the tool and publishes it unless the last one is too recent.
func (p *progressReporter) reportProgress(fraction float64, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.fraction, p.note = min(fraction, 1), note
	if now := time.Now(); now.Sub(p.told) >= reports {
		p.told = now
		p.publishProgress()
	}
}

// publishProgress publishes the progress. The caller has locked mu, so that no progress event is
// published after the end event.
func (p *progressReporter) publishProgress() {
	d := map[string]any{"id": p.call["id"], "name": p.call["name"], "seconds": int(time.Since(p.began).Seconds())}
	if p.fraction >= 0 {
		d["percent"] = int(p.fraction * 100)
	}
	if p.note != "" {
		d["note"] = p.note
	}
	p.publish("tool_progress", d)
}
