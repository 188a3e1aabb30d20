package telegram_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram/telegramtest"
)

func groupMessage(t *testing.T, text string, more object) object {
	m := telegramtest.Private(text)
	m["chat"] = object{"id": -100, "type": "supergroup", "title": "Family"}
	for k, v := range more {
		m[k] = v
	}
	return m
}

func TestReceive(t *testing.T) {
	ent := func(kind string, offset, length int) object {
		return object{"entities": []object{{"type": kind, "offset": offset, "length": length}}}
	}
	bot := object{"id": telegramtest.Me, "is_bot": true, "username": "HobBot"}
	for _, c := range []struct {
		name string
		m    object
		want *channels.Inbound // Text, Chat, Mentioned, Forwarded, Outside count
	}{
		{"not to Hob", groupMessage(t, "hello all", nil), &channels.Inbound{Text: "hello all", Chat: "-100"}},
		{"a name", groupMessage(t, "👋 @hobbot what now", ent("mention", 3, 7)), &channels.Inbound{Text: "👋 what now", Chat: "-100", Mentioned: true}},
		{"another name", groupMessage(t, "@hobbot2 hi", ent("mention", 0, 8)), &channels.Inbound{Text: "@hobbot2 hi", Chat: "-100"}},
		{"a name without an entity", groupMessage(t, "@HobBot hi", nil), &channels.Inbound{Text: "@HobBot hi", Chat: "-100"}},
		{"only a name", groupMessage(t, "@HobBot", ent("mention", 0, 7)), &channels.Inbound{Text: "@HobBot", Chat: "-100", Mentioned: true}},
		{"a name that is a link", groupMessage(t, "Hob, hi", object{"entities": []object{{"type": "text_mention", "offset": 0, "length": 4, "user": bot}}}), &channels.Inbound{Text: "hi", Chat: "-100", Mentioned: true}},
		{"entities that lie", groupMessage(t, "hi", object{"entities": []object{{"type": "mention", "offset": -1, "length": 9}, {"type": "mention", "offset": 1, "length": 1 << 40}}}), &channels.Inbound{Text: "hi", Chat: "-100"}},
		{"a command", groupMessage(t, "/stop@HobBot now", ent("bot_command", 0, 12)), &channels.Inbound{Text: "/stop now", Chat: "-100", Mentioned: true}},
		{"another bot's command", groupMessage(t, "/stop@OtherBot", ent("bot_command", 0, 14)), &channels.Inbound{Text: "/stop@OtherBot", Chat: "-100"}},
		{"an answer to Hob", groupMessage(t, "yes", object{"reply_to_message": object{"message_id": 1, "from": bot, "text": "Shall I?"}}), &channels.Inbound{Text: "yes", Chat: "-100", Mentioned: true, ReplyTo: []string{"1"}}},
		{"an answer to another", groupMessage(t, "translate @HobBot", object{"entities": []object{{"type": "mention", "offset": 10, "length": 7}}, "reply_to_message": object{"message_id": 1, "from": object{"id": 9}, "text": "Bonjour"}}), &channels.Inbound{Text: "translate", Chat: "-100", Mentioned: true, Outside: []string{"Bonjour"}, ReplyTo: []string{"1"}}},
		{"a topic", groupMessage(t, "hi", object{"message_thread_id": 5, "is_topic_message": true}), &channels.Inbound{Text: "hi", Chat: "-100/5"}},
		{"a thread that is no topic", groupMessage(t, "hi", object{"message_thread_id": 5}), &channels.Inbound{Text: "hi", Chat: "-100"}},
		{"passed on", groupMessage(t, "news", object{"forward_origin": object{"type": "of a new kind", "date": "?"}}), &channels.Inbound{Text: "news", Chat: "-100", Forwarded: true}},
		{"passed on from a person", groupMessage(t, "news", object{"forward_origin": object{"type": "user", "sender_user": object{"id": 5, "first_name": "Bob\nB"}}}), &channels.Inbound{Text: "Forwarded from Bob B:\nnews", Chat: "-100", Forwarded: true}},
		{"passed on from a channel", groupMessage(t, "news", object{"forward_origin": object{"type": "channel", "chat": object{"id": -5, "title": "Daily"}, "author_signature": "Eve"}}), &channels.Inbound{Text: "Forwarded from Daily, Eve:\nnews", Chat: "-100", Forwarded: true}},
		{"forwarded from a hidden user", groupMessage(t, "news", object{"forward_origin": object{"type": "hidden_user", "sender_user_name": "Carl"}}), &channels.Inbound{Text: "Forwarded from Carl:\nnews", Chat: "-100", Forwarded: true}},
		{"links in text", groupMessage(t, "see 👋 this, http://b.example", object{"entities": []object{{"type": "text_link", "offset": 4, "length": 7, "url": "https://a.example/x"}, {"type": "text_link", "offset": 13, "length": 16, "url": "http://b.example/"}}}), &channels.Inbound{Text: "see 👋 this (https://a.example/x), http://b.example", Chat: "-100"}},
		{"a card that is answered", groupMessage(t, "call @HobBot", object{"entities": []object{{"type": "mention", "offset": 5, "length": 7}}, "reply_to_message": object{"message_id": 1, "from": object{"id": 9}, "contact": object{"phone_number": "+49 1", "first_name": "Bob"}}}), &channels.Inbound{Text: "call", Chat: "-100", Mentioned: true, Outside: []string{"[contact]\n[contact: Bob, +49 1]"}, ReplyTo: []string{"1"}}},
		{"sent via a bot", groupMessage(t, "gif", object{"via_bot": object{"id": 4}}), &channels.Inbound{Text: "gif", Chat: "-100", Forwarded: true}},
		{"a caption", groupMessage(t, "", object{"caption": "look", "photo": []object{{"file_id": "s", "width": 10, "height": 10}, {"file_id": "l", "width": 90, "height": 90}}}), &channels.Inbound{Text: "look", Chat: "-100", Files: make([]channels.File, 1)}},
		{"a place", groupMessage(t, "", object{"location": object{"latitude": 52.5, "longitude": 13.4}, "venue": object{"title": "Café", "address": "Street 1"}}), &channels.Inbound{Text: "[location: 52.500000, 13.400000]", Chat: "-100", Outside: []string{"[place: Café, Street 1]"}}},
		{"a contact", groupMessage(t, "", object{"contact": object{"phone_number": "+49 1", "first_name": "Bob]\n[x"}}), &channels.Inbound{Text: "[contact]", Chat: "-100", Outside: []string{"[contact: Bob) (x, +49 1]"}}},
		{"a bot", groupMessage(t, "hi", object{"from": object{"id": 9, "is_bot": true}}), nil},
		{"Hob itself", groupMessage(t, "hi", object{"from": bot}), nil},
		{"a channel", groupMessage(t, "hi", object{"sender_chat": object{"id": -5}}), nil},
		{"blanks", groupMessage(t, "\u00a0", nil), nil},
		{"a member joined", groupMessage(t, "", object{"new_chat_members": []object{{"id": 9}}}), nil},
		{"a link to the bot", func() object { m := telegramtest.Private("/start ABCD-1234"); return m }(), &channels.Inbound{Text: "ABCD-1234", Chat: "7", Mentioned: true}},
		{"the first word", telegramtest.Private("/start"), &channels.Inbound{Text: "/help", Chat: "7", Mentioned: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := telegramtest.New(t)
			inbox := &channelstest.Inbox{}
			channelstest.Running(t, a.Open(), inbox)
			awaitListening(t, a)
			a.Add("edited_message", telegramtest.Private("edited"))
			a.Add("message", c.m)
			a.Write("end")
			channelstest.Until(t, "the end", func() bool { h := inbox.Heard(); return len(h) > 0 && h[len(h)-1].Text == "end" })
			heard := inbox.Heard()
			if c.want == nil {
				if len(heard) != 1 {
					t.Errorf("received %+v", heard[0])
				}
				return
			}
			if len(heard) != 2 {
				t.Fatalf("received %d messages", len(heard))
			}
			got := heard[0]
			if got.Text != c.want.Text || got.Chat != c.want.Chat || got.Mentioned != c.want.Mentioned || got.Forwarded != c.want.Forwarded || !slices.Equal(got.ReplyTo, c.want.ReplyTo) || !slices.Equal(got.Outside, c.want.Outside) || len(got.Files) != len(c.want.Files) || got.Group != strings.HasPrefix(got.Chat, "-") {
				t.Errorf("received %+v", got)
			}
		})
	}
}

// TestAlbum checks that pictures that were sent together become one message, even if they arrive in
// several polls.
func TestAlbum(t *testing.T) {
	a := telegramtest.New(t)
	inbox, patient := &channelstest.Inbox{}, a.Options()
	patient.Album = time.Second
	channelstest.Running(t, a.OpenAt(patient), inbox)
	awaitListening(t, a)
	picture := func(album, caption string, from int) {
		m := groupMessage(t, "", object{"from": object{"id": from}, "media_group_id": album, "caption": caption, "photo": []object{{"file_id": "p"}}})
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
	channelstest.Until(t, "all messages", func() bool { return len(inbox.Heard()) == 4 })
	var got []string
	for _, in := range inbox.Heard() {
		got = append(got, fmt.Sprintf("%s %q %d %v", in.Sender, in.Text, len(in.Files), in.Mentioned))
	}
	want := []string{`7 "which is best?" 3 true`, `7 "" 1 false`, `8 "" 1 false`, `7 "end" 0 true`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReceive_Files(t *testing.T) {
	a := telegramtest.New(t)
	inbox := &channelstest.Inbox{}
	ch := a.Open()
	channelstest.Running(t, ch, inbox)
	awaitListening(t, a)
	m := telegramtest.Private("")
	m["voice"] = object{"file_id": "v", "file_size": 5, "mime_type": "audio/ogg"}
	m["document"] = object{"file_id": "d", "file_size": 21 << 20, "file_name": "big.zip"}
	a.Add("message", m)
	channelstest.Until(t, "the message", func() bool { return len(inbox.Heard()) == 1 })
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
			t.Errorf("%q: Open = %v", bad, err)
		}
	}
}
