package web_test

import (
	"errors"
	"net/http"
	"testing"

	"hob/channels/web"
)

// While the database is away, everything that might have to be stored is refused and nothing is
// acknowledged, whatever the entrance; the process itself answers that it is alive.
func TestServer_RefusesWhatItCannotStore(t *testing.T) {
	away := errors.New("the database cannot be reached (since 10:00)")
	h, p := withHooks(t, func(o *web.Options) { o.Outage = func() error { return away } })
	message := `{"text": "hello", "dedupe_key": "k1"}`
	for _, path := range []string{"/api/v1/sessions/s/messages", "/v1/chat/completions", "/v1/responses", "/hooks/porch", "/api/v1/triggers/door/fire"} {
		r := h.sendRequest(t, "POST", path, message, "X-Proof", "right")
		if e := decodeAs[refusal](t, r).Error; r.code != http.StatusServiceUnavailable || r.header.Get("Retry-After") != "2" || e.Code != "database_away" || e.Message != away.Error() {
			t.Errorf("POST %s = %d, Retry-After %q, %s; want 503, 2 and the cause", path, r.code, r.header.Get("Retry-After"), r.body)
		}
	}
	if n := len(p.listPosts()); n != 0 {
		t.Errorf("%d posts reached the channel, want none", n)
	}
	if r := h.sendRequest(t, "GET", "/healthz", ""); r.code != http.StatusOK {
		t.Errorf("GET /healthz = %d, want 200", r.code)
	}
	away = nil
	if r := h.sendRequest(t, "POST", "/hooks/porch", message, "X-Proof", "right"); r.code != http.StatusAccepted || len(p.listPosts()) != 1 {
		t.Errorf("after the outage: POST /hooks/porch = %d, want 202", r.code)
	}
}
