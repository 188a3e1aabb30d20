package offline

import (
	"strings"
	"testing"
)

// TestTidySpeech checks dictated requests: a filler is in no text and no time, and what is not one stays.
func TestTidySpeech(t *testing.T) {
	g := New(testOptions("")).grammar()
	for said, want := range map[string]string{
		"um remind me, uh, to call Bob":               "remind me, to call Bob",
		"add milk and uh eggs, er, bread":             "add milk and eggs, bread",
		"remind me to, you know, call Bob":            "remind me to, call Bob",
		"call Bob and okay so email Eve":              "call Bob and email Eve",
		"remind me to um... call Bob":                 "remind me to call Bob",
		"take dad to the ER":                          "take dad to the ER",
		"how many mm are 3 inches":                    "how many mm are 3 inches",
		"note: \"um and er\" are fillers":             "note: \"um and er\" are fillers",
		"remind me at 5 er 6 to call Bob":             "remind me at 5 er 6 to call Bob",
		"hmm":                                         "hmm",
		"uh huh":                                      "uh huh",
		"um 9":                                        "um 9",
		"wecke mich um 7":                             "wecke mich um 7",
		"nein, um 9":                                  "nein, um 9",
		"put a task down to mail the gifts":           "put down a task to mail the gifts",
		"remind me at noon our time to call Eve":      "remind me at noon to call Eve",
		"remind me at 3 pm eastern time to call Eve":  "remind me at 3 pm eastern time to call Eve",
		"remind me to enjoy our time":                 "remind me to enjoy our time",
		"remind me in the morning too at 7 to eat":    "remind me at 7 in the morning too to eat",
		"remind me in the morning at 7 am to do that": "remind me in the morning at 7 am to do that",
	} {
		if got := g.tidySpeech(said); got != want {
			t.Errorf("tidySpeech(%q) = %q, want %q", said, got, want)
		}
	}
}

// TestSpeech_LeadsToCalls checks what such requests lead to.
func TestSpeech_LeadsToCalls(t *testing.T) {
	g, now := New(testOptions("")).grammar(), corpusTime(t)
	for said, want := range map[string]string{
		"remind me to er pick the cot up on Saturday at 11":                     `create_reminder {"at":"2026-03-07T11:00:00+02:00","text":"pick the cot up"}`,
		"okay so remind me to call Linda at four and um also to email Bob at 5": `create_reminder {"at":"2026-03-04T16:00:00+02:00","text":"call Linda"}; create_reminder {"at":"2026-03-04T17:00:00+02:00","text":"email Bob"}`,
		"add dog food and uh insulin syringes to my shopping list":              `create_task {"project":"shopping list","title":"dog food"}; create_task {"project":"shopping list","title":"insulin syringes"}`,
		"put a task down to mail the closing gifts":                             `create_task {"title":"mail the closing gifts"}`,
		"jot down to call the roofer":                                           `create_task {"title":"call the roofer"}`,
		"um remind me at noon our time to call Claire":                          `create_reminder {"at":"2026-03-04T12:00:00+02:00","text":"call Claire"}`,
		"note for the remodel the fridge has to be white":                       `create_note {"text":"for the remodel the fridge has to be white"}`,
		"how much have I spent today total":                                     `spending_summary {"period":"today"}`,
		"how much have I spent in total today":                                  `spending_summary {"period":"today"}`,
	} {
		if got := describePlan(g.planRequests(said, now, 0)); got != want {
			t.Errorf("%q leads to %s, want %s", said, got, want)
		}
	}
	for said, want := range map[string]string{
		"what day was it on November 5th": "Wednesday, 5 November 2025",
		"what day is November 5th":        "Thursday, 5 November 2026",
	} {
		if p := g.planRequests(said, now, 0); !strings.Contains(p.say, want) {
			t.Errorf("%q: %q, want %q", said, p.say, want)
		}
	}
}

// TestSpeech_KeepsTheHour checks that a part of the day and an hour after it are one time.
func TestSpeech_KeepsTheHour(t *testing.T) {
	c := newConversation(t)
	c.hearText("remind me every day at 7 pm to give Biscuit his insulin")
	c.answerCalls("OK")
	expectCalls(t, c.hearText("um and in the morning too at 7"), `create_reminder{"every":"0 7 * * *","text":"give Biscuit his insulin"}`)
}

// TestSpeech_AsksOrTells checks messages of which a part would be lost or guessed.
func TestSpeech_AsksOrTells(t *testing.T) {
	for _, tc := range [][3]string{
		{"hello", "my flight to Porto is 19 dec at 6:40 from terminal 2", "Is 6:40 in the morning or in the evening?"},
		{"remind me 3 hours before my flight on the 19th at 6:40", "in the morning", `19 Mar at 03:40`},
		{"hello", "remind me tomorrow at 6 to catch the ferry", "Is 6 in the morning or in the evening?"},
		{"hello", "remind me on 19 dec at 6:40 to check the oven", "Should I remind you Sat 19 Dec"},
		{"hello", "remind me if it rains tomorrow to take my jacket", "I cannot notice when that happens"},
		{"hello", "add eggs milk half and half and a rotisserie chicken to the grocery list", "Should I do all of that?"},
		{"hello", "make a packing list for Sedona with hiking boots sunscreen insulin cooler and my book", "- add “book” to your Sedona packing list"},
	} {
		c := newConversation(t)
		c.hearText(tc[0])
		if calls := c.hearText(tc[1]); len(calls) > 0 && !strings.Contains(tc[2], "03:40") || len(calls) == 0 && !strings.Contains(c.lastText(), tc[2]) {
			t.Errorf("%q, %q: calls %v, %q, want %q", tc[0], tc[1], calls, c.lastText(), tc[2])
		}
	}
	c := newConversation(t)
	c.hearText("I have an open house Saturday from 1 to 4 pm at 910 West Willetta")
	c.answerCalls("Noted.")
	c.hearText("what do I have on Saturday")
	last := c.answerCalls("Nothing is on for Sat 7 Mar.")
	if got := last.Text(); !strings.Contains(got, "you have an open house") {
		t.Errorf("the agenda is %q", got)
	}
	c = newConversation(t)
	c.hearText("remind me to call Claire at noon")
	c.answerCalls("I will remind you today at 12:00: call Claire.")
	c.hearText("actually never mind")
	c.hearText("thank you")
	if !strings.Contains(c.lastText(), "the reminder “call Claire” stays") {
		t.Errorf("the reply is %q", c.lastText())
	}
}
