//go:build linux

package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/tools/txtar"

	"hob/autonomy/llm/llmtest"
)

// /stop ends a running command, its child processes, and its turn.
func TestStop_EndsACommand(t *testing.T) {
	a := txtar.Parse([]byte(`
-- model/1 --
match: run my script
call: use_tool {"name":"run_command","arguments":{"command":"sh run.sh now","timeout":300}}
`))
	script, err := llmtest.ParseScript(a)
	failOnError(t, err)
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key}, script...)
	home := t.TempDir()
	docs := filepath.Join(home, "Documents")
	failOnError(t, os.MkdirAll(docs, 0o700))
	told := filepath.Join(docs, "told")
	if err := syscall.Mkfifo(told, 0o600); err != nil {
		t.Skip(err)
	}
	failOnError(t, os.WriteFile(filepath.Join(docs, "run.sh"), []byte("setsid sleep 600 &\nsetsid sh -c 'trap \"\" TERM; echo $$ > told; exec sleep 600' &\nwait\n"), 0o600))
	// without a PID namespace, so that the test sees the same process ids
	h := openScripted(t, home, model.URL, playWay{api: llmtest.OpenAI}, "[shell]\nallow = [\"sh run.sh now\"]\nsandbox = \"off\"\n")
	answered := make(chan string, 1)
	go func() {
		_, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", map[string]string{"text": "run my script"})
		answered <- string(body)
	}()
	pid, err := os.ReadFile(told) // blocks until the command runs
	failOnError(t, err)
	if _, body := h.postMessage("home", "/stop"); !strings.Contains(body, "Stopped") {
		t.Fatal(body)
	}
	<-answered
	if text, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat"); err == nil && !strings.Contains(string(text), ") Z ") {
		t.Errorf("the process still exists: %s", text)
	}
}
