package offline

import (
	"strings"
	"testing"
)

// hearAll sends messages that must cause no calls, and then the last one, whose calls it returns.
func (c *conversation) hearAll(t *testing.T, messages ...string) []string {
	t.Helper()
	for _, s := range messages[:len(messages)-1] {
		if calls := c.hearText(s); len(calls) > 0 {
			t.Fatalf("%q led to the calls %v", s, calls)
		}
	}
	var out []string
	for _, call := range c.hearText(messages[len(messages)-1]) {
		out = append(out, call.Name+string(call.Args))
	}
	return out
}

func TestOffer_CanBeChanged(t *testing.T) {
	const offered = "coffee with Nadja on friday at 10"
	tests := []struct {
		changes string // messages, joined by "; "
		asks    string
		want    []string
	}{
		{"hm no she can only do 11:30", "Fri 6 Mar at 11:30 of “coffee with Nadja”", []string{`{"at":"2026-03-06T11:30:00+02:00","text":"coffee with Nadja"}`}},
		{"no, at 11", "Fri 6 Mar at 11:00 of", []string{`{"at":"2026-03-06T11:00:00+02:00","text":"coffee with Nadja"}`}},
		{"make it 11", "Fri 6 Mar at 11:00 of", []string{`{"at":"2026-03-06T11:00:00+02:00","text":"coffee with Nadja"}`}},
		{"can we make it 11:30?", "Fri 6 Mar at 11:30 of", []string{`{"at":"2026-03-06T11:30:00+02:00","text":"coffee with Nadja"}`}},
		{"saturday not friday", "Sat 7 Mar at 10:00 of", []string{`{"at":"2026-03-07T10:00:00+02:00","text":"coffee with Nadja"}`}},
		{"saturday instead of friday", "Sat 7 Mar at 10:00 of", []string{`{"at":"2026-03-07T10:00:00+02:00","text":"coffee with Nadja"}`}},
		{"sorry, I meant monday at 9", "Mon 9 Mar at 09:00 of", []string{`{"at":"2026-03-09T09:00:00+02:00","text":"coffee with Nadja"}`}},
		{"same time on monday", "Mon 9 Mar at 10:00 of", []string{`{"at":"2026-03-09T10:00:00+02:00","text":"coffee with Nadja"}`}},
		{"do it on saturday instead", "Sat 7 Mar at 10:00 of", []string{`{"at":"2026-03-07T10:00:00+02:00","text":"coffee with Nadja"}`}},
		{"in the evening", "Fri 6 Mar at 18:00 of", []string{`{"at":"2026-03-06T18:00:00+02:00","text":"coffee with Nadja"}`}},
		{"and the same every week please", "every Friday at 10:00 of", []string{`{"every":"0 10 * * 5","text":"coffee with Nadja"}`}},
		{"actually make it every week", "every Friday at 10:00 of", []string{`{"every":"0 10 * * 5","text":"coffee with Nadja"}`}},
		{"every two weeks please", "every 2 weeks on Friday at 10:00 of", []string{`{"every":"every two weeks on Friday at 10:00","text":"coffee with Nadja"}`}},
		{"on saturday too", "Fri 6 Mar at 10:00 and Sat 7 Mar at 10:00 of", []string{`{"at":"2026-03-06T10:00:00+02:00","text":"coffee with Nadja"}`, `{"at":"2026-03-07T10:00:00+02:00","text":"coffee with Nadja"}`}},
		{"and add a reminder an hour before", "Fri 6 Mar at 09:00 and Fri 6 Mar at 10:00 of", []string{`{"at":"2026-03-06T09:00:00+02:00","text":"coffee with Nadja"}`, `{"at":"2026-03-06T10:00:00+02:00","text":"coffee with Nadja"}`}},
		{"remind me an hour before", "Fri 6 Mar at 09:00 of “coffee with Nadja (10:00)”", []string{`{"at":"2026-03-06T09:00:00+02:00","text":"coffee with Nadja (10:00)"}`}},
		{"it takes 75 minutes", "Fri 6 Mar at 10:00 of “coffee with Nadja (75 minutes)”", []string{`{"at":"2026-03-06T10:00:00+02:00","text":"coffee with Nadja (75 minutes)"}`}},
		{"it's at Luigi's", "Fri 6 Mar at 10:00 of “coffee with Nadja at Luigi's”", []string{`{"at":"2026-03-06T10:00:00+02:00","text":"coffee with Nadja at Luigi's"}`}},
		{"she can only do 11:30; another reminder 30 minutes before", "Fri 6 Mar at 11:00 and Fri 6 Mar at 11:30 of", []string{`{"at":"2026-03-06T11:00:00+02:00","text":"coffee with Nadja"}`, `{"at":"2026-03-06T11:30:00+02:00","text":"coffee with Nadja"}`}},
	}
	for _, tc := range tests {
		t.Run(tc.changes, func(t *testing.T) {
			c := newConversation(t)
			if calls := c.hearAll(t, append([]string{offered}, strings.Split(tc.changes, "; ")...)...); len(calls) > 0 {
				t.Fatalf("the change led to the calls %v, want none before the approval", calls)
			}
			if got := c.lastText(); !strings.Contains(got, "Should I remind you "+tc.asks) || !strings.HasSuffix(got, "?") {
				t.Fatalf("question after the change = %q", got)
			}
			var expected []string
			for _, args := range tc.want {
				expected = append(expected, "create_reminder"+args)
			}
			expectCalls(t, c.hearText("yes"), expected...)
		})
	}
}

func TestOffer_CanBeDeclined(t *testing.T) {
	for _, asked := range []string{"yoga class on tuesday at 18:30", "remind me to call mum", "add a task"} {
		for _, no := range []string{
			"cancel it, i quit yoga", "cancel it", "forget it", "never mind", "nevermind then", "drop it please", "oh no, it's cancelled",
			"i don't need that any more", "no need", "scratch that", "actually, forget about it", "I changed my mind",
		} {
			t.Run(asked+"/"+no, func(t *testing.T) {
				c := newConversation(t)
				if calls := c.hearAll(t, asked, no); len(calls) > 0 || strings.HasSuffix(c.lastText(), "?") {
					t.Fatalf("after the refusal: calls %v, reply %q", calls, c.lastText())
				}
				if calls := c.hearText("yes"); len(calls) > 0 {
					t.Errorf("\"yes\" after the refusal led to the calls %v", calls)
				}
			})
		}
	}
}

func TestOffer_RequestedTextIsNoRefusal(t *testing.T) {
	for said, expected := range map[string]string{
		"cancel that gym contract":          "cancel that gym contract",
		"drop it at the post office":        "drop it at the post office",
		"stop that noise of the neighbours": "stop that noise of the neighbours",
	} {
		if got := newConversation(t).hearAll(t, "remind me tomorrow at 9", said); strings.Join(got, " ") != `create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"`+expected+`"}` {
			t.Errorf("%q led to the calls %v", said, got)
		}
	}
}

func TestOffer_DeclinedWithANewRequest(t *testing.T) {
	for said, expected := range map[string]string{
		"never mind, add milk to the shopping list":        `create_task{"project":"shopping list","title":"milk"}`,
		"cancel it, remind me tomorrow at 9 to call Nadja": `create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call Nadja"}`,
		"cancel the dentist reminder":                      `cancel_reminder{"reminder":"dentist"}`,
		"remind me tomorrow at 9 to call mum":              `create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call mum"}`,
		"spent 12 on lunch":                                `log_expense{"amount":12,"category":"lunch"}`,
		"add a task to buy a mat":                          `create_task{"title":"buy a mat"}`,
		"what are my tasks?":                               `list_tasks{}`,
		"remember that Nadja likes tea":                    `remember{"text":"Nadja likes tea"}`,
		"wake me at 6 tomorrow":                            `create_reminder{"at":"2026-03-05T06:00:00+02:00","text":"wake up"}`,
		"note: the boiler hums":                            `create_note{"text":"the boiler hums"}`,
	} {
		if got := newConversation(t).hearAll(t, "coffee with Nadja on friday at 10", said); strings.Join(got, " ") != expected {
			t.Errorf("%q led to the calls %v, want %s", said, got, expected)
		}
	}
}

func TestOffer_CancelItRefersToTheRecordAfterAnotherAnswer(t *testing.T) {
	c := newConversation(t)
	c.hearText("remind me on tuesday at 18:30 of yoga")
	c.answerCalls("OK")
	c.hearText("remind me to call mum")
	c.hearText("what time is it?")
	expectCalls(t, c.hearText("cancel it"))
	if want := "Should I cancel the reminder “yoga”?"; c.lastText() != want {
		t.Errorf("reply %q, want %q", c.lastText(), want)
	}
}

func TestOffer_NamedReminderIsNotTheQuestion(t *testing.T) {
	c := newConversation(t)
	c.hearText("remind me on tuesday at 18:30 of yoga")
	c.answerCalls("OK")
	c.hearText("start a packing list")
	expectCalls(t, c.hearText("delete that reminder"), `cancel_reminder{"reminder":"yoga"}`)
}

func TestOffer_ForgetItMeansTheLastRecord(t *testing.T) {
	c := newConversation(t)
	c.hearText("start a packing list")
	c.hearText("remind me friday at 8 to wear my big coat")
	c.answerCalls("OK")
	expectCalls(t, c.hearText("actually forget it"))
	if want := "Should I undo that?"; !strings.HasSuffix(c.lastText(), want) {
		t.Errorf("reply %q, want %q", c.lastText(), want)
	}
}

func TestOffer_StaysOpenDuringAQuestion(t *testing.T) {
	for said, expected := range map[string]string{
		"cancel it, i quit yoga": "", "forget it": "",
		"make it 19:00 then": "every Tuesday at 19:00", "on thursdays": "every Thursday at 18:30", "it takes 75 minutes": "(75 minutes)",
	} {
		c := newConversation(t)
		c.hearAll(t, "yoga class on tuesday at 18:30", "and the same every week please", "what time is it?")
		if calls := c.hearText(said); len(calls) > 0 || !strings.Contains(c.lastText(), expected) || strings.Contains(c.lastText(), "Should I") == (expected == "") {
			t.Errorf("%q: %v %q", said, calls, c.lastText())
		}
	}
}

func TestOffer_NotForATextThatOnlyRefers(t *testing.T) {
	for _, said := range []string{
		"and on friday too", "and the same every week please", "that one on friday at 9", "the same tomorrow at 8", "it on monday at 9",
		"too tomorrow at 9", "the other one on friday at 10", "this again tomorrow at 7", "another one on sunday at 10", "both tomorrow at 9", "on friday at 9 as well",
	} {
		for _, before := range []string{"", "what time is it?"} {
			c := newConversation(t)
			if before != "" {
				c.hearText(before)
			}
			if calls := c.hearText(said); len(calls) > 0 || strings.Contains(c.lastText(), "Should I") {
				t.Errorf("%q after %q: calls %v, reply %q", said, before, calls, c.lastText())
			}
		}
	}
}

func TestOffer_SameReminderAtAnotherTime(t *testing.T) {
	tests := []struct{ first, second, want string }{
		{"wake me at 6:20 tomorrow", "and on friday too", `{"at":"2026-03-06T06:20:00+02:00","text":"wake up"}`},
		{"wake me at 6:20 tomorrow", "also on friday", `{"at":"2026-03-06T06:20:00+02:00","text":"wake up"}`},
		{"wake me at 6:20 tomorrow", "and friday as well", `{"at":"2026-03-06T06:20:00+02:00","text":"wake up"}`},
		{"wake me at 6:20 tomorrow", "the same on friday", `{"at":"2026-03-06T06:20:00+02:00","text":"wake up"}`},
		{"remind me every day at 8am to take my pill", "also at 8pm", `{"every":"0 20 * * *","text":"take my pill"}`},
		{"remind me on tuesday at 18:30 of yoga", "and the same every week please", `{"every":"30 18 * * 2","text":"yoga"}`},
		{"remind me on tuesday at 18:30 of yoga", "and the same every day", `{"every":"30 18 * * *","text":"yoga"}`},
		{"remind me on tuesday at 18:30 of yoga", "also on thursday", `{"at":"2026-03-05T18:30:00+02:00","text":"yoga"}`},
		{"remind me on tuesday at 18:30 of yoga", "on thursday too please", `{"at":"2026-03-05T18:30:00+02:00","text":"yoga"}`},
		{"remind me on the 1st of april at 9 to pay rent", "and the same every month", `{"every":"0 9 1 * *","text":"pay rent"}`},
		{"remind me every weekday at 8 to take my pill", "also on saturdays", `{"every":"0 8 * * 6","text":"take my pill"}`},
		{"remind me every weekday at 8 to take my pill", "hm wait, also saturdays", `{"every":"0 8 * * 6","text":"take my pill"}`},
	}
	for _, tc := range tests {
		c := newConversation(t)
		c.hearText(tc.first)
		c.answerCalls("OK")
		expectCalls(t, c.hearText(tc.second), "create_reminder"+tc.want)
	}
}

func TestQuestions_AboutAlarmsSetNone(t *testing.T) {
	for _, said := range []string{
		"any alarms set for tomorrow?", "any alarms set for tomorrow", "any alarm set for tomorrow morning?", "any alarms tomorrow?", "any timers running?",
		"any reminders for friday?", "are there any alarms for tomorrow?", "is there an alarm set for tomorrow?", "any reminders set for today?", "do i have any alarms set for tomorrow?", "any alarms on for monday?",
	} {
		c := newConversation(t)
		expectCalls(t, c.hearText(said), "list_reminders{}")
	}
}

func TestThanks_InMoreWords(t *testing.T) {
	for _, said := range []string{
		"thanks a bunch", "thanks a million", "thanks heaps", "thanks a ton", "thank you for listening", "thanks for everything", "thank you for your help",
		"thanks for asking", "thanks for reminding me", "thank you so much for your time", "cheers for that",
	} {
		c := newConversation(t)
		if calls := c.hearText(said); len(calls) > 0 || c.lastText() != "You are welcome." {
			t.Errorf("%q: %v %q", said, calls, c.lastText())
		}
	}
}

func TestFollowUps_Both(t *testing.T) {
	for name, tc := range map[string]struct {
		said []string
		want []string
	}{
		"two created one after the other": {[]string{"add a task to buy paint", "add a task to buy brushes", "delete both"}, []string{`delete_task{"task":"buy paint"}`, `delete_task{"task":"buy brushes"}`}},
		"the same one, changed":           {[]string{"add a task to buy paint", "make it urgent", "delete both"}, nil},
		"records of two kinds":            {[]string{"add a task to buy paint", "remind me at 5pm to stretch", "delete both"}, nil},
		"another message between the two": {[]string{"add a task to buy paint", "what time is it?", "add a task to buy brushes", "delete both"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConversation(t)
			for _, s := range tc.said[:len(tc.said)-1] {
				for range c.hearText(s) {
					c.answerCalls("OK")
				}
			}
			expectCalls(t, c.hearText(tc.said[len(tc.said)-1]), tc.want...)
		})
	}
}

func TestFollowUps_RecurrenceKeepsTheDay(t *testing.T) {
	for first, want1 := range map[string]string{
		"remind me on the 1st of april at 9 to pay rent": `update_reminder{"every":"0 9 1 * *","reminder":"pay rent"}`,
		"remind me every monday at 9 to pay rent":        "",
	} {
		c := newConversation(t)
		c.hearText(first)
		c.answerCalls("OK")
		calls := c.hearText("make it every month")
		if want1 != "" {
			expectCalls(t, calls, want1)
		} else if len(calls) > 0 || !strings.Contains(c.lastText(), "the day is missing") {
			t.Errorf("after %q: calls %v, reply %q", first, calls, c.lastText())
		}
	}
}

func TestOffer_NeverMindAfterAnActionAsks(t *testing.T) {
	c := newConversation(t)
	made := c.hearText("remind me at 5pm to call mum")
	c.answerCalls("I will remind you today at 17:00: call mum.")
	if calls := c.hearText("actually don't"); len(calls) > 0 || !strings.HasSuffix(c.lastText(), "set the reminder “call mum”. Should I undo that?") {
		t.Errorf("calls %v, reply %q", calls, c.lastText())
	}
	expectCalls(t, c.hearText("yes"), `undo{"id":"`+made[0].ID+`"}`)
}

func TestFollowUps_OneForAnotherPerson(t *testing.T) {
	for said, calls := range map[string][]string{
		"and one for Anna":     {`create_task{"title":"buy a present for Anna"}`},
		"and another for Anna": {`create_task{"title":"buy a present for Anna"}`},
		"and one from Anna":    nil,
	} {
		c := newConversation(t)
		c.hearText("add a task to buy a present for Tom")
		c.answerCalls(`Added task "buy a present for Tom".`)
		expectCalls(t, c.hearText(said), calls...)
	}
}

// TestFollowUps_EndOfARequestChangesNoOlderRecord: "due tomorrow" belongs to the task in the same message.
func TestFollowUps_EndOfARequestChangesNoOlderRecord(t *testing.T) {
	c := newConversation(t)
	c.hearText("remind me on friday at 9 to call mum")
	c.answerCalls("I will remind you Fri 6 Mar at 09:00: call mum.")
	for _, call := range c.hearText("add water the plants to my tasks, due tomorrow") {
		if call.Name != "create_task" {
			t.Errorf("the request led to %s %s", call.Name, call.Args)
		}
	}
}
