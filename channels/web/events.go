package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// serveEvents streams the live feed of all events. A client that reconnects sends the last id it
// received in Last-Event-ID.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request, _ call) error {
	after, session, err := feedQuery(r)
	if err != nil {
		return err
	}
	ctx, cancel := withServerLifetime(r.Context())
	defer cancel()
	sub := s.backend.Subscribe(after)
	defer sub.Close()
	out, err := newSSE(w)
	if err != nil || out.writeComment("connected") != nil {
		return nil
	}
	ping := time.NewTicker(s.opt.Ping)
	defer ping.Stop()
	feed := sub.C()
	for {
		select {
		case e, ok := <-feed:
			if !ok {
				return nil
			}
			if session != "" && e.Session != session && e.Type != "dropped" {
				continue
			}
			if out.writeEvent(e.ID, e.Type, e) != nil {
				return nil
			}
			if len(feed) == 0 && out.flushEvents() != nil {
				return nil
			}
		case <-ping.C:
			if out.writeEvent(0, "ping", struct{}{}) != nil || out.flushEvents() != nil {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func feedQuery(r *http.Request) (after uint64, session string, err error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return 0, "", invalidFailure("the query string cannot be read")
	}
	for k := range q {
		if !slices.Contains([]string{"after", "session"}, k) {
			return 0, "", newFailure(http.StatusBadRequest, "invalid", "the parameters are after, session", "unknown parameter %q", k)
		}
	}
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = q.Get("after")
	}
	if last != "" {
		if after, err = strconv.ParseUint(last, 10, 64); err != nil {
			return 0, "", invalidFailure("Last-Event-ID must be the id of an event, not %q", last)
		}
	}
	return after, q.Get("session"), nil
}
