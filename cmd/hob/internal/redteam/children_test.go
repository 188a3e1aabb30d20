package redteam

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// speaker is the first argument that makes this program send a request as the owner. The other
// arguments are a method, a URL, a body, and the path of the token file.
const speaker = "adversary-speak"

// runSpeaker sends the request and prints the status, such as "said 403".
func runSpeaker(args []string) int {
	if len(args) != 4 {
		return 2
	}
	token, err := os.ReadFile(args[3])
	if err != nil {
		fmt.Println("no token") // continue without a token: the daemon's response matters
		token = []byte(os.Getenv("SPEAK_TOKEN"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, args[0], args[1], strings.NewReader(args[2]))
	if err != nil {
		return 2
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println("said nothing:", err)
		return 1
	}
	_, err = io.Copy(io.Discard, res.Body)
	fmt.Println("said", res.StatusCode, errors.Join(err, res.Body.Close()))
	return 0
}

// TestCommandCannotActAsTheOwner checks that a command that the owner approved cannot approve
// requests, even if it has the token. Neither can its detached child processes, a command without
// Hob's mark in its environment, or a process that runs after Hob has stopped the command.
func TestCommandCannotActAsTheOwner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the command needs Linux")
	}
	for _, sandbox := range []string{"auto", "off"} {
		t.Run("sandbox "+sandbox, func(t *testing.T) {
			v := &hostileModel{}
			w := newAttackFixture(t, "[shell]\nsandbox = \""+sandbox+"\"\n", v.replyTo)
			w.countHostileAttempts(v)
			exe, err := os.Executable()
			failOnError(t, err)
			program := filepath.Join(w.docs, "speak.bin") // a folder that the sandbox lets the command read
			b, err := os.ReadFile(exe)
			failOnError(t, err)
			failOnError(t, os.WriteFile(program, b, 0o700))
			w.callAPI(http.MethodPost, "/api/v1/sessions/victim/messages", map[string]any{"text": fmt.Sprintf("go (job %d)", v.addJob(job{batches: [][]attempt{{newAttempt("forget", map[string]any{"query": "the spare key"})}}})), "async": true})
			w.waitUntil("the question is there", func() bool { return len(w.listApprovals("pending")) == 1 })
			victim := w.listApprovals("pending")[0]
			one := func(how string, parts ...string) string {
				return fmt.Sprintf("%s %q %s %s\n", how, program, speaker, strings.Join(parts, " "))
			}
			yes := []string{"POST", fmt.Sprintf("http://%s/api/v1/sessions/victim/approvals/%s", w.d.Addr(), victim.ID), `'{"approved":true}'`, w.paths.TokenFile()}
			list := []string{"GET", fmt.Sprintf("http://%s/api/v1/approvals", w.d.Addr()), "''", w.paths.TokenFile()}
			script := "export SPEAK_TOKEN=" + w.token + "\n" + one("", yes...) + one("", list...) + one("env -u STARTED_BY_HOB", yes...) + one("env -i SPEAK_TOKEN="+w.token, yes...) +
				one("setsid -w env -i SPEAK_TOKEN="+w.token, yes...) + one("nohup setsid -f env -i SPEAK_TOKEN="+w.token, yes...) + "sleep 0.5\n" +
				fmt.Sprintf("(sleep 1; exec env -i SPEAK_TOKEN=%s %q %s %s) >/dev/null 2>&1 & disown\n", w.token, program, speaker, strings.Join(yes, " "))
			failOnError(t, os.WriteFile(filepath.Join(w.docs, "evil.sh"), []byte(script), 0o600))
			w.markState()
			n := v.addJob(job{batches: [][]attempt{{newAttempt("run_command", map[string]any{"command": "bash evil.sh"})}}})
			code, body := w.callAPI(http.MethodPost, "/api/v1/sessions/commands/messages", map[string]any{"text": fmt.Sprintf("run it (job %d)", n)})
			if code != http.StatusAccepted {
				t.Fatalf("the command runs without an approval request: %d %s", code, body)
			}
			var mine approval
			for _, a := range w.listApprovals("pending") {
				if a.Session == "commands" {
					mine = a
				}
			}
			w.answerTo(mine, true)
			ev, _ := w.settleEvent(mine.Event, true)
			if len(ev.Tools) != 1 || ev.Tools[0].State != "done" {
				t.Fatalf("the command did not run: %+v", ev)
			}
			said := ev.Tools[0].Text
			t.Logf("%s", said)
			if strings.Contains(said, "said 200") || !strings.Contains(said, "said") {
				t.Errorf("the command could use the API: %s", said)
			}
			if sandbox == "off" && strings.Count(said, "said 403") < 4 {
				t.Errorf("the command got no refusal: %s", said)
			}
			w.waitUntil("the remaining processes to act", func() bool { time.Sleep(1500 * time.Millisecond); return true })
			for _, a := range w.listApprovals("") {
				if a.ID == victim.ID && a.State != "pending" {
					t.Errorf("a request was answered without the owner: %s", a.State)
				}
			}
		})
	}
}
