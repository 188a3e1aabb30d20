package offline

import (
	"strings"
	"testing"
)

// TestPlan_AsksUnlessPlain checks that a request that shows a sign of more than Hob would do is read back and changes
// nothing, and that a yes executes it.
func TestPlan_AsksUnlessPlain(t *testing.T) {
	for said, want := range map[string]string{
		"put eggs, cheddar, them little yoghurts ellie likes and loo roll on the list": "Should I add the task “eggs, cheddar",
		"wake me 10 mins before 3":                                                                               "tomorrow at 02:50 of “wake up”?",
		"i need to (a) ring hmrc (b) sort the form (c) get a charger":                                            "Should I add the task “a) ring",
		"add milk bread and eggs to shopping list":                                                               "- add “milk bread” to your shopping list\n- add “eggs” to your shopping list\nShould I do all of that?",
		"My wife Margaret's telephone number is 01872 555 014; please keep it safe.":                             "please keep it safe?",
		"I should like to add up 12.40, 7.85, 3.20 and 19.99.":                                                   "Should I add the task",
		"VAT of 20% on £365, please.":                                                                            "Should I log 365.00 GBP for “VAT of 20% on”?",
		"Put down thirty-two pounds and forty pence for diesel, paid on Friday.":                                 "Should I write the note",
		"I have to be at the hospital at 8.10 on Friday and it takes an hour. Remind me to leave at ten past 7.": "Should I do all of that?",
		"Please remind me about the committee meeting on Wednesday at seven.":                                    "today at 19:00 of “the committee meeting”?",
		"Da's birthday is the 2nd of february remind me the day before":                                          "Should I remember that",
		"remind me evry monday to put the bins out at 9 at nite":                                                 "of “put the bins out at nite”?",
		"make a list for the gig with leads spare strings gaffer tape and a di box":                              "Should I do all of that?",
		"my RECI number is 88213 remember that will ya":                                                          "Should I remember that",
		"bought a new multimeter for a hundred and twenty nine euro":                                             "Should I log 9.00 EUR",
		"remind me 30 minutes before five a side to fill my water bottle":                                        "of “a side to fill my water bottle”?",
		"ich schulde Rory noch 18 Euro":                                                                          "Should I log 18.00 EUR",
		"lend calum 50 quid, he says hell pay it back on payday":                                                 "Should I log 50.00",
		"book the pitch for friday 7pm and tell me an hour before":                                               "Fri 6 Mar at 18:00 of “Pitch at 19:00”?",
		"calum owes me 14 and i owe calum 9, so hes due me 5 right":                                              "Should I remember that",
		"remind me to buy stamps tomorrow at lunchtime, say half past twelve":                                    "Should I do all of that?",
		"Don't let me forget the parents' evening next Tuesday at 6.10 pm.":                                      "of “the parents' evening”?",
		"remind me in an hour an a half pizza out the freezer":                                                   "Should I remind you",
		"remind me to unlock the school gates at 6:45 tomorrow":                                                  "Should I remind you tomorrow at 18:45",
		"remind me a fortnight tomorrow at 9.30 that the fire officer is coming":                                 "Should I remind you",
		"remind me to eh pick the cot up on Saturday at 11":                                                      "Should I remind you",
		"swap bread for rolls on the shopping list":                                                              "Should I",
		"note that for Gilroy": "Should I write the note “for Gilroy”?",
	} {
		c := newConversation(t)
		want0 := c.hearText(said)
		if len(want0) > 0 || !strings.HasSuffix(c.lastText(), "?") || !strings.Contains(c.lastText(), want) {
			t.Errorf("%q: calls %v, reply %q, want %q", said, want0, c.lastText(), want)
			continue
		}
		if calls := c.hearText("yes"); len(calls) == 0 {
			t.Errorf("%q, yes: reply %q, want calls", said, c.lastText())
		}
	}
}

// TestPlan_ActsIfPlain checks that everyday requests are executed without a question.
func TestPlan_ActsIfPlain(t *testing.T) {
	for _, said := range []string{
		"remind me to call mum at 6pm", "add milk, eggs and bread to my shopping list", "spent 12.50 on lunch", "my sister is Anna",
		"note: the boiler was serviced today", "remind me every weekday at 8:30 to stand up", "add a task to pay the rent by Friday",
		"set an alarm for 4:50 tomorrow morning", "remind me at 25 past 9 tonight that the match is on", "paid 45 euro for diesel yesterday",
		"I need to call the plumber", "remind me not to eat sweets at 9pm", "set a timer for 10 minutes",
	} {
		if c := newConversation(t); len(c.hearText(said)) == 0 {
			t.Errorf("%q: reply %q, want calls", said, c.lastText())
		}
	}
}

// TestPending_Corrections checks that a correction changes what an open question would do, and no older record.
func TestPending_Corrections(t *testing.T) {
	for _, tc := range []struct {
		said []string
		want string // in the reply
	}{
		{[]string{"spent 24 on 2 takeaways", "no, 22.50"}, "Should I log 22.50 for"},
		{[]string{"add a task to chase Paddy for the 600 he owes me", "make it urgent"}, "priority critical?"},
		{[]string{"add a task to chase Paddy for the 600 he owes me", "make it urgent", "for friday"}, "due Fri 6 Mar, priority critical?"},
		{[]string{"my RECI number is 88213 remember that will ya", "no, cancel that"}, "I changed nothing"},
		{[]string{"remind me to call mum at 5pm", "remind me at 3pm to text Jo, he is off", "no"}, "I changed nothing"},
	} {
		c := newConversation(t)
		for _, said := range tc.said {
			if calls := c.hearText(said); len(calls) > 0 {
				c.answerCalls("OK")
			}
		}
		if !strings.Contains(c.lastText(), tc.want) {
			t.Errorf("%q: reply %q, want %q", tc.said, c.lastText(), tc.want)
		}
	}
}

// TestAnswer_NamesWhatIsNotRecorded checks that an answer from records tells what it lacks.
func TestAnswer_NamesWhatIsNotRecorded(t *testing.T) {
	for _, tc := range [][4]string{
		{"my sister Beth lives in Cardiff", "she's moved to Newport", "where does she live now", "I did not record “she's moved to Newport”."},
		{"hello", "lunch with Jo on friday at 1", "what do you know about Jo?", "“lunch with Jo” is not set"},
		{"hello", "im on nights friday to sunday 8.30pm til 9am", "am i free saturday night", "I did not record “im on nights friday to sunday"},
	} {
		c := newConversation(t)
		for _, said := range tc[:3] {
			if calls := c.hearText(said); len(calls) > 0 {
				c.answerCalls("OK")
			}
		}
		if !strings.Contains(c.lastText(), tc[3]) {
			t.Errorf("%q: reply %q, want %q", tc[:3], c.lastText(), tc[3])
		}
	}
}

// TestDialogue_CountsAndCorrectsTheConversation checks a total over several days and the correction of a fact that
// memory would keep beside the old one.
func TestDialogue_CountsAndCorrectsTheConversation(t *testing.T) {
	c := newConversation(t)
	c.hearText("I spent 62.10 at Sainsbury's on 1 March")
	c.answerCalls("OK")
	c.hearText("and 8.50 on a puncture kit today")
	c.answerCalls("OK")
	expectCalls(t, c.hearText("how much is that altogether?"), `spending_summary{"period":"this_month"}`)
	c = newConversation(t)
	c.hearText("my locker at the pool is number 212")
	c.answerCalls("OK")
	if calls := c.hearText("no it's 221"); len(calls) != 1 || calls[0].Name != "undo" {
		t.Fatalf("calls %v, want undo", calls)
	}
	next := c.answerCalls("OK")
	expectCalls(t, next.Calls(), `remember{"text":"my locker at the pool is number 221"}`)
}

// TestDialogue_ReadsBackDoubtfulMoves checks follow-ups that may ask for a further record, and times without a day
// after a message about another day.
func TestDialogue_ReadsBackDoubtfulMoves(t *testing.T) {
	for _, tc := range [][3]string{
		{"alarm 6 am", "and quarter past", "Should I move the reminder “alarm” to 06:15?"},
		{"parents evening friday 5.40", "remind me at 5 to set off", "today at 17:00 of “set off”?"},
		{"set an alarm for 7", "every weekday", "every weekday at 09:00 of “alarm”?"},
		{"Lunch with Jo on the 9th of April at 12.45", "is that a Thursday?", "I found no answer"},
		{"visit mum on thursday at 4", "move the visit to 4.30", "tomorrow at 16:30 of “visit mum”?"},
		{"hello", "remind me to post the cards at the same time.", "When should I remind you?"},
		{"hello", "je dois 20 euros à Paul", "Je n'ai pas compris"},
		{"hello", "put down park with the twins saturday 10am", "Should I write the note"},
		{"lunch with Jo on the 9th of April at 12.45", "could you move it half an hour later?", "Thu 9 Apr at 13:15"},
	} {
		c := newConversation(t)
		if calls := c.hearText(tc[0]); len(calls) > 0 {
			c.answerCalls("OK")
		}
		if calls := c.hearText(tc[1]); len(calls) > 0 && calls[0].Name == "search_knowledge" {
			c.answerCalls("I found nothing.")
		} else if len(calls) > 0 {
			t.Errorf("%q, %q: calls %v", tc[0], tc[1], calls)
		}
		if !strings.Contains(c.lastText(), tc[2]) {
			t.Errorf("%q, %q: reply %q, want %q", tc[0], tc[1], c.lastText(), tc[2])
		}
	}
}
