package turn

import (
	"context"
	"sync"
	"time"
)

// heartbeat is the interval of live events about a running tool; reports is the minimum
// interval between the tool's own reports.
const (
	heartbeat = 15 * time.Second
	reports   = time.Second
)

// progressReporter publishes the progress of a tool: at the start, at its own reports, and every
// heartbeat. It publishes nothing after the end.
type progressReporter struct {
	publish func(typ string, data map[string]any)
	call    map[string]any // id and name
	began   time.Time

	mu       sync.Mutex
	ended    bool
	beats    *time.Timer
	told     time.Time // when the tool's own word was passed on
	fraction float64   // negative: unknown
	note     string
}

// newPulse reports that the tool begins. It reports progress until ctx or end ends it.
func newPulse(ctx context.Context, id, name string, publish func(typ string, data map[string]any)) (p *progressReporter, end func()) {
	p = &progressReporter{publish: publish, call: map[string]any{"id": id, "name": name}, began: time.Now(), fraction: -1}
	publish("tool_start", p.call)
	p.mu.Lock() // the first beat may come before the timer is known
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

// reportProgress takes the tool's own word.
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

// publishProgress publishes the progress. The caller holds mu, so that nothing follows the end.
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
