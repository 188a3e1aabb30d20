package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm/llmtest"
	"hob/cmd/hob/internal/app"
	"hob/platform/host/system"
)

// soakRun is a daemon in this process and the model that it uses.
type soakRun struct {
	t       *testing.T
	d       *app.App
	paths   system.Paths
	token   string
	client  *http.Client
	model   *llmtest.Server
	stop    func()
	ballast string // text that makes a message long
	counts  [32]atomic.Int64
	calls   atomic.Int64 // requests to the model

	summaries atomic.Int64 // number of requests for the summary of a long conversation

	mu      sync.Mutex
	waiting map[string]chan struct{} // closed when the model receives the request of the turn
	failed  map[string]bool          // messages whose request has already failed once
}

func newSoakRun(t *testing.T) *soakRun {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	w := &soakRun{
		t: t, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * talkers}, Timeout: 5 * time.Minute},
		waiting: map[string]chan struct{}{}, failed: map[string]bool{}, ballast: strings.Repeat(" and so on", 400),
	}
	failOnError(t, os.MkdirAll(filepath.Join(home, "Documents"), 0o700))
	model, err := llmtest.Start(llmtest.Options{Reply: w.replyTo, Keep: 1})
	failOnError(t, err)
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	w.paths, w.model = paths, model
	c, err := config.Parse("config.toml", fmt.Appendf(nil, `[agent]
model = "test/test"
timezone = "UTC"
[providers.test]
kind = "openai"
base_url = "%s/v1"
model = "test"
[web]
listen = "127.0.0.1:0"
[files]
allowed = ["~/Documents"]
drop = "~/Documents"
[autonomy]
sessions = 8
[knowledge]
summary_chars = 8000
summary_keep = 6
`, model.URL))
	failOnError(t, err)
	w.d, err = app.Open(t.Context(), app.Options{Paths: paths, Config: c, Version: "soak", Log: slog.New(slog.DiscardHandler)})
	failOnError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.d.Run(ctx) }()
	select {
	case <-w.d.Ready():
	case err := <-done:
		t.Fatalf("the daemon ended: %v", err)
	}
	token, err := os.ReadFile(paths.TokenFile())
	failOnError(t, err)
	w.token = strings.TrimSpace(string(token))
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, w.d.Close()); err != nil {
			t.Error(err)
		}
		w.client.CloseIdleConnections()
		model.Close()
	})
	t.Cleanup(w.stop)
	return w
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// modelAsked returns a channel that is closed when the model gets the request of turn i.
func (w *soakRun) modelAsked(i int) <-chan struct{} { return w.waitChannel(fmt.Sprint(i)) }

func (w *soakRun) waitChannel(turn string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.waiting[turn]
	if c == nil {
		c = make(chan struct{})
		w.waiting[turn] = c
	}
	return c
}

// isFirstRequest reports whether this is the first request for a message.
func (w *soakRun) isFirstRequest(message string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.failed[message]
	w.failed[message] = true
	if !first {
		delete(w.failed, message) // a message is requested at most twice
	}
	return first
}

var word = regexp.MustCompile(`(hello|task|file|search|many|wrong|long|retry|refuse|overflow|slow) (\d+)`)

// replyTo is the model. It derives the answer from the request alone.
func (w *soakRun) replyTo(r llmtest.Request) (llmtest.Answer, bool) {
	w.calls.Add(1)
	if strings.HasPrefix(r.System, "You shorten the older part") {
		w.summaries.Add(1)
		return llmtest.Answer{Text: `{"goal":"To soak.","state":"All is well.","facts":["a number"],"refs":[],"pins":[],"done":[]}`}, true
	}
	all := word.FindAllStringSubmatch(r.LastUser, -1)
	if all == nil {
		return llmtest.Answer{Text: "What?"}, true
	}
	m := all[len(all)-1]
	kind, n := m[1], m[2]
	use := func(name string, args any) llmtest.Call {
		b, _ := json.Marshal(map[string]any{"name": name, "arguments": args})
		return llmtest.Call{Name: "use_tool", Args: string(b)}
	}
	switch kind {
	case "retry":
		if w.isFirstRequest(n) {
			return llmtest.Answer{Status: http.StatusServiceUnavailable, Header: map[string]string{"Retry-After": "0"}}, true
		}
	case "overflow":
		if w.isFirstRequest(n) {
			return llmtest.Answer{Status: http.StatusBadRequest, Body: `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`}, true
		}
	case "refuse":
		return llmtest.Answer{Status: http.StatusUnprocessableEntity, Body: `{"error":{"message":"I cannot read this."}}`}, true
	case "slow":
		close(w.waitChannel(n))
		w.mu.Lock()
		delete(w.waiting, n)
		w.mu.Unlock()
		return llmtest.Answer{Text: strings.Repeat("well, ", 50), Pieces: 50, Gap: 200 * time.Millisecond}, true
	}
	if len(r.Results) == 0 {
		var calls []llmtest.Call
		switch kind {
		case "task":
			calls = append(calls, use("create_task", map[string]any{"title": "task " + n}))
		case "file":
			calls = append(calls, use("write_file", map[string]any{"path": "~/Documents/soak.txt", "content": "file " + n + "\n"}))
		case "search":
			calls = append(calls, llmtest.Call{Name: "find_tools", Args: `{"query":"Ausgaben notieren ` + n + `"}`})
		case "many":
			for i := range 4 {
				calls = append(calls, use("recall", map[string]any{"query": fmt.Sprintf("%s %d", n, i)}))
			}
		case "wrong":
			calls = append(calls, use("read_file", map[string]any{"path": "~/Documents/none-" + n}), llmtest.Call{Name: "nothing", Args: `{}`})
		}
		if len(calls) > 0 {
			return llmtest.Answer{Calls: calls}, true
		}
	}
	return llmtest.Answer{Text: "Done with " + kind + " " + n + "."}, true
}

// sendMessage sends a message and returns the answer.
func (w *soakRun) sendMessage(ctx context.Context, session, text string) (string, error) {
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return "", err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+w.d.Addr()+"/api/v1/sessions/"+session+"/messages", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	q.Header.Set("Authorization", "Bearer "+w.token)
	q.Header.Set("Content-Type", "application/json")
	res, err := w.client.Do(q)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", res.StatusCode, b)
	}
	var r struct{ Answer string }
	return r.Answer, json.Unmarshal(b, &r)
}
