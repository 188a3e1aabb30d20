package offline

import (
	"strings"
	"testing"
)

func TestQuestions_FindFacts(t *testing.T) {
	tests := []struct {
		question, facts, want string // want is "" if no fact answers
	}{
		{"who has my spare key?", "my neighbour is called Ottilie and she has a spare key of mine", "Ottilie"},
		{"who's got my drill", "my brother Tom has got my drill", "Tom"},
		{"where is my spare key", "my neighbour has our spare key", "neighbour"},
		{"who has my spare key?", "Tom has my sister's spare key", ""},
		{"whats Ottilies number", "my neighbour is called Ottilie\n- my neighbour's phone number is 0664 555 1820", "0664 555 1820"},
		{"whats Karls address", "my brother Karl's address is 4 Elm Road", "Elm Road"},
		{"what tea do i like", "my favourite tea is lapsang now", "lapsang"},
		{"which coffee do I prefer", "my favourite coffee is espresso", "espresso"},
		{"what cheese do i like", "my favourite tea is lapsang", ""},
		{"what is my favourite colour", "my favourite colour is green", "green"},
		{"what is my landlord's name", "my landlord is Karl", "Karl"},
		{"what's my dog's name", "my dog is called Rex\n- my dog's birthday is 3 May", "Rex"},
		{"when is Jonas's next birthday", "Jonas is my son, born on 2 may 2022\n- Jonas weighs 14 kilos", "2 may"},
		{"when is my birthday", "my sister was born on 3 May 1990", ""},
	}
	for _, tc := range tests {
		t.Run(tc.question, func(t *testing.T) {
			c := newConversation(t)
			if calls := c.hearText(tc.question); len(calls) != 1 || calls[0].Name != "recall" {
				t.Fatalf("%q led to %v, want recall", tc.question, calls)
			}
			list := preface + " " + tc.facts + "."
			if strings.Contains(tc.facts, "\n") {
				list = preface + "\n- " + tc.facts
			}
			got := c.answerCalls(list)
			if tc.want == "" && len(got.Calls()) == 0 || tc.want != "" && !strings.Contains(got.Text(), tc.want) {
				t.Errorf("%q was answered from %q with %q, want %q", tc.question, tc.facts, got.Text(), tc.want)
			}
		})
	}
}

// TestQuestions_WithoutIntentAreSearched: Hob searches all data for a question that
// matches no intent, and only a result with all words of the question is an answer.
func TestQuestions_WithoutIntentAreSearched(t *testing.T) {
	const found = "What I know about that:\n- note: the rent share is 115\n- task: share the photos\n- note: Priya borrowed the ladder\n- note: the boiler was serviced in May"
	tests := []struct{ question, want, not string }{
		{"whats the rent share", "rent share is 115", "photos"},
		{"what is the rent share", "rent share is 115", "photos"},
		{"how much is the rent share", "rent share is 115", "photos"},
		{"what was the rent share again", "rent share is 115", "photos"},
		{"who borrowed the ladder", "Priya", "boiler"},
		{"who borrowed my ladder", "Priya", "boiler"},
		{"when was the boiler serviced", "May", "Priya"},
		{"what is the capital of France", "I do not know that", "note"},
		{"who painted the ceiling", "I do not know that", "note"},
		{"who borrowed my drill", "I found no answer", "Priya"},
	}
	for _, tc := range tests {
		t.Run(tc.question, func(t *testing.T) {
			c := newConversation(t)
			if calls := c.hearText(tc.question); len(calls) != 1 || calls[0].Name != "search_knowledge" {
				t.Fatalf("%q led to %v, want search_knowledge", tc.question, calls)
			}
			c.answerCalls(found)
			if got := c.lastText(); !strings.Contains(got, tc.want) || strings.Contains(got, tc.not) {
				t.Errorf("%q was answered with %q, want %q", tc.question, got, tc.want)
			}
		})
	}
}

func TestQuestions_ReportFailedSearch(t *testing.T) {
	c := newConversation(t)
	c.hearText("who borrowed my drill")
	c.answerCalls("error: error unavailable: the store is locked; try again")
	if got := c.lastText(); !strings.Contains(got, "the store is locked") {
		t.Errorf("answer after a failed search = %q", got)
	}
}

func TestQuestions_AboutTheLastRecord(t *testing.T) {
	for _, question := range []string{
		"what was that about again?", "what was it about", "what was that for", "what is it for again?", "what was that again?",
		"what does it say", "what did the reminder say again", "remind me what that was", "tell me what it was about", "what was that reminder about",
	} {
		t.Run(question, func(t *testing.T) {
			c := newConversation(t)
			c.hearText("remind me to call the landlord at 5pm tomorrow")
			c.answerCalls("I will remind you tomorrow at 17:00: call the landlord.")
			if calls := c.hearText(question); len(calls) != 1 || calls[0].Name != "list_reminders" {
				t.Fatalf("%q led to %v and %q, want list_reminders", question, calls, c.lastText())
			}
			c.answerCalls("- call the landlord (tomorrow at 17:00)")
			if got := c.lastText(); !strings.Contains(got, "landlord (tomorrow at 17:00)") {
				t.Errorf("answer to %q = %q", question, got)
			}
			alone := newConversation(t)
			if calls := alone.hearText(question); len(calls) == 0 && strings.Contains(alone.lastText(), "I found no answer") {
				t.Errorf("answer to %q without a record = %q, although nothing was searched", question, alone.lastText())
			}
		})
	}
}

func TestQuestions_ListsOfOneSubject(t *testing.T) {
	for sentence, expected := range map[string]string{
		"what present reminders do i have":               `list_reminders{"query":"present"}`,
		"which appointment reminders do I have":          `list_reminders{"query":"appointment"}`,
		"what dentist reminders have i got?":             `list_reminders{"query":"dentist"}`,
		"how many car reminders are there":               `list_reminders{"query":"car"}`,
		"do i have any garden reminders":                 `list_reminders{"query":"garden"}`,
		"have i got any rent reminders set":              `list_reminders{"query":"rent"}`,
		"are there any plumber reminders":                `list_reminders{"query":"plumber"}`,
		"is there anything i still have to do for work":  `list_tasks{"query":"work"}`,
		"do i have anything else i need to do":           `list_tasks{}`,
		"is there anything we still need to do for Ella": `list_tasks{"query":"Ella"}`,
	} {
		t.Run(sentence, func(t *testing.T) { expectCalls(t, newConversation(t).hearText(sentence), expected) })
	}
	expectCalls(t, newConversation(t).hearText("what time am i meeting nadja"), `list_reminders{"query":"nadja"}`, `list_tasks{"query":"nadja"}`, `read_calendar{"days_ahead":92,"query":"nadja"}`)
}

func TestFacts_AreStoredOrOffered(t *testing.T) {
	for said, stored := range map[string]string{
		"Jonas weighs 14 kilos":                    "Jonas weighs 14 kilos",
		"my cat weighs 4 kilos":                    "my cat weighs 4 kilos",
		"i'm left-handed":                          "I'm left-handed",
		"im vegan btw":                             "I'm vegan",
		"i went vegan":                             "I went vegan",
		"Nadja is vegetarian":                      "Nadja is vegetarian",
		"my wife Anna is left-handed":              "my wife Anna is left-handed",
		"i grew up in Leeds":                       "I grew up in Leeds",
		"i wear size 43 shoes":                     "I wear size 43 shoes",
		"our wifi is called Foxhole":               "our wifi is called Foxhole",
		"i parked on level 3 near the blue pillar": "I parked on level 3 near the blue pillar",
	} {
		t.Run(said, func(t *testing.T) { expectCalls(t, newConversation(t).hearText(said), `remember{"text":"`+stored+`"}`) })
	}
	for said, stored := range map[string]string{
		"i never eat fish":               "I never eat fish",
		"i do not eat pork":              "I do not eat pork",
		"i take my coffee without sugar": "I take my coffee without sugar",
		"my mum takes her coffee black":  "my mum takes her coffee black",
		"my car takes diesel":            "my car takes diesel",
		"my wife never drinks coffee":    "my wife never drinks coffee",
		"i usually drink oat milk":       "I usually drink oat milk",
		"we rent a flat in Graz":         "we rent a flat in Graz",
		"i collect stamps btw":           "I collect stamps",
		"Tom sings in a choir":           "Tom sings in a choir",
	} {
		t.Run(said, func(t *testing.T) {
			c := newConversation(t)
			if calls := c.hearText(said); len(calls) > 0 || !strings.HasPrefix(c.lastText(), "Should I remember that ") {
				t.Fatalf("%q led to %v and %q, want an offer", said, calls, c.lastText())
			}
			expectCalls(t, c.hearText("yes"), `remember{"text":"`+stored+`"}`)
		})
	}
	for _, said := range []string{"i take the car today", "do i eat fish?", "i might go vegan", "i support you", "if i take the bus tell me", "he weighs the flour", "i take my pill at 8", "is Nadja vegan", "maybe i am vegan", "i want to wear size 40", "our meeting is called off", "i am deaf to that", "my cat weighs a lot"} {
		t.Run(said, func(t *testing.T) {
			c := newConversation(t)
			for _, call := range c.hearText(said) {
				if call.Name == "remember" {
					t.Errorf("%q was stored", said)
				}
			}
			if strings.HasPrefix(c.lastText(), "Should I remember") {
				t.Errorf("%q led to %q", said, c.lastText())
			}
		})
	}
}

func TestFacts_OfAPersonReplaceNoOtherValue(t *testing.T) {
	for _, said := range []string{"he's my son", "hes my son", "he is my son"} {
		c := newConversation(t)
		c.hearText("Jonas weighs 14 kilos")
		c.answerCalls(`I will remember "Jonas weighs 14 kilos".`)
		expectCalls(t, c.hearText(said), `remember{"text":"Jonas is my son"}`)
	}
}
