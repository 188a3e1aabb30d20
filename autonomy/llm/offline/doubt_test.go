package offline

import (
	"slices"
	"strings"
	"testing"
)

// TestDoubt_AsksInsteadOfActing checks sentences with words that are easy to take for something else: a price, the
// time of the event, a part of another request.
func TestDoubt_AsksInsteadOfActing(t *testing.T) {
	g, now := New(testOptions("")).grammar(), corpusTime(t)
	for said, question := range map[string]string{
		"remind me i have to feed the rabbit from thursday to sunday at 8am": "Only from tomorrow to Sun 8 Mar, or every week?",
		"gym 6.30":                    "Is “6.30” a price or a time of day?",
		"alarm 5.05":                  "can mean",
		"paid 12.50 + 3.20 for lunch": "so I logged nothing",
		"spent 10 on food 20 on drinks and 5 on the taxi": "so I logged nothing",
		"spent 3 and 4 on coffee":                         "so I logged nothing",
		"don't forget the dentist":                        "When should I remind you of “the dentist”?",
		"remind me tomorrow about the 8:15 train":         "At what time should I remind you?",
		"remind me the 9am meeting is cancelled":          "When should I remind you?",
		"remind me about my 3pm call":                     "When should I remind you?",
		"remind me to leave at five to":                   "I am not sure how to read “to”",
		"remind me in two days time at 4":                 "What should I remind you of?",
		"add a task to read 1984 by friday":               "is long ago",
		"todo: renew passport before february":            "On which day in February is it due?",
		"put the car tax on my list":                      "On your shopping list or your to-do list?",
		"arrange a meeting with Anna on friday":           "How long is the meeting?",
		"book club is every thursday at 7.30pm":           "Should I remind you every thursday at 7.30pm of “book club”?",
	} {
		p := g.planRequests(said, now, 0)
		if p.outcome != ask || len(p.calls) > 0 || p.question == nil || !strings.Contains(p.question.text, question) {
			t.Errorf("%q leads to %s, want the question %q", said, describePlan(p), question)
		}
	}
	for _, said := range []string{
		"Sent £250 to the landlord for the deposit top up, log that as rent", "add £30 to the holiday pot",
		"tomorrow i have yoga at 7 and a dentist appointment at 11", "dentist moved to thursday 2:30, can you update that",
	} {
		if p := g.planRequests(said, now, 0); len(p.calls) > 0 || p.question != nil {
			t.Errorf("%q leads to %s, want no action and no offer", said, describePlan(p))
		}
	}
}

// TestDialogue_AsksWhichOne checks messages that may mean two records, days or times.
func TestDialogue_AsksWhichOne(t *testing.T) {
	tests := []struct {
		name  string
		said  []string
		reply string   // a part of the reply to the last message but one
		want  []string // calls for the last message
	}{
		{
			"the day of a further reminder",
			[]string{"remind me to ring the school at 8:30 tomorrow", "and remind me to ring the surgery at 11:45", "tomorrow"},
			"Tomorrow at 11:45 or today at 11:45?",
			[]string{`create_reminder{"at":"2026-03-05T11:45:00+02:00","text":"ring the surgery"}`},
		},
		{
			"one with a text of its own",
			[]string{"remind me to call the bank tomorrow at 11", "cool, also one for 3pm to post the letter", "today"},
			"Tomorrow at 15:00 or today at 15:00?",
			[]string{`create_reminder{"at":"2026-03-04T15:00:00+02:00","text":"post the letter"}`},
		},
		{
			"the week of a record far ahead",
			[]string{"remind me on 3 may at 10 to call the school", "move it to monday then", "the first one"},
			"On Mon 4 May or on Mon 9 Mar?",
			[]string{`update_reminder{"at":"2026-05-04","reminder":"call the school"}`},
		},
		{
			"the half of the day",
			[]string{"set an alarm for 6", "no make it 6.20", "am i mean"},
			"“6.20” can mean tomorrow at 06:20 or today at 18:20",
			[]string{`create_reminder{"at":"2026-03-05T06:20:00+02:00","text":"alarm"}`},
		},
		{
			"an answer in the part of a day",
			[]string{"remind me on friday to book the van", "hmm make it 9 in the morning"},
			"At what time should I remind you?",
			[]string{`create_reminder{"at":"2026-03-06T09:00:00+02:00","text":"book the van"}`},
		},
		{
			"a time alone before the text",
			[]string{"set a reminder", "for 5pm", "to leave"},
			"What should I remind you of?",
			[]string{`create_reminder{"at":"2026-03-04T17:00:00+02:00","text":"leave"}`},
		},
		{
			"another lead of an offer",
			[]string{"appointment with the optician on the 10th at half 4", "remind me an hour before", "no, two hours", "yes"},
			"Tue 10 Mar at 14:30 of “appointment with the optician (16:30)”",
			[]string{`create_reminder{"at":"2026-03-10T14:30:00+02:00","text":"appointment with the optician (16:30)"}`},
		},
		{
			"a day that does not suit",
			[]string{"lunch with Nadia on friday at 12:30", "what's 45 times 13", "she can't do friday, saturday instead", "yes"},
			"Sat 7 Mar at 12:30 of “lunch with Nadia”",
			[]string{`create_reminder{"at":"2026-03-07T12:30:00+02:00","text":"lunch with Nadia"}`},
		},
		{"a time after a message that was not understood", []string{"remind me at 6 to ring Dad", "and Mum", "at 7"}, "I did not understand", nil},
		{
			"a time on the day of an event",
			[]string{"remind me to cancel the gym membership before it renews on the 14th", "10am"},
			"",
			[]string{`create_reminder{"at":"2026-03-14T10:00:00+02:00","text":"cancel the gym membership"}`},
		},
		{
			"a lead before an event",
			[]string{"remind me to move the car before the street cleaning friday 7:40am", "half an hour before"},
			"",
			[]string{`create_reminder{"at":"2026-03-06T07:10:00+02:00","text":"move the car"}`},
		},
		{"the day of a further expense", []string{"spent 4.50 on a sandwich yesterday", "and 3 on crisps"}, "", []string{`log_expense{"amount":3,"category":"crisps","date":"2026-03-03"}`}},
		{"a lead before a remembered birthday", []string{"my mum's birthday is on 4 may", "remind me a week before"}, "", []string{`list_reminders{"query":"mum birthday"}`, `list_tasks{"query":"mum birthday"}`, `read_calendar{"days_ahead":92,"query":"mum birthday"}`, `recall{"query":"mum's birthday"}`}},
		{"a statement that is no name", []string{"my dog's called Biscuit", "she's 4"}, "", []string{`remember{"text":"my dog Biscuit is 4"}`}},
		{"no fact without a subject", []string{"where are we meeting", "it's at the station"}, "", nil},
		{"the record of just now", []string{"set an alarm for 7pm", "remove the alarm I just set"}, "", []string{`cancel_reminder{"reminder":"alarm"}`}},
		{"a month without an occurrence", []string{"remind me on the 1st of every month at 9 to pay the rent", "skip april"}, "", []string{`update_reminder{"every":"on day 1 of each month at 09:00, except on 1 April 2026","reminder":"pay the rent"}`}},
		{"too many days", []string{"remind me every day at 9 to stretch", "skip april"}, "", nil},
		{"an ordinal of new tasks", []string{"tasks: clean the oven, defrost freezer, email Tom", "done with the second one"}, "", []string{`complete_task{"task":"defrost freezer"}`}},
		{"a new name by ordinal", []string{"tasks: clean the oven, defrost freezer, email Tom", "rename the second one to defrost the garage freezer"}, "", []string{`update_task{"task":"defrost freezer","title":"defrost the garage freezer"}`}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := newConversation(t)
			var got []string
			for i, said := range tc.said {
				calls := c.hearText(said)
				if i == len(tc.said)-1 {
					expectCalls(t, calls, tc.want...)
					break
				}
				if len(calls) > 0 {
					c.answerCalls(slices.Repeat([]string{"OK"}, len(calls))...)
				}
				got = append(got, c.lastText())
			}
			if len(got) > 0 && !strings.Contains(got[len(got)-1], tc.reply) {
				t.Errorf("reply before the last message = %q, want %q", got[len(got)-1], tc.reply)
			}
		})
	}
}

func TestDialogue_AsksForAnotherJoke(t *testing.T) {
	c := newConversation(t)
	c.hearText("tell me a joke")
	refusal := c.lastText()
	expectCalls(t, c.hearText("another one"))
	if c.lastText() != refusal {
		t.Errorf("reply = %q, want %q", c.lastText(), refusal)
	}
}
