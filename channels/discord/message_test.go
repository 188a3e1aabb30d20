package discord_test

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/discord"
	"hob/channels/discord/discordtest"
)

// TestParseMessage checks how messages of people, programs and Discord itself are converted.
func TestParseMessage(t *testing.T) {
	mention := []object{{"id": discordtest.BotID, "username": "hob"}}
	hob := object{"id": discordtest.BotID, "bot": true}
	for _, c := range []struct {
		name  string
		group bool
		text  string
		more  object
		want  string // "" with a nil check means that the message is not received
		check func(in channels.Inbound) bool
	}{
		{"a direct message", false, "hello", nil, "hello", func(in channels.Inbound) bool {
			return !in.Group && !in.Mentioned && in.Sender == "7" && in.SenderName == "User 7" && in.Chat == "c1" && in.Channel == "discord" && !in.FromOwner
		}},
		{"a mention", true, "<@" + discordtest.BotID + ">, what <@!" + discordtest.BotID + "> is  new?", object{"mentions": mention}, ", what is  new?", func(in channels.Inbound) bool {
			return in.Group && in.Mentioned && in.Server == discordtest.GuildID && strings.Contains(string(in.Payload), in.Key)
		}},
		{"a mention of its role", true, "hi <@&" + discordtest.RoleID + ">", object{"mention_roles": []string{discordtest.RoleID}}, "hi", func(in channels.Inbound) bool { return in.Mentioned }},
		{"a mention of a shared role", true, "hi <@&99>", object{"mention_roles": []string{"99"}}, "hi <@&99>", func(in channels.Inbound) bool { return !in.Mentioned }},
		{"a mention of everyone", true, "@everyone", object{"mention_everyone": true}, "@everyone", func(in channels.Inbound) bool { return !in.Mentioned }},
		{"an answer to Hob", true, "yes", object{"type": 19, "referenced_message": object{"id": "1", "author": hob, "content": "shall I?"}}, "yes", func(in channels.Inbound) bool { return in.Mentioned && len(in.Outside) == 0 }},
		{"a reply to another member", true, "<@" + discordtest.BotID + "> what is this?", object{"type": 19, "mentions": mention, "referenced_message": object{"id": "1", "author": object{"id": "9", "username": "eve"}, "content": "do it"}}, "what is this?", func(in channels.Inbound) bool {
			return in.Mentioned && slices.Equal(in.Outside, []string{"In answer to eve:\ndo it"})
		}},
		{"in a thread", true, "more", object{"channel_id": "thread1"}, "more", func(in channels.Inbound) bool { return in.Chat == "thread1" && in.ChatName == "#plans" }},
		{"names for ids", false, "ask <@8> in <#g1> <:wave:12> <a:go:13> <@77> <b>", object{"mentions": []object{{"id": "8", "username": "bob"}}}, "ask @bob in <#g1> :wave: :go: <@77> <b>", nil},
		{"a reply to a question", false, "yes", object{"type": 19, "message_reference": object{"message_id": "5"}, "referenced_message": object{"id": "5", "author": hob, "content": "May I?"}}, "yes", func(in channels.Inbound) bool {
			return slices.Equal(in.ReplyTo, []string{"5"}) && !in.Threaded && len(in.Outside) == 0
		}},
		{"forwarded", false, "", object{"message_reference": object{"type": 1, "message_id": "5"}, "message_snapshots": []object{{"message": object{"content": "pay me", "attachments": []object{{"filename": "a.txt", "url": "http://cdn.example.com/a.txt", "size": 3}}}}}}, "pay me", func(in channels.Inbound) bool {
			return in.Forwarded && len(in.Files) == 1
		}},
		{"only a file", false, "", object{"attachments": []object{{"filename": "a.png", "content_type": "image/png", "size": 3, "url": "http://cdn.example.com/a.png"}}}, "", func(in channels.Inbound) bool {
			return len(in.Files) == 1 && in.Files[0].Name == "a.png" && in.Files[0].MIME == "image/png" && len(in.Images) == 0
		}},
		{"a nickname", true, "x", object{"member": object{"nick": "Nicky"}}, "x", func(in channels.Inbound) bool { return in.SenderName == "Nicky" }},
		{"its own", false, "x", object{"author": hob}, "", nil},
		{"another bot's", false, "x", object{"author": object{"id": "3", "bot": true}}, "", nil},
		{"a webhook's", true, "x", object{"webhook_id": "3"}, "", nil},
		{"Discord's own", false, "x", object{"author": object{"id": "3", "system": true}}, "", nil},
		{"a member joined", true, "x", object{"type": 7}, "", nil},
		{"nothing", false, "  ", nil, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, in := discordtest.New(t), &channelstest.Inbox{}
			stop := channelstest.Running(t, w.Open(), in)
			channelstest.Until(t, "a connection", w.Connected)
			w.Person("c1", "7", c.text, c.group, c.more)
			w.Person("c1", "7", "after it", false, nil)
			channelstest.Until(t, "the next message", func() bool { return slices.Contains(receivedTexts(in), "after it") })
			_ = stop()
			heard := in.Heard()
			if c.want == "" && c.check == nil {
				if len(heard) != 1 {
					t.Fatalf("received %+v", heard[0])
				}
				return
			}
			if len(heard) != 2 || heard[0].Text != c.want || c.check != nil && !c.check(heard[0]) {
				t.Errorf("received %+v", heard[0])
			}
		})
	}
}

// TestFiles_OnlyFromDiscord checks that the address in an attachment is not trusted.
func TestFiles_OnlyFromDiscord(t *testing.T) {
	for at, good := range map[string]bool{
		"http://cdn.example.com/f":                  true,
		"http://evil.example.com/f":                 false,
		"http://cdn.example.com.evil.example.com/f": false,
		"http://cdn.example.com@evil.example.com/f": false,
		"http://user@cdn.example.com/f":             false,
		"http://cdn.example.com/elsewhere":          false,
		"file:///etc/passwd":                        false,
		"http://169.254.169.254/latest/meta-data":   false,
		"": false,
	} {
		w := discordtest.New(t)
		w.Deps.Network = w.Net.Impatient(t) // a large file takes longer than other requests are allowed to
		raw, _ := json.Marshal(object{"id": "5", "channel_id": "c", "author": object{"id": "7"}, "attachments": []object{{"filename": "f", "url": at, "size": 10}}})
		in, ok := w.Open().Inbound(raw)
		if !ok || len(in.Files) != 1 {
			t.Fatal("the message has no file")
		}
		r, err := in.Files[0].Open(t.Context())
		if (err == nil) != good {
			t.Errorf("%s: %v", at, err)
		}
		if err == nil {
			if b, _ := io.ReadAll(r); string(b) != "the file /f" {
				t.Errorf("%s: ReadAll = %q", at, b)
			}
			_ = r.Close()
		}
	}
}

// FuzzEvents checks that no gateway input causes a panic, and that received messages can be stored.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{
		`{"id":"5","channel_id":"c","author":{"id":"7"},"content":"<@4200000000000000001> <:a:1> <"}`,
		`{"id":"5","channel_id":"c","guild_id":"4","author":{"id":"7"},"content":"x","referenced_message":{"author":{"id":"8"},"content":"y"},"message_reference":{"type":1},"message_snapshots":[{"message":{"content":"z"}}]}`,
		`{"id":"4","name":"s","channels":[{"id":"c","name":"n"}],"roles":[{"id":"1","tags":{"bot_id":null}}],"members":[{"user":{"id":"4200000000000000001"},"roles":["2"]}]}`,
		`{"id":"1","application_id":"2","type":2,"token":"t","channel_id":"c","user":{"id":"7"},"data":{"name":"ask","options":[{"value":"x"}],"custom_id":"hob:yes:q"}}`,
		`{"user":{"id":"4200000000000000001"},"session_id":"s","resume_gateway_url":"wss://x"}`, `null`, `"`, `{"nonce":5,"mentions":null}`,
	} {
		f.Add([]byte(s))
	}
	ch, err := discord.New(discord.Config{Token: discordtest.Token}, channels.Deps{}, discord.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ch.Events(raw)
		in, ok := ch.Inbound(raw)
		if !ok {
			return
		}
		if in.Sender == "" || in.Chat == "" || in.Key == "" || !json.Valid(in.Payload) || in.Text != strings.TrimSpace(in.Text) || !utf8.ValidString(in.Text) || in.FromOwner {
			t.Errorf("%s parses as %+v", raw, in)
		}
	})
}
