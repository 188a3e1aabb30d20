package app

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stealToken returns the MCP address and the token that the agent got with its session.
func (h *daemonFixture) stealToken() (url, token string) {
	t := h.t
	t.Helper()
	if said := h.askHob("servers"); strings.Contains(said, "hobc_") {
		t.Errorf("the conversation shows the token: %q", said)
	}
	said, err := os.ReadFile(filepath.Join(h.home, "work", "servers"))
	failOnError(t, err)
	var servers []struct {
		URL     string
		Headers []struct{ Name, Value string }
	}
	if err := json.Unmarshal(said, &servers); err != nil || len(servers) != 1 || len(servers[0].Headers) != 1 {
		t.Fatalf("servers of the session: %s, %v", said, err)
	}
	return servers[0].URL, strings.TrimPrefix(servers[0].Headers[0].Value, "Bearer ")
}

func TestExternalAgent_UsesHobsTools(t *testing.T) {
	h := openWithAgent(t, "", "http")
	if got := h.askHob("tools"); !strings.Contains(got, "create_task") || !strings.Contains(got, "use_tool") {
		t.Errorf("tools of the agent = %q", got)
	}
	if got := h.askHob(`hob create_task {"title":"feed the okapi"}`); !strings.Contains(got, "feed the okapi") {
		t.Errorf("create_task: %q", got)
	}
	if got := h.askHob("hob list_tasks {}"); !strings.Contains(got, "feed the okapi") {
		t.Errorf("list_tasks: %q", got)
	}
	if got := h.askHob("hob no_such_tool {}"); !strings.Contains(got, "unknown tool") {
		t.Errorf("an unknown tool: %q", got)
	}
	_, body := h.callAPI(http.MethodGet, "/api/v1/audit?tool=create_task", nil)
	if !strings.Contains(string(body), `"tainted":true`) || !strings.Contains(string(body), `"outcome":"done"`) {
		t.Errorf("audit: %s", body)
	}
}

func TestExternalAgent_AsksForHobsTools(t *testing.T) {
	for name, yes := range map[string]bool{"yes": true, "no": false} {
		t.Run(name, func(t *testing.T) {
			h := openWithAgent(t, "[files]\nallowed = [\"~/Documents\"]\n", "http")
			file := filepath.Join(h.home, "Documents", "x.txt")
			failOnError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			args, err := json.Marshal(map[string]any{"name": "write_file", "arguments": map[string]string{"path": file, "content": "written"}})
			failOnError(t, err)
			code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", map[string]string{"text": "hob use_tool " + string(args)})
			var r struct {
				Event     string
				Approvals []struct{ ID, Tool, Provenance string }
			}
			if code != http.StatusAccepted || json.Unmarshal(body, &r) != nil || len(r.Approvals) != 1 || r.Approvals[0].Tool != "write_file" || r.Approvals[0].Provenance != "outside" {
				t.Fatalf("%d %s", code, body)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("the call ran before the approval")
			}
			h.answerApproval(r.Approvals[0].ID, yes)
			got := h.awaitEnd(r.Event)
			_, err = os.Stat(file)
			if (err == nil) != yes {
				t.Errorf("the file exists: %v, want %v", err == nil, yes)
			}
			if !yes && !strings.Contains(got.Answer, "denied_by_owner") {
				t.Errorf("answer %q", got.Answer)
			}
		})
	}
}

func TestExternalAgent_TokenEndsWithTheTurn(t *testing.T) {
	h := openWithAgent(t, "", "http")
	url, token := h.stealToken()
	for _, path := range []string{url, strings.TrimSuffix(url, "/mcp") + "/api/v1/approvals", strings.TrimSuffix(url, "/mcp") + "/api/v1/tools"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		failOnError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		failOnError(t, err)
		failOnError(t, resp.Body.Close())
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s after the turn: status %d, want 401", path, resp.StatusCode)
		}
	}
	if _, again := h.stealToken(); again != token {
		t.Error("the token of the agent's session changed")
	}
	if got := h.askHob("tools"); !strings.Contains(got, "create_task") {
		t.Errorf("the token does not work in the next turn: %q", got)
	}
}

func TestExternalAgent_WithoutHTTPGetsNoServer(t *testing.T) {
	h := openWithAgent(t, "")
	if got := h.askHob("servers"); got != "[]" {
		t.Errorf("servers %q, want none", got)
	}
}
