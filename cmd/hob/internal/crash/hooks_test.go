//go:build linux

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
)

// hookReply creates one task for each message.
func hookReply(r llmtest.Request) (llmtest.Answer, bool) {
	if len(r.Results) > 0 {
		return llmtest.Answer{Text: "hooked answer"}, true
	}
	b, _ := json.Marshal(map[string]any{"name": "create_task", "arguments": map[string]string{"title": "hooked"}})
	return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: string(b)}}}, true
}

// The daemon is killed while a hook runs. The message is then answered once, its call runs once, and
// the programs of the killed daemon end.
func TestHooksOverKills(t *testing.T) {
	for _, on := range []string{"message.received", "tool.before", "tool.after", "answer.before"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, 1)
			w.replies = hookReply
			runs := filepath.Join(w.dir, "runs")
			script := filepath.Join(w.dir, "hook")
			failOnError(t, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\necho $$ >> %[1]s\nif [ $(wc -l < %[1]s) -eq 1 ]; then sleep 300 & setsid sleep 300; fi\n", runs), 0o700))
			config := filepath.Join(w.Home, "config.toml")
			text, err := os.ReadFile(config)
			failOnError(t, err)
			failOnError(t, os.WriteFile(config, fmt.Appendf(text, "[[hooks]]\non = %q\ncommand = [%q]\ntimeout = \"60s\"\n", on, script), 0o600))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			w.daemonUp()
			sent := make(chan string, 1)
			go func() { sent <- w.sendMessage(ctx, "hooked message") }() // the hook message.received runs before the message is acknowledged
			w.waitUntil(ctx, "the first run", func() bool { return len(runPids(t, runs)) > 0 && len(hookProcesses(script)) > 1 })
			if !w.Kill() {
				t.Fatal("the daemon had died")
			}
			w.daemonUp()
			event := <-sent
			w.waitUntil(ctx, "the event", func() bool { return w.isDone(ctx, event) })
			w.waitUntil(ctx, "the end of the hook's programs", func() bool { return len(hookProcesses(script)) == 0 })
			w.waitUntil(ctx, "the answer", func() bool { return w.receiver.Count() > 0 })
			time.Sleep(time.Second) // time for answers that must not arrive
			answers := 0
			for _, d := range w.receiver.All() {
				if strings.Contains(d.Text, "hooked answer") {
					answers++
				}
			}
			var tasks []struct{ Title string }
			failOnError(t, w.Call(ctx, "GET", "/api/v1/tasks?all=1", nil, &tasks))
			if answers != 1 || len(tasks) != 1 {
				t.Errorf("%d answers, %d tasks", answers, len(tasks))
			}
		})
	}
}

// runPids returns the process ids of the runs so far.
func runPids(t *testing.T, file string) (pids []int) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for _, l := range strings.Fields(string(b)) {
		pid, err := strconv.Atoi(l)
		failOnError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

// hookProcesses returns the processes that Hob started in the folder of a hook.
func hookProcesses(script string) (pids []int) {
	list, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, f := range list {
		env, err := os.ReadFile(f)
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(f), "cwd"))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err == nil && cwd == filepath.Dir(script) && strings.Contains(string(env), "HOB_HOOK_RUN=") && syscall.Kill(pid, 0) == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
