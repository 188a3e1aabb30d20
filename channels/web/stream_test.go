package web_test

import (
	"bufio"
	"context"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/api"
	"hob/channels"
	"hob/channels/web"
)

// readStream sends a message and reads the complete stream.
func (h *serverFixture) readStream(t *testing.T) []event {
	t.Helper()
	r := h.sendRequest(t, "POST", "/api/v1/sessions/s/messages", `{"text":"x"}`, "Accept", "text/event-stream")
	if r.code != 200 || r.header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %s", r.code, r.body)
	}
	return parseEvents(t, r.body)
}

func textOfEvents(evs []event) string {
	var b strings.Builder
	for _, e := range evs {
		if e.name == "content_delta" {
			b.WriteString(e.data["text"].(string))
		}
	}
	return b.String()
}

func TestStream(t *testing.T) {
	type turn = func(e *engine, in channels.Inbound, st *api.EventStatus)
	for _, c := range []struct {
		name   string
		turn   turn
		events string
		text   string
		end    map[string]any // part of message_end
	}{
		{
			"words as they come",
			func(e *engine, _ channels.Inbound, st *api.EventStatus) {
				e.publishEvent("message_start", st.ID, map[string]string{"model": "m"})
				e.publishText(st, "Hello", " there")
				e.finishEvent(st, "Hello there")
			},
			"message_start content_delta content_delta message_end", "Hello there",
			map[string]any{"answer": "Hello there", "finish_reason": "end_turn", "session": "s"},
		},
		{"an answer without any stream", nil, "message_start content_delta message_end", "echo: x", map[string]any{"answer": "echo: x"}},
		{
			"other turns are not told",
			func(e *engine, _ channels.Inbound, st *api.EventStatus) {
				e.publishEvent("content_delta", "other", map[string]string{"text": "secret"})
				e.publishEvent("delivery", st.ID, map[string]string{"id": "d1"})
				e.publishText(st, "mine")
				e.finishEvent(st, "mine")
			},
			"message_start content_delta message_end", "mine", nil,
		},
		{
			"the feed drops the end",
			func(e *engine, _ channels.Inbound, st *api.EventStatus) {
				e.publishText(st, "Hello")
				e.publishEvent("dropped", "", map[string]int{"dropped": 2})
				e.finishEvent(st, "Hello there")
			},
			"message_start content_delta content_delta message_end", "Hello there", nil,
		},
		{
			"the feed drops everything",
			func(e *engine, _ channels.Inbound, st *api.EventStatus) {
				e.mu.Lock()
				e.deaf = true
				e.mu.Unlock()
				e.publishText(st, "Hello")
				e.finishEvent(st, "Hello there")
			},
			"message_start content_delta message_end", "Hello there", nil,
		},
		{
			"the feed drops the middle",
			func(e *engine, _ channels.Inbound, st *api.EventStatus) {
				e.publishText(st, "One, ", "three")
				e.finishEvent(st, "One, two, three")
			},
			"message_start content_delta content_delta message_end", "One, three",
			map[string]any{"answer": "One, two, three", "replaced": true},
		},
		{
			"a tool between two texts",
			func(e *engine, _ channels.Inbound, st *api.EventStatus) {
				e.publishText(st, "I will look.")
				e.publishEvent("tool_call_start", st.ID, map[string]string{"id": "c1", "name": "list_tasks"})
				e.publishEvent("tool_call_delta", st.ID, map[string]string{"id": "c1", "arguments": "{}"})
				e.publishEvent("tool_result", st.ID, map[string]any{"id": "c1", "name": "list_tasks", "ok": true, "text": "none"})
				e.publishText(st, "You are ")
				e.finishEvent(st, "You are free.")
			},
			"message_start content_delta tool_call_start tool_call_delta tool_result content_delta content_delta message_end",
			"I will look.You are free.",
			map[string]any{"answer": "You are free."},
		},
		{
			"a call that was renamed, one without start, one without result",
			func(e *engine, _ channels.Inbound, st *api.EventStatus) {
				e.publishEvent("tool_call_start", st.ID, map[string]string{"id": "model-1", "name": "use_tool"})
				e.publishEvent("tool_result", st.ID, map[string]any{"id": "call_1", "name": "list_tasks", "ok": true})
				e.publishEvent("tool_result", st.ID, map[string]any{"id": "call_2", "name": "recall", "ok": true})
				e.publishEvent("tool_call_start", st.ID, map[string]string{"id": "model-3", "name": "recall"})
				e.finishEvent(st, "done")
			},
			"message_start tool_call_start tool_result tool_call_start tool_result tool_call_start tool_result content_delta message_end",
			"done", nil,
		},
		{
			"an error that the engine gets over",
			func(e *engine, _ channels.Inbound, st *api.EventStatus) {
				e.publishEvent("error", st.ID, map[string]string{"message": "429"})
				e.finishEvent(st, "Sorry")
			},
			"message_start content_delta message_end", "Sorry",
			map[string]any{"finish_reason": "error"},
		},
		{
			"a stopped turn",
			func(e *engine, _ channels.Inbound, st *api.EventStatus) {
				e.publishText(st, "Once upon")
				e.changeEvent(func() { st.State, st.Answer = "done", "Once upon" })
				e.publishEvent("message_end", st.ID, map[string]any{"answer": "Once upon", "interrupted": true})
			},
			"message_start content_delta message_end", "Once upon",
			map[string]any{"finish_reason": "cancelled"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newServerFixture(t, nil)
				h.e.turn = c.turn
				evs := h.readStream(t)
				if d := cmp.Diff(c.events, eventNames(evs)); d != "" {
					t.Error(d)
				}
				if got := textOfEvents(evs); got != c.text {
					t.Errorf("text %q, want %q", got, c.text)
				}
				checkClosed(t, evs)
				end := evs[len(evs)-1].data
				for k, v := range c.end {
					if d := cmp.Diff(v, end[k]); d != "" {
						t.Errorf("message_end.%s: %s", k, d)
					}
				}
				if n := h.e.countReaders(); n != 0 {
					t.Errorf("%d subscriptions remain", n)
				}
			})
		})
	}
}

// checkClosed checks the grammar: every tool_call_start has one tool_result.
func checkClosed(t *testing.T, evs []event) {
	t.Helper()
	open := map[any]bool{}
	for _, e := range evs {
		switch id := e.data["id"]; e.name {
		case "tool_call_start":
			open[id] = true
		case "tool_result":
			if !open[id] {
				t.Errorf("result of %v without a call", id)
			}
			delete(open, id)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without a result: %v", open)
	}
}

func TestStream_WaitsForApproval(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newServerFixture(t, nil)
			ask := api.Approval{ID: "a1", Summary: "Delete it"}
			h.e.turn = func(e *engine, _ channels.Inbound, st *api.EventStatus) {
				e.changeEvent(func() { st.Approvals = []api.Approval{ask} })
				if !dropped {
					e.publishEvent("approval_required", st.ID, ask)
				}
				e.awaitAnswer("a1")
				e.changeEvent(func() { st.Approvals = nil })
				time.Sleep(6 * time.Second) // the tool is running
				e.publishText(st, "Gone.")
				e.finishEvent(st, "Gone.")
			}
			go func() {
				time.Sleep(40 * time.Second)
				h.sendRequest(t, "POST", "/api/v1/sessions/s/approvals/a1", `{"approved":true}`)
			}()
			evs := h.readStream(t)
			if d := cmp.Diff("message_start approval_required ping ping ping content_delta message_end", eventNames(evs)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLiveFeed(t *testing.T) {
	h := newServerFixture(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := h.c.Do(h.newRequest(t, "GET", "/api/v1/events?session=s", "", "Last-Event-ID", "41").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got := strings.Join(h.e.asked, ""); got != "subscribe 41" {
		t.Errorf("calls of the engine = %q", got)
	}
	h.e.mu.Lock()
	h.e.events["e1"] = &api.EventStatus{ID: "e1", Session: "s"}
	h.e.mu.Unlock()
	h.e.publishEvent("delivery", "other", map[string]string{"text": "not for us"})
	h.e.publishEvent("delivery", "e1", map[string]string{"text": "line one\nline two"})
	lines := bufio.NewScanner(resp.Body)
	var got []string
	for len(got) < 4 && lines.Scan() {
		if lines.Text() != "" {
			got = append(got, lines.Text())
		}
	}
	want := []string{
		": connected", "event: delivery", "id: 2",
		`data: {"id":2,"type":"delivery","event":"e1","session":"s","at":"0001-01-01T00:00:00Z","data":{"text":"line one\nline two"}}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	cancel()
	waitUntil(t, "the end of the subscription", func() bool { return h.e.countReaders() == 0 })
	for _, bad := range []string{"/api/v1/events?after=x", "/api/v1/events?sesion=s"} {
		if r := h.sendRequest(t, "GET", bad, ""); r.code != 400 {
			t.Errorf("%s: %d", bad, r.code)
		}
	}
}

// runServer serves on a socket until the returned function is called.
func (h *serverFixture) runServer(t testing.TB) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	if err := h.Listen(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, nil) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return int(a.Port())
}

func TestServe(t *testing.T) {
	h := newServerFixture(t, func(o *web.Options) { o.Listen = "127.0.0.1:0" })
	stop := h.runServer(t)
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	h.c = &http.Client{Transport: tr}
	if r := h.sendRequest(t, "GET", "/readyz", ""); r.code != 200 {
		t.Errorf("%d %s", r.code, r.body)
	}
	second := newServerFixture(t, func(o *web.Options) { o.Listen = h.Addr() })
	if err := second.Listen(t.Context()); err != nil || second.Addr() == h.Addr() || len(second.Problems()) != 1 || !strings.HasPrefix(second.Problems()[0].Text, "another program uses "+h.Addr()) {
		t.Errorf("a second server: %s, %+v, %v", second.Addr(), second.Problems(), err)
	}
	if n := portOf(t, second.Addr()) - portOf(t, h.Addr()); n < 1 || n > 10 {
		t.Errorf("the second server listens on %s, want one of the next ports after %s, which a page finds again", second.Addr(), h.Addr())
	}
	// A request that is too large gets an error response.
	r := h.sendRequest(t, "POST", "/api/v1/sessions/s/messages", `{"text":"`+strings.Repeat("x", 20<<20)+`"}`)
	if r.code != 413 || !strings.Contains(r.body, "16 MB") {
		t.Errorf("20 MB: %d %s", r.code, r.body)
	}
	// Waiting requests end with the server, and the error says that the message is stored.
	release := make(chan struct{})
	h.e.turn = func(e *engine, _ channels.Inbound, st *api.EventStatus) {
		<-release
		e.finishEvent(st, "late")
	}
	type result struct{ plain, stream, feed reply }
	var got result
	done := make(chan struct{}, 3)
	go func() {
		got.plain = h.sendRequest(t, "POST", "/api/v1/sessions/s/messages", `{"text":"x"}`)
		done <- struct{}{}
	}()
	go func() {
		got.stream = h.sendRequest(t, "POST", "/api/v1/sessions/s/messages", `{"text":"x"}`, "Accept", "text/event-stream")
		done <- struct{}{}
	}()
	go func() { got.feed = h.sendRequest(t, "GET", "/api/v1/events", ""); done <- struct{}{} }()
	waitUntil(t, "the turns", func() bool { return h.e.countHeard() == 2 && h.e.countReaders() == 2 })
	stop()
	for range 3 {
		<-done
	}
	close(release)
	if e := decodeAs[refusal](t, got.plain); got.plain.code != 503 || e.Error.Code != "stopping" || e.Event == "" {
		t.Errorf("plain: %d %s", got.plain.code, got.plain.body)
	}
	evs := parseEvents(t, got.stream.body)
	if last := evs[len(evs)-1]; last.name != "error" || last.data["code"] != "stopping" || last.data["event"] == "" {
		t.Errorf("stream: %s", got.stream.body)
	}
	if !strings.HasPrefix(got.feed.body, ": connected") {
		t.Errorf("feed: %q", got.feed.body)
	}
}
