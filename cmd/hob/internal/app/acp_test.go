package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm/acp/acptest"
)

// openWithAgent starts a Hob whose model is an external agent: this test's own binary.
func openWithAgent(t *testing.T, more string, options ...string) *daemonFixture {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	return openAtModel(t, home, "tester", agentConfig(t, home, options...)+more)
}

func agentConfig(t *testing.T, home string, options ...string) string {
	t.Helper()
	exe, err := os.Executable()
	failOnError(t, err)
	args, err := json.Marshal(acptest.Args(options...))
	failOnError(t, err)
	return fmt.Sprintf("[providers.tester]\nkind = \"acp\"\ncommand = %q\nargs = %s\ncwd = %q\n", exe, args, filepath.Join(home, "work"))
}

// askApproval sends a message that leads to an approval request, and returns the ids of the event and of
// the request.
func (h *daemonFixture) askApproval(session, text string) (event, approval string) {
	h.t.Helper()
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/"+session+"/messages", map[string]string{"text": text})
	var r struct {
		Event     string
		Approvals []struct{ ID, Tool, Summary, Provenance string }
	}
	if code != http.StatusAccepted || json.Unmarshal(body, &r) != nil || len(r.Approvals) == 0 {
		h.t.Fatalf("%q: %d %s", text, code, body)
	}
	if a := r.Approvals[0]; a.Provenance != "outside" || !strings.HasPrefix(a.Tool, "agent_") {
		h.t.Errorf("the question is %+v", a)
	}
	return r.Event, r.Approvals[0].ID
}

// awaitEnd waits until an event has ended and returns its state from the API.
func (h *daemonFixture) awaitEnd(event string) (out struct {
	State, Answer string
	Tools         []struct{ Name, State, Result string }
},
) {
	h.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		_, body := h.callAPI(http.MethodGet, "/api/v1/inbox/"+event, nil)
		failOnError(h.t, json.Unmarshal(body, &out))
		if out.State == "done" || out.State == "dead" {
			return out
		}
	}
	h.t.Fatalf("event %s did not end: %+v", event, out)
	return out
}

func (h *daemonFixture) answerApproval(id string, yes bool) {
	h.t.Helper()
	if code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/approvals/"+id, map[string]bool{"approved": yes}); code != http.StatusOK {
		h.t.Fatalf("answer: %d %s", code, body)
	}
}

// awaitPending waits for an approval request and returns its id.
func (h *daemonFixture) awaitPending() string {
	h.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		_, body := h.callAPI(http.MethodGet, "/api/v1/approvals?state=pending", nil)
		var open []struct{ ID string }
		failOnError(h.t, json.Unmarshal(body, &open))
		if len(open) > 0 {
			return open[0].ID
		}
	}
	h.t.Fatal("no approval request was created")
	return ""
}

// readWork returns the changes that the agent made in its folder.
func (h *daemonFixture) readWork() string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.home, "work", "done"))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func (h *daemonFixture) explainEvent(event string) string {
	h.t.Helper()
	_, body := h.callAPI(http.MethodGet, "/api/v1/why?id="+event, nil)
	return string(body)
}

func TestExternalAgent_Answers(t *testing.T) {
	h := openWithAgent(t, "")
	if got := h.askHob("say Hello."); got != "Hello." {
		t.Errorf("%q", got)
	}
	if got := h.askHob("stream one two three"); got != "one two three" {
		t.Errorf("%q", got)
	}
	if got := h.askHob("count"); !strings.HasPrefix(got, "prompt 3,") {
		t.Errorf("want one prompt per message in one session, got %q", got)
	}
	if got := h.askHob("/new"); !strings.Contains(got, "Started a new conversation") {
		t.Errorf("%q", got)
	}
	if got := h.askHob("count"); !strings.HasPrefix(got, "prompt 1,") {
		t.Errorf("answer after /new = %q", got)
	}
}

func TestExternalAgent_ActionsAreRecorded(t *testing.T) {
	h := openWithAgent(t, "")
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", map[string]string{"text": "sneak rm x"})
	if code != http.StatusOK || !strings.Contains(string(body), `"name":"agent_execute"`) || !strings.Contains(string(body), "what came of rm x") {
		t.Errorf("%d %s", code, body)
	}
	var r struct{ Event string }
	failOnError(t, json.Unmarshal(body, &r))
	if why := h.explainEvent(r.Event); !strings.Contains(why, "not asked: the agent does it by itself") {
		t.Errorf("why: %s", why)
	}
}

func TestExternalAgent_AsksForApproval(t *testing.T) {
	for name, c := range map[string]struct {
		yes                  bool
		answer, state, works string
	}{
		"yes": {true, "It is done: touch x", "done", "touch x"},
		"no":  {false, "I may not, it says no.", "denied", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := openWithAgent(t, "")
			event, question := h.askApproval("home", "do execute touch x")
			if h.readWork() != "" {
				t.Error("the action ran before the approval")
			}
			if q := h.awaitDelivery("question", "touch x"); !strings.Contains(q.Text, `in its words: "innocent words"`) {
				t.Errorf("the question is %q", q.Text)
			}
			h.answerApproval(question, c.yes)
			got := h.awaitEnd(event)
			if got.Answer != c.answer || len(got.Tools) != 1 || got.Tools[0].Name != "agent_execute" || got.Tools[0].State != c.state || h.readWork() != c.works {
				t.Errorf("event %+v, actions %q", got, h.readWork())
			}
			if code, _ := h.callAPI(http.MethodPost, "/api/v1/sessions/home/approvals/"+question, map[string]bool{"approved": true}); code != http.StatusConflict {
				t.Errorf("second answer: status %d, want a conflict", code)
			}
			if why := h.explainEvent(event); !strings.Contains(why, "agent_execute") || !strings.Contains(why, question) {
				t.Errorf("why: %s", why)
			}
		})
	}
}

func TestExternalAgent_BareYesApproves(t *testing.T) {
	h := openWithAgent(t, "")
	event, _ := h.askApproval("home", "do edit x")
	if got := h.askHob("yes"); !strings.Contains(got, "Continuing with") {
		t.Errorf("%q", got)
	}
	if got := h.awaitEnd(event); got.Answer != "It is done: x" {
		t.Errorf("awaitEnd = %+v", got)
	}
}

func TestExternalAgent_AsksTwice(t *testing.T) {
	h := openWithAgent(t, "")
	event, _ := h.askApproval("home", "both x")
	h.awaitDelivery("question", "delete")
	h.awaitDelivery("question", "run a program")
	_, body := h.callAPI(http.MethodGet, "/api/v1/approvals?state=pending", nil)
	var open []struct{ ID, Tool string }
	failOnError(t, json.Unmarshal(body, &open))
	for _, a := range open {
		h.answerApproval(a.ID, a.Tool == "agent_execute")
	}
	got := h.awaitEnd(event)
	if len(got.Tools) != 2 || h.readWork() != "x" || !strings.Contains(got.Answer, "It is done: x") || !strings.Contains(got.Answer, "I may not") {
		t.Errorf("event %+v, actions %q", got, h.readWork())
	}
}

func TestExternalAgent_IsStopped(t *testing.T) {
	for name, prompt := range map[string]string{"a hanging one": "stone Wait", "one that asks": "do execute x", "one at work": "spawn"} {
		t.Run(name, func(t *testing.T) {
			h := openWithAgent(t, "")
			_, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", map[string]any{"text": prompt, "async": true})
			var r struct{ Event string }
			failOnError(t, json.Unmarshal(body, &r))
			if name == "one that asks" {
				h.awaitDelivery("question", "run a program")
			}
			for h.askHob("/stop") != "Stopped." {
				time.Sleep(10 * time.Millisecond) // until the turn has begun
			}
			if got := h.awaitEnd(r.Event); !regexp.MustCompile(`Stopped\.|\[interrupted\]`).MatchString(got.Answer) {
				t.Errorf("awaitEnd = %+v", got)
			}
			_, body = h.callAPI(http.MethodGet, "/api/v1/approvals?state=pending", nil)
			if strings.TrimSpace(string(body)) != "[]" {
				t.Errorf("requests are still pending: %s", body)
			}
			if got := h.askHob("say again"); got != "again" || h.readWork() != "" {
				t.Errorf("next answer %q, actions %q", got, h.readWork())
			}
		})
	}
}

func TestExternalAgent_WaitsWithoutBlockingOtherSessions(t *testing.T) {
	h := openWithAgent(t, "[autonomy]\nsessions = 1\n")
	event, question := h.askApproval("home", "do execute x")
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/other/messages", map[string]string{"text": "say Meanwhile."})
	if code != http.StatusOK || !strings.Contains(string(body), "Meanwhile.") {
		t.Errorf("%d %s", code, body)
	}
	h.answerApproval(question, true)
	if got := h.awaitEnd(event); got.Answer != "It is done: x" {
		t.Errorf("awaitEnd = %+v", got)
	}
}

func TestExternalAgent_ShutdownEndsItsRequest(t *testing.T) {
	h := openWithAgent(t, "")
	home := h.home
	event, question := h.askApproval("home", "do execute x")
	h.stop()
	h = openAtModel(t, home, "tester", agentConfig(t, home))
	h.awaitDelivery("notice", "My question "+question+" has expired")
	again := h.awaitPending() // the turn and the agent have restarted
	if code, _ := h.callAPI(http.MethodPost, "/api/v1/sessions/home/approvals/"+question, map[string]bool{"approved": true}); code != http.StatusConflict {
		t.Errorf("answer to the expired request: status %d, want a conflict", code)
	}
	h.answerApproval(again, true)
	if got := h.awaitEnd(event); got.Answer != "It is done: x" || h.readWork() != "x" {
		t.Errorf("event %+v, actions %q", got, h.readWork())
	}
}

func TestExternalAgent_Failures(t *testing.T) {
	for name, c := range map[string]struct {
		options []string
		want    string
	}{
		"login":   {[]string{"auth"}, "tester: sign-in is required; sign in with its own program first"},
		"version": {[]string{"version=7"}, "a different version of the Agent Client Protocol"},
		"dead":    {[]string{"die"}, "its last output: I cannot go on: [redacted]"},
	} {
		t.Run(name, func(t *testing.T) {
			h := openWithAgent(t, "", c.options...)
			if got := h.askHob("say x"); !strings.Contains(got, c.want) || strings.Contains(got, "verysecret") {
				t.Errorf("%q", got)
			}
		})
	}
	h := openWithAgent(t, "")
	if got := h.askHob("crash Half an"); !strings.Contains(got, "exit status 3") {
		t.Errorf("%q", got)
	}
	if got := h.askHob("half"); !strings.Contains(got, "not JSON") {
		t.Errorf("%q", got)
	}
	if got := h.askHob("say again"); got != "again" {
		t.Errorf("%q", got)
	}
}

// An agent runs under the owner's account and can read the token, but cannot act as the owner.
func TestExternalAgent_CannotActAsTheOwner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux identifies the process behind a connection")
	}
	h := openWithAgent(t, "")
	got := h.askHob("speak http://" + h.d.Addr() + "/api/v1/sessions/other/messages " + h.d.opt.Paths.TokenFile() + " /status")
	if !strings.HasPrefix(got, "403") {
		t.Errorf("an agent with the owner's token gets %q", got)
	}
	if got := h.askHob("say x"); got != "x" { // the owner's own messages still work
		t.Errorf("%q", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.d.Addr()+"/api/v1/sessions", nil)
	failOnError(t, err)
	req.Header.Set("Authorization", "Bearer "+h.token)
	resp, err := h.d.Client().Do(req) // and so does a client in the daemon's own process
	failOnError(t, err)
	failOnError(t, resp.Body.Close())
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a command in this process gets %s", resp.Status)
	}
}

func TestExternalAgent_MissingProgramIsNamed(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	t.Setenv("PATH", t.TempDir())
	h := openAtModel(t, home, "opencode", "[providers.opencode]\nkind = \"acp\"\npreset = \"opencode\"\n")
	if got := h.askHob("hello"); !strings.Contains(got, `the program "opencode" is not installed`) || !strings.Contains(got, "npm install -g opencode-ai") {
		t.Errorf("%q", got)
	}
}
