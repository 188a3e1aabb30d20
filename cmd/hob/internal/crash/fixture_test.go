//go:build unix

// Package crash kills the real daemon at failpoints and at random instants while messages, files
// and reminders arrive, and then counts the deliveries at a receiver that drops repeated keys:
// nothing is lost, nothing is reported twice, no effect happens twice. It contains only tests.
package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hob/autonomy/llm/acp/acptest"
	"hob/autonomy/llm/llmtest"
	"hob/platform/net/nettest"
)

// delivery is one POST that reached the receiver.
type delivery struct {
	ID    string `json:"id"`
	Event string `json:"event"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
}

// receiver stores the first copy for each key, as the webhook protocol requires.
type receiver struct {
	mu      sync.Mutex
	byKey   map[string]delivery
	copies  int
	clashes []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	var d delivery
	if err != nil || json.Unmarshal(body, &d) != nil {
		http.Error(w, "bad body", http.StatusBadRequest)
		return
	}
	key := q.Header.Get("Idempotency-Key")
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, ok := r.byKey[key]; ok {
		r.copies++
		if first != d {
			r.clashes = append(r.clashes, key)
		}
		return
	}
	r.byKey[key] = d
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byKey)
}

func (r *receiver) all() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]delivery, 0, len(r.byKey))
	for _, d := range r.byKey {
		out = append(out, d)
	}
	return out
}

// daemonFixture is a daemon with its environment.
type daemonFixture struct {
	t          *testing.T
	bin, dir   string
	addr       string
	receiver   *receiver
	client     *http.Client
	rnd        *rand.Rand
	daemon     *exec.Cmd
	exited     chan struct{}
	log        *os.File
	points     map[string]int // kills by failpoint
	random     int            // kills at random instants
	starts     int
	effectsLog string
	drop       string
	env        []string                                     // additional environment of the daemon
	replies    func(llmtest.Request) (llmtest.Answer, bool) // replaces reply if set
}

func newFixture(t *testing.T, seed uint64) *daemonFixture {
	t.Helper()
	bin, err := program()
	check(t, err)
	w := &daemonFixture{
		t: t, bin: bin, dir: t.TempDir(), rnd: rand.New(rand.NewPCG(seed, 1)), points: map[string]int{},
		receiver: &receiver{byKey: map[string]delivery{}}, client: &http.Client{Timeout: 5 * time.Second},
	}
	home := filepath.Join(w.dir, "user")
	w.effectsLog = filepath.Join(home, "Documents", "effects.log")
	w.drop = filepath.Join(home, "Downloads")
	for _, d := range []string{filepath.Dir(w.effectsLog), w.drop, filepath.Join(w.dir, "hob-home")} {
		check(t, os.MkdirAll(d, 0o700))
	}
	model := llmtest.NewServer(t, llmtest.Options{Reply: w.reply, Keep: 1})
	hook := w.serve()
	w.addr = "127.0.0.1:" + nettest.FreePort(t)
	conf := fmt.Sprintf(`[agent]
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
`, model.URL, w.addr, hook)
	check(t, os.WriteFile(filepath.Join(w.dir, "hob-home", "config.toml"), []byte(conf), 0o600))
	w.log, err = os.OpenFile(filepath.Join(w.dir, "daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(t, err)
	t.Cleanup(func() {
		w.kill()
		_ = w.log.Close()
		if t.Failed() {
			b, _ := os.ReadFile(w.log.Name())
			t.Logf("end of the daemon's log:\n%s", b[max(0, len(b)-4000):])
		}
	})
	return w
}

// program builds the program with its failpoints, once for all tests.
var program = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(workshop, "hob")
	cmd := exec.Command("go", "build", "-ldflags", "-s -w -X hob/platform/failpoint.enabled=yes", "-o", bin, "hob/cmd/hob")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in a release
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return bin, nil
})

// workshop is the folder of the program.
var workshop string

func TestMain(m *testing.M) {
	acptest.Main()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hob-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	workshop = dir
	return m.Run()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *daemonFixture) serve() string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(w.t, err)
	srv := &http.Server{Handler: w.receiver, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	w.t.Cleanup(func() { _ = srv.Close(); <-done })
	return "http://" + ln.Addr().String() + "/hook"
}

var jobWord = regexp.MustCompile(`(job|ring|watch|tick|crew|part) (\d+)`)

// reply returns the model's answer. It depends only on the conversation, so that a killed turn
// continues as if it had not been interrupted.
func (w *daemonFixture) reply(r llmtest.Request) (llmtest.Answer, bool) {
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

// start starts the daemon, with a failpoint if point is not "", and reports whether the daemon
// became ready.
func (w *daemonFixture) start(point string) bool {
	w.starts++
	cmd := exec.Command(w.bin, "start", "--foreground")
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(w.dir, "user"), "HOB_HOME="+filepath.Join(w.dir, "hob-home"), "TZ=UTC")
	cmd.Env = append(cmd.Env, w.env...)
	if point != "" {
		cmd.Env = append(cmd.Env, "HOB_FAILPOINT="+point)
	}
	cmd.Stdout, cmd.Stderr = w.log, w.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check(w.t, cmd.Start())
	w.daemon, w.exited = cmd, make(chan struct{})
	go func(done chan struct{}) { _ = cmd.Wait(); close(done) }(w.exited)
	deadline := time.After(60 * time.Second)
	for {
		res, err := w.client.Get("http://" + w.addr + "/readyz")
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return true
			}
		}
		select {
		case <-w.exited:
			return false
		case <-deadline:
			w.t.Fatal("the daemon did not start")
		case <-time.After(3 * time.Millisecond):
		}
	}
}

// kill kills the daemon with SIGKILL. It returns false if the daemon had already ended.
func (w *daemonFixture) kill() bool {
	if w.daemon == nil {
		return false
	}
	defer func() { w.daemon = nil }()
	select {
	case <-w.exited:
		return false
	default:
	}
	_ = syscall.Kill(-w.daemon.Process.Pid, syscall.SIGKILL)
	<-w.exited
	return true
}

// stop stops the daemon normally.
func (w *daemonFixture) stop() {
	check(w.t, w.daemon.Process.Signal(syscall.SIGTERM))
	select {
	case <-w.exited:
	case <-time.After(60 * time.Second):
		w.t.Error("the daemon did not stop on SIGTERM")
		w.kill()
	}
	w.daemon = nil
}

var errRefused = errors.New("refused")

func (w *daemonFixture) call(ctx context.Context, method, path string, in, out any) error {
	token, err := os.ReadFile(filepath.Join(w.dir, "hob-home", "token"))
	if err != nil {
		return err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(ctx, method, "http://"+w.addr+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("X-Hob-Client", "crash-test") // a bare yes or no counts only from the client that displayed the question
	res, err := w.client.Do(q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%w: %d %s", errRefused, res.StatusCode, b)
	}
	return json.Unmarshal(b, out)
}

// send posts a message until it is acknowledged, across any number of crashes.
func (w *daemonFixture) send(ctx context.Context, text string) (event string) {
	return w.sendTo(ctx, "webhook:crash"+text[:1], text)
}

func (w *daemonFixture) sendTo(ctx context.Context, session, text string) (event string) {
	for ctx.Err() == nil {
		var r struct {
			Event string `json:"event"`
		}
		err := w.call(ctx, http.MethodPost, "/api/v1/sessions/"+session+"/messages", map[string]any{"text": text, "dedupe_key": session + text, "async": true}, &r)
		if err == nil {
			return r.Event
		}
		if errors.Is(err, errRefused) {
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
