package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/channels"
	"hob/channels/channelstest"
	"hob/tools"
)

// recordingChannel is a chat platform that supports debouncing, files and drafts.
type recordingChannel struct {
	*channelstest.Drafting

	mu sync.Mutex
	to channels.Receiver
}

func newPigeon(settle time.Duration) *recordingChannel {
	return &recordingChannel{Drafting: &channelstest.Drafting{Fake: &channelstest.Fake{Limit: channels.Limits{MaxText: 2000, MaxFile: 1 << 20, Debounce: settle}}}}
}

func (*recordingChannel) Attaches() {}

func (p *recordingChannel) Run(ctx context.Context, r channels.Receiver) error {
	p.mu.Lock()
	p.to = r
	p.mu.Unlock()
	<-ctx.Done()
	return nil
}

// receiveMessage passes a message from the owner to the receiver.
func (p *recordingChannel) receiveMessage(t *testing.T, in channels.Inbound) channels.Accepted {
	t.Helper()
	in.Chat, in.Sender = "7", "ada"
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		p.mu.Lock()
		to := p.to
		p.mu.Unlock()
		if to != nil {
			acc, err := to.Receive(t.Context(), in)
			failOnError(t, err)
			return acc
		}
		if time.Now().After(deadline) {
			t.Fatal("the channel did not start")
		}
	}
}

// awaitReply waits for a delivery that contains a text.
func (p *recordingChannel) awaitReply(t *testing.T, part string) channels.Delivery {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for _, d := range p.Deliveries() {
			if strings.Contains(d.Text, part) {
				return d
			}
		}
	}
	t.Fatalf("%q did not arrive; arrived: %q", part, p.Arrived())
	return channels.Delivery{}
}

func openWithChannel(t *testing.T, p *recordingChannel, conf string, reply func(llmtest.Request) llmtest.Answer, more ...tools.Tool) *daemonFixture {
	t.Helper()
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: func(r llmtest.Request) (llmtest.Answer, bool) { return reply(r), true }})
	h := openScriptedWith(t, t.TempDir(), model.URL, playWay{api: llmtest.OpenAI}, conf, Options{Channels: map[string]channels.Channel{"pigeon": p}, Tools: more})
	status, body := h.callAPI(http.MethodPost, "/api/v1/channels/pigeon/pair", struct{}{})
	var c struct{ Code string }
	if status != http.StatusOK || json.Unmarshal(body, &c) != nil {
		t.Fatalf("%d %s", status, body)
	}
	p.receiveMessage(t, channels.Inbound{Text: c.Code})
	p.awaitReply(t, "This account is paired")
	for h.awaitDelivery("notice", "on pigeon is now paired").State != "sent" { // otherwise this delivery could get the failure that is meant for a later one
		time.Sleep(5 * time.Millisecond)
	}
	return h
}

// Several short messages become one turn, whose answer replies to the last message. The inbox has
// one event, and a repetition of any of the messages counts as a duplicate.
func TestChannels_ShortMessagesBecomeOneTurn(t *testing.T) {
	p := newPigeon(400 * time.Millisecond)
	h := openWithChannel(t, p, "", func(r llmtest.Request) llmtest.Answer {
		joined := strings.Contains(r.LastUser, "buy milk\nand eggs\nplease")
		return llmtest.Answer{Text: map[bool]string{true: "together", false: "alone"}[joined]}
	})
	first := p.receiveMessage(t, channels.Inbound{Text: "buy milk", Key: "1", Payload: json.RawMessage(`{"n":1}`)})
	for i, text := range []string{"and eggs", "please"} {
		acc := p.receiveMessage(t, channels.Inbound{Text: text, Key: []string{"2", "3"}[i], Payload: json.RawMessage([]string{`{"n":2}`, `{"n":3}`}[i])})
		if acc.Event != first.Event || acc.Repeated {
			t.Fatalf("%q is %+v", text, acc)
		}
	}
	if acc := p.receiveMessage(t, channels.Inbound{Text: "and eggs", Key: "2"}); !acc.Repeated || acc.Event != first.Event {
		t.Errorf("a repeat is %+v", acc)
	}
	d := p.awaitReply(t, "together")
	if string(d.Cause) != `{"n":3}` {
		t.Errorf("the answer belongs to %s", d.Cause)
	}
	if why := h.explainEvent(first.Event); !strings.Contains(why, "buy milk") || !strings.Contains(why, "please") {
		t.Errorf("hob why: %s", why)
	}
	var state channels.Health
	for deadline := time.Now().Add(60 * time.Second); (state.Sent < 2 || state.Queued > 0) && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for _, s := range h.d.channels.Status() {
			if s.Name == "pigeon" {
				state = s
			}
		}
	}
	if state.Heard != 4 || state.Sent < 2 || state.HeardAt.IsZero() || state.SentAt.IsZero() || state.Queued != 0 {
		t.Errorf("%+v", state)
	}
}

// A message that can never be accepted is dropped, and the channel continues. A message without
// text is accepted if it mentions Hob or forwards something.
func TestChannels_MessagesWithoutText(t *testing.T) {
	p := newPigeon(0)
	h := openWithChannel(t, p, "", func(r llmtest.Request) llmtest.Answer {
		return llmtest.Answer{Text: "heard " + r.LastUser[strings.LastIndexByte(r.LastUser, '\n')+1:]}
	})
	for _, text := range []string{"", " \n", strings.Repeat("x", 11<<20)} {
		if _, err := p.to.Receive(t.Context(), channels.Inbound{Chat: "7", Sender: "ada", Text: text}); !errors.Is(err, channels.ErrStranger) {
			t.Errorf("%.5q: %v", text, err)
		}
	}
	p.receiveMessage(t, channels.Inbound{Outside: []string{"what somebody else wrote"}})
	p.awaitReply(t, "heard [no words]")
	p.receiveMessage(t, channels.Inbound{Group: true, Mentioned: true, Text: "\xff\xfe"})
	p.awaitReply(t, "heard \uFFFD")
	if code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/main/messages", map[string]string{"text": " "}); code != http.StatusBadRequest {
		t.Errorf("on the page: %d %s", code, body)
	}
}

// A command is not delayed, and messages of another person are not merged into it.
func TestChannels_CommandsAreNotDelayed(t *testing.T) {
	p := newPigeon(time.Hour)
	openWithChannel(t, p, "", func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "at once"} })
	waits := p.receiveMessage(t, channels.Inbound{Text: "hello"})
	if acc := p.receiveMessage(t, channels.Inbound{Text: "/status"}); acc.Event == waits.Event {
		t.Error("a command was joined")
	}
	p.awaitReply(t, "running")
}

// "What is this about?" and a message forwarded after it become one turn, in which the forwarded
// text stays untrusted.
func TestChannels_ForwardedTextJoinsTheMessageAboutIt(t *testing.T) {
	p := newPigeon(400 * time.Millisecond)
	var body string
	var mu sync.Mutex
	h := openWithChannel(t, p, "", func(r llmtest.Request) llmtest.Answer {
		mu.Lock()
		defer mu.Unlock()
		body = string(r.Body)
		return llmtest.Answer{Text: "a bill"}
	})
	first := p.receiveMessage(t, channels.Inbound{Text: "what is this about?", Key: "1"})
	if acc := p.receiveMessage(t, channels.Inbound{Text: "you owe us 9 coins", Key: "2", Forwarded: true}); acc.Event != first.Event {
		t.Error("the forwarded message was not joined")
	}
	p.awaitReply(t, "a bill")
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(body, "you owe us 9 coins") || !strings.Contains(body, "what is this about?") {
		t.Errorf("request to the model = %s", body)
	}
	ev, err := h.d.bus.Inbox.Event(t.Context(), first.Event)
	failOnError(t, err)
	if strings.Contains(ev.Text, "coins") || !strings.Contains(string(ev.Payload), `"outside":["you owe us 9 coins"]`) {
		t.Errorf("text %q, payload %s: forwarded text counts as the owner's", ev.Text, ev.Payload)
	}
}

// A file in a message is stored in the owner's folder, and the model gets its path and content; the
// model sees a picture.
func TestChannels_ReceiveFiles(t *testing.T) {
	p := newPigeon(0)
	var seen string
	var mu sync.Mutex
	h := openWithChannel(t, p, "", func(r llmtest.Request) llmtest.Answer {
		mu.Lock()
		seen = string(r.Body)
		mu.Unlock()
		return llmtest.Answer{Text: "I have seen it"}
	})
	open := func(data string) func(context.Context) (io.ReadCloser, error) {
		return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(data)), nil }
	}
	p.receiveMessage(t, channels.Inbound{Files: []channels.File{{Name: "../notes.txt", Open: open("the gate is green")}, {Name: "x.exe", Size: 60 << 20}}})
	p.awaitReply(t, "I have seen it")
	name := "notes.txt"
	if h.d.store.IsShared() { // each instance stores it under the same name
		name = fmt.Sprintf("notes-%.4x.txt", sha256.Sum256([]byte("the gate is green")))
	}
	path := filepath.Join(h.home, "Documents", "Hob", "Received", name)
	b, err := os.ReadFile(path)
	if err != nil || string(b) != "the gate is green" {
		t.Fatalf("ReadFile = %q, %v", b, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"saved as " + path, "the gate is green", "was not fetched: larger than 20 MB"} {
		if !strings.Contains(seen, want) {
			t.Errorf("the model did not get %q", want)
		}
	}
}

func sendsFile(path string) func(llmtest.Request) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Answer {
		if len(r.Results) == 0 {
			args, _ := json.Marshal(map[string]any{"name": "send_file", "arguments": map[string]string{"path": path, "text": "here it is"}})
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: string(args)}}}
		}
		return llmtest.Answer{Text: "done: " + r.Results[0].Text}
	}
}

// A file that the owner requests is sent from Hob's own copy.
func TestChannels_SendAFile(t *testing.T) {
	p := newPigeon(0)
	h := openWithChannel(t, p, "", sendsFile("~/Documents/report.pdf"))
	failOnError(t, os.WriteFile(filepath.Join(h.home, "Documents", "report.pdf"), []byte("%PDF-1.4 x"), 0o600))
	var held string
	p.After(func(d channels.Delivery) {
		if len(d.Files) == 1 {
			b, err := os.ReadFile(d.Files[0].Path)
			if err != nil || !bytes.HasPrefix(b, []byte("%PDF")) {
				t.Errorf("the copy contains %q, %v", b, err)
			}
			held = d.Files[0].Path
		}
	})
	p.receiveMessage(t, channels.Inbound{Text: "send me the report.pdf"})
	p.awaitReply(t, "done")
	d := p.awaitReply(t, "here it is")
	if len(d.Files) != 1 || d.Files[0].Name != "report.pdf" || d.Files[0].MIME != "application/pdf" || held == filepath.Join(h.home, "Documents", "report.pdf") {
		t.Errorf("files %+v", d.Files)
	}
	old := time.Now().Add(-2 * time.Hour)
	failOnError(t, os.Chtimes(held, old, old))
	h.waitFor("the copy goes", func() bool { // the copy is removed after the delivery is recorded
		failOnError(t, h.d.spool.RemoveUnused(t.Context()))
		_, err := os.Stat(held)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// If a file is too large for the channel, or the platform rejects it, the answer says where the
// file is, or that it could not be sent.
func TestChannels_RejectedFile(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   int64
		refuse bool
		want   string
	}{
		{"above the limit of the channel", 2 << 20, false, "report.pdf is on your computer: "},
		{"above the limit of all channels", 60 << 20, false, "done: "},
		{"refused by the platform", 1 << 10, true, "(The file report.pdf, 1 kB, could not be sent.)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPigeon(0)
			h := openWithChannel(t, p, "", sendsFile("~/Documents/report.pdf"))
			path := filepath.Join(h.home, "Documents", "report.pdf")
			failOnError(t, os.WriteFile(path, []byte("%PDF-1.4 x"), 0o600))
			failOnError(t, os.Truncate(path, c.size))
			if c.refuse {
				p.FailWith(channels.Errorf(channels.Permanent, "413 request entity too large"), 1)
			}
			p.receiveMessage(t, channels.Inbound{Text: "send me the report.pdf"})
			if d := p.awaitReply(t, c.want); len(d.Files) != 0 || strings.Contains(c.want, "is on") && !strings.Contains(d.Text, path) {
				t.Errorf("%+v", d)
			}
			if done := p.awaitReply(t, "done: "); c.size > 50<<20 && !strings.Contains(done.Text, "at most 50 MB") {
				t.Errorf("the model got %q", done.Text)
			}
			if c.size < 50<<20 {
				p.awaitReply(t, "here it is")
			}
			if info, err := os.Stat(path); err != nil || info.Size() != c.size {
				t.Errorf("original file: %v, %v", info, err)
			}
		})
	}
}

func TestChannels_FilesThatMayNotBeSent(t *testing.T) {
	for _, path := range []string{"~/Documents/.env", "~/.ssh/id_rsa", "/etc/passwd", "~/hob/test.key"} {
		p := newPigeon(0)
		h := openWithChannel(t, p, "", sendsFile(path))
		failOnError(t, os.WriteFile(filepath.Join(h.home, "Documents", ".env"), []byte("KEY=1"), 0o600))
		p.receiveMessage(t, channels.Inbound{Text: "send it"})
		p.awaitReply(t, "done")
		for _, d := range p.Deliveries() {
			if len(d.Files) > 0 || strings.Contains(d.Text, "here it is") {
				t.Errorf("%s was sent: %+v", path, d)
			}
		}
		h.stop()
	}
}

// An answer is shown while it is written, and its final text replaces the draft in the same
// message. An approval request during the turn is a separate message.
func TestChannels_AnswerReplacesItsDraft(t *testing.T) {
	p := newPigeon(0)
	long := strings.Repeat("a rather long answer ", 20)
	h := openWithChannel(t, p, "", func(llmtest.Request) llmtest.Answer {
		return llmtest.Answer{Text: long + "the end", Pieces: 40, Gap: 100 * time.Millisecond}
	})
	p.receiveMessage(t, channels.Inbound{Text: "tell me"})
	d := p.awaitReply(t, "the end")
	drafts := p.Drafts()
	if d.Draft == "" || len(drafts) == 0 || !strings.HasPrefix(strings.TrimSpace(long), strings.TrimSuffix(drafts[0], " …")) || p.Shown(d.Draft) != d.Text {
		t.Errorf("draft %q, drafts %q, shown %q", d.Draft, drafts, p.Shown(d.Draft))
	}
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		id, err := h.d.bus.Outbox.Draft(t.Context(), d.Event, "pigeon", "7")
		failOnError(t, err)
		if id == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the draft id %q is still stored", id)
		}
	}
	if code, body := h.callAPI(http.MethodGet, "/api/v1/channels", nil); code != http.StatusOK || !strings.Contains(string(body), `"heard":2`) {
		t.Errorf("%d %s", code, body)
	}
}
