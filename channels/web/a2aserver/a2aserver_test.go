package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/autonomy/api"
	"hob/channels"
	"hob/platform/net/hooksig"
	"hob/platform/net/safehttp"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeEngine is an engine whose events end when the test decides.
type fakeEngine struct {
	mu     sync.Mutex
	n      int
	keys   map[string]string
	texts  map[string]string
	events map[string]*api.EventStatus
	last   channels.Inbound
	refuse error
	ended  map[string]bool // ids of revoked clients
}

func (e *fakeEngine) Receive(_ context.Context, in channels.Inbound) (channels.Accepted, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuse != nil {
		return channels.Accepted{}, e.refuse
	}
	e.last = in
	if id := e.keys[in.Key]; id != "" {
		return channels.Accepted{Event: id, Repeated: true, Differs: e.texts[id] != in.Text}, nil
	}
	e.n++
	id := fmt.Sprintf("event-%04d", e.n)
	e.keys[in.Key], e.texts[id] = id, in.Text
	e.events[id] = &api.EventStatus{ID: id, Session: in.Session, State: "claimed"}
	return channels.Accepted{Event: id}, nil
}

func (e *fakeEngine) Event(_ context.Context, id string) (api.EventStatus, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if st := e.events[id]; st != nil {
		return *st, nil
	}
	return api.EventStatus{}, api.ErrNotFound
}

func (e *fakeEngine) Wait(ctx context.Context, id string) (api.EventStatus, error) {
	for {
		st, err := e.Event(ctx, id)
		if err != nil || st.State == "done" || st.State == "dead" || len(st.Approvals) > 0 {
			return st, err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return st, ctx.Err()
		}
	}
}

func (e *fakeEngine) CancelEvent(_ context.Context, id string) (bool, error) {
	return true, e.endEvent(id, "dead", "")
}

func (e *fakeEngine) endEvent(id, state, answer string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events[id].State, e.events[id].Answer, e.events[id].Approvals = state, answer, nil
	return nil
}

func (e *fakeEngine) AuthenticateClient(_ context.Context, kind, token string) (api.Client, error) {
	name, ok := strings.CutPrefix(token, "token-")
	if !ok || kind != "a2a" {
		return api.Client{}, fmt.Errorf("%w: unknown token", api.ErrDenied)
	}
	if valid, _ := e.IsClientValid(context.Background(), kind, "id-"+name); !valid {
		return api.Client{}, fmt.Errorf("%w: revoked", api.ErrDenied)
	}
	id := "id-" + name // "peer#2" is another client with the name "peer"
	name, _, _ = strings.Cut(name, "#")
	return api.Client{ID: id, Kind: kind, Name: name}, nil
}

func (e *fakeEngine) IsClientValid(_ context.Context, _, id string) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.ended[id], nil
}

func (e *fakeEngine) revokeClient(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended["id-"+name] = true
}

// bench is a server with a client.
type bench struct {
	t      *testing.T
	s      *Server
	engine *fakeEngine
	mux    *http.ServeMux
}

func newBench(t *testing.T, allow ...string) *bench {
	t.Helper()
	db, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{Migrations()}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	network, err := safehttp.New(safehttp.Options{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, engine: &fakeEngine{keys: map[string]string{}, texts: map[string]string{}, events: map[string]*api.EventStatus{}, ended: map[string]bool{}}, mux: http.NewServeMux()}
	if b.s, err = New(Options{Store: db, Engine: b.engine, Network: network, Name: "Hob", Version: "1", Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	for _, p := range b.s.Protocols() {
		b.mux.Handle(p.Pattern, p.Handler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, db.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) sendRequest(method, path, client, body string, head ...string) (int, string) {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("A2A-Version", "1.0")
	if client != "" {
		r.Header.Set("Authorization", "Bearer token-"+client)
	}
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	b.mux.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// callRPC calls a method and returns the result, or the code of the error.
func (b *bench) callRPC(client, method, params string) (result string, code int) {
	b.t.Helper()
	_, body := b.sendRequest(http.MethodPost, RPCPath, client, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
	var out struct {
		Result json.RawMessage
		Error  *struct{ Code int }
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		b.t.Fatalf("%s: %v in %s", method, err, body)
	}
	if out.Error != nil {
		return body, out.Error.Code
	}
	return string(out.Result), 0
}

func messageJSON(id, text, more string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]%s},"configuration":{"returnImmediately":true}}`, id, text, more)
}

// sendMessage sends a message and returns the id of its task.
func (b *bench) sendMessage(client, id, text, more string) string {
	b.t.Helper()
	result, code := b.callRPC(client, "SendMessage", messageJSON(id, text, more))
	var out struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(result), &out); err != nil || code != 0 || out.Task.ID == "" {
		b.t.Fatalf("SendMessage = %s, %d", result, code)
	}
	return out.Task.ID
}

func (b *bench) taskState(client, task string) string {
	b.t.Helper()
	result, code := b.callRPC(client, "GetTask", `{"id":"`+task+`"}`)
	var out struct{ Status struct{ State string } }
	if err := json.Unmarshal([]byte(result), &out); err != nil || code != 0 {
		return fmt.Sprint(code)
	}
	return out.Status.State
}

func TestServer_RejectsInvalidRequests(t *testing.T) {
	b := newBench(t)
	text := `"parts":[{"text":"hello"}]`
	for name, tc := range map[string]struct {
		body string
		code int
	}{
		"not JSON":                   {`{"jsonrpc`, -32700},
		"a batch":                    {`[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]`, -32600},
		"another version":            {`{"jsonrpc":"1.0","id":1,"method":"GetTask","params":{}}`, -32600},
		"an id that is an object":    {`{"jsonrpc":"2.0","id":{},"method":"GetTask","params":{}}`, -32600},
		"a method that is a number":  {`{"jsonrpc":"2.0","id":1,"method":5,"params":{}}`, -32600},
		"an unknown method":          {`{"jsonrpc":"2.0","id":1,"method":"Nothing","params":{}}`, -32601},
		"no parameters":              {`{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, -32602},
		"parameters in a list":       {`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}`, -32602},
		"no message":                 {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}`, -32602},
		"no messageId":               {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"role":"ROLE_USER",` + text + `}}}`, -32602},
		"the role of the agent":      {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_AGENT",` + text + `}}}`, -32602},
		"no parts":                   {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[]}}}`, -32602},
		"a part without content":     {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{}]}}}`, -32602},
		"an address of a file":       {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"url":"http://169.254.169.254/"}]}}}`, -32005},
		"a program":                  {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"raw":"TVqQ"}]}}}`, -32005},
		"a contextId with a colon":   {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","contextId":"a:b","role":"ROLE_USER",` + text + `}}}`, -32602},
		"an unknown taskId":          {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","taskId":"x","role":"ROLE_USER",` + text + `}}}`, -32001},
		"a page that is too large":   {`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":101}}`, -32602},
		"a page token of its own":    {`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageToken":"x"}}`, -32602},
		"an extended card":           {`{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard","params":{}}`, -32007},
		"a push address inside":      {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER",` + text + `},"configuration":{"taskPushNotificationConfig":{"url":"http://127.0.0.1:1/"}}}}`, -32602},
		"a push address without TLS": {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER",` + text + `},"configuration":{"taskPushNotificationConfig":{"url":"http://example.org/"}}}}`, -32602},
	} {
		t.Run(name, func(t *testing.T) {
			_, body := b.sendRequest(http.MethodPost, RPCPath, "peer", tc.body)
			var out struct{ Error struct{ Code int } }
			if err := json.Unmarshal([]byte(body), &out); err != nil || out.Error.Code != tc.code {
				t.Errorf("%s: code %d, want %d: %s", tc.body, out.Error.Code, tc.code, body)
			}
		})
	}
	if b.engine.n != 0 {
		t.Errorf("%d messages were accepted", b.engine.n)
	}
	for _, version := range []string{"", "0.3", "2.0"} {
		if _, body := b.sendRequest(http.MethodPost, RPCPath, "peer", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}`, "A2A-Version", version); !strings.Contains(body, "-32009") {
			t.Errorf("version %q: %s", version, body)
		}
	}
	if status, _ := b.sendRequest(http.MethodPost, RPCPath, "peer", strings.Repeat("a", maxBody+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("request above the limit: status %d", status)
	}
}

func TestServer_SeparatesClients(t *testing.T) {
	b := newBench(t)
	if status, _ := b.sendRequest(http.MethodPost, RPCPath, "", messageJSON("1", "hello", "")); status != http.StatusUnauthorized {
		t.Errorf("without a token: status %d", status)
	}
	task := b.sendMessage("peer", "m1", "hello", "")
	if in := b.engine.last; in.FromOwner || in.Channel != "a2a" || in.Sender != "peer" || !strings.HasPrefix(in.Session, "a2a:peer:") {
		t.Errorf("received %+v", in)
	}
	if again := b.sendMessage("peer", "m1", "hello", ""); again != task {
		t.Errorf("a repeated message made the task %s, want %s", again, task)
	}
	if _, code := b.callRPC("peer", "SendMessage", messageJSON("m1", "another text", "")); code != -32602 {
		t.Errorf("another text with the same messageId: code %d", code)
	}
	if other := b.sendMessage("other", "m1", "hello", ""); other == task {
		t.Error("two clients share a task")
	}
	for _, method := range []string{"GetTask", "CancelTask"} {
		if _, code := b.callRPC("other", method, `{"id":"`+task+`"}`); code != -32001 {
			t.Errorf("%s of a foreign task: code %d, want -32001", method, code)
		}
	}
	if _, code := b.callRPC("other", "SendMessage", messageJSON("m2", "continue", `,"taskId":"`+task+`"`)); code != -32001 {
		t.Errorf("message to a foreign task: code %d", code)
	}
	for _, method := range []string{"ListTaskPushNotificationConfigs", "GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"} {
		if _, code := b.callRPC("other", method, `{"taskId":"`+task+`","id":"1"}`); code != -32001 {
			t.Errorf("%s of a foreign task: code %d", method, code)
		}
	}
	if list, _ := b.callRPC("other", "ListTasks", `{}`); strings.Contains(list, task) {
		t.Errorf("foreign task listed: %s", list)
	}
}

func TestServer_ShowsTheStateOfTheEvent(t *testing.T) {
	b := newBench(t)
	task := b.sendMessage("peer", "m1", "do it", "")
	b.engine.mu.Lock()
	b.engine.events[task].Approvals = []api.Approval{{ID: "secret-question"}}
	b.engine.mu.Unlock()
	result, _ := b.callRPC("peer", "GetTask", `{"id":"`+task+`"}`)
	if !strings.Contains(result, "TASK_STATE_WORKING") || strings.Contains(result, "secret-question") {
		t.Errorf("result while the user is asked: %s", result)
	}
	if err := b.engine.endEvent(task, "done", "Which one?"); err != nil {
		t.Fatal(err)
	}
	if got := b.taskState("peer", task); got != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatalf("state after a question: %s", got)
	}
	if id := b.sendMessage("peer", "m2", "the red one", `,"taskId":"`+task+`"`); id != task {
		t.Errorf("the answer made the task %s, want %s", id, task)
	}
	if got := b.taskState("peer", task); got != "TASK_STATE_WORKING" {
		t.Errorf("state after the answer: %s", got)
	}
	if err := b.engine.endEvent("event-0002", "done", "Done."); err != nil {
		t.Fatal(err)
	}
	result, _ = b.callRPC("peer", "GetTask", `{"id":"`+task+`"}`)
	if strings.Count(result, `"role":"ROLE_USER"`) != 2 || !strings.Contains(result, "Which one?") || !strings.Contains(result, "TASK_STATE_COMPLETED") {
		t.Errorf("complete task: %s", result)
	}
	if short, _ := b.callRPC("peer", "GetTask", `{"id":"`+task+`","historyLength":1}`); strings.Contains(short, "the red one") {
		t.Errorf("historyLength 1: %s", short)
	}
	for _, method := range []string{"CancelTask", "SubscribeToTask"} {
		if body, code := b.rpcOrStream(method, `{"id":"`+task+`"}`); code == 0 {
			t.Errorf("%s of an ended task: %s", method, body)
		}
	}
	if _, code := b.callRPC("peer", "SendMessage", messageJSON("m3", "more", `,"taskId":"`+task+`"`)); code != -32004 {
		t.Errorf("message to an ended task: code %d, want -32004", code)
	}
}

func (b *bench) rpcOrStream(method, params string) (string, int) {
	b.t.Helper()
	_, body := b.sendRequest(http.MethodPost, RPCPath, "peer", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
	if strings.Contains(body, `"error"`) {
		return body, 1
	}
	return body, 0
}

func TestServer_StreamsUntilTheEnd(t *testing.T) {
	b := newBench(t)
	time.AfterFunc(50*time.Millisecond, func() { _ = b.engine.endEvent("event-0001", "done", "The answer.") })
	_, body := b.sendRequest(http.MethodPost, RESTPath+"/message:stream", "peer", messageJSON("m1", "hello", ""))
	at := 0
	for _, want := range []string{"TASK_STATE_SUBMITTED", `"artifactUpdate"`, "The answer.", "TASK_STATE_COMPLETED"} {
		i := strings.Index(body[at:], want)
		if i < 0 {
			t.Fatalf("%s is missing in %s", want, body[at:])
		}
		at += i
	}
}

func TestServer_CancelsAndLists(t *testing.T) {
	b := newBench(t)
	var tasks []string
	for i := range 5 {
		tasks = append(tasks, b.sendMessage("peer", fmt.Sprint("m", i), "hello", ""))
	}
	time.Sleep(2 * time.Millisecond) // change times have a resolution of 1 ms
	if _, code := b.callRPC("peer", "CancelTask", `{"id":"`+tasks[2]+`"}`); code != 0 {
		t.Errorf("CancelTask: code %d", code)
	}
	if got := b.taskState("peer", tasks[2]); got != "TASK_STATE_CANCELED" {
		t.Errorf("state = %s", got)
	}
	if st, _ := b.engine.Event(t.Context(), tasks[2]); st.State != "dead" {
		t.Errorf("the event still runs: %+v", st)
	}
	var seen []string
	token := ""
	for range 4 {
		result, code := b.callRPC("peer", "ListTasks", fmt.Sprintf(`{"pageSize":2,"pageToken":%q}`, token))
		var page struct {
			Tasks         []struct{ ID string }
			TotalSize     int
			NextPageToken string
		}
		if err := json.Unmarshal([]byte(result), &page); err != nil || code != 0 || page.TotalSize != 5 {
			t.Fatalf("ListTasks = %s, %d", result, code)
		}
		for _, x := range page.Tasks {
			seen = append(seen, x.ID)
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if len(seen) != 5 || seen[0] != tasks[2] {
		t.Errorf("pages contain %v", seen)
	}
	if result, _ := b.callRPC("peer", "ListTasks", `{"status":"TASK_STATE_CANCELED"}`); strings.Count(result, `"status"`) != 1 || !strings.Contains(result, tasks[2]) {
		t.Errorf("canceled tasks: %s", result)
	}
}

func TestServer_LimitsAClient(t *testing.T) {
	b := newBench(t)
	for i := range maxOpen {
		b.sendMessage("flood", fmt.Sprint(i), "hello", "")
	}
	if result, code := b.callRPC("flood", "SendMessage", messageJSON("last", "hello", "")); code != -32000 || !strings.Contains(result, "too many open tasks") {
		t.Errorf("one more task: %d, %s", code, result)
	}
	b.sendMessage("peer", "m1", "hello", "") // another client is not affected
	b.engine.refuse = channels.ErrStranger
	if _, code := b.callRPC("peer", "SendMessage", messageJSON("m2", "hello", "")); code != -32000 {
		t.Errorf("over the hourly limit: code %d", code)
	}
}

// pushReceiver is a webhook that records what it receives.
type pushReceiver struct {
	mu   sync.Mutex
	got  []*http.Request
	body [][]byte
}

func (p *pushReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got, p.body = append(p.got, r), append(p.body, b)
	if len(p.got) == 1 {
		w.WriteHeader(http.StatusServiceUnavailable) // the first try fails
	}
}

func TestServer_SignsPushNotifications(t *testing.T) {
	receiver := &pushReceiver{}
	web := httptest.NewServer(receiver)
	defer web.Close()
	b := newBench(t, strings.TrimPrefix(web.URL, "http://"))
	task := b.sendMessage("peer", "m1", "hello", "")
	config := `{"taskId":"` + task + `","url":"` + web.URL + `/hook","token":"mine","authentication":{"scheme":"Bearer","credentials":"secret-1"}}`
	result, code := b.callRPC("peer", "CreateTaskPushNotificationConfig", config)
	if code != 0 || strings.Contains(result, "secret-1") {
		t.Fatalf("CreateTaskPushNotificationConfig = %s, %d", result, code)
	}
	if err := b.engine.endEvent(task, "done", "The answer."); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(60 * time.Second)
	for {
		receiver.mu.Lock()
		n := len(receiver.got)
		receiver.mu.Unlock()
		if n >= 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no notification arrived")
		}
		time.Sleep(10 * time.Millisecond)
	}
	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	r, body := receiver.got[1], receiver.body[1]
	proof, err := hooksig.Read(r.Header, []byte(PushKey("token-peer")), body, time.Now())
	if err != nil || !proof.Fits || proof.Stale {
		t.Errorf("signature: %+v, %v", proof, err)
	}
	if r.Header.Get("X-A2A-Notification-Token") != "mine" || r.Header.Get("Authorization") != "Bearer secret-1" || !bytes.Contains(body, []byte("The answer.")) {
		t.Errorf("received %v %s", r.Header, body)
	}
	if receiver.got[0].Header.Get(hooksig.Key) != r.Header.Get(hooksig.Key) {
		t.Error("a repeated notification has another key")
	}
}

func TestServer_PublishesACardWithoutSecrets(t *testing.T) {
	b := newBench(t)
	status, body := b.sendRequest(http.MethodGet, CardPath, "", "")
	if status != http.StatusOK || !strings.Contains(body, `"protocolBinding":"HTTP+JSON"`) || strings.Contains(body, "token-") {
		t.Errorf("card: %d %s", status, body)
	}
}
