package web_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/api"
	"hob/channels"
	"hob/channels/web"
)

const png = "\x89PNG\r\n\x1a\n0000"

func encodeImage() string { return base64.StdEncoding.EncodeToString([]byte(png)) }

func TestMessage(t *testing.T) {
	h := newServerFixture(t, nil)
	r := h.sendRequest(t, "POST", "/api/v1/sessions/my%20chat/messages", `{"text":"hello <b>","dedupe_key":"k1","attachments":[{"mime":"image/png","data":"`+encodeImage()+`"}]}`)
	want := map[string]any{
		"answer": "echo: hello <b>", "session": "my chat", "event": "e1", "tools": []any{},
		"usage": map[string]any{"input": 3.0, "output": 2.0},
	}
	if d := cmp.Diff(want, decodeAs[map[string]any](t, r)); r.code != 200 || d != "" {
		t.Errorf("%d %s", r.code, d)
	}
	got := h.e.heard[0]
	got.At = got.At.Truncate(1 << 62)
	wantIn := channels.Inbound{
		Channel: "web", Chat: "my chat", Session: "my chat", Sender: "owner", FromOwner: true, Via: "api", Text: "hello <b>", Key: "my chat/k1",
		Images: []channels.Image{{MIME: "image/png", Data: []byte(png)}}, At: got.At,
	}
	if d := cmp.Diff(wantIn, got); d != "" {
		t.Error(d)
	}
	again := decodeAs[map[string]any](t, h.sendRequest(t, "POST", "/api/v1/sessions/my%20chat/messages", `{"text":"hello <b>","dedupe_key":"k1"}`))
	if again["event"] != "e1" || len(h.e.heard) != 1 {
		t.Errorf("the message with the same key was accepted twice: %v", again)
	}
	if other := decodeAs[map[string]any](t, h.sendRequest(t, "POST", "/api/v1/sessions/other/messages", `{"text":"hello","dedupe_key":"k1"}`)); other["event"] != "e2" {
		t.Errorf("the key of another session counts as a repeat: %v", other)
	}
	h.sendRequest(t, "POST", "/api/v1/sessions/s/messages", `{"text":"x"}`, "Idempotency-Key", "h1", "X-Hob-Channel", "terminal")
	if in := h.e.heard[2]; in.Key != "s/h1" || in.Channel != "terminal" {
		t.Errorf("header key %q, channel %q", in.Key, in.Channel)
	}
}

func TestMessage_Async(t *testing.T) {
	h := newServerFixture(t, nil)
	r := h.sendRequest(t, "POST", "/api/v1/sessions/s/messages", `{"text":"hello","async":true}`)
	if got := decodeAs[map[string]any](t, r); r.code != 202 || got["event"] != "e1" || r.header.Get("Location") != "/api/v1/inbox/e1" {
		t.Errorf("%d %s", r.code, r.body)
	}
	r = h.sendRequest(t, "GET", "/api/v1/inbox/e1", "")
	if got := decodeAs[map[string]any](t, r); got["id"] != "e1" || got["state"] != "done" || got["attempts"] != 1.0 || got["answer"] != "echo: hello" {
		t.Errorf("%d %s", r.code, r.body)
	}
	if r := h.sendRequest(t, "GET", "/api/v1/inbox/e99", ""); r.code != 404 {
		t.Errorf("an unknown event: %d %s", r.code, r.body)
	}
}

func TestMessage_WaitsForApproval(t *testing.T) {
	h := newServerFixture(t, nil)
	h.e.turn = func(e *engine, _ channels.Inbound, st *api.EventStatus) {
		e.changeEvent(func() { st.Approvals = []api.Approval{{ID: "a1", Tool: "trash_file"}} })
		e.finishEvent(st, fmt.Sprint("approved: ", e.awaitAnswer("a1").Approved))
	}
	r := h.sendRequest(t, "POST", "/api/v1/sessions/s/messages", `{"text":"clean up"}`)
	type waiting struct {
		Event, Session string
		Approvals      []struct{ ID, Tool string }
	}
	want := waiting{"e1", "s", []struct{ ID, Tool string }{{"a1", "trash_file"}}}
	if d := cmp.Diff(want, decodeAs[waiting](t, r)); r.code != 202 || d != "" {
		t.Fatalf("%d %s", r.code, d)
	}
	if r := h.sendRequest(t, "POST", "/api/v1/sessions/s/approvals/a1", `{}`); r.code != 400 {
		t.Errorf("without a decision: %d %s", r.code, r.body)
	}
	r = h.sendRequest(t, "POST", "/api/v1/sessions/s/approvals/a1", `{"approved":true,"scope":"session","expires":"1h","note":"fine"}`)
	if r.code != 200 {
		t.Fatalf("%d %s", r.code, r.body)
	}
	if d := cmp.Diff(api.Answer{Approved: true, Scope: "session", Expires: "1h", Note: "fine", By: "api"}, h.e.answers["a1"]); d != "" {
		t.Error(d)
	}
	if r := h.sendRequest(t, "POST", "/api/v1/sessions/s/approvals/a1", `{"approved":false}`); r.code != 409 {
		t.Errorf("second decision: %d %s", r.code, r.body)
	}
	if r := h.sendRequest(t, "POST", "/api/v1/sessions/s/approvals/nope", `{"approved":false}`); r.code != 404 {
		t.Errorf("an unknown question: %d %s", r.code, r.body)
	}
	h.e.wg.Wait()
	if got := decodeAs[map[string]any](t, h.sendRequest(t, "GET", "/api/v1/inbox/e1", "")); got["answer"] != "approved: true" {
		t.Errorf("event after the decision: %v", got)
	}
}

func TestMessage_FailedTurn(t *testing.T) {
	h := newServerFixture(t, nil)
	h.e.turn = func(e *engine, _ channels.Inbound, st *api.EventStatus) {
		e.changeEvent(func() { st.State, st.Error = "dead", "the model said no" })
	}
	r := h.sendRequest(t, "POST", "/api/v1/sessions/s/messages", `{"text":"x"}`)
	if e := decodeAs[refusal](t, r); r.code != 500 || e.Event != "e1" || e.Error.Code != "turn_failed" || !strings.Contains(e.Error.Message, "the model said no") {
		t.Errorf("%d %s", r.code, r.body)
	}
	evs := parseEvents(t, h.sendRequest(t, "POST", "/api/v1/sessions/s/messages", `{"text":"x"}`, "Accept", "text/event-stream").body)
	if eventNames(evs) != "message_start error" || evs[1].data["code"] != "turn_failed" || evs[1].data["event"] != "e2" {
		t.Errorf("stream: %v", evs)
	}
}

func TestMessage_RejectsBadRequests(t *testing.T) {
	const path = "/api/v1/sessions/s/messages"
	big := strings.Repeat("x", web.MaxText+1)
	for _, c := range []struct {
		name, path, body string
		header           []string
		want             int
		says             string
	}{
		{"not JSON", path, `{"text":`, nil, 400, "ends too early"},
		{"a list", path, `[]`, nil, 400, "must be an object"},
		{"no text", path, `{}`, nil, 400, "empty"},
		{"unknown field", path, `{"text":"x","txet":"y"}`, nil, 400, `unknown field \"txet\"`},
		{"wrong type", path, `{"text":5}`, nil, 400, "text must be a string"},
		{"two objects", path, `{"text":"x"}{"text":"y"}`, nil, 400, "after the end"},
		{"not UTF-8", path, "{\"text\":\"a\xff\"}", nil, 400, "not valid UTF-8 (byte 10)"},
		{"a form", path, `text=x`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "not JSON"},
		{"too much text", path, `{"text":"` + big + `"}`, nil, 413, "10 MB"},
		{"too much of everything", path, `{"text":"` + big + strings.Repeat("y", 7<<20) + `"}`, nil, 413, "16 MB"},
		{"not an image", path, `{"text":"x","attachments":[{"mime":"image/png","data":"aGk="}]}`, nil, 400, "declared as image/png"},
		{"an executable", path, `{"text":"x","attachments":[{"mime":"application/x-sh","data":"aGk="}]}`, nil, 400, "not an image type"},
		{"not base64", path, `{"text":"x","attachments":[{"mime":"image/png","data":"?"}]}`, nil, 400, "base64"},
		{"an unknown channel", path, `{"text":"x"}`, []string{"X-Hob-Channel", "webhook"}, 400, "X-Hob-Channel"},
		{"a session with a control character", "/api/v1/sessions/a%0Ab/messages", `{"text":"x"}`, nil, 400, "control characters"},
		{"a session that is not UTF-8", "/api/v1/sessions/a%ff/messages", `{"text":"x"}`, nil, 400, "control characters"},
		{"a long session", "/api/v1/sessions/" + strings.Repeat("a", 201) + "/messages", `{"text":"x"}`, nil, 400, "200 bytes"},
		{"the engine cannot", path, `{"text":"fail"}`, nil, 500, "the disk is full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newServerFixture(t, nil)
			r := h.sendRequest(t, "POST", c.path, c.body, c.header...)
			if r.code != c.want || !strings.Contains(r.body, c.says) {
				t.Errorf("%d %s, want %d and %q", r.code, r.body, c.want, c.says)
			}
			if len(h.e.heard) > 0 {
				t.Error("the message was accepted")
			}
		})
	}
}

func TestMessage_TenMegabytes(t *testing.T) {
	h := newServerFixture(t, nil)
	r := h.sendRequest(t, "POST", "/api/v1/sessions/s/messages", `{"text":"`+strings.Repeat("x", web.MaxText)+`"}`)
	if r.code != 200 || len(h.e.heard[0].Text) != web.MaxText {
		t.Errorf("%d", r.code)
	}
}

func TestMessage_ClientDisconnects(t *testing.T) {
	h := newServerFixture(t, nil)
	release := make(chan struct{})
	h.e.turn = func(e *engine, _ channels.Inbound, st *api.EventStatus) {
		<-release
		e.finishEvent(st, "late")
	}
	for _, accept := range []string{"application/json", "text/event-stream"} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			r := h.newRequest(t, "POST", "/api/v1/sessions/s/messages", `{"text":"x"}`, "Accept", accept)
			resp, err := h.c.Do(r.WithContext(ctx))
			if err == nil {
				<-ctx.Done()
				_ = resp.Body.Close()
			}
		}()
		waitUntil(t, "the turn", func() bool { return h.e.countHeard() > 0 })
		cancel()
		<-done
		if n := h.e.countReaders(); n != 0 {
			t.Errorf("%s: %d subscriptions remain", accept, n)
		}
	}
	close(release)
	h.e.wg.Wait()
	if st, err := h.e.Event(t.Context(), "e1"); err != nil || st.Answer != "late" {
		t.Errorf("the turn did not continue: %+v %v", st, err)
	}
}

func (e *engine) countHeard() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.heard)
}

func TestLists(t *testing.T) {
	for _, c := range []struct {
		name, path string
		want       int
		asked      string // expected call of the backend
		body       string
	}{
		{"sessions", "/api/v1/sessions", 200, "list sessions {Of: Limit:1000 Before: State: Text: All:false}", `"id":"x"`},
		{"deliveries", "/api/v1/deliveries?limit=10000&before=d5&session=s", 200, "list deliveries {Of:s Limit:10000 Before:d5 State: Text: All:false}", `"id":"x"`},
		{"approvals", "/api/v1/approvals?state=pending", 200, "list approvals {Of: Limit:1000 Before: State:pending Text: All:false}", `"id":"x"`},
		{"messages", "/api/v1/sessions/a%2Fb/messages?limit=5", 200, "list messages {Of:a/b Limit:5 Before: State: Text: All:false}", `"id":"x"`},
		{"tasks", "/api/v1/tasks?all=1", 200, "list tasks {Of: Limit:1000 Before: State: Text: All:true}", `"id":"x"`},
		{"words", "/api/v1/tools?q=my%20sister", 200, "list tools {Of: Limit:1000 Before: State: Text:my sister All:false}", `"name":"x"`},
		{"nothing", "/api/v1/goals", 200, "list goals {Of: Limit:1000 Before: State: Text: All:false}", `[]`},
		{"no rows", "/api/v1/usage", 200, "list usage {Of: Limit:1000 Before: State: Text: All:false}", `[]`},
		{"too many", "/api/v1/watchers?limit=99999999", 200, "list watchers {Of: Limit:100000 Before: State: Text: All:false}", `"id":"x"`},
		{"bad limit", "/api/v1/watchers?limit=many", 400, "", "limit must be a number"},
		{"negative limit", "/api/v1/watchers?limit=-1", 400, "", "limit must be a number"},
		{"unknown parameter", "/api/v1/watchers?limmit=1", 400, "", "unknown parameter"},
		{"refused", "/api/v1/notes", 400, "list notes {Of: Limit:1000 Before: State: Text: All:false}", "cannot be narrowed"},
		{
			"audit", "/api/v1/audit?tool=undo&tainted=1&before=7&since=2026-03-01", 200,
			"audit {Event: Session: Tool:undo Actor: Action: Verdict: Outcome: Call: Since:2026-03-01 00:00:00 +0000 UTC Until:0001-01-01 00:00:00 +0000 UTC Before:7 Tainted:true Limit:1000}", "[]",
		},
		{"audit of a bad time", "/api/v1/audit?since=soon", 400, "", "since must be a day"},
		{"audit of a bad line", "/api/v1/audit/x", 400, "", "must be a number"},
		{"audit of one line", "/api/v1/audit/7", 200, "audit line 7", `"seq":7`},
		{"audit export", "/api/v1/audit/export?format=csv", 200, "", "csv"},
		{"audit export in an unknown format", "/api/v1/audit/export?format=pdf", 400, "", "jsonl or csv"},
		{"audit export of an invalid period", "/api/v1/audit/export?tool=x", 400, "", "unknown parameter"},
		{"broken", "/api/v1/undo", 500, "list undo {Of: Limit:1000 Before: State: Text: All:false}", "could not be encoded"},
		{"why", "/api/v1/why?id=e1", 200, "why e1", "because"},
		{"why nothing was said", "/api/v1/why?kind=silence&id=Ada+since+14:00", 200, "why silence Ada since 14:00", "because"},
		{"metrics", "/metrics", 200, "", "hob_up 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newServerFixture(t, nil)
			r := h.sendRequest(t, "GET", c.path, "")
			if r.code != c.want || !strings.Contains(r.body, c.body) {
				t.Errorf("%d %s", r.code, r.body)
			}
			if got := strings.Join(h.e.asked, "; "); got != c.asked {
				t.Errorf("calls of the engine = %q, want %q", got, c.asked)
			}
		})
	}
}

func TestToolsAndManage(t *testing.T) {
	for _, c := range []struct {
		name, path, body string
		want             int
		asked, says      string
	}{
		{"a tool", "/api/v1/tools/list_tasks", `{"arguments":{"due":"today"},"session":"s"}`, 200, `call s list_tasks {"due":"today"}`, "done"},
		{"without a body", "/api/v1/tools/list_tasks", "", 200, "call api list_tasks {}", "done"},
		{"that asks", "/api/v1/tools/ask", `{}`, 202, "call api ask {}", `"approvals":[{"id":"a1"`},
		{"unknown", "/api/v1/tools/nope", `{}`, 404, "call api nope {}", "not_found"},
		{"bad arguments", "/api/v1/tools/fails_invalid_arguments", `{}`, 400, "call api fails_invalid_arguments {}", `"code":"invalid_arguments"`},
		{"denied", "/api/v1/tools/fails_policy_denied", `{}`, 403, "call api fails_policy_denied {}", "policy_denied"},
		{"no answer", "/api/v1/tools/fails_approval_timeout", `{}`, 403, "call api fails_approval_timeout {}", "approval_timeout"},
		{"conflict", "/api/v1/tools/fails_conflict", `{}`, 409, "call api fails_conflict {}", "conflict"},
		{"failed", "/api/v1/tools/fails_failed", `{}`, 500, "call api fails_failed {}", `"error":"because"`},
		{"panic", "/api/v1/tools/panics", `{}`, 500, "call api panics {}", "internal error"},
		{"unknown field", "/api/v1/tools/list_tasks", `{"args":{}}`, 400, "", "the fields are arguments, session"},
		{"stop", "/api/v1/manage/stop", `{"session":"s"}`, 200, "stop s", "stopped"},
		{"stop without a session", "/api/v1/manage/stop", "", 400, "", "session is missing"},
		{"backup", "/api/v1/manage/backup", "", 200, "backup", "hob.db"},
		{"shutdown", "/api/v1/manage/shutdown", "{}", 200, "shutdown", "stopping"},
		{"reword a lesson", "/api/v1/memory/lessons/l1", `{"text":"so"}`, 200, "change lesson l1 {Text:so Retire:false Delete:false}", `"id":"l1"`},
		{"forget a wish", "/api/v1/memory/user/p1", `{"delete":true}`, 200, "change entry p1 {Text: Retire:false Delete:true}", `"id":"p1"`},
		{"change nothing", "/api/v1/memory/user/p1", `{}`, 400, "", "exactly one change"},
		{"change two things", "/api/v1/memory/lessons/l1", `{"text":"so","delete":true}`, 400, "", "exactly one change"},
		{"format", "/api/v1/manage/format", "{}", 404, "", "not_found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newServerFixture(t, nil)
			r := h.sendRequest(t, "POST", c.path, c.body)
			if r.code != c.want || !strings.Contains(r.body, c.says) {
				t.Errorf("%d %s", r.code, r.body)
			}
			if got := strings.Join(h.e.asked, "; "); got != c.asked {
				t.Errorf("calls of the engine = %q, want %q", got, c.asked)
			}
		})
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"text":"hello","dedupe_key":"k","async":false,"attachments":[{"mime":"image/png","data":"` + encodeImage() + `"}]}`))
	f.Add([]byte("{\"text\":\"\xff\"}"))
	f.Add([]byte(`{"text":"\ud800"}`))
	f.Add([]byte(strings.Repeat("[", 10000)))
	h := newServerFixture(f, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		r := h.sendRequest(t, "POST", "/api/v1/sessions/s/messages", string(body))
		switch {
		case r.code == 200 || r.code == 202:
		case r.code == 500 && strings.Contains(r.body, "the disk is full"):
		case r.code == 400 || r.code == 413:
			if e := decodeAs[refusal](t, r).Error; e.Code == "" || e.Message == "" {
				t.Errorf("%s", r.body)
			}
		default:
			t.Errorf("%d %s", r.code, r.body)
		}
	})
}

// BenchmarkMessages measures the time that the API itself adds to a message over a socket.
func BenchmarkMessages(b *testing.B) {
	h := newServerFixture(b, func(o *web.Options) { o.Listen = "127.0.0.1:0" })
	stop := h.runServer(b)
	defer stop()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	b.SetParallelism(4) // 8 clients on 2 cores
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Do(h.newRequest(b, "POST", "/api/v1/sessions/s/messages", `{"text":"hello"}`))
			if err != nil {
				b.Error(err)
				return
			}
			var v struct{ Answer string }
			if err := json.NewDecoder(resp.Body).Decode(&v); err != nil || v.Answer == "" {
				b.Errorf("%v %v", v, err)
			}
			_ = resp.Body.Close()
		}
	})
}
