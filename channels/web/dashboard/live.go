package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"hob/autonomy/api"
)

// liveDelay is how long the stream waits for further events before it reports a change. livePause
// is the minimum time between two reports.
const (
	liveDelay = 150 * time.Millisecond
	livePause = 700 * time.Millisecond
)

// serveLive streams the event "changed" whenever something changed that a page may show. Pages then
// request their content again. A browser that reconnects gets the event at once, because it may
// have missed some.
func (d *Dashboard) serveLive(w http.ResponseWriter, r *http.Request, _ string) error {
	ctx, cancel := d.o.Lifetime(r.Context())
	defer cancel()
	sub := d.o.Backend.Subscribe(0)
	defer sub.Close()
	out := &liveStream{w: w, rc: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would otherwise buffer the events
	first := "ready"
	if r.Header.Get("Last-Event-ID") != "" {
		first = "changed"
	}
	if out.sendEvent(first) != nil {
		return nil
	}
	ping := time.NewTicker(d.o.Ping)
	defer ping.Stop()
	due := time.NewTimer(time.Hour)
	due.Stop()
	defer due.Stop()
	waiting, last := false, time.Now()
	for {
		select {
		case e, ok := <-sub.C():
			if !ok {
				return nil
			}
			if !waiting && changesPages(e) {
				waiting = true
				due.Reset(max(liveDelay, livePause-time.Since(last)))
			}
		case <-due.C:
			waiting, last = false, time.Now()
			if out.sendEvent("changed") != nil {
				return nil
			}
		case <-ping.C:
			if out.sendEvent("ping") != nil {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// changesPages reports whether an event may change what a page shows. The parts of an answer do
// not.
func changesPages(e api.FeedEvent) bool {
	switch e.Type {
	case "content_delta", "tool_call_start", "tool_call_delta", "tool_start", "tool_progress", "message_start":
		return false
	}
	return true
}

// liveStream writes named events to one browser.
type liveStream struct {
	w  http.ResponseWriter
	rc *http.ResponseController
	id int
}

func (s *liveStream) sendEvent(name string) error {
	s.id++
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeTime)) // in-process writers have no deadline
	if _, err := fmt.Fprintf(s.w, "event: %s\nid: %d\ndata: {}\n\n", name, s.id); err != nil {
		return err
	}
	return s.rc.Flush()
}
