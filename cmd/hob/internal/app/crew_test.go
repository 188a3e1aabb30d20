package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/guard"
	"hob/autonomy/llm/llmtest"
	"hob/channels"
	"hob/platform/host/system"
)

// openWithAgents starts a Hob whose scripted model computes its answer from the request.
func openWithAgents(t *testing.T, conf string, reply func(llmtest.Request) llmtest.Answer) *daemonFixture {
	t.Helper()
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: func(r llmtest.Request) (llmtest.Answer, bool) { return reply(r), true }})
	return openScripted(t, t.TempDir(), model.URL, playWay{api: llmtest.OpenAI}, conf)
}

// delegateTasks returns an answer that delegates tasks.
func delegateTasks(tasks ...map[string]any) llmtest.Answer {
	b, _ := json.Marshal(map[string]any{"name": "delegate_tasks", "arguments": map[string]any{"tasks": tasks}})
	return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: string(b)}}}
}

// lastUserLine returns the last line of the user's text, which follows Hob's own context.
func lastUserLine(r llmtest.Request) string {
	all := strings.Split(strings.TrimSpace(r.LastUser), "\n")
	return all[len(all)-1]
}

// postMessage sends a message in a conversation and returns the answer.
func (h *daemonFixture) postMessage(session, text string) (int, string) {
	h.t.Helper()
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/"+session+"/messages", map[string]string{"text": text})
	return code, string(body)
}

func (h *daemonFixture) listDelegations() (out []struct{ ID, State, Result, Task string }) {
	h.t.Helper()
	_, body := h.callAPI(http.MethodGet, "/api/v1/delegations?all=1", nil)
	failOnError(h.t, json.Unmarshal(body, &out))
	return out
}

// waitUntil waits until a condition is true.
func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("timed out: %s", what)
}

// Tasks of one call run at the same time, but at most crew.parallel of them.
func TestDelegation_RunsTasksInParallel(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var now, most int
	var full sync.Once
	gate := make(chan struct{})
	h := openWithAgents(t, "[crew]\nparallel = 3\n", func(r llmtest.Request) llmtest.Answer {
		if !strings.HasPrefix(lastUserLine(r), "part") {
			if len(r.Results) == 0 {
				return delegateTasks(map[string]any{"task": "part 1"}, map[string]any{"task": "part 2"}, map[string]any{"task": "part 3"}, map[string]any{"task": "part 4"})
			}
			return llmtest.Answer{Text: "all: " + r.Results[0].Text}
		}
		mu.Lock()
		now++
		if most = max(most, now); now == 3 {
			full.Do(func() { close(gate) }) // the first three tasks wait for each other
		}
		mu.Unlock()
		<-gate
		mu.Lock()
		now--
		mu.Unlock()
		return llmtest.Answer{Text: "done with " + lastUserLine(r)}
	})
	code, body := h.postMessage("home", "do it in parts")
	for i := range 4 {
		if want := fmt.Sprintf("Task %d ", i+1); !strings.Contains(body, want) || !strings.Contains(body, fmt.Sprintf("done with part %d", i+1)) {
			t.Fatalf("%d: %q is missing in %s", code, want, body)
		}
	}
	if most != 3 {
		t.Errorf("%d ran side by side, want 3", most)
	}
}

// Turns that wait for tasks do not count against the limit of sessions, so they cannot block their
// own tasks.
func TestDelegation_WaitingTurnsDoNotCount(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "[autonomy]\nsessions = 2\n", func(r llmtest.Request) llmtest.Answer {
		switch {
		case strings.HasPrefix(lastUserLine(r), "part"):
			return llmtest.Answer{Text: "done with " + lastUserLine(r)}
		case len(r.Results) == 0:
			return delegateTasks(map[string]any{"task": "part a of " + lastUserLine(r)}, map[string]any{"task": "part b of " + lastUserLine(r)})
		}
		return llmtest.Answer{Text: r.Results[0].Text}
	})
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			if _, body := h.postMessage(fmt.Sprintf("s%d", i), fmt.Sprintf("job %d", i)); !strings.Contains(body, fmt.Sprintf("done with part b of job %d", i)) {
				t.Errorf("job %d: %s", i, body)
			}
		})
	}
	wg.Wait()
}

// The agent of a task may delegate parts of the task up to the configured depth.
func TestDelegation_Depth(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "[crew]\ndepth = 2\n", func(r llmtest.Request) llmtest.Answer {
		level := map[string]string{"top": "middle", "middle": "bottom", "bottom": "below"}[lastUserLine(r)]
		if len(r.Results) > 0 {
			return llmtest.Answer{Text: lastUserLine(r) + " got [" + r.Results[0].Text + "]"}
		}
		return delegateTasks(map[string]any{"task": level})
	})
	_, body := h.postMessage("home", "top")
	if !regexp.MustCompile(`top got .*middle got .*bottom got \[error policy_denied: delegate_tasks is not one of your tools`).MatchString(body) {
		t.Error(body)
	}
	if n := len(h.listDelegations()); n != 2 {
		t.Errorf("%d tasks, want 2", n)
	}
}

// /stop stops the waiting turn, its tasks and their subtasks. A single task can be canceled, and
// its result says so.
func TestDelegation_StopAndCancel(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "[crew]\ndepth = 2\n", func(r llmtest.Request) llmtest.Answer {
		switch w := lastUserLine(r); {
		case w == "hang":
			return llmtest.Answer{Text: "never", Delay: time.Hour}
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "got " + r.Results[0].Text}
		case w == "deep":
			return delegateTasks(map[string]any{"task": "hang"})
		case w == "quick":
			return llmtest.Answer{Text: "quick is done"}
		}
		return delegateTasks(map[string]any{"task": "deep"}, map[string]any{"task": "quick"})
	})
	bottom := func() (id string) { // id of the task that hangs
		for _, d := range h.listDelegations() {
			if d.Task == "hang" && d.State == "open" {
				id = d.ID
			}
		}
		return id
	}
	open := func() bool { return bottom() != "" }
	done := make(chan string, 1)
	go func() {
		_, body := h.postMessage("home", "go")
		done <- body
	}()
	waitUntil(t, "the task at the bottom runs", open)
	if _, body := h.postMessage("home", "/stop"); !strings.Contains(body, "Stopped") {
		t.Error(body)
	}
	if body := <-done; !strings.Contains(body, `"answer":"Stopped."`) {
		t.Errorf("answer of the stopped turn: %s", body)
	}
	for _, d := range h.listDelegations() {
		if d.State != "stopped" && d.State != "done" {
			t.Errorf("delegation after /stop: %+v", d)
		}
	}
	waitUntil(t, "no turn runs any more", func() bool { return h.d.loop.Running() == 0 })

	go func() {
		_, body := h.postMessage("home", "go")
		done <- body
	}()
	waitUntil(t, "the task at the bottom runs again", open)
	id := bottom()
	if code, body := h.callAPI(http.MethodPost, "/api/v1/delegations/"+id+"/cancel", nil); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if code, _ := h.callAPI(http.MethodPost, "/api/v1/delegations/"+id+"/cancel", nil); code != http.StatusConflict {
		t.Errorf("second cancel: status %d", code)
	}
	if body := <-done; !strings.Contains(body, "canceled by the user") || !strings.Contains(body, "quick is done") {
		t.Errorf("answer after the cancellation: %s", body)
	}
}

// An approval request of a task is shown to the clients that wait for the turn. It is answered by
// its id in the parent's conversation, which can continue in the meantime.
func TestDelegation_RequestOfATask(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "", func(r llmtest.Request) llmtest.Answer {
		switch w := lastUserLine(r); {
		case w == "next":
			return llmtest.Answer{Text: "and next"}
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "got " + r.Results[0].Text}
		case w == "forget it":
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"forget","arguments":{"query":"code"}}`}}}
		}
		return delegateTasks(map[string]any{"task": "forget it"})
	})
	if code, body := h.callAPI(http.MethodPost, "/api/v1/tools/remember", map[string]any{"arguments": map[string]string{"text": "the code is 9911"}}); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := h.postMessage("home", "go"); code != http.StatusAccepted || !strings.Contains(body, `"tool":"forget"`) {
		t.Fatalf("status %d %s", code, body)
	}
	if code, body := h.postMessage("home", "next"); code != http.StatusOK || !strings.Contains(body, "and next") {
		t.Fatalf("a message during the question: %d %s", code, body)
	}
	q := h.awaitDelivery("question", "(?i)forget")
	if q.Session != "home" {
		t.Errorf("session of the question = %q, want home", q.Session)
	}
	h.postMessage("home", "yes") // ambiguous: the answer must name the id of a task's request
	h.awaitDelivery("reply", "I did not understand that as an answer to this request")
	h.postMessage("home", "/yes "+questionID.FindString(q.Text[strings.LastIndexByte(q.Text, '\n')+1:]))
	h.awaitDelivery("reply", "(?i)got .*permanently deleted")
}

// A task that exceeds its time limit is canceled, and the turn continues.
func TestDelegation_TimeLimitOfATask(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "[crew]\ntimeout = \"1s\"\n", func(r llmtest.Request) llmtest.Answer {
		switch {
		case lastUserLine(r) == "hang":
			return llmtest.Answer{Text: "never", Delay: time.Hour}
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "got " + r.Results[0].Text}
		}
		return delegateTasks(map[string]any{"task": "hang"})
	})
	if _, body := h.postMessage("home", "go"); !strings.Contains(body, "failed: timeout: the task did not end within 1s") {
		t.Error(body)
	}
}

// The daemon stops while a turn's tasks run. After the next start the tasks continue, and the turn
// gets each result once.
func TestDelegation_ContinuesAfterARestart(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	held := true
	reply := func(r llmtest.Request) llmtest.Answer {
		mu.Lock()
		defer mu.Unlock()
		asked[lastUserLine(r)]++
		switch w := lastUserLine(r); {
		case w == "slow" && held:
			return llmtest.Answer{Text: "cut", Delay: time.Hour}
		case w == "slow", w == "quick":
			return llmtest.Answer{Text: w + " is done"}
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "got " + r.Results[0].Text}
		}
		return delegateTasks(map[string]any{"task": "slow"}, map[string]any{"task": "quick"})
	}
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: func(r llmtest.Request) (llmtest.Answer, bool) { return reply(r), true }})
	home := t.TempDir()
	h := openScripted(t, home, model.URL, playWay{api: llmtest.OpenAI}, "")
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", map[string]any{"text": "go", "async": true})
	if code != http.StatusAccepted {
		t.Fatalf("%d %s", code, body)
	}
	waitUntil(t, "one task is done and the other runs", func() bool {
		states := ""
		for _, d := range h.listDelegations() {
			states += d.State + " "
		}
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(states, "done") && asked["slow"] == 1
	})
	h.stop()
	mu.Lock()
	held = false
	mu.Unlock()
	h = openScripted(t, home, model.URL, playWay{api: llmtest.OpenAI}, "")
	h.awaitDelivery("reply", `(?s)slow is done.*quick is done`)
	if asked["quick"] != 1 || len(h.listDelegations()) != 2 {
		t.Errorf("calls of the models = %v, tasks = %+v", asked, h.listDelegations())
	}
}

// A message from an unknown sender is dropped without a notice if no agent is assigned to the chat;
// the owner gets the reason as the answer.
func TestAgents_ChatWithoutAnAgent(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "[agents.desk]\nabout = \"the front desk\"\n[[routes]]\nserver = \"T1\"\nagent = \"desk\"\n[crew]\ndefault = \"\"\n", func(r llmtest.Request) llmtest.Answer {
		if strings.Contains(r.System, "You are Desk") {
			return llmtest.Answer{Text: "the desk says hello"}
		}
		return llmtest.Answer{Text: "somebody else"}
	})
	if _, body := h.postMessage("home", "hello?"); !strings.Contains(body, "no agent is assigned") {
		t.Error(body)
	}
	in := channels.Inbound{Channel: "web", Chat: "c9", Sender: "eve", Text: "let me in", At: time.Now()}
	if _, err := h.d.intake.Receive(t.Context(), in); err == nil || !strings.Contains(err.Error(), channels.ErrStranger.Error()) {
		t.Errorf("message of an unknown sender without an agent: %v", err)
	}
	in.Server, in.FromOwner = "T1", true
	_, err := h.d.intake.Receive(t.Context(), in)
	failOnError(t, err)
	h.awaitDelivery("reply", "the desk says hello")
	if list := h.listDelegations(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// A schedule runs with the permissions of the agent that created it.
func TestAgents_ScheduleKeepsItsAgent(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "[agents.clerk]\ntools = [\"create_schedule\"]\n[[routes]]\nchat = \"desk\"\nagent = \"clerk\"\n", func(r llmtest.Request) llmtest.Answer {
		switch w := lastUserLine(r); {
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "came to: " + r.Results[len(r.Results)-1].Text}
		case w == "plan it":
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "create_schedule", Args: `{"at":"in 1 second","action":"add the task now"}`}}}
		}
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"create_task","arguments":{"title":"x"}}`}}}
	})
	h.postMessage("desk", "plan it")
	h.awaitDelivery("notice", "came to: error policy_denied.*create_task is not one of your tools")
}

func TestAgents_ToolPatternsMustMatch(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	hob := filepath.Join(home, "hob")
	paths, err := system.ResolvePaths(runtime.GOOS, home, func(name string) string { return map[string]string{"HOB_HOME": hob}[name] })
	failOnError(t, err)
	c, err := config.Parse("config.toml", []byte("[agent]\nmodel = \"offline\"\n[agents.a]\ndeny = [\"wirte_file\"]\n"))
	failOnError(t, err)
	if _, err := Open(t.Context(), Options{Paths: paths, UserHome: home, Config: c}); err == nil || !strings.Contains(err.Error(), `config.toml:3: agents.a: no tool or category matches "wirte_file"`) {
		t.Errorf("Open = %v", err)
	}
}

// A tool that starts a task has all effects that the task may cause.
func TestReview1_ToolThatStartsATaskTakesItsEffects(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "", func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "hello"} })
	var list []struct {
		Name    string
		Effects []string
	}
	_, body := h.callAPI(http.MethodGet, "/api/v1/tools", nil)
	failOnError(t, json.Unmarshal(body, &list))
	found := 0
	for _, x := range list {
		switch x.Name {
		case "spawn_background_task", "delegate_tasks", "create_schedule", "create_watcher", "create_goal":
			found++
			if !slices.Contains(x.Effects, "exec") || !slices.Contains(x.Effects, "send") || !slices.Contains(x.Effects, "destroy") {
				t.Errorf("%s takes %v, want the effects of its task", x.Name, x.Effects)
			}
		}
	}
	if found != 5 {
		t.Errorf("%d of 5 tools are listed", found)
	}
}

// Later events of a trigger are processed while a delegated task of an earlier event waits for an
// approval. After the answer, the earlier event continues with the result of the task.
func TestDelegation_TriggersRunWhileATaskAsks(t *testing.T) {
	t.Parallel()
	h := openWithAgents(t, "[triggers.door]\naction = \"see who it is\"\n", func(r llmtest.Request) llmtest.Answer {
		switch {
		case lastUserLine(r) == "note it" && len(r.Results) == 0:
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"run_command","arguments":{"command":"mkdir made-by-the-task"}}`}}}
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "got " + r.Results[0].Text}
		case strings.Contains(r.LastUser, "Ada"):
			return delegateTasks(map[string]any{"task": "note it"})
		}
		return llmtest.Answer{Text: "it is Bob"}
	})
	fire := func(text string) (event string) {
		t.Helper()
		code, body := h.callAPI(http.MethodPost, "/api/v1/triggers/door/fire", map[string]string{"text": text})
		var acc struct{ Event string }
		if code != http.StatusAccepted || json.Unmarshal(body, &acc) != nil || acc.Event == "" {
			t.Fatalf("fire: %d %s", code, body)
		}
		return acc.Event
	}
	state := func(event string) string {
		t.Helper()
		e, err := h.d.bus.Inbox.Event(t.Context(), event)
		failOnError(t, err)
		return string(e.State)
	}
	answer := func(tool string, yes bool) {
		t.Helper()
		waitUntil(t, tool+" is asked about", func() bool {
			list, err := h.d.guard.Approvals(t.Context(), guard.Pending, "", "", 10)
			failOnError(t, err)
			if len(list) != 1 || list[0].Tool != tool {
				return false
			}
			h.callAPI(http.MethodPost, "/api/v1/sessions/"+url.PathEscape(list[0].Session)+"/approvals/"+list[0].ID, map[string]any{"approved": yes})
			return true
		})
	}
	first := fire("Ada rings")
	answer("delegate_tasks", true) // the text of the trigger is untrusted
	waitUntil(t, "the task asks", func() bool {
		list, err := h.d.guard.Approvals(t.Context(), guard.Pending, "", "", 10)
		failOnError(t, err)
		return len(list) == 1 && list[0].Tool == "run_command"
	})
	second := fire("Bob rings")
	waitUntil(t, "the second event is done", func() bool { return state(second) == "done" })
	if got := state(first); got != "pending" {
		t.Errorf("state of the first event = %s", got)
	}
	answer("run_command", false)
	waitUntil(t, "the first event is done", func() bool { return state(first) == "done" })
	if list := h.listDelegations(); len(list) != 1 || list[0].State != "done" {
		t.Errorf("delegations = %+v", list)
	}
}
