//go:build unix

package badinput

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"hob/autonomy/llm/llmtest"
)

// A message whose turn is interrupted by SIGTERM is answered once, after the next start.
func TestTurn_Terminated(t *testing.T) {
	t.Parallel()
	var awake atomic.Bool
	model := llmtest.NewServer(t, llmtest.Options{Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		switch {
		case !awake.Load():
			return llmtest.Answer{Text: "I was about to", Fault: llmtest.Stall, After: 1}, true
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "the task is made"}, true
		}
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "create_task", Args: `{"title":"milk"}`}}}, true
	}})
	h := newFixture(t, withModel(model))
	h.startDaemon()
	type reply struct {
		code int
		body string
	}
	waiting := make(chan reply, 1)
	go func() {
		code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", `{"text":"buy milk","dedupe_key":"1"}`)
		waiting <- reply{code, body}
	}()
	h.waitUntil("the model is asked", func() bool { return model.Count() > 0 })
	h.stopDaemon()
	got := <-waiting
	var r struct {
		Event string
		Error struct{ Code, Message, Remedy string }
	}
	if err := json.Unmarshal([]byte(got.body), &r); err != nil || got.code != http.StatusServiceUnavailable || r.Event == "" ||
		!strings.Contains(r.Error.Message, "the message is stored") || !strings.Contains(r.Error.Remedy, "after the next start") {
		t.Fatalf("%+v %v", got, err)
	}
	awake.Store(true)
	h.startDaemon()
	h.waitUntil("the message is answered", func() bool {
		_, body := h.callAPI(http.MethodGet, "/api/v1/inbox/"+r.Event, "")
		return strings.Contains(body, `"done"`)
	})
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", `{"text":"buy milk","dedupe_key":"1"}`)
	if code != http.StatusOK || !strings.Contains(body, r.Event) {
		t.Errorf("repeated message: %d %s", code, body)
	}
	if all := h.listDeliveries("reply"); len(all) != 1 || all[0].Text != "the task is made" {
		t.Errorf("the replies: %+v", all)
	}
	var tasks []struct{ Title string }
	_, list := h.callAPI(http.MethodGet, "/api/v1/tasks", "")
	if json.Unmarshal([]byte(list), &tasks) != nil || len(tasks) != 1 {
		t.Errorf("the tasks: %s", list)
	}
	h.stopDaemon()
}

// A chat ends when its input is closed. A message after the daemon was stopped starts the daemon
// again.
func TestChat_InputEnds(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	h.runHob("chat", "--no-start").checkSuccess("^$")
	h.startDaemon()
	h.runWithInput(strings.NewReader("hello"), "chat", "--mine").checkSuccess("Hello") // no line end
	in, out, err := os.Pipe()
	failOnError(t, err)
	cmd := h.newCommand(t.Context(), "chat", "--mine")
	cmd.Stdin = in
	said, err := cmd.StdoutPipe()
	failOnError(t, err)
	failOnError(t, cmd.Start())
	failOnError(t, in.Close())
	_, err = out.WriteString("hello\n")
	failOnError(t, err)
	lines := bufio.NewScanner(said)
	if !lines.Scan() || !strings.Contains(lines.Text(), "Hello") {
		t.Errorf("output of the chat = %q", lines.Text())
	}
	h.stopDaemon()
	_, err = out.WriteString("and now?\n")
	failOnError(t, err)
	if !lines.Scan() || !strings.Contains(lines.Text(), "I did not understand") {
		t.Errorf("output of the chat after a stop = %q", lines.Text())
	}
	failOnError(t, out.Close())
	_ = cmd.Wait() // the exit code does not matter
	h.runHob("stop").checkSuccess("Hob has stopped")
}

// The daemon keeps running when its log no longer has a reader, and when it has no standard
// streams.
func TestDaemon_WithoutStreams(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	r, w, err := os.Pipe()
	failOnError(t, err)
	cmd := h.newCommand(t.Context(), "start", "--foreground")
	cmd.Stdout, cmd.Stderr = w, w
	h.beginCommand(cmd)
	failOnError(t, w.Close())
	failOnError(t, r.Close())
	h.changeMode(".", 0o500)
	for range 3 { // each failed backup writes to the log
		if code, body := h.callAPI(http.MethodPost, "/api/v1/manage/backup", "{}"); code != http.StatusInternalServerError && isSuperuser() {
			t.Errorf("a backup into a read-only folder: %d %s", code, body)
		}
	}
	h.changeMode(".", 0o700)
	h.runHob("ask", "hello").checkSuccess("Hello")
	h.stopDaemon()
	closed := h.newCommand(t.Context(), "start")
	failOnError(t, closed.Run()) // standard streams are /dev/null
	h.runHob("ask", "hello").checkSuccess("Hello")
	h.runHob("stop").checkSuccess("stopped")
	h.runHob("stop").checkFailure(3, "not running")
}

// Ctrl-C stops a waiting command but not the daemon.
func TestCommand_Interrupted(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, llmtest.Options{Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		if userMessage(r) == "hello" {
			return llmtest.Answer{Text: "hello to you"}, true
		}
		return llmtest.Answer{Fault: llmtest.Stall}, true
	}})
	h := newFixture(t, withModel(model))
	h.startDaemon()
	cmd := h.newCommand(t.Context(), "ask", "be silent")
	failOnError(t, cmd.Start())
	h.waitUntil("the model is asked", func() bool { return model.Count() > 0 })
	failOnError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	h.runHob("ask", "-s", "other", "hello").checkSuccess("hello to you")
	h.stopDaemon()
}
