//go:build unix

// Package crash kills the real daemon at failpoints and at random instants while messages, files
// and reminders arrive, and then counts the deliveries at a receiver that drops repeated keys:
// nothing is lost, nothing is reported twice, no effect happens twice. It contains only tests.
package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/autonomy/llm/acp/acptest"
	"hob/autonomy/llm/llmtest"
	"hob/platform/failpoint/daemontest"
)

// daemonFixture is a daemon with its environment.
type daemonFixture struct {
	*daemontest.Daemon
	t          *testing.T
	dir        string
	receiver   *daemontest.Receiver
	rnd        *rand.Rand
	points     map[string]int // kills by failpoint
	random     int            // kills at random instants
	starts     int
	effectsLog string
	drop       string
	replies    func(llmtest.Request) (llmtest.Answer, bool) // replaces reply if set
}

func newFixture(t *testing.T, seed uint64) *daemonFixture {
	t.Helper()
	bin, err := program()
	failOnError(t, err)
	w := &daemonFixture{t: t, dir: t.TempDir(), rnd: rand.New(rand.NewPCG(seed, 1)), points: map[string]int{}, receiver: daemontest.NewReceiver(t)}
	w.Daemon = daemontest.New(t, bin, w.dir)
	w.effectsLog = filepath.Join(w.User, "Documents", "effects.log")
	w.drop = filepath.Join(w.User, "Downloads")
	for _, d := range []string{filepath.Dir(w.effectsLog), w.drop} {
		failOnError(t, os.MkdirAll(d, 0o700))
	}
	model := llmtest.NewServer(t, llmtest.Options{Reply: w.replyTo, Keep: 1})
	w.Configure(fmt.Sprintf(`[agent]
model = "test/test"
timezone = "UTC"
[providers.test]
kind = "openai"
base_url = "%s/v1"
model = "test"
[web]
listen = "%s"
[files]
allowed = ["~/Documents"]
[notify]
channel = "webhook"
queue_notices = false
[channels.webhook]
url = "%s"
secret = "a-secret-of-the-test"
`, model.URL, w.Addr, w.receiver.URL))
	return w
}

// program builds the program with its failpoints, once for all tests.
var program = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(workshop, "hob")
	return bin, daemontest.Build(bin)
})

// workshop is the folder of the program.
var workshop string

func TestMain(m *testing.M) {
	acptest.Main()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hob-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	workshop = dir
	return m.Run()
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var jobWord = regexp.MustCompile(`(job|ring|watch|tick|crew|part) (\d+)`)

// replyTo returns the model's answer. It depends only on the conversation, so that a killed turn
// continues as if it had not been interrupted.
func (w *daemonFixture) replyTo(r llmtest.Request) (llmtest.Answer, bool) {
	if w.replies != nil {
		return w.replies(r)
	}
	all := jobWord.FindAllStringSubmatch(r.LastUser, -1)
	if all == nil {
		return llmtest.Answer{Text: "what?"}, true
	}
	m := all[len(all)-1] // the message follows Hob's own context
	word, n := m[1], m[2]
	if len(r.Results) > 0 {
		var texts []string
		for _, x := range r.Results {
			texts = append(texts, x.Text)
		}
		return llmtest.Answer{Text: fmt.Sprintf("answer to %s %s: %s", word, n, strings.Join(texts, " | "))}, true
	}
	use := func(name string, args any) llmtest.Call {
		b, _ := json.Marshal(map[string]any{"name": name, "arguments": args})
		return llmtest.Call{Name: "use_tool", Args: string(b)}
	}
	switch word {
	case "crew": // one call that delegates two tasks, each with an effect outside the database
		tasks := []map[string]string{{"task": "part " + n + "1"}, {"task": "part " + n + "2"}}
		return llmtest.Answer{Calls: []llmtest.Call{use("delegate_tasks", map[string]any{"tasks": tasks})}}, true
	case "part":
		return llmtest.Answer{Calls: []llmtest.Call{
			use("write_file", map[string]any{"path": w.effectsLog, "content": "part " + n + "\n", "append": true}),
		}}, true
	case "job":
		return llmtest.Answer{Calls: []llmtest.Call{
			use("create_task", map[string]string{"title": "job " + n}),
			use("write_file", map[string]any{"path": w.effectsLog, "content": "job " + n + "\n", "append": true}),
		}}, true
	case "ring":
		at := time.Now().UTC().Add(time.Second).Format(time.RFC3339)
		return llmtest.Answer{Calls: []llmtest.Call{use("create_reminder", map[string]string{"text": "ring " + n, "at": at})}}, true
	}
	if word == "tick" {
		return llmtest.Answer{Calls: []llmtest.Call{use("create_reminder", map[string]string{"text": "every minute", "every": "* * * * *"})}}, true
	}
	return llmtest.Answer{Calls: []llmtest.Call{use("create_watcher", map[string]any{
		"kind": "file", "config": map[string]any{"path": w.drop, "pattern": "*.pdf"},
	})}}, true
}

// startDaemon starts the daemon, with a failpoint if point is not "", and reports whether the daemon
// became ready.
func (w *daemonFixture) startDaemon(point string) bool {
	w.starts++
	return w.Start(point)
}

// sendMessage posts a message until it is acknowledged, across any number of crashes.
func (w *daemonFixture) sendMessage(ctx context.Context, text string) (event string) {
	return w.sendTo(ctx, "webhook:crash"+text[:1], text)
}

func (w *daemonFixture) sendTo(ctx context.Context, session, text string) (event string) {
	for ctx.Err() == nil {
		event, err := w.Send(ctx, session, text)
		if err == nil {
			return event
		}
		if isRefused(err) {
			w.t.Errorf("message refused: %v", err)
			return ""
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
	return ""
}

// isRefused reports whether the daemon answered with an error.
func isRefused(err error) bool {
	_, ok := errors.AsType[*daemontest.StatusError](err)
	return ok
}
