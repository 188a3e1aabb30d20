package offline

import (
	"strings"
	"testing"
	"time"
)

// TestDialogue_NamesTheRecord checks messages that name a record, a day or a sum of the conversation in other words.
func TestDialogue_NamesTheRecord(t *testing.T) {
	tests := []struct {
		name, first, result, second string
		want                        []string
	}{
		{"other minutes of a timer", "set a timer for the pasta, 11 minutes", "OK", "make that 9", []string{`update_reminder{"at":"2026-03-04T10:24:00+02:00","reminder":"pasta"}`}},
		{"then", "what day's the 19th?", "", "put haircut in for then at 10", nil},
		{"the note", "note: idea for a song", "OK", `add "strings at the end" to it`, []string{`append_note{"note":"idea for a song","text":"strings at the end"}`}},
		{"a task by another name", "add a task to call the bank", "OK", "remind me to do it at 5pm", []string{`create_reminder{"at":"2026-03-04T17:00:00+02:00","text":"call the bank"}`}},
		{"an expense or a task", "i need to ring the school", "OK", "add £12 school trip too", nil},
		{"a reason first", "remind me at 5pm to pick up Liam", "OK", "actually Mike's getting him, scrap that", []string{`cancel_reminder{"reminder":"pick up Liam"}`}},
		{"only some days", "set an alarm for 7am tomorrow", "OK", "weekdays only", []string{`update_reminder{"every":"0 7 * * 1-5","reminder":"alarm"}`}},
		{"the reminder at a time", "hello", "", "cancel the 7 one", []string{"list_reminders{}"}},
		{"the reminder at a time moves", "hello", "", "change the 9am one to half 9", []string{"list_reminders{}"}},
		{"the half of the day", "wake me at 6", "OK", "no 6 in the evening, im on nights", []string{`update_reminder{"at":"2026-03-04T18:00:00+02:00","reminder":"wake up"}`}},
		{"a time and no text", "remind me to have lunch at 12:30", "OK", "change lunch to 1", []string{`update_reminder{"at":"13:00","reminder":"have lunch"}`}},
		{"another length", "remind me to take the cake out in 25 minutes", "OK", "no 20", []string{`update_reminder{"at":"2026-03-04T10:35:00+02:00","reminder":"take the cake out"}`}},
		{"a reminder beside the task", "i need to call the plumber", "OK", "remind me about it tomorrow at 9", []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call the plumber"}`}},
		{"a reason without a comma", "shopping list: milk, apples", "OK", "take the apples off we've got loads", []string{`complete_task{"project":"shopping list","task":"apples"}`}},
		{"a timer with a name", "set a timer for 10 mins for the pasta", "OK", "stop it, its done", []string{`cancel_reminder{"reminder":"pasta"}`}},
		{"the priority of a reminder", "remind me to call gran at 5pm", "OK", "make it high priority", []string{`update_reminder{"priority":"high","reminder":"call gran"}`}},
		{"keep it", "remind me to call gran at 5pm", "OK", "actually no keep it", nil},
		{"still there", "remind me to call gran at 5pm", "OK", "so is it still there?", []string{"list_reminders{}", "list_tasks{}"}},
		{"the other day at the same time", "remind me to post the letter tomorrow at 3", "OK", "and one for thursday at the same time", []string{`create_reminder{"at":"2026-03-05T15:00:00+02:00","text":"post the letter"}`}},
		{"an item by its number", "add milk, eggs and tea to my shopping list", "OK", "cross off the first one", []string{`complete_task{"task":"milk"}`}},
		{"only a reference", "add milk, eggs and tea to my shopping list", "OK", "the first one too", nil},
		{"up in the morning", "remind me at 5.45 to get up", "OK", "actually make it 5.30", []string{`update_reminder{"at":"05:30","reminder":"get up"}`}},
		{"which list", "add revalidation paperwork to my list", "You have no tasks.", "to-do", []string{`create_task{"title":"revalidation paperwork"}`}},
		{"no record for a further request", "remind me to call mum tomorrow at 6pm", "OK", "what about dad", nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := newConversation(t)
			if calls := c.hearText(tc.first); len(calls) > 0 {
				for range calls {
					c.answerCalls(tc.result)
				}
			}
			expectCalls(t, c.hearText(tc.second), tc.want...)
		})
	}
}

func TestDialogue_AnswersInWords(t *testing.T) {
	for _, tc := range [][3]string{
		{"how many weeks til christmas", "and til easter?", "weeks and"},
		{"how far away is dec 20th", "and how long is that in weeks", "41 weeks and 4 days"},
		{"what day's the 19th?", "put haircut in for then at 10", "Should I remind you Thu 19 Mar at 10:00 of “haircut”?"},
		{"what time is it", "put dentist in for tuesday 9am", "of “dentist”?"},
		{"what time is it", "schedule a call with marcus friday 2-3", "Fri 6 Mar at 14:00 of “a call with marcus (14:00–15:00)”?"},
		{"schedule a call with marcus friday 2-3", "move it an hour later", "Fri 6 Mar at 15:00"},
		{"what time is it", "remind me every 45 minutes until 5pm to stretch", "That is 9 reminders of “stretch”, the first today at 11:00, the last today at 17:00."},
		{"what's the time", "in new york?", "in New York"},
		{"water the plants every third day", "starting friday", "of “water the plants”?"},
		{"what time is it", "dinner's at 7", "today at 19:00 of “dinner”?"},
		{"was ist 18 mal 7", "combien font 3,5 fois 2", "3,5 fois 2 = 7"},
		{"dentist friday at 10", "remind me an hour before", "Fri 6 Mar at 09:00 of “dentist (10:00)”?"},
		{"doctor on the 10th at 9:20", "remind me the evening before", "Mon 9 Mar at 18:00 of “doctor (10 March, 09:20)”?"},
		{"doctor on the 10th at 9:20", "what time did I say?", "Tue 10 Mar at 09:20 of “doctor”?"},
		{"remind me friday to send the form", "what did you ask?", "At what time should I remind you?"},
		{"dentist friday at 10", "no wait friday i'm on nights, make it Thursday", "tomorrow at 10:00 of “dentist”?"},
		{"what day's the 19th?", "lunch with Jade at half 12 that day", "Thu 19 Mar at 12:30 of “lunch with Jade”?"},
		{"hola", "cuánto es el 21% de 350", "el 21% de 350 = 73,5"},
	} {
		c := newConversation(t)
		c.hearText(tc[0])
		expectCalls(t, c.hearText(tc[1]))
		if !strings.Contains(c.lastText(), tc[2]) {
			t.Errorf("%q, %q: %s, want %q", tc[0], tc[1], c.lastText(), tc[2])
		}
	}
}

// TestRequests_CountEveryWord checks requests with a reason, an aside or a second half that belongs to the first.
func TestRequests_CountEveryWord(t *testing.T) {
	g, now := New(testOptions("")).grammar(), corpusTime(t)
	for said, want := range map[string]string{
		"ugh i need to ring the dentist, can you remind me at like quarter past 2":               `create_reminder {"at":"2026-03-04T14:15:00+02:00","text":"ring the dentist"}`,
		"got to leave at 11:20, remind me 15 before":                                             `create_reminder {"at":"2026-03-04T11:05:00+02:00","text":"leave at 11:20"}`,
		"add \"fix the chair\" to my tasks and remind me about it saturday at 10":                `create_task {"title":"fix the chair"}; create_reminder {"at":"2026-03-07T10:00:00+02:00","text":"fix the chair"}`,
		"my wifi at my mum's is called BTHub-4F2 just so you remember":                           `remember {"text":"my wifi at my mum's is called BTHub-4F2"}`,
		"can you remind me half an hour before my meeting, which is at 3pm today":                `create_reminder {"at":"2026-03-04T14:30:00+02:00","text":"meeting at 15:00"}`,
		"wake me up in 20 mins im having a nap":                                                  `create_reminder {"at":"2026-03-04T10:35:00+02:00","text":"wake up"}`,
		"alarm for 25 minutes, pasta":                                                            `create_reminder {"at":"2026-03-04T10:40:00+02:00","text":"pasta"}`,
		"42.50 on groceries and 8 on a taxi":                                                     `log_expense {"amount":42.5,"category":"groceries"}; log_expense {"amount":8,"category":"taxi"}`,
		"remind me to call Jan on monday at 9":                                                   `create_reminder {"at":"2026-03-09T09:00:00+02:00","text":"call Jan"}`,
		"remind me to text May at 6pm":                                                           `create_reminder {"at":"2026-03-04T18:00:00+02:00","text":"text May"}`,
		"idea: a bench under the apple tree":                                                     `create_note {"text":"a bench under the apple tree"}`,
		"add a task to write to the landlord, urgent":                                            `create_task {"priority":"critical","title":"write to the landlord"}`,
		"remind me at 5.45 to get up":                                                            `create_reminder {"at":"2026-03-05T05:45:00+02:00","text":"get up"}`,
		"remind me on friday at 3 to nap for the night shift":                                    `create_reminder {"at":"2026-03-06T15:00:00+02:00","text":"nap for the night shift"}`,
		"take out the bins tonight, remind me at 9":                                              `create_reminder {"at":"2026-03-04T21:00:00+02:00","text":"take out the bins"}`,
		"add \"ask Tom about Christmas\" to my list and remind me to buy stamps on Friday at 10": `create_task {"title":"ask Tom about Christmas"}; create_reminder {"at":"2026-03-06T10:00:00+02:00","text":"buy stamps"}`,
		"paid 40 for a back massage":                                                             `log_expense {"amount":40,"category":"back massage"}`,
		"remember that the cat scratches, dont do that":                                          `remember {"text":"the cat scratches, dont do that"}`,
		"bought a coat, 89.99":                                                                   `log_expense {"amount":89.99,"category":"coat"}`,
		"Ok so basically I need to leave the house at twenty past eight tomorrow, can you nudge me ten mins before that": `create_reminder {"at":"2026-03-05T08:10:00+02:00","text":"Leave the house at 08:20"}`,
		"Need to remember that the spare key is under the plant pot":                                                     `remember {"text":"the spare key is under the plant pot"}`,
		"my daughter is called Ruby and she's 7":                                                                         `remember {"text":"my daughter is called Ruby"}; remember {"text":"my daughter Ruby is 7"}`,
		"I need to fix the greenhouse door, clean the drip tray and send Mrs Lunt her bill":                              `create_task {"title":"fix the greenhouse door"}; create_task {"title":"clean the drip tray"}; create_task {"title":"send Mrs Lunt her bill"}`,
		"set a timer for 25 minutes, glue on the tub":                                                                    `create_reminder {"at":"2026-03-04T10:40:00+02:00","text":"glue on the tub"}`,
		"remind me every weekday at 8 to take the pills, high priority":                                                  `create_reminder {"every":"0 8 * * 1-5","priority":"high","text":"take the pills"}`,
		"remind me tomorrow at 9 to check the top priority":                                                              `create_reminder {"at":"2026-03-05T09:00:00+02:00","text":"check the top priority"}`,
		"add a critical reminder to lock the shop every day at 18:00":                                                    `create_reminder {"every":"0 18 * * *","priority":"critical","text":"lock the shop"}`,
		"timer 1 hour 20": `create_reminder {"at":"2026-03-04T11:35:00+02:00","text":"timer"}`,
		"dont forget to remind me to call mum at 6": `create_reminder {"at":"2026-03-04T18:00:00+02:00","text":"call mum"}`,
		"jo is allergic to nuts":                    `remember {"text":"jo is allergic to nuts"}`,
		"i have two cats, Miso and Pickle":          `remember {"text":"I have two cats, Miso and Pickle"}`,
		"milk, bread onto shopping list pls":        `create_task {"project":"shopping list","title":"milk"}; create_task {"project":"shopping list","title":"bread"}`,
	} {
		if got := describePlan(g.planRequests(said, now, 0)); got != want {
			t.Errorf("%q leads to %s, want %s", said, got, want)
		}
	}
	for said, want := range map[string]string{
		"remind me on 31 april at 9 to pay the tax":                                         "“31 april” does not exist",
		"remind me to take a pill every day at 9 until 18 march":                            "That is 14 reminders",
		"remind me to take a pill every day at 9 until 18 june":                             "without an end?",
		"haircut on saturday at 11, costs about 35":                                         "of “haircut, costs about 35”?",
		"Theo has football practice every saturday 9:30 to 10:45":                           "of “Theo: football practice (9:30–10:45)”?",
		"meeting with jo on monday 2pm till 3, room 6":                                      "of “meeting with jo, room 6 (14:00–15:00)”?",
		"electric bill 214.37 due on the 15th":                                              "Have you paid that already?",
		"the gas bill came, 187.20":                                                         "Have you paid that already?",
		"my tablets are at 8 in the morning and 8 at night, remind me both times every day": "cannot combine the times",
		"add eggs not milk to the list":                                                     "I am not sure how to read “not”",
		"remind me on Thursday at noon to sleep, lol, before the night shift":               "I am not sure how to read “before the night shift”",
		"note to self bed 14's daughter called, no actually dont save that":                 "I recorded and changed nothing",
		"remind me to call mum at 5, never mind, forget it":                                 "I recorded and changed nothing",
		"i gave her 5 back":                        "Money that is given back is no expense",
		"paid £20 back to Jo yesterday":            "Money that is given back is no expense",
		"got paid 2000":                            "I log only what you pay",
		"refund of 20 euros from Zalando":          "I log only what you pay",
		"I was refunded 15 for the shoes":          "I log only what you pay",
		"dentist friday at 10, remind me at 9":     "Fri 6 Mar at 09:00 of “dentist (10:00)”?",
		"timer 1h 20":                              "How long should the timer run?",
		"convert 45 psi to bar":                    "3.1 bar",
		"does 7 times 68 equal 476":                "Yes: 7 times 68 = 476.",
		"what is 20 pounds plus vat at 20%":        "= 24",
		"20 pounds plus 5 pounds":                  "= 25",
		"wait what's 180 celsius in fahrenheit":    "356 °F",
		"weeks between 1 jan 2026 and 30 nov 2026": "47 weeks and 4 days",
		"how many working days are left this year": "216 working days",
		"next bank holiday?":                       "Friday, 3 April 2026 (Good Friday)",
		"is 28 december 2026 a bank holiday":       "Boxing Day",
		"round 17.386 to 2 decimal places":         "17.39",
	} {
		p := g.planRequests(said, now, 0)
		text := p.say
		if p.question != nil {
			text = p.question.text
		}
		if len(p.calls) > 0 || !strings.Contains(text, want) {
			t.Errorf("%q leads to %s %s, want %q and no call", said, describePlan(p), text, want)
		}
	}
}

// TestTurn_ReadsAfterTheAction checks that the second request of a message sees what the first one changed.
func TestTurn_ReadsAfterTheAction(t *testing.T) {
	c := newConversation(t)
	c.hearText("wake me at 6")
	c.answerCalls("OK")
	expectCalls(t, c.hearText("cancel it, what alarms are left?"), `cancel_reminder{"reminder":"wake up"}`)
	next := c.answerCalls("Canceled.")
	expectCalls(t, next.Calls(), "list_reminders{}")
	if got := c.answerCalls("You have no reminders."); !strings.HasPrefix(got.Text(), "Canceled.") || !strings.Contains(got.Text(), "There are no alarms.") {
		t.Errorf("the answer is %q", got.Text())
	}
}

// TestQuestion_TonightKeepsTheEvening: "at 8" after "tonight" is 8 in the evening.
func TestQuestion_TonightKeepsTheEvening(t *testing.T) {
	g, late := New(testOptions("")).grammar(), corpusTime(t).Add(13*time.Hour)
	p := g.planRequests("remind me to take the bins out tonight", late, 0)
	if p.question == nil {
		t.Fatalf("the plan is %s, want a question", describePlan(p))
	}
	wish, _ := p.question.complete("at 8")
	if got := describePlan(g.planRequests(wish, late, 0)); got != `create_reminder {"at":"2026-03-05T20:00:00+02:00","text":"take the bins out"}` {
		t.Errorf("%q leads to %s", wish, got)
	}
}

func TestFollowUps_BothWhileAQuestionIsOpen(t *testing.T) {
	c := newConversation(t)
	c.hearText("remind me to call mum at 5pm")
	c.answerCalls("OK")
	c.hearText("remind me to call dad at 6pm")
	c.answerCalls("OK")
	expectCalls(t, c.hearText("remind me to stretch"))
	expectCalls(t, c.hearText("cancel them both"), `cancel_reminder{"reminder":"call mum"}`, `cancel_reminder{"reminder":"call dad"}`)
}
