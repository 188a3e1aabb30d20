package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/channels/web"
)

const (
	oldRevision = "2025-11-25"
	newRevision = "2026-07-28"
)

var mcpHeader = []string{"Authorization", "Bearer " + clientToken, "Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", oldRevision}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

func TestMCP_AdmitsOnlyTokensOfPrograms(t *testing.T) {
	h := newServerFixture(t, nil)
	defer serveUntilEnd(t, h)()
	for _, x := range []struct {
		name   string
		code   int
		header []string
	}{
		{"no token", 401, []string{"Authorization", ""}},
		{"another scheme", 401, []string{"Authorization", "Basic " + clientToken}},
		{"a wrong token", 401, []string{"Authorization", "Bearer hobc_wrong"}},
		{"the token of a program", 200, nil},
		{"the API token", 200, []string{"Authorization", "Bearer " + token}},
		{"another Host", 421, []string{"Host", "evil.example"}},
		{"another Origin", 403, []string{"Origin", "https://evil.example"}},
		{"a page of another port", 403, []string{"Sec-Fetch-Site", "same-site"}},
		{"a form", 415, []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"an unknown old revision", 400, []string{"Mcp-Protocol-Version", "2020-01-01"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if r := h.sendRequest(t, "POST", "/mcp", initialize, append(mcpHeader[:len(mcpHeader):len(mcpHeader)], x.header...)...); r.code != x.code {
				t.Errorf("status %d, want %d: %s", r.code, x.code, r.body)
			}
		})
	}
	for _, path := range []string{"GET /api/v1/approvals", "POST /api/v1/sessions/x/messages", "POST /api/v1/sessions/x/approvals/ap1", "POST /api/v1/clients", "POST /v1/chat/completions", "GET /metrics"} {
		method, path, _ := strings.Cut(path, " ")
		if r := h.sendRequest(t, method, path, "{}", "Authorization", "Bearer "+clientToken); r.code != http.StatusUnauthorized {
			t.Errorf("%s %s with a program's token: status %d, want 401", method, path, r.code)
		}
	}
	if r := h.sendRequest(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+strings.Repeat("x", 1<<20)+`"}}`, mcpHeader...); r.code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of 1 MiB: status %d", r.code)
	}
}

func TestMCP_RefusesProgramsStartedByHob(t *testing.T) {
	h := newServerFixture(t, func(o *web.Options) { o.Peer = func(string, string, bool) web.Peer { return web.PeerHob } })
	end := serveUntilEnd(t, h)
	defer end()
	h.c = http.DefaultClient
	defer http.DefaultClient.CloseIdleConnections()
	for _, bearer := range []string{token, clientToken} {
		if r := h.sendRequest(t, "POST", "/mcp", initialize, append(mcpHeader[:len(mcpHeader):len(mcpHeader)], "Authorization", "Bearer "+bearer)...); r.code != http.StatusForbidden {
			t.Errorf("status %d, want 403: %s", r.code, r.body)
		}
	}
}

func TestMCP_SlowsDownGuessing(t *testing.T) {
	h := newServerFixture(t, nil)
	defer serveUntilEnd(t, h)()
	last := 0
	for range 40 {
		last = h.sendRequest(t, "POST", "/mcp", initialize, append(mcpHeader[:len(mcpHeader):len(mcpHeader)], "Authorization", "Bearer hobc_wrong")...).code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("status %d after 40 wrong tokens, want 429", last)
	}
	if r := h.sendRequest(t, "POST", "/mcp", initialize, mcpHeader...); r.code != http.StatusOK {
		t.Errorf("the right token: status %d", r.code)
	}
}

func TestMCP_LimitsFloods(t *testing.T) {
	h := newServerFixture(t, nil)
	defer serveUntilEnd(t, h)()
	first := h.sendRequest(t, "POST", "/mcp", initialize, mcpHeader...).header.Get("Mcp-Session-Id")
	refused := false
	for n := 0; n < 10_000 && !refused; n++ { // a busy machine sends slowly, and the limit grows meanwhile
		r := h.sendRequest(t, "POST", "/mcp", initialize, mcpHeader...)
		refused = r.code == http.StatusTooManyRequests && r.header.Get("Retry-After") != ""
	}
	if !refused {
		t.Error("all of 10,000 requests were served")
	}
	if r := h.sendRequest(t, "POST", "/mcp", initialize, append(mcpHeader[:len(mcpHeader):len(mcpHeader)], "Authorization", "Bearer "+token)...); r.code != http.StatusOK {
		t.Errorf("another program: status %d", r.code)
	}
	time.Sleep(100 * time.Millisecond) // until the limit allows further requests
	if r := h.sendRequest(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, append(mcpHeader[:len(mcpHeader):len(mcpHeader)], "Mcp-Session-Id", first)...); r.code != http.StatusNotFound {
		t.Errorf("the oldest of many sessions: status %d, want 404", r.code)
	}
}

func TestMCP_SessionBelongsToItsProgram(t *testing.T) {
	h := newServerFixture(t, nil)
	defer serveUntilEnd(t, h)()
	r := h.sendRequest(t, "POST", "/mcp", initialize, mcpHeader...)
	session := append(mcpHeader[:len(mcpHeader):len(mcpHeader)], "Mcp-Session-Id", r.header.Get("Mcp-Session-Id"))
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	if r := h.sendRequest(t, "POST", "/mcp", list, append(session, "Authorization", "Bearer "+token)...); r.code != http.StatusNotFound {
		t.Errorf("another program's session: status %d, want 404", r.code)
	}
	if r := h.sendRequest(t, "DELETE", "/mcp", "", append(session, "Authorization", "Bearer "+token)...); r.code != http.StatusNotFound {
		t.Errorf("end another program's session: status %d, want 404", r.code)
	}
	if r := h.sendRequest(t, "POST", "/mcp", list, session...); r.code != http.StatusOK || !strings.Contains(r.body, "list_tasks") {
		t.Errorf("the program's own session: status %d, %s", r.code, r.body)
	}
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// The official MCP client works with the server, in both revisions of the protocol.
func TestMCP_ServesTheOfficialClient(t *testing.T) {
	for _, revision := range []string{oldRevision, newRevision} {
		t.Run(revision, func(t *testing.T) {
			h := newServerFixture(t, nil)
			end := serveUntilEnd(t, h)
			defer http.DefaultClient.CloseIdleConnections()
			defer end()
			progress := make(chan string, 10)
			c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Message },
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					t.Error("the server asked the program")
					return &mcp.ElicitResult{Action: "accept"}, nil
				},
			})
			s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.URL() + "/mcp", HTTPClient: &http.Client{Transport: bearer(clientToken)}, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			if got := s.InitializeResult().ProtocolVersion; got != revision {
				t.Errorf("revision %q, want %q", got, revision)
			}
			tools, err := s.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 2 || !tools.Tools[1].Annotations.ReadOnlyHint {
				t.Fatalf("ListTools() = %+v, %v", tools, err)
			}
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_tasks", Arguments: map[string]any{"x": 1}})
			if err != nil || r.IsError || r.Content[0].(*mcp.TextContent).Text != `laptop called list_tasks {"x":1}` || r.StructuredContent == nil {
				t.Errorf("CallTool() = %+v, %v", r, err)
			}
			if r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "create_task"}); err != nil || !r.IsError || !strings.Contains(resultText(r), "approval_required ap1") {
				t.Errorf("a call that needs approval = %v, %v", resultText(r), err)
			}
			if r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file"}); err == nil {
				t.Errorf("a tool that is not offered = %v", resultText(r))
			}
			if res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "hob://tasks"}); err != nil || res.Contents[0].Text != `{"tasks":[]}` {
				t.Errorf("ReadResource() = %+v, %v", res, err)
			}
			if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "hob://notes/1"}); err == nil {
				t.Error("the program read a resource of a tool that it may not call")
			}
			if k, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "letter"}); err != nil || k.Messages[0].Content.(*mcp.TextContent).Text != "Dear Sir" {
				t.Errorf("GetPrompt() = %+v, %v", k, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			params := &mcp.CallToolParams{Name: "create_task"}
			params.SetProgressToken("p1")
			go func() {
				if m := <-progress; !strings.Contains(m, "approval: ap1") {
					t.Errorf("progress %q", m)
				}
				cancel()
			}()
			if r, err := s.CallTool(ctx, params); err == nil {
				t.Errorf("a canceled call = %v", resultText(r))
			}
			for end := time.Now().Add(60 * time.Second); h.e.cancelled.Load() == nil; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the canceled call was not withdrawn")
				}
			}
		})
	}
}

func resultText(r *mcp.CallToolResult) string {
	b, _ := json.Marshal(r)
	return string(b)
}
