package app

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"hob/autonomy/bus"
)

// interjectMessage starts a proxy in front of the model. It holds back a request until the messages that
// the scenario sends during that request are in the queue.
func (s *scenarioRun) interjectMessage(t *testing.T, model, talk string) string {
	if !strings.Contains("\n"+talk, "\n& ") {
		return model
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	to, err := url.Parse(model)
	failOnError(t, err)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		said := s.said
		s.said = nil
		s.mu.Unlock()
		for _, text := range said {
			s.sayAside(text)
		}
		proxy := httputil.NewSingleHostReverseProxy(to)
		proxy.Transport, proxy.FlushInterval = transport, -1
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// onceBegun sends a message after the first words of the next answer.
func (s *scenarioRun) onceBegun(text string) {
	sub := s.d.bus.Feed.Subscribe(0)
	s.aside.Go(func() {
		defer sub.Close()
		for e := range sub.C() {
			if e.Type == "content_delta" {
				s.sayAside(text)
				return
			}
		}
	})
}

// sayAside sends a message without waiting for its answer.
func (s *scenarioRun) sayAside(text string) {
	sub := s.d.bus.Feed.Subscribe(0)
	defer sub.Close()
	code, body := s.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", map[string]any{"text": text, "async": true})
	if code != http.StatusAccepted {
		s.t.Errorf("& %s: %d %s", text, code, body)
		return
	}
	if !strings.HasPrefix(text, "/steer ") {
		return
	}
	waits := func(e bus.LiveEvent) bool { return e.Type == "status" && strings.Contains(string(e.Data), `"steer"`) }
	for e := range sub.C() {
		if waits(e) {
			return
		}
	}
}
