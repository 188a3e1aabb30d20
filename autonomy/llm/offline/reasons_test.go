package offline

import (
	"strings"
	"testing"
)

// TestReasons checks requests with a reason, which is dropped only if it holds no time, figure or condition of its own.
func TestReasons(t *testing.T) {
	for said, want := range map[string]string{
		"Could you please wake me at ten to six tomorrow, as the plumber is coming early?":                           `create_reminder{"at":"2026-03-05T05:50:00+02:00","text":"wake up"}`,
		"Please remind me to telephone Meena on Saturday evening about Christmas, because she works in the daytime.": `create_reminder{"at":"2026-03-07T18:00:00+02:00","text":"telephone Meena about Christmas"}`,
		"remind me to buy milk at 5, since we have none left":                                                        `create_reminder{"at":"2026-03-04T17:00:00+02:00","text":"buy milk"}`,
		"add a task to call the bank because the card is blocked":                                                    `create_task{"title":"call the bank"}`,
		"remind me to buy milk at 5, as long as the shop is open":                                                    "",
		"remind me to buy milk at 5, as well as bread":                                                               "",
		"remind me to call mum at 5 because she leaves at 6":                                                         "",
		"remind me to call mum at 5 because she is ill and to buy milk":                                              "",
		"remind me at 5 to leave because if I am late they lock the door":                                            "",
		"wake me at 6 tomorrow as soon as the kettle boils":                                                          "",
		"Remind me to call mum tomorrow at 5, since Friday is too late":                                              "",
	} {
		c := newConversation(t)
		var got []string
		for _, k := range c.hearText(said) {
			got = append(got, k.Name+string(k.Args))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q led to %q, want %q; reply %q", said, got, want, c.lastText())
		}
	}
}

// TestCorrections_InPoliteForms checks corrections of the last record in other words.
func TestCorrections_InPoliteForms(t *testing.T) {
	for _, tc := range []struct{ first, second, want string }{
		{"remind me to call dee at 4", "actually 5", `update_reminder{"at":"17:00","reminder":"call dee"}`},
		{"remind me to buy 6 eggs at 4", "actually 5", ""},
		{"remind me to call dee at 4", "5", ""},
		{"remind me at two o'clock today to collect the post", "Actually, could you make it half past two?", `update_reminder{"at":"14:30","reminder":"collect the post"}`},
		{"remind me to call dee at 4", "could you delete it?", `cancel_reminder{"reminder":"call dee"}`},
		{"remind me to call dee at 4", "would you delete it if it rains?", ""},
		{"remind me to call dee at 4", "can you make it to the party at 6?", ""},
		{"remind me to call dee at 4", "and tomorrow as well at the same time", `create_reminder{"at":"2026-03-05T16:00:00+02:00","text":"call dee"}`},
		{"remind me to call dee tomorrow at 6pm", "She will be at work then; make it eight, please.", `update_reminder{"at":"20:00","reminder":"call dee"}`},
		{"remind me to call dee tomorrow at 6pm", "her meeting is delayed, make it 9:15", `update_reminder{"at":"21:15","reminder":"call dee"}`},
		{"remind me to call dee tomorrow at 6pm", "if she is ill, make it 8", ""},
		{"every tues at 7pm remind me pickup soccer", "actually drop it completely", `cancel_reminder{"reminder":"pickup soccer"}`},
		{"I spent £14.20 at the greengrocer's.", "I am sorry, the greengrocer's was £12.40, not £14.20.", `undo{"id":"off_`},
		{"I spent £14.20 at the greengrocer's.", "the greengrocer's was £12.40, not £15.", ""},
		{"note shoot ideas: rooftop at dusk", "add to that: neon alley by edgewood", `append_note{"note":"shoot ideas: rooftop at dusk","text":"neon alley by edgewood"}`},
		{"remind me to call dee at 4", "add to that: neon alley by edgewood", ""},
	} {
		c := newConversation(t)
		for _, k := range c.hearText(tc.first) {
			_ = k
			c.answerCalls("OK")
			break
		}
		got := ""
		for _, k := range c.hearText(tc.second) {
			got += k.Name + string(k.Args)
		}
		if tc.want == "" && got != "" || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%q, then %q led to %q, want %q; reply %q", tc.first, tc.second, got, tc.want, c.lastText())
		}
	}
}

// TestEvents_WithTwoWarnings checks reminders before an event that is named first.
func TestEvents_WithTwoWarnings(t *testing.T) {
	for said, want := range map[string]string{
		"The number 22 bus leaves Evington Road at 10:42; please remind me twenty minutes beforehand.":                                                                     "10:22",
		"Mum's hospital appointment is on Monday the 14th of December at 11:20 at the Glenfield, ward 17; please remind me the evening before and again two hours before.": "Sun 13 Dec at 18:00",
		"my dentist is on friday at 3, remind me the evening before":                                                                                                       "Dentist on Fri 6 Mar at 15:00",
		"choir every tuesday at 8pm in st fin barres hall":                                                                                                                 "every tuesday at 8pm of “choir in st fin barres hall”",
		"remind me every mon wed fri at 7am to hit the gym":                                                                                                                `"0 7 * * 1,3,5"`,
	} {
		c := newConversation(t)
		got := ""
		for _, k := range c.hearText(said) {
			got += k.Name + string(k.Args)
		}
		if got += c.lastText(); !strings.Contains(got, want) {
			t.Errorf("%q led to %q, want %q", said, got, want)
		}
	}
	for _, said := range []string{"my dentist is on friday at 3, remind me an hour before and to bring the card", "choir every tuesday at 8pm unless it rains", "GP for me friday 9.40"} {
		c := newConversation(t)
		if calls := c.hearText(said); len(calls) > 0 || strings.Contains(c.lastText(), "Should I") {
			t.Errorf("%q led to %v, reply %q", said, calls, c.lastText())
		}
	}
}
