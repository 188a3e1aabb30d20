package offline

import (
	"strings"
	"testing"
)

// TestConversation_AsksInsteadOfGuessing checks messages that have two readings, or refer to something that Hob cannot
// find. It is Wednesday, 4 March 2026, 10:15.
func TestConversation_AsksInsteadOfGuessing(t *testing.T) {
	for _, tc := range []struct{ before, said, want string }{
		{"", "remind me of hers two days before, at ten in the morning", "When exactly should I remind you?"},
		{"", "remind me to order the cake a week before at 9", "When exactly should I remind you?"},
		{"what is 15% of £84?", "and 20% of it?", "1. of the amount: 20 % of 84 = 16.8\n2. of the result: 20 % of 12.6 = 2.52"},
		{"what's 11 times 24.60", "and plus a quarter", "1. a quarter of it: 270.6 + 67.65 = 338.25\n2. the number 0.25: 270.6 + 0.25 = 270.85"},
		{"what's 11 times 24.60", "minus a third", "a third of it: 270.6 - 90.2 = 180.4"},
		{"", "what is 200 plus a half", "1. a half of it: 200 + 100 = 300"},
		{"", "track my water, 8 glasses a day", "names a goal"},
		{"", "track reading 20 minutes a day", "names a goal"},
		{"", "log habit run 3 times a week", "names a goal"},
		{"", "bins out thurs nights, remind me every week at 9", "one request at a time"},
		{"", "choir tuesday 8pm, and remind me at 6 to warm up", "one request at a time"},
		{"", "swimming friday at 5, remind me to pack towels", "one request at a time"},
		{"", "concert in the cathedral sunday 13th december 7.30 be there for 6", "I did not understand"},
		{"what day is the 23rd?", "please note that I am at Meena's for those days", "Which day or days do you mean by “those days”?"},
		{"", "remember that the car is away that day", "by “that day”"},
		{"", "I spent £42.60 at the chandlery this morning on rope and two fenders.", "so I logged nothing"},
		{"orthodontist next tuesday at 10.30", "move it to wednesday same time", "Should I remind you Wed 11 Mar at 10:30 of “orthodontist”?"},
		{"night shift thurs 9pm to 8am", "and the sunday", "tomorrow at 21:00 and Sun 8 Mar at 21:00"},
		{"gym thursday at 6pm", "and make it 7", "Should I remind you tomorrow at 19:00 of “gym”?"},
		{"gym thursday at 6pm", "move it to fri", "Should I remind you Fri 6 Mar at 18:00 of “gym”?"},
		{"dinner with mum sunday at 6", "actually cancel the dinner", "OK, “dinner with mum” is not set."},
		{"remind me to send the Bright invoice tomorrow at 9am", "and the lumen one at 9:30", "I did not understand"},
		{"", "I spent £23.45 at the chemist's this morning on creams", "so I logged nothing"},
		{"", "remind me and linda church supper sunday at 5", "one request at a time"},
		{"remind me to give tilly her tablet at 8am every day", "and 8pm", "I cannot use “and 8pm” as an answer to that."},
		{"remind me to give tilly her tablet at 8am every day", "8pm", "I cannot use “8pm” as an answer to that."},
		{"", "is next monday a bank holiday", "I do not know those of other countries."},
		{"", "put \"buy stamps\", \"write to Kamla\" and \"mark the paper\" on my to-do list", "one request at a time"},
	} {
		c := newConversation(t)
		if tc.before != "" {
			for range c.hearText(tc.before) {
				c.answerCalls("OK")
			}
		}
		expectCalls(t, c.hearText(tc.said))
		if !strings.Contains(c.lastText(), tc.want) {
			t.Errorf("%q, %q: %s, want %q", tc.before, tc.said, c.lastText(), tc.want)
		}
	}
}

func TestReminder_FitsTheHalfOfTheDay(t *testing.T) {
	g, now := New(testOptions("")).grammar(), corpusTime(t)
	for said, want := range map[string]string{
		"remind me to go to bed at 11":                                  `create_reminder {"at":"2026-03-04T23:00:00+02:00","text":"go to bed"}`,
		"remind me to go to bed every day at 11":                        `create_reminder {"every":"0 23 * * *","text":"go to bed"}`,
		"remind me to have breakfast at 8":                              `create_reminder {"at":"2026-03-05T08:00:00+02:00","text":"have breakfast"}`,
		"remind me to have dinner at 11:30":                             `create_reminder {"at":"2026-03-04T23:30:00+02:00","text":"have dinner"}`,
		"remind me to make the bed at 11":                               `create_reminder {"at":"2026-03-04T11:00:00+02:00","text":"make the bed"}`,
		"remind me at 11am to go to bed":                                `create_reminder {"at":"2026-03-04T11:00:00+02:00","text":"go to bed"}`,
		"remind me in 11 minutes to go to bed":                          `create_reminder {"at":"2026-03-04T10:26:00+02:00","text":"go to bed"}`,
		"I should like to be reminded on Thursday at 4pm to ring Priya": `create_reminder {"at":"2026-03-05T16:00:00+02:00","text":"ring Priya"}`,
		"Bran weighs 28 kilos, note that":                               `remember {"text":"Bran weighs 28 kilos"}`,
		"how much did I spend this week so far":                         `spending_summary {"period":"this_week"}`,
		"how much have I spent altogether today":                        `spending_summary {"period":"today"}`,
	} {
		if got := describePlan(g.planRequests(said, now, 0)); got != want {
			t.Errorf("%q leads to %s, want %s", said, got, want)
		}
	}
}

// TestReminder_TellsThatTodayHasPassed checks a recurrence whose day is today, after its usual time.
func TestReminder_TellsThatTodayHasPassed(t *testing.T) {
	c := newConversation(t)
	c.hearText("remind me every Wednesday to pay the newsagent")
	c.answerCalls("I will remind you.")
	if got := c.lastText(); !strings.Contains(got, "because 09:00 has passed") {
		t.Errorf("got %q, want that 09:00 has passed", got)
	}
	c = newConversation(t)
	c.hearText("remind me every Thursday to pay the newsagent")
	c.answerCalls("I will remind you.")
	if got := c.lastText(); strings.Contains(got, "passed") {
		t.Errorf("got %q, want nothing about today", got)
	}
}
