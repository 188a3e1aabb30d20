package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hob/autonomy/api"
)

// noTools is a backend without tools and prompts.
type noTools struct{ api.ClientCalls }

func (noTools) ClientTools(context.Context, api.Client) ([]api.Tool, error) { return nil, nil }

func (noTools) ClientPrompts(context.Context, api.Client) ([]api.SkillPrompt, error) { return nil, nil }

// The state of idle clients is freed, except for clients with a session.
func TestServer_FreesIdleClients(t *testing.T) {
	s := New(Options{Backend: noTools{}, Version: func() string { return "1" }, Log: slog.New(slog.DiscardHandler)})
	defer s.Close()
	post := func(client, body string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		s.ServeClient(w, r, Request{Client: api.Client{ID: client, Kind: "session", Name: client}, Body: []byte(body), IsValid: func(context.Context) bool { return true }})
		return w.Code
	}
	for i := range 50 {
		post(fmt.Sprint("gone-", i), `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	}
	if code := post("open", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`); code != http.StatusOK {
		t.Fatalf("initialize: status %d", code)
	}
	s.mu.Lock()
	before := len(s.clients)
	s.freeIdlePrograms(time.Now().Add(2 * sessionIdle))
	after, open := len(s.clients), s.clients["open"]
	s.mu.Unlock()
	if before != 51 || after != 1 || open == nil {
		t.Errorf("%d clients, then %d; the one with a session is %v", before, after, open)
	}
}
