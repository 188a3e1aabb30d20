package approvaltest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/discord"
	"hob/channels/discord/discordtest"
	"hob/channels/slack"
	"hob/channels/slack/slacktest"
	"hob/channels/telegram"
	"hob/channels/telegram/telegramtest"
)

// containsPart reports whether one of the texts contains part.
func containsPart(texts []string, part string) bool {
	return strings.Contains(strings.Join(texts, "\n"), part)
}

// openTelegram opens a bot with private chats and a group.
func openTelegram(t *testing.T) *chatChannel {
	s := telegramtest.New(t)
	ids := map[string]int{owner: 7, guest: 8, "stranger": 9}
	const crowd, name = -77, "@HobBot"
	return &chatChannel{
		section: fmt.Sprintf("[channels.telegram]\ntoken = %q\nallow = [\"%d\"]\nsettle = \"0s\"\n", telegramtest.Token, ids[guest]),
		driver:  withoutRateLimit(s.Driver(), func(c channels.Channel) channels.Channel { return freeTelegram{c.(*telegram.Channel)} }),
		guests:  true, groups: true, others: []string{"stranger"}, trial: true,
		say: func(who string, group bool, text string) bool {
			person := telegramtest.Object{"id": ids[who], "first_name": who}
			m := telegramtest.Object{"date": time.Now().Unix(), "text": text, "from": person, "chat": telegramtest.Object{"id": ids[who], "type": "private"}}
			if group {
				m["text"], m["chat"] = name+" "+text, telegramtest.Object{"id": crowd, "type": "supergroup", "title": "crowd"}
				m["entities"] = []telegramtest.Object{{"type": "mention", "offset": 0, "length": len(name)}}
			}
			s.Add("message", m)
			return who == "stranger"
		},
		press: func(who string, _ bool, _ string, yes bool) {
			if m, ok := s.Asked(); ok {
				if _, err := s.Press(t.Context(), fmt.Sprint(ids[who]), m, map[bool]string{true: "Approve", false: "Deny"}[yes]); err != nil {
					t.Error(err)
				}
			}
		},
		saw: func(part string) bool { return containsPart(s.Arrived(), part) },
	}
}

// openDiscord opens a bot in a server, which also receives direct messages.
func openDiscord(t *testing.T) *chatChannel {
	s := discordtest.New(t)
	ids := map[string]string{owner: "4200000000000000101", guest: "4200000000000000102", "stranger": "4200000000000000103"}
	chat := func(who string, group bool) string {
		if group {
			return "g1"
		}
		return "dm" + ids[who]
	}
	return &chatChannel{
		section: fmt.Sprintf("[channels.discord]\ntoken = %q\nallow = [%q]\nsettle = \"0s\"\n", discordtest.Token, ids[guest]),
		driver:  withoutRateLimit(s.Driver(), func(c channels.Channel) channels.Channel { return freeDiscord{c.(*discord.Channel)} }),
		guests:  true, groups: true, others: []string{"stranger"}, trial: true,
		say: func(who string, group bool, text string) bool {
			s.Say(t.Context(), chat(who, group), ids[who], text, group)
			return who == "stranger"
		},
		press: func(who string, group bool, _ string, yes bool) {
			told := len(s.Told())
			if s.Press(chat(owner, group), ids[who], yes) {
				waitUntil(t, "who presses is told what came of it", func() bool { return len(s.Told()) > told })
			}
		},
		saw: func(part string) bool { return containsPart(s.Arrived(), part) },
	}
}

// openSlack opens an app in a workspace, which receives direct messages and messages in a thread.
func openSlack(t *testing.T) *chatChannel {
	s := slacktest.New(t)
	const thread = "1600000000.000001"
	id := func(who string) string { return "U0" + strings.ToUpper(who) }
	return &chatChannel{
		section: fmt.Sprintf("[channels.slack]\nbot_token = %q\napp_token = %q\nallow = [%q]\nsettle = \"0s\"\n", slacktest.BotToken, slacktest.AppToken, slacktest.Team+"/"+id(guest)),
		driver:  withoutRateLimit(s.Driver(), func(c channels.Channel) channels.Channel { return freeSlack{c.(*slack.Channel)} }),
		guests:  true, groups: true, others: []string{"stranger"}, trial: true,
		say: func(who string, group bool, text string) bool {
			s.Say(t.Context(), map[bool]string{true: "crowd", false: who}[group], who, text, group)
			return who == "stranger"
		},
		press: func(who string, group bool, _ string, yes bool) {
			at := "D0" + strings.ToUpper(owner)
			if group {
				at = "C0CROWD/" + thread
			}
			told := len(s.Made("chat.postEphemeral"))
			if env := s.Press(at, id(who), yes); env != "" {
				waitUntil(t, "the press is taken", func() bool { return s.Acked(env) })
				if who != owner {
					waitUntil(t, "who presses is told what came of it", func() bool { return len(s.Made("chat.postEphemeral")) > told })
				}
			}
		},
		saw: func(part string) bool { return containsPart(s.Arrived(), part) },
	}
}
