package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// programCall calls a tool over /mcp (2026-07-28) and returns the HTTP status and the response.
func (h *daemonFixture) programCall(token, tool string, args any) (int, string) {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": args, "_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}},
			"io.modelcontextprotocol/clientInfo": map[string]string{"name": "owner", "version": "1"},
		},
	}})
	failOnError(h.t, err)
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.d.web.URL()+"/mcp", strings.NewReader(string(body)))
	failOnError(h.t, err)
	for k, v := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	failOnError(h.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	failOnError(h.t, err)
	return resp.StatusCode, string(b)
}

// programToken creates a token for a program.
func (h *daemonFixture) programToken(name string) string {
	h.t.Helper()
	code, body := h.callAPI(http.MethodPost, "/api/v1/clients", map[string]any{"kind": "mcp", "name": name})
	var out struct{ Token string }
	if code != http.StatusOK || json.Unmarshal(body, &out) != nil || out.Token == "" {
		h.t.Fatalf("create a token: %d %s", code, body)
	}
	return out.Token
}

const programTools = "[files]\nallowed = [\"~/Documents\"]\n[mcp.server]\ntools = [\"write_file\", \"list_tasks\", \"create_task\"]\n"

func TestProgram_RunsAnApprovedCallOnce(t *testing.T) {
	h := openWithAgent(t, programTools)
	token := h.programToken("laptop")
	file := filepath.Join(h.home, "Documents", "x.txt")
	failOnError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	args := map[string]string{"path": file, "content": "written"}
	_, first := h.programCall(token, "write_file", args)
	id := h.awaitPending()
	if !strings.Contains(first, "approval_required") || !strings.Contains(first, id) {
		t.Fatalf("first call: %s", first)
	}
	if _, again := h.programCall(token, "write_file", args); !strings.Contains(again, id) {
		t.Errorf("repeated call before the answer: %s", again)
	}
	_, body := h.callAPI(http.MethodGet, "/api/v1/approvals?state=pending", nil)
	var open []struct{ Session, Source, Provenance string }
	if json.Unmarshal(body, &open) != nil || len(open) != 1 || !strings.HasPrefix(open[0].Session, "mcp:laptop:") || open[0].Source != "program mcp:laptop" || open[0].Provenance != "outside" {
		t.Errorf("open requests: %s", body)
	}
	h.answerApproval(id, true)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, got := h.programCall(token, "write_file", args); !strings.Contains(got, "approval_required") {
			if strings.Contains(got, `"isError":true`) {
				t.Errorf("after the approval: %s", got)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("the approved call did not run")
		}
	}
	failOnError(t, os.Remove(file))
	if _, next := h.programCall(token, "write_file", args); !strings.Contains(next, "approval_required") || strings.Contains(next, id) {
		t.Errorf("a further call: %s", next)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("one approval ran the call twice")
	}
}

func TestProgram_DenialAndRevocationHold(t *testing.T) {
	h := openWithAgent(t, programTools)
	token := h.programToken("laptop")
	args := func(name string) map[string]string {
		return map[string]string{"path": filepath.Join(h.home, "Documents", name), "content": "x"}
	}
	failOnError(t, os.MkdirAll(filepath.Join(h.home, "Documents"), 0o700))
	h.programCall(token, "write_file", args("a"))
	h.answerApproval(h.awaitPending(), false)
	for i := range 3 { // the first repetition may arrive before the turn ends
		if _, got := h.programCall(token, "write_file", args("a")); i == 2 && !strings.Contains(got, "denied_by_owner") {
			t.Errorf("after the denial: %s", got)
		}
		time.Sleep(200 * time.Millisecond)
	}
	h.programCall(token, "write_file", args("b"))
	id := h.awaitPending()
	if code, body := h.callAPI(http.MethodPost, "/api/v1/clients/mcp/laptop/revoke", nil); code != http.StatusOK {
		t.Fatalf("revoke: %d %s", code, body)
	}
	if code, body := h.programCall(token, "list_tasks", map[string]any{}); code != http.StatusUnauthorized {
		t.Errorf("call with a revoked token: %d %s", code, body)
	}
	if code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/x/approvals/"+id, map[string]bool{"approved": true}); code != http.StatusConflict {
		t.Errorf("approval for a revoked program: %d %s", code, body)
	}
	if files, err := os.ReadDir(filepath.Join(h.home, "Documents")); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestProgram_FloodOfRequestsIsLimited(t *testing.T) {
	h := openWithAgent(t, programTools)
	token := h.programToken("laptop")
	last := ""
	for i := range 60 {
		_, last = h.programCall(token, "write_file", map[string]string{"path": filepath.Join(h.home, "Documents", fmt.Sprint(i)), "content": "x"})
	}
	if !strings.Contains(last, "too many calls") {
		t.Errorf("open call number 60: %s", last)
	}
	if _, got := h.programCall(h.programToken("phone"), "create_task", map[string]string{"title": "call Ana"}); !strings.Contains(got, "Added task") {
		t.Errorf("call of another program: %s", got)
	}
}

func TestProgram_OpenCallSurvivesRestart(t *testing.T) {
	h := openWithAgent(t, programTools)
	token := h.programToken("laptop")
	file := filepath.Join(h.home, "Documents", "x.txt")
	failOnError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	args := map[string]string{"path": file, "content": "written"}
	h.programCall(token, "write_file", args)
	id := h.awaitPending()
	h.stop()
	h = openAtModel(t, h.home, "tester", agentConfig(t, h.home)+programTools)
	if _, again := h.programCall(token, "write_file", args); !strings.Contains(again, id) {
		t.Errorf("repeated call after a restart: %s", again)
	}
	h.answerApproval(id, true)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
	t.Error("the approved call did not run after the restart")
}

// bearerTransport adds the token of a program to requests.
type bearerTransport string

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// A program that subscribes to the tasks or to a note is notified of changes.
func TestProgram_FollowsResources(t *testing.T) {
	h := openWithAgent(t, "[mcp.server]\ntools = [\"list_tasks\", \"list_notes\"]\n")
	token := h.programToken("laptop")
	tool := func(name string, args any) []byte {
		code, body := h.callAPI(http.MethodPost, "/api/v1/tools/"+name, map[string]any{"arguments": args})
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", name, code, body)
		}
		return body
	}
	_, id, _ := strings.Cut(string(tool("create_note", map[string]string{"title": "Zebra", "text": "striped"})), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		updates := make(chan string, 10)
		client := mcp.NewClient(&mcp.Implementation{Name: "laptop", Version: "1"}, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updates <- r.Params.URI },
		})
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.d.web.URL() + "/mcp", HTTPClient: &http.Client{Transport: bearerTransport(token)}}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
		failOnError(t, err)
		if got := session.InitializeResult(); got.ProtocolVersion != revision || !got.Capabilities.Resources.Subscribe {
			t.Errorf("%s: revision %s, %+v", revision, got.ProtocolVersion, got.Capabilities.Resources)
		}
		await := func(want string) {
			t.Helper()
			select {
			case got := <-updates:
				if got != want {
					t.Errorf("%s: update of %s, want %s", revision, got, want)
				}
			case <-time.After(60 * time.Second):
				t.Errorf("%s: no update of %s", revision, want)
			}
		}
		failOnError(t, session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "hob://tasks"}))
		time.Sleep(500 * time.Millisecond) // in revision 2026-07-28, Subscribe does not wait for the server
		tool("create_task", map[string]string{"title": "Feed the zebra " + revision})
		await("hob://tasks")
		failOnError(t, session.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "hob://tasks"}))
		failOnError(t, session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "hob://notes/" + id}))
		time.Sleep(500 * time.Millisecond)
		tool("create_task", map[string]string{"title": "Count stripes " + revision})
		tool("append_note", map[string]string{"note": id, "text": "black and white " + revision})
		await("hob://notes/" + id)
		if revision == "2025-11-25" {
			if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "hob://secrets"}); err == nil {
				t.Error("subscribed to an unknown resource")
			}
		}
		failOnError(t, session.Close())
		if len(updates) > 0 {
			t.Errorf("%s: unexpected update of %s", revision, <-updates)
		}
	}
}
