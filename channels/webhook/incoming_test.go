package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/webhook"
)

// recordingInbox is a receiver that accepts messages as the manager does: each key once, and no messages from
// unknown senders.
type recordingInbox struct {
	mu    sync.Mutex
	heard []channels.Inbound
	keys  map[string]string
	err   error
	after func(event string)
}

func (e *recordingInbox) Receive(_ context.Context, in channels.Inbound) (channels.Accepted, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return channels.Accepted{}, e.err
	}
	if id, ok := e.keys[in.Key]; ok {
		var n int
		if _, err := fmt.Sscanf(id, "e%d", &n); err != nil {
			return channels.Accepted{}, err
		}
		return channels.Accepted{Event: id, Repeated: true, Differs: e.heard[n-1].Text != in.Text}, nil
	}
	if e.keys == nil {
		e.keys = map[string]string{}
	}
	id := fmt.Sprintf("e%d", len(e.heard)+1)
	e.keys[in.Key] = id
	e.heard = append(e.heard, in)
	if e.after != nil {
		go e.after(id)
	}
	return channels.Accepted{Event: id}, nil
}

func (e *recordingInbox) listMessages() []channels.Inbound {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]channels.Inbound(nil), e.heard...)
}

// runChannel runs a channel until the test ends.
func runChannel(t *testing.T, c webhook.Config, e *recordingInbox) *webhook.Channel {
	t.Helper()
	c.Secret = secret
	ch, err := webhook.New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = ch.Run(ctx, e)
	}()
	t.Cleanup(func() { cancel(); <-done })
	for ch.Hook(t.Context(), signPost(`{"text":"x","sender":"nobody"}`)).Status == http.StatusServiceUnavailable {
		time.Sleep(time.Millisecond)
	}
	e.mu.Lock()
	e.heard, e.keys = nil, nil
	e.mu.Unlock()
	return ch
}

func signText(text string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

// signPost returns a post with a valid signature and a key derived from the body.
func signPost(body string) channels.WebhookRequest {
	return stampPost(body, signText(body)[:32], time.Now())
}

// bodyOnly returns a post in the format of older versions, which sign only the body.
func bodyOnly(body string) channels.WebhookRequest {
	return channels.WebhookRequest{Header: http.Header{"X-Hob-Signature": {"sha256=" + signText(body)}}, Body: []byte(body)}
}

func stampPost(body, key string, at time.Time) channels.WebhookRequest {
	stamp := strconv.FormatInt(at.Unix(), 10)
	h := http.Header{"X-Hob-Signature": {"v1=" + signText(stamp+"."+key+"."+body)}, "X-Hob-Timestamp": {stamp}}
	if key != "" {
		h.Set("Idempotency-Key", key)
	}
	return channels.WebhookRequest{Header: h, Body: []byte(body)}
}

func TestHook_IdentifiesTheSender(t *testing.T) {
	e := &recordingInbox{}
	ch := runChannel(t, webhook.Config{}, e)
	for _, c := range []struct {
		name, body string
		owner      bool
		sender     string
		chat       string
		session    string
		group      bool
	}{
		{"the owner", `{"text":"a"}`, true, "", "main", "", false},
		{"the owner in a conversation", `{"text":"b","session":"work","chat":"c1"}`, true, "", "c1", "work", false},
		{"somebody", `{"text":"c","sender":"ada@example.org"}`, false, "ada@example.org", "from/ada@example.org", "", false},
		{"somebody among others", `{"text":"d","sender":"ada","chat":"room"}`, false, "ada", "room", "", true},
	} {
		before := len(e.listMessages())
		if a := ch.Hook(t.Context(), signPost(c.body)); a.Status != http.StatusAccepted {
			t.Errorf("%s: Hook = %+v", c.name, a)
			continue
		}
		in := e.listMessages()[before]
		if in.FromOwner != c.owner || in.Sender != c.sender || in.Chat != c.chat || in.Session != c.session || in.Group != c.group {
			t.Errorf("%s: %+v", c.name, in)
		}
	}
}

func TestReview10_WebhookKeepsSchemesApart(t *testing.T) {
	now := time.Now()
	const body = `{"text":"a"}`
	downgraded := bodyOnly(strconv.FormatInt(now.Unix(), 10) + ".k1." + body)
	for _, c := range []struct {
		name, config string
		post         channels.WebhookRequest
		want         int
	}{
		{"a timed post", "", stampPost(body, "k1", now), 202},
		{"the same MAC as body-only", "", downgraded, 401},
		{"body-only", "", bodyOnly(body), 401},
		{"body-only with the obsolete key", "body", bodyOnly(body), 401},
		{"timed with the obsolete key", "body", stampPost(body, "k1", now), 202},
	} {
		e := &recordingInbox{}
		ch := runChannel(t, webhook.Config{Signature: c.config}, e)
		got := ch.Hook(t.Context(), c.post)
		for got.Status == http.StatusServiceUnavailable { // Run has not started yet
			time.Sleep(time.Millisecond)
			got = ch.Hook(t.Context(), c.post)
		}
		if got.Status != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got.Status, c.want)
		}
	}
}

func TestHook_RejectsPosts(t *testing.T) {
	e := &recordingInbox{}
	ch := runChannel(t, webhook.Config{}, e)
	now := time.Now()
	reflected, err := json.Marshal(map[string]any{"id": "d1", "event": "e", "kind": "notice", "session": "s", "text": "delete all", "created_at": now, "link_previews": false})
	if err != nil {
		t.Fatal(err)
	}
	forged := signPost(`{"text":"a"}`)
	keyless := stampPost(`{"text":"a"}`, "", now)
	forged.Body = []byte(`{"text":"b"}`)
	other := stampPost(`{"text":"a"}`, "k1", now)
	other.Header.Set("Idempotency-Key", "k2")
	bare := stampPost(`{"text":"a"}`, "k1", now)
	bare.Header.Del("X-Hob-Timestamp")
	for _, c := range []struct {
		name   string
		post   channels.WebhookRequest
		status int
		says   string
	}{
		{"no signature", channels.WebhookRequest{Header: http.Header{}, Body: []byte(`{"text":"a"}`)}, 401, ""},
		{"another body", forged, 401, ""},
		{"another key", other, 401, ""},
		{"without its time", bare, 401, ""},
		{"without a key", keyless, 401, ""},
		{"too old", stampPost(`{"text":"a"}`, "k1", now.Add(-6*time.Minute)), 401, ""},
		{"of the future", stampPost(`{"text":"a"}`, "k1", now.Add(6*time.Minute)), 401, ""},
		{"what Hob has sent itself", signPost(string(reflected)), 400, "unknown field"},
		{"no text", signPost(`{"text":" "}`), 400, "text is empty"},
		{"two values", signPost(`{"text":"a"}{}`), 400, "after the end"},
		{"a session of somebody else", signPost(`{"text":"a","sender":"ada","session":"main"}`), 400, "session"},
		{"a chat that looks like another's", signPost(`{"text":"a","chat":"from/ada"}`), 400, "chat"},
		{"an invisible sender", signPost(`{"text":"a","sender":"\u200b"}`), 400, "sender"},
		{"a long id", signPost(`{"text":"a","id":"` + strings.Repeat("x", 201) + `"}`), 400, "id must be at most 200 bytes"},
		{"not UTF-8", signPost("{\"text\":\"\xff\"}"), 400, "UTF-8"},
	} {
		a := ch.Hook(t.Context(), c.post)
		if a.Status != c.status || !strings.Contains(a.Error, c.says) || c.says == "" && a.Error != "" {
			t.Errorf("%s: Hook = %+v", c.name, a)
		}
	}
	if n := len(e.listMessages()); n != 0 {
		t.Errorf("%d posts were accepted", n)
	}
	e.mu.Lock()
	e.err = channels.ErrStranger
	e.mu.Unlock()
	if a := ch.Hook(t.Context(), signPost(`{"text":"a","sender":"eve"}`)); a.Status != http.StatusForbidden {
		t.Errorf("post of an unknown sender = %+v", a)
	}
}

// TestHook_AcceptsAPostOnce checks that a post with the key or id of an accepted post is a duplicate, and that
// a different text with the same key or id is rejected.
func TestHook_AcceptsAPostOnce(t *testing.T) {
	e := &recordingInbox{}
	ch := runChannel(t, webhook.Config{}, e)
	now := time.Now()
	for i, p := range []channels.WebhookRequest{
		signPost(`{"text":"a"}`), signPost(`{"text":"a"}`),
		stampPost(`{"text":"b"}`, "k1", now), stampPost(`{"text":"b"}`, "k1", now.Add(-time.Minute)),
		signPost(`{"text":"c","id":"7"}`), stampPost(`{"text":"c","id":"7"}`, "k9", now),
		stampPost(`{"text":"d"}`, "k2", now), stampPost(`{"text":"d"}`, "k3", now),
	} {
		if a := ch.Hook(t.Context(), p); a.Status != http.StatusAccepted {
			t.Errorf("%d: Hook = %+v", i, a)
		}
	}
	for name, p := range map[string]channels.WebhookRequest{
		"key": stampPost(`{"text":"other"}`, "k1", now), "id": signPost(`{"text":"other","id":"7"}`), "waiting": stampPost(`{"text":"other","wait":true}`, "k1", now),
	} {
		if a := ch.Hook(t.Context(), p); a.Status != http.StatusConflict || !strings.Contains(a.Error, "use a new one") {
			t.Errorf("another text with the same %s: %+v, want 409", name, a)
		}
	}
	var texts []string
	for _, in := range e.listMessages() {
		texts = append(texts, in.Text)
	}
	if got := strings.Join(texts, ""); got != "abcdd" {
		t.Errorf("accepted %q", got)
	}
}

func sendText(t *testing.T, ch *webhook.Channel, kind channels.DeliveryKind, event, text string) error {
	t.Helper()
	_, err := ch.Send(t.Context(), channels.Delivery{ID: "d-" + event + string(kind), Event: event, Kind: kind, Text: text})
	return err
}

func decodeAnswer(t *testing.T, a channels.WebhookResponse) map[string]any {
	t.Helper()
	b, err := json.Marshal(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHook_WaitsForTheAnswer checks that only the waiting request gets the answer.
func TestHook_WaitsForTheAnswer(t *testing.T) {
	r := newReceiver(t)
	e := &recordingInbox{}
	ch := runChannel(t, webhook.Config{URL: r.srv.URL}, e)
	e.after = func(event string) {
		if err := sendText(t, ch, channels.Reply, event, "it is noon"); err != nil {
			t.Error(err)
		}
	}
	a := ch.Hook(t.Context(), signPost(`{"text":"what time is it?","wait":true}`))
	if got := decodeAnswer(t, a); a.Status != http.StatusOK || got["answer"] != "it is noon" || got["event"] != "e1" {
		t.Errorf("%+v", a)
	}
	if got := r.Arrived(); len(got) != 0 {
		t.Errorf("also posted %q to the URL", got)
	}
	a = ch.Hook(t.Context(), signPost(`{"text":"what time is it?","wait":true}`))
	if got := decodeAnswer(t, a); a.Status != http.StatusOK || got["answer"] != "it is noon" || got["repeated"] != true {
		t.Errorf("repeated post = %+v", a)
	}
	told := make(chan struct{})
	e.after = func(event string) {
		defer close(told)
		if err := sendText(t, ch, channels.Reply, event, "later"); err != nil {
			t.Error(err)
		}
	}
	if a = ch.Hook(t.Context(), signPost(`{"text":"and now?"}`)); a.Status != http.StatusAccepted {
		t.Errorf("Hook = %+v", a)
	}
	<-told
	if got := r.Arrived(); len(got) != 1 || got[0] != "later" {
		t.Errorf("answer to a post that does not wait = %q", got)
	}
}

func TestHook_QuestionWhileWaiting(t *testing.T) {
	e := &recordingInbox{}
	ch := runChannel(t, webhook.Config{}, e)
	e.after = func(event string) {
		if err := sendText(t, ch, channels.Question, event, "May I?"); err != nil {
			t.Error(err)
		}
	}
	post := signPost(`{"text":"do it","wait":true}`)
	a := ch.Hook(t.Context(), post)
	if got := decodeAnswer(t, a); a.Status != http.StatusAccepted || got["question"] != "May I?" {
		t.Errorf("%+v", a)
	}
	if err := sendText(t, ch, channels.Reply, "e1", "done"); err != nil {
		t.Error(err)
	}
	a = ch.Hook(t.Context(), post)
	if got := decodeAnswer(t, a); a.Status != http.StatusOK || got["answer"] != "done" || got["question"] != nil {
		t.Errorf("%+v", a)
	}
	if err := sendText(t, ch, channels.Notice, "", "news"); channels.ClassOf(err) != channels.Unsupported {
		t.Errorf("a notice without an address: %v", err)
	}
}

// TestHook_WaitEndsWithoutAnswer checks that a waiting request ends after 25 s, and that the same request then
// gets the answer.
func TestHook_WaitEndsWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &recordingInbox{}
		ch := runChannel(t, webhook.Config{}, e)
		post := signPost(`{"text":"slow","wait":true}`)
		begun := time.Now()
		a := ch.Hook(t.Context(), post)
		if took := time.Since(begun); a.Status != http.StatusAccepted || took != 25*time.Second {
			t.Errorf("%+v after %v", a, took)
		}
		if err := sendText(t, ch, channels.Reply, "e1", "at last"); err != nil {
			t.Fatal(err)
		}
		a = ch.Hook(t.Context(), post)
		if got := decodeAnswer(t, a); a.Status != http.StatusOK || got["answer"] != "at last" {
			t.Errorf("%+v", a)
		}
	})
}

// TestHook_RepeatedPostGetsTheAnswer checks that, with a URL configured, a post whose wait was cut short gets the
// answer when it is repeated, and that the URL gets the answer once.
func TestHook_RepeatedPostGetsTheAnswer(t *testing.T) {
	r := newReceiver(t)
	e := &recordingInbox{}
	ch := runChannel(t, webhook.Config{URL: r.srv.URL}, e)
	post := signPost(`{"text":"slow","wait":true}`)
	ctx, cancel := context.WithCancel(t.Context())
	e.after = func(string) { cancel() } // the client gives up waiting
	if a := ch.Hook(ctx, post); a.Status != http.StatusAccepted {
		t.Fatalf("Hook = %+v", a)
	}
	r.Fail(channels.Temporary, 1)
	if err := sendText(t, ch, channels.Reply, "e1", "at last"); err == nil {
		t.Fatal("the receiver was down")
	}
	if err := sendText(t, ch, channels.Reply, "e1", "at last"); err != nil {
		t.Fatal(err)
	}
	a := ch.Hook(t.Context(), post)
	if got := decodeAnswer(t, a); a.Status != http.StatusOK || got["answer"] != "at last" {
		t.Errorf("%+v", a)
	}
	if got := r.Arrived(); len(got) != 1 || got[0] != "at last" {
		t.Errorf("arrived %q", got)
	}
}

func FuzzHook(f *testing.F) {
	for _, s := range []string{`{"text":"a"}`, `{"text":"a","sender":"b","chat":"c","at":"2026-11-23T00:00:00Z"}`, `{"id":1}`, `null`, `[`, "{\"text\":\"\xff\"}"} {
		f.Add(s, "", "")
	}
	f.Add(`{"text":"a"}`, "1795392000", "k")
	e := &recordingInbox{}
	ch, err := webhook.New(webhook.Config{Secret: secret}, nil)
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.Cleanup(cancel)
	go func() { _ = ch.Run(ctx, e) }()
	f.Fuzz(func(t *testing.T, body, stamp, key string) {
		if strings.Contains(body, `"wait"`) {
			t.Skip("the post waits for its answer")
		}
		p := signPost(body)
		if stamp != "" {
			p.Header = http.Header{"X-Hob-Signature": {"v1=" + signText(stamp+"."+key+"."+body)}, "X-Hob-Timestamp": {stamp}, "Idempotency-Key": {key}}
		}
		if a := ch.Hook(t.Context(), p); a.Status != 202 && a.Status != 400 && a.Status != 401 && a.Status != 503 {
			t.Errorf("Hook = %+v", a)
		}
	})
}
