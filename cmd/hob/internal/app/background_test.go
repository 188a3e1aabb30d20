package app

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/platform/store"
)

// useTool returns an answer that calls a tool of the catalog.
func useTool(name string, args map[string]any) llmtest.Answer {
	b, _ := json.Marshal(map[string]any{"name": name, "arguments": args})
	return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: string(b)}}}
}

// spawningModel returns a scripted model. It starts the background task "the long part" at the word
// "begin", reports its progress at "how far", and stops it at "end". The task itself first lists
// the tasks.
func spawningModel(gate chan struct{}) func(r llmtest.Request) llmtest.Answer {
	id := regexp.MustCompile(`t[0-9a-z]{9}`)
	return func(r llmtest.Request) llmtest.Answer {
		last := lastUserLine(r)
		switch {
		case strings.Contains(last, "the long part"):
			if len(r.Results) == 0 {
				return llmtest.Answer{Calls: []llmtest.Call{{Name: "list_tasks", Args: `{}`}}}
			}
			<-gate
			return llmtest.Answer{Text: "the long part is done"}
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "so: " + r.Results[len(r.Results)-1].Text}
		case strings.Contains(last, "begin"):
			return useTool("spawn_background_task", map[string]any{"task": "the long part"})
		case strings.Contains(last, "how far"):
			return useTool("agent_status", map[string]any{})
		default:
			return useTool("stop_task", map[string]any{"task": id.FindString(last)})
		}
	}
}

// A background task reports its progress, can be stopped, and has no effect after that.
func TestBackgroundTask_ReportsProgressAndStops(t *testing.T) {
	gate := make(chan struct{})
	h := openWithAgents(t, "", spawningModel(gate))
	defer close(gate)
	if got := h.askHob("begin"); !strings.Contains(got, "running in the background") {
		t.Fatal(got)
	}
	id := h.listDelegations()[0].ID
	waitUntil(t, "the progress of the task", func() bool {
		got := h.askHob("how far is it?")
		return strings.Contains(got, id) && strings.Contains(got, "running for") && strings.Contains(got, "1 tool call(s), the last one was list_tasks")
	})
	if got := h.askHob("end " + id); !strings.Contains(got, "Stopped the task "+id) {
		t.Error(got)
	}
	waitUntil(t, "the task has ended", func() bool { return h.listDelegations()[0].State == "cancelled" })
	if got := h.askHob("how far is it?"); !strings.Contains(got, "No task in this conversation is queued or running") {
		t.Error(got)
	}
	if got := h.askHob("end " + id); !strings.Contains(got, "has ended: cancelled") {
		t.Error(got)
	}
}

// A background task continues after a restart, and the user is notified of its result.
func TestBackgroundTask_ContinuesAfterARestart(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: func(r llmtest.Request) (llmtest.Answer, bool) { return spawningModel(gate)(r), true }})
	home := t.TempDir()
	h := openScripted(t, home, model.URL, playWay{api: llmtest.OpenAI}, "")
	h.askHob("begin")
	waitUntil(t, "the task to make calls", func() bool { return strings.Contains(h.askHob("how far?"), "the last one was list_tasks") })
	h.stop() // while the task runs
	close(gate)
	h = openScripted(t, home, model.URL, playWay{api: llmtest.OpenAI}, "")
	h.awaitDelivery("notice", `The task "the long part" .* has ended: done\nthe long part is done`)
}

// The time that a task waits for an approval does not count against its time limit.
func TestBackgroundTask_WaitingForApprovalTakesNoTime(t *testing.T) {
	gate := make(chan struct{})
	h := openWithAgents(t, "[crew]\nbackground_timeout = \"30m\"\n", spawningModel(gate))
	defer close(gate)
	h.askHob("begin")
	open := h.listDelegations()[0]
	failOnError(t, h.d.store.Write(t.Context(), func(tx *store.Tx) error {
		now := time.Now()
		_, err := tx.Exec(`INSERT INTO approvals (id, event, session, call, tool, args, args_hash, summary, reason, provenance, attended, state, created_at, expires_at)
			VALUES ('a1', (SELECT event FROM crew_tasks WHERE id = ?), 's', 'c1', 'x', '{}', '', 'x', 'x', 'owner', 0, 'pending', ?, ?)`, open.ID, now.UnixMilli(), now.Add(24*time.Hour).UnixMilli())
		return err
	}))
	next, err := h.d.crew.Due(t.Context(), time.Now().Add(31*time.Minute))
	if err != nil || time.Until(next) < 24*time.Hour || h.listDelegations()[0].State != "open" {
		t.Fatalf("%s, %v, %+v", next, err, h.listDelegations())
	}
}

// The time limit also applies if [autonomy] is disabled.
func TestBackgroundTask_HasATimeLimit(t *testing.T) {
	gate := make(chan struct{})
	h := openWithAgents(t, "[crew]\nbackground_timeout = \"30m\"\n\n[autonomy]\nenabled = false\n", spawningModel(gate))
	defer close(gate)
	h.askHob("begin")
	if next, err := h.d.crew.Due(t.Context(), time.Now().Add(time.Minute)); err != nil || time.Until(next) < 29*time.Minute || h.listDelegations()[0].State != "open" {
		t.Fatalf("%s, %v, %+v", next, err, h.listDelegations())
	}
	for _, due := range h.d.dueSources() {
		_, err := due.Due(t.Context(), time.Now().Add(31*time.Minute))
		failOnError(t, err)
	}
	h.awaitDelivery("notice", `has ended: failed: timeout: the task did not end within 30m`)
	if got := h.listDelegations()[0].State; got != "timeout" {
		t.Error(got)
	}
}

// A message that waits only for a running turn does not show the open request of an earlier turn,
// which does not block it.
func TestWait_ShowsOnlyRequestsThatBlock(t *testing.T) {
	gate := make(chan struct{})
	h := openWithAgents(t, "", func(r llmtest.Request) llmtest.Answer {
		switch {
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "done"}
		case strings.Contains(lastUserLine(r), "run it"):
			return useTool("run_command", map[string]any{"command": "touch made"})
		case strings.Contains(lastUserLine(r), "take your time"):
			<-gate
		}
		return llmtest.Answer{Text: "hello"}
	})
	first := h.sendAsync("run it")
	question := h.openOf(1)[first]
	running := h.sendAsync("take your time")
	waiting := h.sendAsync("hi")
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond) // longer than one round of Wait
	defer cancel()
	if st, err := h.d.service.Wait(ctx, waiting); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait = %+v, %v before the running turn ended", st, err)
	}
	close(gate)
	for _, id := range []string{running, waiting} {
		if got := h.awaitEnd(id); got.Answer != "hello" {
			t.Errorf("answer = %q", got.Answer)
		}
	}
	h.answerApproval(question, false)
	h.awaitEnd(first)
}
