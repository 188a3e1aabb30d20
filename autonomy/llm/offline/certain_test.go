package offline

import (
	"strings"
	"testing"
)

// TestPlan_RecordsOnlyWhatIsCertain checks messages of which a part may belong to the request instead of the record,
// may be a guess, or reports what happened. Nothing is recorded; the reply names what Hob read.
func TestPlan_RecordsOnlyWhatIsCertain(t *testing.T) {
	for said, want := range map[string]string{
		"put 35 quid diesel down for today":                                         "Should I log 35.00 GBP for “diesel”, today?",
		"ran 8k this morning in 47 mins":                                            "I did not understand",
		"saw the doctor on monday at 10":                                            "I did not understand",
		"swam 40 lengths in 35 minutes":                                             "",
		"remind me at 2.15 to ring the bank about 12 or 13":                         "",
		"remind me to ring Tom at 5pm mate":                                         "When exactly should I remind you?",
		"remind me at 10 to ring the bank":                                          "today at 22:00 of “ring the bank”?",
		"remind me every day at 8 and 8 to take the pill":                           "Should I remind you every day at 08:00",
		"add milk and ring dad to the shopping list":                                "Should I do all of that?",
		"my size is 12 in shoes, keep that for christmas":                           "Should I remember that your size is 12 in shoes",
		"i take tea at six, you might remember that for me":                         "",
		"set two alarms one at 5 and one at 5 15 for tomorrow":                      "Can you send one request at a time?",
		"remind me to take the train at 6 57 on the 22nd of dec":                    "at 18:57",
		"high priority task fix the bibliography its due friday":                    "“fix the bibliography its”",
		"make a list called lyon trip with passport charger and praline for imogen": "Should I do all of that?",
		"spent 11 40 at lidl":                                                       "I am not sure how to read the amount",
		"put 12.40 on the list":                                                     "I am not sure how to read all of that",
		"gas bill came to 80, due on the 5th":                                       "Have you paid that already?",
	} {
		c := newConversation(t)
		calls := c.hearText(said)
		if len(calls) > 0 && calls[0].Name == "list_tasks" {
			next := c.answerCalls("There are no open tasks.")
			calls = next.Calls()
		}
		if len(calls) > 0 || !strings.Contains(c.lastText(), want) {
			t.Errorf("%q: calls %v, reply %q, want %q", said, calls, c.lastText(), want)
		}
	}
}

// TestPlan_JoinsTheEndOfAFact checks that the end of a fact is no separate fact.
func TestPlan_JoinsTheEndOfAFact(t *testing.T) {
	c := newConversation(t)
	expectCalls(t, c.hearText("mum's allergic to nuts, remember that for the catering"), `remember{"text":"my mum's allergic to nuts, for the catering"}`)
}

// TestPending_WaitsVisibly checks that a record that waits for a yes is not lost behind a message that creates another
// one.
func TestPending_WaitsVisibly(t *testing.T) {
	c := newConversation(t)
	c.hearText("spent 24 on 2 takeaways")
	waiting := c.lastText()
	if calls := c.hearText("remind me at 5pm to call mum"); len(calls) != 1 {
		t.Fatalf("calls %v, want a reminder", calls)
	}
	c.answerCalls("OK")
	if !strings.HasSuffix(c.lastText(), waiting) {
		t.Errorf("reply %q, want %q at its end", c.lastText(), waiting)
	}
	expectCalls(t, c.hearText("yes"), `log_expense{"amount":24,"category":"2 takeaways"}`)
}

// TestPending_TakesFurtherItems checks that a further item joins the items that wait for a yes.
func TestPending_TakesFurtherItems(t *testing.T) {
	c := newConversation(t)
	c.hearText("add milk bread and eggs to shopping list")
	if calls := c.hearText("and jam"); len(calls) > 0 || !strings.Contains(c.lastText(), "“eggs”") || !strings.Contains(c.lastText(), "“jam”") {
		t.Fatalf("calls %v, reply %q, want a question about all items", calls, c.lastText())
	}
	if calls := c.hearText("yes"); len(calls) != 3 {
		t.Errorf("calls %v, want 3", calls)
	}
}

// TestDialogue_KeepsFactsApart checks that a fact about a person replaces no other fact about that person.
func TestDialogue_KeepsFactsApart(t *testing.T) {
	c := newConversation(t)
	for _, said := range []string{"my mum is called Karen", "her birthday is 22 February"} {
		c.hearText(said)
		c.answerCalls("OK")
	}
	for _, call := range c.hearText("she's 58") {
		if strings.Contains(string(call.Args), "birthday") {
			t.Errorf("call %s, want no birthday", call.Args)
		}
	}
}

// TestDialogue_ChangesOnlyTheNamedRecord checks that a message that names no record changes none that the last reply does
// not name.
func TestDialogue_ChangesOnlyTheNamedRecord(t *testing.T) {
	for _, tc := range [][2]string{
		{"what's 15 x 85", "make it 6pm"},
		{"spent 12 on lunch", "cancel the alarm"},
		{"remind me to ring dad at 6pm", "delete all of them"},
	} {
		c := newConversation(t)
		c.hearText("remind me to ring mum at 5pm")
		c.answerCalls("I will remind you today at 17:00: ring mum.")
		if calls := c.hearText(tc[0]); len(calls) > 0 {
			c.answerCalls("Logged 12.00 GBP for lunch, today.")
		}
		if calls := c.hearText(tc[1]); len(calls) > 0 && calls[0].Name != "list_reminders" {
			t.Errorf("%q, %q: calls %v, want a question", tc[0], tc[1], calls)
		}
	}
}

// TestDialogue_DoesNotDenyAChange checks that "forget it" before a request does not add that nothing was changed.
func TestDialogue_DoesNotDenyAChange(t *testing.T) {
	c := newConversation(t)
	c.hearText("remind me to post the parcel on Friday at 10")
	c.answerCalls("I will remind you Fri 6 Mar at 10:00: post the parcel.")
	expectCalls(t, c.hearText("Forget it, Geoffrey's brother will take it. Cancel that one."), `cancel_reminder{"reminder":"post the parcel"}`)
	c.answerCalls(`Canceled the reminder "post the parcel".`)
	if strings.Contains(c.lastText(), "changed nothing") {
		t.Errorf("reply %q", c.lastText())
	}
}
