package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
)

// startReceiver starts the server that the webhook channel posts to.
func startReceiver(t *testing.T) (url string, got chan string) {
	t.Helper()
	got = make(chan string, 16)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var body struct{ Kind, Text string }
		_ = json.Unmarshal(b, &body)
		got <- body.Kind + ": " + body.Text
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

type called struct {
	Text, Call, Undo, Code, Error string
	Approvals                     []struct{ ID, Session, Event, Summary string }
}

// callTool makes a call as `hob tool call` does and approves its requests.
func (h *daemonFixture) callTool(name, args string) called {
	h.t.Helper()
	var c called
	_, body := h.callAPI(http.MethodPost, "/api/v1/tools/"+name, map[string]any{"arguments": json.RawMessage(args), "session": "home"})
	failOnError(h.t, json.Unmarshal(body, &c))
	for _, a := range c.Approvals {
		h.callAPI(http.MethodPost, "/api/v1/sessions/"+a.Session+"/approvals/"+a.ID, map[string]any{"approved": true})
		h.waitEvent(a.Event)
		var st struct {
			Tools []struct{ ID, Text, State string }
		}
		_, body := h.callAPI(http.MethodGet, "/api/v1/inbox/"+a.Event, nil)
		failOnError(h.t, json.Unmarshal(body, &st))
		for _, u := range st.Tools {
			c.Text, c.Call, c.Code = u.Text, u.ID, map[string]string{"failed": "failed", "denied": "denied"}[u.State]
		}
	}
	return c
}

func (h *daemonFixture) waitEvent(id string) {
	h.t.Helper()
	for {
		settled, cancel := h.d.bus.Inbox.EventClosed(id)
		e, err := h.d.bus.Inbox.Event(h.t.Context(), id)
		failOnError(h.t, err)
		if e.State == "done" || e.State == "dead" {
			cancel()
			return
		}
		<-settled
		cancel()
	}
}

func TestSend_GoesOutAfterItsDelay(t *testing.T) {
	url, got := startReceiver(t)
	h := openDaemon(t, "[channels.webhook]\nurl = \""+url+"\"\nsecret = \"whsec\"\nsend_delay = \"0s\"\n")
	c := h.callTool("send_message", `{"channel":"webhook","text":"hello"}`)
	if len(c.Approvals) != 1 || !strings.Contains(c.Approvals[0].Summary, `Send to webhook: "hello"`) {
		t.Fatalf("the request does not show the draft: %+v", c)
	}
	if m := <-got; m != "send: hello" {
		t.Errorf("arrived: %q", m)
	}
	for h.listDeliveries(channels.Send)[0].State != channels.Sent { // the receiver gets the message before the state is recorded
		time.Sleep(5 * time.Millisecond)
	}
	u := h.callTool("undo", `{"id":"`+c.Call+`"}`)
	if !strings.Contains(u.Error, ": the message was sent at") {
		t.Errorf("undo after the send: %+v", u)
	}
}

func (h *daemonFixture) listDeliveries(kind channels.DeliveryKind) (out []bus.Delivery) {
	h.t.Helper()
	all, err := h.d.bus.Outbox.Deliveries(h.t.Context(), "", "", "", 100)
	failOnError(h.t, err)
	for _, d := range all {
		if d.Kind == kind {
			out = append(out, d)
		}
	}
	return out
}

// A restart does not shorten the delay, and the owner can read the outcome.
func TestSend_CanBeCanceledAfterARestart(t *testing.T) {
	url, got := startReceiver(t)
	conf := "[channels.webhook]\nurl = \"" + url + "\"\nsecret = \"whsec\"\nsend_delay = \"1h\"\n"
	h := openDaemon(t, conf)
	c := h.callTool("send_message", `{"channel":"webhook","text":"hello"}`)
	if !strings.Contains(c.Text, "will be sent at") || !strings.Contains(c.Text, "hob undo "+c.Call) {
		t.Errorf("%+v", c)
	}
	h.stop()
	h = openAt(t, h.home, conf)
	if u := h.callTool("undo", `{"id":"`+c.Call+`"}`); !strings.Contains(u.Text, "Canceled: the message to webhook was not sent.") {
		t.Errorf("%+v", u)
	}
	if d := h.listDeliveries(channels.Send); len(d) != 1 || d[0].State != channels.Cancelled || d[0].Error == "" {
		t.Errorf("%+v", d)
	}
	_, why := h.callAPI(http.MethodGet, "/api/v1/why?id="+c.Call, nil)
	if !strings.Contains(string(why), "send on webhook, cancelled (canceled by the user)") {
		t.Errorf("why: %s", why)
	}
	select {
	case m := <-got:
		t.Errorf("the canceled message was sent: %q", m)
	default:
	}
}

// A message on a channel that is not configured is rejected.
func TestSend_RejectsAnUnknownChannel(t *testing.T) {
	h := openDaemon(t, "")
	if c := h.callTool("send_message", `{"channel":"webhook","text":"hello"}`); !strings.Contains(c.Error, "no channel that can send is configured") {
		t.Errorf("%+v", c)
	}
}
