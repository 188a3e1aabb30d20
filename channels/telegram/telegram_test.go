package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
	"hob/channels/telegram/telegramtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) {
	channelstest.Conform(t, func(t *testing.T) (channels.Channel, channelstest.Platform) {
		a := telegramtest.New(t)
		return a.Open(), a
	})
}

type object = telegramtest.Object

// listening waits until the channel has passed what was written before it was there.
func listening(t *testing.T, a *telegramtest.Server) {
	t.Helper()
	channelstest.Until(t, "the bot listens", func() bool { return a.Called("getUpdates") >= 2 })
}

func texts(b *channelstest.Inbox) (out []string) {
	for _, in := range b.Heard() {
		out = append(out, in.Text)
	}
	return out
}

func TestHistory(t *testing.T) {
	a := telegramtest.New(t)
	a.Write("before the first start")
	inbox := &channelstest.Inbox{}
	end := channelstest.Running(t, a.Open(), inbox)
	listening(t, a)
	a.Write("one")
	channelstest.Until(t, "one is heard", func() bool { return len(inbox.Heard()) == 1 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	a.Write("while it was off")
	end = channelstest.Running(t, a.Open(), inbox)
	channelstest.Until(t, "two are heard", func() bool { return len(inbox.Heard()) == 2 })
	a.Write("three")
	channelstest.Until(t, "three are heard", func() bool { return len(inbox.Heard()) == 3 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "while it was off", "three"}, texts(inbox)); diff != "" {
		t.Error(diff)
	}
	in := inbox.Heard()[0]
	if in.Chat != "7" || in.Sender != "7" || in.SenderName != "Ada L" || in.Group || in.Forwarded || !strings.HasPrefix(in.Key, "7/") || in.At.Unix() != 1700000000 {
		t.Errorf("heard %+v", in)
	}
	if n := len(a.Commands); n < 10 || a.Called("setMyCommands") != 1 {
		t.Errorf("%d commands were announced in %d calls, want one", n, a.Called("setMyCommands"))
	}
}

// dying is a Keeper and a Receiver of a process that is killed at some moment: from
// then on nothing of it is written.
type dying struct {
	*channelstest.Keeper
	mu    sync.Mutex
	left  int // operations until it dies
	dead  func()
	keys  map[string]bool
	order *[]string
}

var errKilled = errors.New("killed")

func (d *dying) step() error {
	if d.left--; d.left < 0 {
		d.dead()
		return errKilled
	}
	return nil
}

func (d *dying) Set(ctx context.Context, key string, v []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	return d.Keeper.Set(ctx, key, v)
}

func (d *dying) Receive(_ context.Context, in channels.Inbound) (channels.Accepted, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return channels.Accepted{}, err
	}
	if !d.keys[in.Key] {
		d.keys[in.Key] = true
		*d.order = append(*d.order, in.Text)
	}
	return channels.Accepted{}, nil
}

// TestKills: killed at any moment, each message is taken once and in order.
func TestKills(t *testing.T) {
	a := telegramtest.New(t)
	keeper, keys := &channelstest.Keeper{}, map[string]bool{}
	var order, want []string
	first := &dying{Keeper: keeper, left: 2, dead: func() {}, keys: keys, order: &order} // knows where it stands
	a.Deps.Keep = first
	end := channelstest.Running(t, a.Open(), first)
	listening(t, a)
	_ = end()
	rnd := rand.New(rand.NewPCG(1, 2))
	total := 0
	for range 60 {
		for range rnd.IntN(4) {
			text := fmt.Sprint("message ", total)
			a.Write(text)
			want = append(want, text)
			total++
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		d := &dying{Keeper: keeper, left: rnd.IntN(6), dead: cancel, keys: keys, order: &order}
		a.Deps.Keep = d
		ch := a.Open()
		done := make(chan error, 1)
		go func() { done <- ch.Run(ctx, d) }()
		channelstest.Until(t, "it is killed, or has read all", func() bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.left < 0 || len(order) == len(want)
		})
		cancel()
		<-done
	}
	inbox := &dying{Keeper: keeper, left: 1 << 30, dead: func() {}, keys: keys, order: &order}
	a.Deps.Keep = inbox
	end = channelstest.Running(t, a.Open(), inbox)
	channelstest.Until(t, "all are read", func() bool { inbox.mu.Lock(); defer inbox.mu.Unlock(); return len(order) >= len(want) })
	_ = end()
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

func TestNotTakenIsOfferedAgain(t *testing.T) {
	a := telegramtest.New(t)
	inbox := &channelstest.Inbox{}
	end := channelstest.Running(t, a.Open(), inbox)
	listening(t, a)
	inbox.Refuse(errors.New("the disk is full"))
	polls := a.Called("getUpdates")
	a.Write("one")
	channelstest.Until(t, "it is offered again", func() bool { return a.Called("getUpdates") > polls+2 })
	inbox.Refuse(channels.ErrStranger)
	polls = a.Called("getUpdates")
	channelstest.Until(t, "a stranger is passed", func() (passed bool) {
		a.With(func() { passed = a.Calls["getUpdates"] > polls && len(a.Updates) == 0 })
		return passed
	})
	inbox.Refuse(nil)
	a.Write("two")
	channelstest.Until(t, "two is heard", func() bool { return slices.Equal(texts(inbox), []string{"two"}) })
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

func TestTroubleWhilePolling(t *testing.T) {
	a := telegramtest.New(t)
	inbox := &channelstest.Inbox{}
	ch := a.Open()
	if got := ch.Describe(); got != "not connected yet" {
		t.Error(got)
	}
	end := channelstest.Running(t, ch, inbox)
	listening(t, a)
	a.With(func() {
		a.PollFails = []func(http.ResponseWriter){
			func(w http.ResponseWriter) {
				telegramtest.Refuse(w, 429, "Too Many Requests: retry after 1", object{"retry_after": 1})
			},
			func(w http.ResponseWriter) { http.Error(w, "down", http.StatusBadGateway) },
			func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"ok":true,"result":[{"upd`) },
			func(w http.ResponseWriter) {
				telegramtest.Refuse(w, 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running", nil)
			},
			func(w http.ResponseWriter) {
				telegramtest.Grant(w, []any{"x", object{"no": "id"}})
			},
			func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		}
	})
	var want []string
	for i := range 250 {
		if i == 100 {
			a.Add("message", object{"text": 3}) // nobody can read that
		}
		want = append(want, fmt.Sprint("m", i))
		a.Write(want[i])
	}
	channelstest.Until(t, "all are heard", func() bool { return len(inbox.Heard()) >= len(want) })
	if got := ch.Describe(); !strings.HasPrefix(got, "connected as @HobBot for 0s; in groups") {
		t.Error(got)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, texts(inbox)); diff != "" {
		t.Error(diff)
	}
}

func TestFloodAndOutage(t *testing.T) {
	a := telegramtest.New(t)
	inbox := &channelstest.Inbox{}
	end := channelstest.Running(t, a.Open(), inbox)
	listening(t, a)
	down := make([]func(http.ResponseWriter), 12)
	for i := range down {
		down[i] = func(w http.ResponseWriter) { http.Error(w, "", http.StatusServiceUnavailable) }
	}
	var want []string
	a.With(func() { a.PollFails = down })
	for i := range 450 {
		want = append(want, fmt.Sprint("m", i))
		a.Write(want[i])
	}
	channelstest.Until(t, "all are heard", func() bool { return len(inbox.Heard()) >= len(want) })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, texts(inbox)); diff != "" {
		t.Error(diff)
	}
}

func TestStalePlace(t *testing.T) {
	a := telegramtest.New(t)
	old := fmt.Sprintf(`{"next":900000,"at":%d}`, time.Now().Add(-8*24*time.Hour).Unix())
	if err := a.Deps.Keep.Set(t.Context(), "offset", []byte(old)); err != nil {
		t.Fatal(err)
	}
	a.Write("after a week of silence")
	inbox := &channelstest.Inbox{}
	channelstest.Running(t, a.Open(), inbox)
	channelstest.Until(t, "it is heard", func() bool { return len(inbox.Heard()) == 1 })
}

func TestNeedsItsOwner(t *testing.T) {
	a := telegramtest.New(t)
	a.With(func() { a.Webhook = "https://other.example/hook/with/secret" })
	ch := a.Open()
	// One from before Hob was there is taken away when the channel starts, and not before.
	if said, err := ch.Test(t.Context()); err != nil || !strings.Contains(said, "a webhook at other.example") || strings.Contains(said, "with/secret") || a.Called("deleteWebhook") != 0 {
		t.Errorf("Test: %q, %v", said, err)
	}
	inbox := &channelstest.Inbox{}
	a.Write("to the webhook")
	end := channelstest.Running(t, ch, inbox)
	listening(t, a)
	a.Write("to Hob")
	channelstest.Until(t, "it is heard", func() bool { return slices.Equal(texts(inbox), []string{"to Hob"}) })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	// A later one is for the owner to judge.
	a.With(func() { a.Webhook = "https://other.example/hook/with/secret" })
	err := ch.Run(t.Context(), inbox)
	if err == nil || !strings.Contains(err.Error(), "deleteWebhook") || a.Called("deleteWebhook") != 1 {
		t.Errorf("Run: %v", err)
	}
	if said, err := ch.Test(t.Context()); err == nil || !strings.Contains(err.Error(), "other.example") || strings.Contains(err.Error(), "with/secret") {
		t.Errorf("Test: %q, %v", said, err)
	}
	a.With(func() { a.Webhook = "" })
	if said, err := ch.Test(t.Context()); err != nil || !strings.HasPrefix(said, "signed in as @HobBot; in groups it sees only") {
		t.Errorf("Test: %q, %v", said, err)
	}
	a.With(func() { a.ReadsAll = true })
	if said, err := ch.Test(t.Context()); err != nil || !strings.Contains(said, "sees all") {
		t.Errorf("Test: %q, %v", said, err)
	}
	ch, err = telegram.New(telegram.Config{Token: "99:wrongwrongwrong"}, a.Deps, a.Options())
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.Run(t.Context(), &channelstest.Inbox{}); channels.ClassOf(err) != channels.Unauthorised || !strings.Contains(err.Error(), "hob channel add telegram") {
		t.Errorf("Run: %v", err)
	}
}

func TestConfiguration(t *testing.T) {
	for _, c := range []telegram.Config{{}, {Token: "nonsense"}, {Token: "1:../../evilevil"}, {Token: telegramtest.Token, Allow: []string{"@ada"}}} {
		if _, err := telegram.New(c, channels.Deps{}, telegram.Options{}); err == nil || strings.Contains(err.Error(), "evil") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	ch, err := telegram.Driver{}.New(func(v any) error {
		v.(*telegram.Config).Token = "env:TG" //nolint:forcetypeassert // it is
		return nil
	}, channels.Deps{Secret: func(string) (string, error) { return telegramtest.Token, nil }})
	if err != nil || ch == nil {
		t.Error(err)
	}
}

func group(t *testing.T, text string, more object) object {
	m := telegramtest.Private(text)
	m["chat"] = object{"id": -100, "type": "supergroup", "title": "Family"}
	for k, v := range more {
		m[k] = v
	}
	return m
}

func TestWhatIsHeard(t *testing.T) {
	ent := func(kind string, offset, length int) object {
		return object{"entities": []object{{"type": kind, "offset": offset, "length": length}}}
	}
	bot := object{"id": telegramtest.Me, "is_bot": true, "username": "HobBot"}
	for _, c := range []struct {
		name string
		m    object
		want *channels.Inbound // Text, Chat, Mentioned, Forwarded, Outside count
	}{
		{"not to Hob", group(t, "hello all", nil), &channels.Inbound{Text: "hello all", Chat: "-100"}},
		{"a name", group(t, "👋 @hobbot what now", ent("mention", 3, 7)), &channels.Inbound{Text: "👋 what now", Chat: "-100", Mentioned: true}},
		{"another name", group(t, "@hobbot2 hi", ent("mention", 0, 8)), &channels.Inbound{Text: "@hobbot2 hi", Chat: "-100"}},
		{"a name without an entity", group(t, "@HobBot hi", nil), &channels.Inbound{Text: "@HobBot hi", Chat: "-100"}},
		{"a name alone", group(t, "@HobBot", ent("mention", 0, 7)), &channels.Inbound{Text: "@HobBot", Chat: "-100", Mentioned: true}},
		{"a name that is a link", group(t, "Hob, hi", object{"entities": []object{{"type": "text_mention", "offset": 0, "length": 4, "user": bot}}}), &channels.Inbound{Text: "hi", Chat: "-100", Mentioned: true}},
		{"entities that lie", group(t, "hi", object{"entities": []object{{"type": "mention", "offset": -1, "length": 9}, {"type": "mention", "offset": 1, "length": 1 << 40}}}), &channels.Inbound{Text: "hi", Chat: "-100"}},
		{"a command", group(t, "/stop@HobBot now", ent("bot_command", 0, 12)), &channels.Inbound{Text: "/stop now", Chat: "-100", Mentioned: true}},
		{"another bot's command", group(t, "/stop@OtherBot", ent("bot_command", 0, 14)), &channels.Inbound{Text: "/stop@OtherBot", Chat: "-100"}},
		{"an answer to Hob", group(t, "yes", object{"reply_to_message": object{"message_id": 1, "from": bot, "text": "Shall I?"}}), &channels.Inbound{Text: "yes", Chat: "-100", Mentioned: true}},
		{"an answer to another", group(t, "translate @HobBot", object{"entities": []object{{"type": "mention", "offset": 10, "length": 7}}, "reply_to_message": object{"message_id": 1, "from": object{"id": 9}, "text": "Bonjour"}}), &channels.Inbound{Text: "translate", Chat: "-100", Mentioned: true, Outside: []string{"Bonjour"}}},
		{"a topic", group(t, "hi", object{"message_thread_id": 5, "is_topic_message": true}), &channels.Inbound{Text: "hi", Chat: "-100/5"}},
		{"a thread that is no topic", group(t, "hi", object{"message_thread_id": 5}), &channels.Inbound{Text: "hi", Chat: "-100"}},
		{"passed on", group(t, "news", object{"forward_origin": object{"type": "of a new kind", "date": "?"}}), &channels.Inbound{Text: "news", Chat: "-100", Forwarded: true}},
		{"passed on from a person", group(t, "news", object{"forward_origin": object{"type": "user", "sender_user": object{"id": 5, "first_name": "Bob\nB"}}}), &channels.Inbound{Text: "Forwarded from Bob B:\nnews", Chat: "-100", Forwarded: true}},
		{"passed on from a channel", group(t, "news", object{"forward_origin": object{"type": "channel", "chat": object{"id": -5, "title": "Daily"}, "author_signature": "Eve"}}), &channels.Inbound{Text: "Forwarded from Daily, Eve:\nnews", Chat: "-100", Forwarded: true}},
		{"passed on from somebody hidden", group(t, "news", object{"forward_origin": object{"type": "hidden_user", "sender_user_name": "Carl"}}), &channels.Inbound{Text: "Forwarded from Carl:\nnews", Chat: "-100", Forwarded: true}},
		{"addresses behind words", group(t, "see 👋 this, http://b.example", object{"entities": []object{{"type": "text_link", "offset": 4, "length": 7, "url": "https://a.example/x"}, {"type": "text_link", "offset": 13, "length": 16, "url": "http://b.example/"}}}), &channels.Inbound{Text: "see 👋 this (https://a.example/x), http://b.example", Chat: "-100"}},
		{"a card that is answered", group(t, "call @HobBot", object{"entities": []object{{"type": "mention", "offset": 5, "length": 7}}, "reply_to_message": object{"message_id": 1, "from": object{"id": 9}, "contact": object{"phone_number": "+49 1", "first_name": "Bob"}}}), &channels.Inbound{Text: "call", Chat: "-100", Mentioned: true, Outside: []string{"[contact]\n[contact: Bob, +49 1]"}}},
		{"by way of a bot", group(t, "gif", object{"via_bot": object{"id": 4}}), &channels.Inbound{Text: "gif", Chat: "-100", Forwarded: true}},
		{"a caption", group(t, "", object{"caption": "look", "photo": []object{{"file_id": "s", "width": 10, "height": 10}, {"file_id": "l", "width": 90, "height": 90}}}), &channels.Inbound{Text: "look", Chat: "-100", Files: make([]channels.File, 1)}},
		{"a place", group(t, "", object{"location": object{"latitude": 52.5, "longitude": 13.4}, "venue": object{"title": "Café", "address": "Street 1"}}), &channels.Inbound{Text: "[location: 52.500000, 13.400000]", Chat: "-100", Outside: []string{"[place: Café, Street 1]"}}},
		{"a contact", group(t, "", object{"contact": object{"phone_number": "+49 1", "first_name": "Bob]\n[x"}}), &channels.Inbound{Text: "[contact]", Chat: "-100", Outside: []string{"[contact: Bob) (x, +49 1]"}}},
		{"a bot", group(t, "hi", object{"from": object{"id": 9, "is_bot": true}}), nil},
		{"Hob itself", group(t, "hi", object{"from": bot}), nil},
		{"a channel", group(t, "hi", object{"sender_chat": object{"id": -5}}), nil},
		{"blanks", group(t, "\u00a0", nil), nil},
		{"somebody came", group(t, "", object{"new_chat_members": []object{{"id": 9}}}), nil},
		{"a link to the bot", func() object { m := telegramtest.Private("/start ABCD-1234"); return m }(), &channels.Inbound{Text: "ABCD-1234", Chat: "7", Mentioned: true}},
		{"the first word", telegramtest.Private("/start"), &channels.Inbound{Text: "/help", Chat: "7", Mentioned: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := telegramtest.New(t)
			inbox := &channelstest.Inbox{}
			channelstest.Running(t, a.Open(), inbox)
			listening(t, a)
			a.Add("edited_message", telegramtest.Private("edited"))
			a.Add("message", c.m)
			a.Write("end")
			channelstest.Until(t, "the end", func() bool { h := inbox.Heard(); return len(h) > 0 && h[len(h)-1].Text == "end" })
			heard := inbox.Heard()
			if c.want == nil {
				if len(heard) != 1 {
					t.Errorf("heard %+v", heard[0])
				}
				return
			}
			if len(heard) != 2 {
				t.Fatalf("heard %d", len(heard))
			}
			got := heard[0]
			if got.Text != c.want.Text || got.Chat != c.want.Chat || got.Mentioned != c.want.Mentioned || got.Forwarded != c.want.Forwarded || !slices.Equal(got.Outside, c.want.Outside) || len(got.Files) != len(c.want.Files) || got.Group != strings.HasPrefix(got.Chat, "-") {
				t.Errorf("heard %+v", got)
			}
		})
	}
}

// TestAlbum: pictures that were sent together are one message, wherever a poll ends.
func TestAlbum(t *testing.T) {
	a := telegramtest.New(t)
	inbox, patient := &channelstest.Inbox{}, a.Options()
	patient.Album = time.Second
	channelstest.Running(t, a.OpenAt(patient), inbox)
	listening(t, a)
	picture := func(album, caption string, from int) {
		m := group(t, "", object{"from": object{"id": from}, "media_group_id": album, "caption": caption, "photo": []object{{"file_id": "p"}}})
		if caption != "" {
			m["caption_entities"] = []object{{"type": "mention", "offset": 0, "length": 7}}
		}
		a.Add("message", m)
	}
	picture("1", "", 7)
	picture("1", "@HobBot which is best?", 7)
	picture("1", "", 7)
	picture("2", "", 7)
	picture("2", "", 8)
	a.Write("end")
	channelstest.Until(t, "all are heard", func() bool { return len(inbox.Heard()) == 4 })
	var got []string
	for _, in := range inbox.Heard() {
		got = append(got, fmt.Sprintf("%s %q %d %v", in.Sender, in.Text, len(in.Files), in.Mentioned))
	}
	want := []string{`7 "which is best?" 3 true`, `7 "" 1 false`, `8 "" 1 false`, `7 "end" 0 true`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilesThatCome(t *testing.T) {
	a := telegramtest.New(t)
	inbox := &channelstest.Inbox{}
	ch := a.Open()
	channelstest.Running(t, ch, inbox)
	listening(t, a)
	m := telegramtest.Private("")
	m["voice"] = object{"file_id": "v", "file_size": 5, "mime_type": "audio/ogg"}
	m["document"] = object{"file_id": "d", "file_size": 21 << 20, "file_name": "big.zip"}
	a.Add("message", m)
	channelstest.Until(t, "it is heard", func() bool { return len(inbox.Heard()) == 1 })
	files := inbox.Heard()[0].Files
	if len(files) != 2 || files[0].Name != "big.zip" || files[1].Name != "voice.ogg" || files[1].MIME != "audio/ogg" || files[1].Size != 5 {
		t.Fatalf("files %+v", files)
	}
	if _, err := files[0].Open(t.Context()); err == nil || !strings.Contains(err.Error(), "20 MB") {
		t.Errorf("a large file: %v", err)
	}
	a.With(func() { a.Files["photos/file_1.jpg"] = []byte("hello") })
	r, err := files[1].Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	_ = r.Close()
	if err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	for _, bad := range []string{"", "../x", "/etc/passwd", "https://evil.example/x", "a//b", `a\b`, "missing"} {
		a.With(func() { a.FilePath = bad })
		if _, err := files[1].Open(t.Context()); err == nil || strings.Contains(err.Error(), telegramtest.Secret) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func note(id, chat, text string) channels.Delivery {
	return channels.Delivery{ID: id, Kind: channels.Reply, Channel: "telegram", Chat: chat, Text: text, CreatedAt: time.Now()}
}

func TestSend(t *testing.T) {
	a := telegramtest.New(t)
	ch := a.Open()
	d := note("d1", "-100/5", "**bold** <b>&\n\n| a | b |\n|---|---|\n| 1 | 2 |")
	d.Cause = []byte(`{"m":77,"g":true}`)
	r, err := ch.Send(t.Context(), d)
	if err != nil || r.ID == "" {
		t.Fatal(r, err)
	}
	got := a.Posts()[0]
	if got.Chat != "-100" || fmt.Sprint(got.Params["message_thread_id"]) != "5" || got.Raw != "<b>bold</b> &lt;b&gt;&amp;\n\n<pre>a  b\n-  -\n1  2</pre>" {
		t.Errorf("sent %+v", got)
	}
	if fmt.Sprint(got.Params["reply_parameters"]) != "map[allow_sending_without_reply:true message_id:77]" {
		t.Errorf("it answers %v", got.Params["reply_parameters"])
	}
	// What the server cannot parse, or finds too long, arrives as plain text.
	a.With(func() { a.NoHTML = true })
	if _, err := ch.Send(t.Context(), note("d2", "7", "**bold** [x](https://x.example)")); err != nil {
		t.Fatal(err)
	}
	a.With(func() { a.NoHTML = false })
	long := "| a | b |\n|---|---|\n" + strings.Repeat("| x | |\n", 400) + "| " + strings.Repeat("w", 30) + " | z |"
	if _, err := ch.Send(t.Context(), note("d3", "7", long)); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Send(t.Context(), note("d4", "7", "```\n```")); err != nil {
		t.Fatal(err)
	}
	sent := a.Posts()
	if sent[1].Text != "bold x (https://x.example)" || sent[3].Text != "```\n```" {
		t.Errorf("sent %q and %q", sent[1].Text, sent[3].Text)
	}
}

func TestDraft(t *testing.T) {
	a := telegramtest.New(t)
	ch := a.Open()
	id, err := ch.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "7", Text: "Well"})
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	for _, text := range []string{"Well, **this", "Well, **this", "Well, **this** is\n```go\nx :="} {
		if again, err := ch.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "7", Draft: id, Text: text}); err != nil || again != id {
			t.Fatal(again, err)
		}
	}
	d := note("d1", "7", "Well, **this** is it.")
	d.Draft = id
	r, err := ch.Send(t.Context(), d)
	if err != nil || r.ID != id {
		t.Fatal(r, err)
	}
	if n := len(a.Arrived()); n != 1 || len(a.Texts) != 1 || a.Posts()[0].Params["disable_notification"] != true {
		t.Errorf("%d messages", n)
	}
	for _, text := range a.Texts {
		if text != "Well, this is it." {
			t.Errorf("shown: %q", text)
		}
	}
	d.ID, d.Draft = "d2", "424242" // somebody deleted it
	if r, err = ch.Send(t.Context(), d); err != nil || r.ID == "424242" || len(a.Arrived()) != 2 {
		t.Error(r, err)
	}
	if a.Previewed() != 0 {
		t.Error("links are fetched")
	}
}

func TestMigration(t *testing.T) {
	a := telegramtest.New(t)
	a.With(func() { a.Migrated["-5"] = -1005 })
	ch := a.Open()
	for i := range 2 {
		if _, err := ch.Send(t.Context(), note(fmt.Sprint("d", i), "-5", "hi")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Open().Send(t.Context(), note("d9", "-5", "hi")); err != nil {
		t.Fatal(err)
	}
	if n := a.Called("sendMessage"); n != 4 {
		t.Errorf("%d calls, want one that was refused and 3", n)
	}
	for _, s := range a.Posts() {
		if s.Chat != "-1005" {
			t.Errorf("sent to %s", s.Chat)
		}
	}
	// An answer to a message of the old group names no message of the new one.
	d := note("d10", "-5", "hi")
	d.Cause = []byte(`{"m":3,"g":true,"c":-5}`)
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if s := a.Posts(); s[len(s)-1].Params["reply_parameters"] != nil {
		t.Error("it answers another message")
	}
	// The group says so itself, and its conversation goes on.
	inbox := &channelstest.Inbox{}
	channelstest.Running(t, ch, inbox)
	listening(t, a)
	a.Add("message", object{"message_id": 8, "text": "hi", "from": object{"id": 1}, "chat": object{"id": -1005, "type": "supergroup"}})
	channelstest.Until(t, "it is heard", func() bool { return len(inbox.Heard()) == 1 })
	if in := inbox.Heard()[0]; in.Chat != "-5" || in.Key != "-1005/8" {
		t.Errorf("heard %+v", in)
	}
	a.Add("message", object{"message_id": 1, "chat": object{"id": -6, "type": "group"}, "from": object{"id": 1}, "migrate_to_chat_id": -1006})
	channelstest.Until(t, "it is known", func() bool {
		_, err := ch.Send(t.Context(), note("m", "-6", "hi"))
		s := a.Posts()
		return err == nil && s[len(s)-1].Chat == "-1006"
	})
}

func TestFilesThatGo(t *testing.T) {
	a := telegramtest.New(t)
	ch := a.Open()
	dir := t.TempDir()
	file := func(name, mime, content string) channels.Attachment {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return channels.Attachment{Name: name, MIME: mime, Size: int64(len(content)), Path: path}
	}
	d := note("d1", "7", "**Here**")
	d.Files = []channels.Attachment{file("a.pdf", "application/pdf", "pdf")}
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d = note("d2", "7/3", "Two")
	d.Files = []channels.Attachment{file("b.png", "image/png", "png"), file("c.txt", "text/plain", "txt")}
	a.Fail(channels.Temporary, 1)
	if _, err := ch.Send(t.Context(), d); err == nil {
		t.Fatal("no error")
	}
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range a.Posts() {
		got = append(got, fmt.Sprintf("%s %s %s %s %q", s.Method, s.Chat, s.Filename, s.File, s.Text))
	}
	want := []string{`sendDocument 7 a.pdf pdf "Here"`, `sendMessage 7   "Two"`, `sendPhoto 7 b.png png ""`, `sendDocument 7 c.txt txt ""`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// What arrived is not said again when a later file fails.
	d.ID = "d3"
	missing := d
	missing.Files = []channels.Attachment{file("e.txt", "text/plain", "e"), {Name: "gone.txt", Path: filepath.Join(dir, "gone.txt")}}
	before := len(a.Posts())
	for range 2 {
		if _, err := ch.Send(t.Context(), missing); err == nil || !strings.Contains(err.Error(), "gone.txt") {
			t.Error(err)
		}
	}
	if n := len(a.Posts()) - before; n != 2 {
		t.Errorf("%d posts, want the text and the first file", n)
	}
}

func press(from int, data string, msg int) object {
	return object{
		"id": "cb1", "from": object{"id": from}, "data": data,
		"message": object{"message_id": msg, "date": time.Now().Add(time.Hour).Unix(), // its clock is wrong
			"chat": object{"id": telegramtest.Owner, "type": "private"}},
	}
}

func question(id string) channels.Delivery {
	d := note(id, "7", "May I?")
	d.Kind = channels.Question
	return d
}

func words(t *testing.T, a *telegramtest.Server, n int) object {
	t.Helper()
	channelstest.Until(t, "the press is answered", func() bool { return a.Called("answerCallbackQuery") >= n })
	var said object
	a.With(func() { said = a.Answers[n-1] })
	return said
}

func TestApprove(t *testing.T) {
	for _, yes := range []bool{true, false} {
		a := telegramtest.New(t)
		buttons := &channelstest.Buttons{Owner: "7", Question: "q123"}
		a.Deps.Buttons = buttons
		ch := a.Open()
		channelstest.Running(t, ch, &channelstest.Inbox{})
		listening(t, a)
		if _, err := ch.Send(t.Context(), question("d1")); err != nil {
			t.Fatal(err)
		}
		msg := a.Posts()[0].ID
		board := fmt.Sprint(a.Board(msg))
		if !strings.Contains(board, "y:q123") || !strings.Contains(board, "n:q123") {
			t.Fatalf("the keyboard is %s", board)
		}
		a.Add("callback_query", press(8, "y:q123", msg)) // a stranger
		if said := words(t, a, 1); said["text"] != channels.ErrNotOwner.Error() || said["show_alert"] != true || len(buttons.Pressed()) != 0 {
			t.Errorf("a stranger is told %v", said)
		}
		a.Add("callback_query", press(telegramtest.Owner, "z:q123", msg))
		if said := words(t, a, 2); said["show_alert"] != true || len(buttons.Pressed()) != 0 {
			t.Errorf("nonsense is told %v", said)
		}
		if fmt.Sprint(a.Board(msg)) != board {
			t.Error("a stranger took the buttons away")
		}
		a.Add("callback_query", press(telegramtest.Owner, map[bool]string{true: "y:q123", false: "n:q123"}[yes], msg))
		if said := words(t, a, 3); said["text"] == "" || said["show_alert"] != false {
			t.Errorf("the owner is told %v", said)
		}
		p := buttons.Pressed()
		if len(p) != 1 || p[0].Yes != yes || p[0].Sender != "7" || p[0].Chat != "7" || time.Since(p[0].Shown) > time.Minute || time.Since(p[0].Shown) < 0 {
			t.Errorf("pressed %+v", p)
		}
		channelstest.Until(t, "the buttons go", func() bool { return !strings.Contains(fmt.Sprint(a.Board(msg)), "q123") })
		if text := a.Texts[msg]; text != "May I?" {
			t.Errorf("the question is now %q", text)
		}
	}
}

// TestAnsweredElsewhere: buttons go also when the question was answered while Hob was
// off.
func TestAnsweredElsewhere(t *testing.T) {
	a := telegramtest.New(t)
	buttons := &channelstest.Buttons{Owner: "7", Question: "q1"}
	a.Deps.Buttons = buttons
	if _, err := a.Open().Send(t.Context(), question("d1")); err != nil {
		t.Fatal(err)
	}
	if _, err := buttons.Answer(t.Context(), "terminal", "q1", time.Now(), true); err != nil {
		t.Fatal(err)
	}
	msg := a.Posts()[0].ID
	channelstest.Running(t, a.Open(), &channelstest.Inbox{})
	channelstest.Until(t, "the buttons go", func() bool { return !strings.Contains(fmt.Sprint(a.Board(msg)), "q1") })
	channelstest.Until(t, "it is forgotten", func() bool {
		kept, err := a.Deps.Keep.Get(t.Context(), "asked")
		return err == nil && string(kept) == "[]"
	})
	// A long id does not fit on a button.
	long := &channelstest.Buttons{Owner: "7", Question: strings.Repeat("q", 70)}
	a.Deps.Buttons = long
	if _, err := a.Open().Send(t.Context(), question("d2")); err != nil || a.Board(a.Posts()[len(a.Posts())-1].ID) != nil {
		t.Error(err)
	}
}

// TestSecrets: the token is in every address, and in nothing that is said or written.
func TestSecrets(t *testing.T) {
	a := telegramtest.New(t)
	var logged bytes.Buffer
	a.Deps.Log = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ch := a.Open()
	echo := func(w http.ResponseWriter) {
		telegramtest.Refuse(w, 400, "Bad Request: /bot"+telegramtest.Token+"/x "+telegramtest.Secret, nil)
	}
	var said []string
	note1 := note("d", "7", "x")
	for _, f := range []func(http.ResponseWriter){
		echo,
		func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>"+telegramtest.Token) },
		func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://evil.example/bot"+telegramtest.Token)
			w.WriteHeader(http.StatusFound)
		},
		func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter) { telegramtest.Grant(w, telegramtest.Token) },
	} {
		a.With(func() { a.Fails, a.PollFails = []func(http.ResponseWriter){f}, []func(http.ResponseWriter){f} })
		_, err := ch.Send(t.Context(), note1)
		if err == nil {
			t.Error("no error")
			continue
		}
		said = append(said, err.Error())
	}
	end := channelstest.Running(t, ch, &channelstest.Inbox{})
	listening(t, a)
	_ = end()
	a.Down()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := ch.Send(ctx, note1)
	said = append(said, fmt.Sprint(err), fmt.Sprintf("%+v", err), ch.Describe())
	_, err = ch.Test(ctx)
	said = append(said, fmt.Sprint(err), logged.String())
	_ = ch.Run(ctx, &channelstest.Inbox{})
	said = append(said, logged.String(), ch.Describe())
	for _, s := range said {
		if strings.Contains(s, telegramtest.Secret) {
			t.Errorf("the token is told: %s", s)
		}
	}
}

func TestErrors(t *testing.T) {
	a := telegramtest.New(t)
	ch := a.Open()
	for _, c := range []struct {
		code  int
		said  string
		class channels.Class
		maybe bool
	}{
		{400, "Bad Request: chat not found", channels.Permanent, false},
		{401, "Unauthorized", channels.Unauthorised, false},
		{403, "Forbidden: bot was kicked from the group chat", channels.Permanent, false},
		{404, "Not Found", channels.Unauthorised, false},
		{500, "Internal Server Error", channels.Temporary, true},
		{502, "Bad Gateway", channels.Temporary, true},
	} {
		a.With(func() {
			a.Fails = []func(http.ResponseWriter){func(w http.ResponseWriter) { telegramtest.Refuse(w, c.code, c.said, nil) }}
		})
		_, err := ch.Send(t.Context(), note("d", "7", "x"))
		e, ok := errors.AsType[*channels.Error](err)
		if !ok || e.Class != c.class || e.MaybeSent != c.maybe {
			t.Errorf("%d: %v (%+v)", c.code, err, e)
		}
	}
	a.Fail(channels.Later, 1)
	_, err := ch.Send(t.Context(), note("d", "7", "x"))
	if e, ok := errors.AsType[*channels.Error](err); !ok || time.Until(e.RetryAt) < 50*time.Second || time.Until(e.RetryAt) > 61*time.Second {
		t.Errorf("429: %+v", e)
	}
}

// TestCommands: what is announced is what the engine understands.
func TestCommands(t *testing.T) {
	list, err := os.ReadFile("commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(filepath.Join("..", "..", "autonomy", "command.go"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		name, about, ok := strings.Cut(strings.TrimSpace(line), " - ")
		// https://core.telegram.org/bots/api#botcommand
		if !ok || !regexp.MustCompile(`^[a-z0-9_]{1,32}$`).MatchString(name) || len(about) > 256 {
			t.Errorf("%q is no command", line)
		}
		if !regexp.MustCompile(`\{\[\]string\{"` + name + `"[^}]*\}, "[^"]*", "` + regexp.QuoteMeta(about) + `"`).Match(code) {
			t.Errorf("the engine has no command %q with these words", line)
		}
	}
}
