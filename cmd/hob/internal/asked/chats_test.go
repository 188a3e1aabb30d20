package asked

import (
	"fmt"
	"strings"
	"testing"

	"hob/channels/telegram"
	"hob/channels/telegram/telegramtest"
)

// openTelegram is a bot, with the people of one group.
func openTelegram(t *testing.T) *place {
	s := telegramtest.New(t)
	id := func(who string) string { return map[string]string{owner: "7", guest: "8", "stranger": "9"}[who] }
	return &place{
		section: fmt.Sprintf("[channels.telegram]\ntoken = %q\nallow = [%q]\nsettle = \"0s\"\n", telegramtest.Token, id(guest)),
		driver:  telegram.Driver{URL: s.URL}, guests: true, groups: true, others: []string{"stranger"}, trial: true,
		say: func(who string, group bool, text string) bool {
			chat := id(who)
			if group {
				chat, text = "77", "@HobBot "+text
			}
			s.Say(t.Context(), chat, id(who), text, group)
			return who == "stranger"
		},
		press: func(who string, _ bool, _ string, yes bool) {
			m, ok := s.Asked()
			if !ok {
				t.Error("there are no buttons")
				return
			}
			said, err := s.Press(t.Context(), id(who), m, map[bool]string{true: "Approve", false: "Deny"}[yes])
			t.Log(who, said, err)
		},
		saw: func(part string) bool { return strings.Contains(strings.Join(s.Arrived(), "\n"), part) },
	}
}
