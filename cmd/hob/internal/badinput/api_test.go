//go:build unix

package badinput

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// refusal is the body of a rejected request.
type refusal struct {
	Error struct{ Code, Message, Remedy string }
}

// The HTTP API rejects invalid requests and stores nothing from them.
func TestRequests(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	h.startDaemon()
	const (
		talk = "/api/v1/sessions/s/messages"
		tool = "/api/v1/tools/create_task"
		chat = "/v1/chat/completions"
		yes  = "/api/v1/sessions/s/approvals/nope"
	)
	tests := []struct {
		name, method, path, body string
		code                     int
		want                     string // in code, message or remedy
	}{
		{"cut off", "POST", talk, `{"text":"hi`, 400, "ends too early"},
		{"a list", "POST", talk, `[]`, 400, "must be an object"},
		{"a number for text", "POST", talk, `{"text":5}`, 400, "text must be a string"},
		{"unknown field", "POST", talk, `{"txt":"hi"}`, 400, "the fields are text"},
		{"trailing data", "POST", talk, `{"text":"hi"} and more`, 400, "one JSON object"},
		{"deep", "POST", talk, `{"text":` + strings.Repeat("[", 100_000), 400, "max depth"},
		{"no text", "POST", talk, `{}`, 400, "empty"},
		{"blank text", "POST", talk, `{"text":" \n\t "}`, 400, "empty"},
		{"not UTF-8", "POST", talk, "{\"text\":\"caf\xe9\"}", 400, "not valid UTF-8 (byte 12)"},
		{"long key", "POST", talk, `{"text":"hi","dedupe_key":"` + strings.Repeat("k", 501) + `"}`, 400, "500 bytes"},
		{"no image", "POST", talk, `{"text":"hi","attachments":[{"mime":"text/html","data":"aGk="}]}`, 400, "not an image"},
		{"over 10 MB", "POST", talk, `{"text":"` + strings.Repeat("a", 10<<20+1) + `"}`, 413, "send the file name"},
		{"over 16 MB", "POST", talk, `{"text":"` + strings.Repeat("a", 16<<20) + `"}`, 413, "send the file name"},
		{"session not UTF-8", "POST", "/api/v1/sessions/%ff/messages", `{"text":"hi"}`, 400, "1 to 200 bytes"},
		{"session with NUL", "POST", "/api/v1/sessions/a%00b/messages", `{"text":"hi"}`, 400, "1 to 200 bytes"},
		{"wrong method", "PUT", talk, `{}`, 405, "use GET, HEAD, POST"},
		{"no such path", "GET", "/api/v1/nope", ``, 404, "openapi.json"},
		{"no such event", "GET", "/api/v1/inbox/nope", ``, 404, "/api/v1/inbox"},
		{"no such state", "GET", "/api/v1/deliveries?state=nope", ``, 400, "use one of queued"},
		{"no such state of approvals", "GET", "/api/v1/approvals?state=nope", ``, 400, "use one of pending"},
		{"bad limit", "GET", "/api/v1/tasks?limit=-1", ``, 400, "limit must be"},
		{"unknown parameter", "GET", "/api/v1/tasks?limti=1", ``, 400, "the parameters are"},
		{"no such question", "POST", yes, `{"approved":true}`, 404, "hob approvals list"},
		{"no decision", "POST", yes, `{}`, 400, "send {"},
		{"a decision that is not a boolean", "POST", yes, `{"approved":"yes"}`, 400, "true or false"},
		{"no such trigger", "POST", "/api/v1/triggers/nope/fire", `{}`, 404, "[triggers.nope]"},
		{"no such tool", "POST", "/api/v1/tools/nope", `{}`, 404, "hob tool list"},
		{"arguments under another name", "POST", tool, `{"args":{}}`, 400, "the fields are arguments"},
		{"no message", "POST", chat, `{"messages":[]}`, 400, "send"},
		{"a number for content", "POST", chat, `{"messages":[{"role":"user","content":5}]}`, 400, "a string or a list"},
		{"bad event id", "GET", "/api/v1/events", ``, 400, "Last-Event-ID"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var code int
			var body string
			if tt.name == "bad event id" {
				code, body = h.withHeader(tt.path, "Last-Event-ID", "x")
			} else {
				code, body = h.callAPI(tt.method, tt.path, tt.body)
			}
			var r refusal
			if err := json.Unmarshal([]byte(body), &r); err != nil || r.Error.Code == "" || r.Error.Message == "" {
				t.Fatalf("%d %s %v", code, body, err)
			}
			all := r.Error.Code + "|" + r.Error.Message + "|" + r.Error.Remedy
			if code != tt.code || !strings.Contains(all, tt.want) {
				t.Errorf("%d %s, want %d with %q", code, all, tt.code, tt.want)
			}
		})
	}
	code, body := h.callAPI("POST", tool, `{"arguments":{"titel":"x"}}`)
	if code != 400 || !strings.Contains(body, "invalid_arguments") || !strings.Contains(body, "it takes title") {
		t.Errorf("unknown argument: %d %s", code, body)
	}
	for _, list := range []string{"inbox", "tasks", "sessions"} {
		code, body := h.callAPI("GET", "/api/v1/"+list, "")
		var rows []struct{ Text string }
		if err := json.Unmarshal([]byte(body), &rows); err != nil || code != 200 {
			t.Fatal(list, code, body)
		}
		for _, r := range rows {
			if r.Text != "create_task" { // the tool call with invalid arguments is recorded
				t.Errorf("%s contains %+v", list, r)
			}
		}
	}
	h.stopDaemon()
}

func (h *daemonFixture) withHeader(path, name, value string) (int, string) {
	h.t.Helper()
	q, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.base+path, nil)
	failOnError(h.t, err)
	token, err := os.ReadFile(filepath.Join(h.home, "token"))
	failOnError(h.t, err)
	q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	q.Header.Set(name, value)
	res, err := http.DefaultClient.Do(q)
	failOnError(h.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	failOnError(h.t, err)
	return res.StatusCode, string(b)
}
