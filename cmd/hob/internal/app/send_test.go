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

// receiver starts the server that the webhook channel posts to.
func receiver(t *testing.T) (url string, got chan string) {
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

// tool makes a call as `hob tool call` does and approves its requests.
func (h *daemonFixture) tool(name, args string) called {
	h.t.Helper()
	var c called
	_, body := h.api(http.MethodPost, "/api/v1/tools/"+name, map[string]any{"arguments": json.RawMessage(args), "session": "home"})
	fatal(h.t, json.Unmarshal(body, &c))
	for _, a := range c.Approvals {
		h.api(http.MethodPost, "/api/v1/sessions/"+a.Session+"/approvals/"+a.ID, map[string]any{"approved": true})
		h.waitEvent(a.Event)
		var st struct {
			Tools []struct{ ID, Text, State string }
		}
		_, body := h.api(http.MethodGet, "/api/v1/inbox/"+a.Event, nil)
		fatal(h.t, json.Unmarshal(body, &st))
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
		fatal(h.t, err)
		if e.State == "done" || e.State == "dead" {
			cancel()
			return
		}
		<-settled
		cancel()
	}
}

func TestSend_GoesOutAfterItsDelay(t *testing.T) {
	url, got := receiver(t)
	h := open(t, "[channels.webhook]\nurl = \""+url+"\"\nsecret = \"whsec\"\nsend_delay = \"0s\"\n")
	c := h.tool("send_message", `{"channel":"webhook","text":"hello"}`)
	if len(c.Approvals) != 1 || !strings.Contains(c.Approvals[0].Summary, `Send to webhook: "hello"`) {
		t.Fatalf("the request does not show the draft: %+v", c)
	}
	if m := <-got; m != "send: hello" {
		t.Errorf("arrived: %q", m)
	}
	for h.deliveries(channels.Send)[0].State != channels.Sent { // the receiver gets the message before the state is recorded
		time.Sleep(5 * time.Millisecond)
	}
	u := h.tool("undo", `{"id":"`+c.Call+`"}`)
	if !strings.Contains(u.Error, ": the message was sent at") {
		t.Errorf("undo after the send: %+v", u)
	}
}

func (h *daemonFixture) deliveries(kind channels.DeliveryKind) (out []bus.Delivery) {
	h.t.Helper()
	all, err := h.d.bus.Outbox.Deliveries(h.t.Context(), "", "", "", 100)
	fatal(h.t, err)
	for _, d := range all {
		if d.Kind == kind {
			out = append(out, d)
		}
	}
	return out
}

// A restart does not shorten the delay, and the owner can read the outcome.
func TestSend_CanBeCanceledAfterARestart(t *testing.T) {
	url, got := receiver(t)
	conf := "[channels.webhook]\nurl = \"" + url + "\"\nsecret = \"whsec\"\nsend_delay = \"1h\"\n"
	h := open(t, conf)
	c := h.tool("send_message", `{"channel":"webhook","text":"hello"}`)
	if !strings.Contains(c.Text, "will be sent at") || !strings.Contains(c.Text, "hob undo "+c.Call) {
		t.Errorf("%+v", c)
	}
	h.stop()
	h = openAt(t, h.home, conf)
	if u := h.tool("undo", `{"id":"`+c.Call+`"}`); !strings.Contains(u.Text, "Canceled: the message to webhook was not sent.") {
		t.Errorf("%+v", u)
	}
	if d := h.deliveries(channels.Send); len(d) != 1 || d[0].State != channels.Cancelled || d[0].Error == "" {
		t.Errorf("%+v", d)
	}
	_, why := h.api(http.MethodGet, "/api/v1/why?id="+c.Call, nil)
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
	h := open(t, "")
	if c := h.tool("send_message", `{"channel":"webhook","text":"hello"}`); !strings.Contains(c.Error, "no channel that can send is configured") {
		t.Errorf("%+v", c)
	}
}
