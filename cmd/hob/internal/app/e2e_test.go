package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/autonomy/config"
	"hob/autonomy/llm/acp/acptest"
	"hob/channels/web"
	"hob/platform/host/command"
	"hob/platform/host/system"
	"hob/platform/store/storetest"
	"hob/platform/text/document"
)

func TestMain(m *testing.M) {
	acptest.Main()
	if len(os.Args) == 2 && os.Args[1] == document.Helper {
		os.Exit(document.Serve(os.Stdin, os.Stdout)) // os.Exit reports the data races that the race detector found
	}
	if len(os.Args) == 2 && os.Args[1] == command.Helper {
		syscall.Exit(command.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// daemonFixture is a complete Hob on a free port, with its own home.
type daemonFixture struct {
	t     *testing.T
	d     *App
	home  string
	token string
	stop  func()
}

func openDaemon(t *testing.T, conf string) *daemonFixture {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	return openAt(t, home, conf)
}

func openAt(t *testing.T, home, conf string) *daemonFixture {
	t.Helper()
	return openAtModel(t, home, "offline", conf)
}

func openAtModel(t *testing.T, home, model, conf string) *daemonFixture {
	t.Helper()
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	return openWith(t, home, Options{Paths: paths}, "[agent]\nmodel = \""+model+"\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n"+conf)
}

// openWith opens a Hob on home. It reads nothing from the environment if o.Paths and o.UserHome are
// set.
func openWith(t *testing.T, home string, o Options, conf string) *daemonFixture {
	t.Helper()
	c, err := config.Parse("config.toml", []byte(conf))
	failOnError(t, err)
	o.Config, o.Version = c, cmp.Or(o.Version, "test")
	if o.Helper == nil {
		exe, err := os.Executable()
		failOnError(t, err)
		o.Helper = []string{exe, command.Helper}
		o.Reader = []string{exe, document.Helper}
	}
	furnish(t, o.Paths.Database())
	c.Store.URL = cmp.Or(c.Store.URL, storetest.URL(t, o.Paths.Database(), Migrations()))
	d, err := Open(t.Context(), o)
	failOnError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	select {
	case <-d.Ready():
	case err := <-done:
		t.Fatalf("the daemon ended: %v", err)
	}
	h := &daemonFixture{t: t, d: d, home: home}
	token, err := os.ReadFile(o.Paths.TokenFile())
	failOnError(t, err)
	h.token = strings.TrimSpace(string(token))
	var once bool
	h.stop = func() {
		if once {
			return
		}
		once = true
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := errors.Join(<-done, d.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(h.stop)
	return h
}

// furnish creates an empty database in a new home.
var furnish = storetest.Empty(Migrations)

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (h *daemonFixture) callAPI(method, path string, in any) (int, []byte) {
	h.t.Helper()
	body, err := json.Marshal(in)
	failOnError(h.t, err)
	return h.apiCtx(h.t.Context(), method, path, body)
}

func (h *daemonFixture) apiCtx(ctx context.Context, method, path string, body []byte) (int, []byte) {
	h.t.Helper()
	host := h.d.Addr()
	if h.d.opt.InProcess {
		host = "127.0.0.1:0"
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+host+path, bytes.NewReader(body))
	failOnError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(web.ClientHeader, "test")
	client := http.DefaultClient
	if h.d.opt.InProcess {
		client = h.d.Client()
	}
	res, err := client.Do(req)
	failOnError(h.t, err)
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	failOnError(h.t, err)
	return res.StatusCode, out
}

// askHob sends a message from the owner and returns the answer.
func (h *daemonFixture) askHob(text string) string {
	h.t.Helper()
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", map[string]string{"text": text})
	var r struct{ Answer string }
	if code != http.StatusOK || json.Unmarshal(body, &r) != nil {
		h.t.Fatalf("%q: %d %s", text, code, body)
	}
	return r.Answer
}

type deliveryRow struct{ ID, Kind, Text, Session, State string }

// awaitDelivery returns the first delivery of the kind whose text matches pattern. Like hob chat, it reports
// a question as displayed.
func (h *daemonFixture) awaitDelivery(kind, pattern string) deliveryRow {
	h.t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.Now().Add(60 * time.Second)
	var all []deliveryRow
	for time.Now().Before(deadline) {
		code, body := h.callAPI(http.MethodGet, "/api/v1/deliveries", nil)
		all = nil
		if code != http.StatusOK || json.Unmarshal(body, &all) != nil {
			h.t.Fatalf("deliveries: %d %s", code, body)
		}
		if i := slices.IndexFunc(all, func(s deliveryRow) bool { return s.Kind == kind && re.MatchString(s.Text) }); i >= 0 {
			if kind == "question" {
				if code, body := h.callAPI(http.MethodPost, "/api/v1/deliveries/"+all[i].ID+"/shown", struct{}{}); code != http.StatusOK {
					h.t.Fatalf("shown: %d %s", code, body)
				}
			}
			return all[i]
		}
		time.Sleep(20 * time.Millisecond)
	}
	h.t.Fatalf("no %s matches %q in %+v", kind, pattern, all)
	return deliveryRow{}
}

// The first five minutes of a new user, without a configuration.
func TestDaemon_FirstFiveMinutes(t *testing.T) {
	h := openDaemon(t, "")
	downloads := filepath.Join(h.home, "Downloads")
	failOnError(t, os.Mkdir(downloads, 0o700))
	for _, tc := range []struct{ say, answer string }{
		{"hello", `(?i)h(ello|i)`},
		{"remember that my sister's birthday is on 3 May", `(?i)remember|noted|keep`},
		{"when is my sister's birthday?", `3 May`},
		{"what did I ask you to remember?", `3 May`},
		{"watch ~/Downloads for PDF files and tell me", `(?i)watch`},
		{"every weekday at 8:00 brief me", `(?i)weekday`},
		{"spent 12.50 on lunch", `12\.50`},
		{"how much did I spend this month?", `12\.50`},
		{"add a task to call the plumber tomorrow at 9", `(?i)plumber`},
		{"what are my tasks?", `(?i)plumber`},
		{"undo that", `(?i)undo|undone|nothing|took back|deleted|removed`},
		{"I meditated for 20 minutes", `(?i)meditat`},
		{"note: the wifi code is 1234", `(?i)note`},
		{"brief me", `.`},
		{"status", `(?i)offline|built-in`},
		{"flurb the garblewaxer", `(?i)understand|know how`},
	} {
		if got := h.askHob(tc.say); !regexp.MustCompile(tc.answer).MatchString(got) {
			t.Errorf("%q was answered %q, want something like %q", tc.say, got, tc.answer)
		} else {
			t.Logf("%s\n    %s", tc.say, strings.ReplaceAll(got, "\n", "\n    "))
		}
	}
	failOnError(t, os.WriteFile(filepath.Join(downloads, "noise.txt"), []byte("x"), 0o600))
	failOnError(t, os.WriteFile(filepath.Join(downloads, "invoice.pdf"), []byte("%PDF"), 0o600))
	if n := h.awaitDelivery("notice", `invoice\.pdf`); n.Session != "home" || n.State != "sent" {
		t.Errorf("the notice: %+v", n)
	}
	h.askHob("remind me in 1 second to stretch")
	h.awaitDelivery("notice", `(?i)stretch`)
}

// Forgetting requires approval in the chat; "yes" approves it.
func TestForget_NeedsApproval(t *testing.T) {
	h := openDaemon(t, "")
	h.askHob("remember that the code is 9911")
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", map[string]string{"text": "forget the code"})
	if code != http.StatusAccepted || !strings.Contains(string(body), "approvals") {
		t.Fatalf("%d %s", code, body)
	}
	h.awaitDelivery("question", `(?i)forget`)
	h.askHob("yes")
	h.awaitDelivery("reply", `(?i)forg[eo]t`)
	if got := h.askHob("what did I ask you to remember?"); strings.Contains(got, "9911") {
		t.Errorf("the forgotten fact is still known: %q", got)
	}
}

// An open approval request whose text was erased is withdrawn. Its conversation continues at once
// instead of waiting for an answer that can no longer be given.
func TestForget_WithdrawsARequest(t *testing.T) {
	h := openDaemon(t, "")
	h.askHob("remember that the code is Kestrel-9911")
	event, _ := h.sendForApproval("forget Kestrel-9911")
	code, body := h.postMessage("other", "forget Kestrel-9911")
	var waits struct{ Approvals []struct{ ID string } }
	if code != http.StatusAccepted || json.Unmarshal([]byte(body), &waits) != nil || len(waits.Approvals) != 1 {
		t.Fatalf("%d %s", code, body)
	}
	h.postMessage("other", "/yes "+waits.Approvals[0].ID)
	if got := h.awaitEnd(event); strings.Contains(got.Answer, "9911") {
		t.Errorf("awaitEnd = %+v", got)
	}
	if got := h.askHob("what are my tasks?"); !strings.Contains(got, "task") {
		t.Errorf("%q", got)
	}
}

// A stop directly after the start is not an error.
func TestDaemon_StopDuringTheStart(t *testing.T) {
	for range 10 {
		openDaemon(t, "").stop() // fails the test when Run returns an error
	}
}

// Messages survive a restart, and a reminder that became due in the meantime arrives late.
func TestDaemon_RestartLosesNothing(t *testing.T) {
	h := openDaemon(t, "")
	h.askHob("remember that the code is 9911")
	h.askHob("remind me in 1 second to stretch")
	h.stop()
	time.Sleep(1200 * time.Millisecond)
	h = openAt(t, h.home, "")
	h.awaitDelivery("notice", `(?i)stretch`)
	if got := h.askHob("what is the code?"); !strings.Contains(got, "9911") {
		t.Errorf("answer after a restart = %q", got)
	}
}

// A message after an approval request is answered while the request stays open. After that, an
// answer must name the request.
func TestDaemon_MessageAfterARequest(t *testing.T) {
	h := openDaemon(t, "")
	h.askHob("remember that the code is 9911")
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", map[string]string{"text": "forget the code"})
	if code != http.StatusAccepted || !strings.Contains(string(body), `"tool":"forget"`) {
		t.Fatalf("%d %s", code, body)
	}
	if got := h.askHob("what are my tasks?"); got != "There are no open tasks." {
		t.Errorf("answer to a message after the request = %q", got)
	}
	var waits struct{ Approvals []struct{ ID string } }
	failOnError(t, json.Unmarshal(body, &waits))
	if got := h.askHob("no"); !strings.Contains(got, "/no "+waits.Approvals[0].ID) {
		t.Errorf("answer to a bare \"no\" after another message = %q", got)
	}
	h.askHob("/no " + waits.Approvals[0].ID)
	if got := h.awaitDelivery("reply", `I changed nothing`); strings.Contains(got.Text, "[hint]") {
		t.Errorf("the answer shows a hint for models: %q", got.Text)
	}
	if got := h.askHob("what is the code?"); !strings.Contains(got, "9911") {
		t.Errorf("answer after \"no\" = %q", got)
	}
}

// skipRaced skips a test if the race detector is on. It is for tests that compare a deterministic
// run with a committed file and are many times slower with the detector. make test runs them
// without it.
func skipRaced(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("make test runs it without the race detector")
	}
}
