package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// programCall calls a tool over /mcp (2026-07-28) and returns the HTTP status and the response.
func (h *house) programCall(token, tool string, args any) (int, string) {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": args, "_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}},
			"io.modelcontextprotocol/clientInfo": map[string]string{"name": "owner", "version": "1"},
		},
	}})
	fatal(h.t, err)
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.d.web.URL()+"/mcp", strings.NewReader(string(body)))
	fatal(h.t, err)
	for k, v := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	fatal(h.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	fatal(h.t, err)
	return resp.StatusCode, string(b)
}

// programToken creates a token for a program.
func (h *house) programToken(name string) string {
	h.t.Helper()
	code, body := h.api(http.MethodPost, "/api/v1/clients", map[string]any{"kind": "mcp", "name": name})
	var out struct{ Token string }
	if code != http.StatusOK || json.Unmarshal(body, &out) != nil || out.Token == "" {
		h.t.Fatalf("create a token: %d %s", code, body)
	}
	return out.Token
}

const programTools = "[files]\nallowed = [\"~/Documents\"]\n[mcp.server]\ntools = [\"write_file\", \"list_tasks\", \"create_task\"]\n"

func TestProgram_RunsAnApprovedCallOnce(t *testing.T) {
	h := agentHouse(t, programTools)
	token := h.programToken("laptop")
	file := filepath.Join(h.home, "Documents", "x.txt")
	fatal(t, os.MkdirAll(filepath.Dir(file), 0o700))
	args := map[string]string{"path": file, "content": "written"}
	_, first := h.programCall(token, "write_file", args)
	id := h.pending()
	if !strings.Contains(first, "approval_required") || !strings.Contains(first, id) {
		t.Fatalf("first call: %s", first)
	}
	if _, again := h.programCall(token, "write_file", args); !strings.Contains(again, id) {
		t.Errorf("repeated call before the answer: %s", again)
	}
	_, body := h.api(http.MethodGet, "/api/v1/approvals?state=pending", nil)
	var open []struct{ Session, Source, Provenance string }
	if json.Unmarshal(body, &open) != nil || len(open) != 1 || !strings.HasPrefix(open[0].Session, "mcp:laptop:") || open[0].Source != "program mcp:laptop" || open[0].Provenance != "outside" {
		t.Errorf("open requests: %s", body)
	}
	h.approve(id, true)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, got := h.programCall(token, "write_file", args); !strings.Contains(got, "approval_required") {
			if strings.Contains(got, `"isError":true`) {
				t.Errorf("after the approval: %s", got)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("the approved call does not run")
		}
	}
	fatal(t, os.Remove(file))
	if _, next := h.programCall(token, "write_file", args); !strings.Contains(next, "approval_required") || strings.Contains(next, id) {
		t.Errorf("a further call: %s", next)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("one approval ran the call twice")
	}
}

func TestProgram_DenialAndRevocationHold(t *testing.T) {
	h := agentHouse(t, programTools)
	token := h.programToken("laptop")
	args := func(name string) map[string]string {
		return map[string]string{"path": filepath.Join(h.home, "Documents", name), "content": "x"}
	}
	fatal(t, os.MkdirAll(filepath.Join(h.home, "Documents"), 0o700))
	h.programCall(token, "write_file", args("a"))
	h.approve(h.pending(), false)
	for i := range 3 { // the first may come before the end of the turn
		if _, got := h.programCall(token, "write_file", args("a")); i == 2 && !strings.Contains(got, "denied_by_owner") {
			t.Errorf("after the denial: %s", got)
		}
		time.Sleep(200 * time.Millisecond)
	}
	h.programCall(token, "write_file", args("b"))
	id := h.pending()
	if code, body := h.api(http.MethodPost, "/api/v1/clients/mcp/laptop/revoke", nil); code != http.StatusOK {
		t.Fatalf("revoke: %d %s", code, body)
	}
	if code, body := h.programCall(token, "list_tasks", map[string]any{}); code != http.StatusUnauthorized {
		t.Errorf("a call with a revoked token: %d %s", code, body)
	}
	if code, body := h.api(http.MethodPost, "/api/v1/sessions/x/approvals/"+id, map[string]bool{"approved": true}); code != http.StatusConflict {
		t.Errorf("approve the call of a revoked program: %d %s", code, body)
	}
	if files, err := os.ReadDir(filepath.Join(h.home, "Documents")); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestProgram_FloodOfRequestsIsLimited(t *testing.T) {
	h := agentHouse(t, programTools)
	token := h.programToken("laptop")
	last := ""
	for i := range 60 {
		_, last = h.programCall(token, "write_file", map[string]string{"path": filepath.Join(h.home, "Documents", fmt.Sprint(i)), "content": "x"})
	}
	if !strings.Contains(last, "too many calls") {
		t.Errorf("the 60th open call: %s", last)
	}
	if _, got := h.programCall(h.programToken("phone"), "create_task", map[string]string{"title": "call Ana"}); !strings.Contains(got, "Added task") {
		t.Errorf("another program: %s", got)
	}
}

func TestProgram_OpenCallSurvivesRestart(t *testing.T) {
	h := agentHouse(t, programTools)
	token := h.programToken("laptop")
	file := filepath.Join(h.home, "Documents", "x.txt")
	fatal(t, os.MkdirAll(filepath.Dir(file), 0o700))
	args := map[string]string{"path": file, "content": "written"}
	h.programCall(token, "write_file", args)
	id := h.pending()
	h.stop()
	h = openAtModel(t, h.home, "tester", agentConfig(t, h.home)+programTools)
	if _, again := h.programCall(token, "write_file", args); !strings.Contains(again, id) {
		t.Errorf("repeated call after a restart: %s", again)
	}
	h.approve(id, true)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
	t.Error("the approved call did not run after the restart")
}
