package offline

import (
	"strings"
	"testing"
)

// TestOffers_ContainNoWordsOfTheRequest checks that Hob offers no text that a "yes" would store wrongly.
func TestOffers_ContainNoWordsOfTheRequest(t *testing.T) {
	for said, want := range map[string]string{
		"remind me not to forget mums tablets from boots 5.30pm today":                              "Should I remind you today at 17:30 of “mums tablets from boots”?",
		"please remind me about the payroll cut off, which is the 18th at noon":                     "of “the payroll cut off”?",
		"set an alarm for quarter to six tonight, im on nights":                                     "today at 17:45 of “alarm”?",
		"add ring the dentist to my todo and also get tylers trainers size 4":                       "- add the task “ring the dentist”\n- add the task “get tylers trainers size 4”\nShould I do all of that?",
		"i need to phone HMRC tomorrow at 8 sharp before the queue builds up, remind me at five to": "I am not sure how to read all of that",
		"the dentist has given me the 7th of january at twenty past three":                          "I am not sure how to read all of that",
		"that is Tom's birthday, please remember it":                                                "I am not sure how to read all of that",
		"remember when we went to wales":                                                            "I am not sure how to read all of that",
		"spent twenty two pounds fifty on diesel":                                                   "I am not sure how to read the amount",
		"I paid the florist £32 and then a further £4.50 for ribbon":                                "I am not sure how to read the amount",
		"pay the gas bill 45 quid":                                                                  "I am not sure how to read the amount",
		"Paul me doit 20 euros":                                                                     "I am not sure how to read the amount",
		"remind me to ring mum tomorrow at 7":                                                       "Should I remind you tomorrow at 07:00 of “ring mum”?",
		"remind me to call bob about friday at 4":                                                   "Should I remind you Fri 6 Mar at 16:00 of “call bob”?",
		"remind me on the 4th at 9 to pay rent":                                                     "Should I remind you today at 21:00 of “pay rent”?",
		"recuérdame el miércoles a las 9 llamar a Ana":                                              "No he entendido",
		"got the kids this wknd":                                                                    "",
		"i did 54 km today":                                                                         "I recorded nothing",
		"fined 35 quid parking on corporation st yesterday":                                         "I recorded nothing",
		"spent a tenner on raffle tickets":                                                          "I did not understand",
		"what can u do":                                                                             "I am Hob's built-in brain",
	} {
		c := newConversation(t)
		expectCalls(t, c.hearText(said))
		if !strings.Contains(c.lastText(), want) {
			t.Errorf("%q: %s, want %q", said, c.lastText(), want)
		}
	}
}

// TestDialogue_KeepsWhatWasSaid checks messages that add to a record instead of correcting it, and short corrections.
func TestDialogue_KeepsWhatWasSaid(t *testing.T) {
	for _, tc := range []struct {
		name  string
		said  []string
		reply string // a part of the last reply
		want  []string
	}{
		{"an age is no other name", []string{"my brother is tom", "he's 30"}, "", []string{`remember{"text":"my brother is 30"}`}},
		{"a name is no other animal", []string{"i have a dog", "its called rex"}, "I did not understand", nil},
		{"a colour is no other make", []string{"my car is a golf", "its blue"}, "I did not understand", nil},
		{"another number is a correction", []string{"my locker is 14", "its 15"}, "", []string{`undo`}},
		{"a verb is no other person", []string{"remind me at 5pm to call tom", "i meant text"}, "so I changed nothing", nil},
		{"the half of the day of an offer", []string{"remind me tomorrow at 6 to fill the bottles", "am i mean"}, "Should I remind you tomorrow at 06:00", nil},
		{"the half of the day of a reminder", []string{"remind me tomorrow at 6pm to fill the bottles", "am i mean"}, "", []string{`update_reminder{"at":"06:00","reminder":"fill the bottles"}`}},
		{"the day of the last answer", []string{"how long till the 28th of march", "what day of the week is it?"}, "28 March 2026 is a Saturday. Today is Wednesday", nil},
		{"lunch is at noon", []string{"what time is it", "lunch with mam at 12.30", "move the lunch to 1 o'clock"}, "today at 13:00", nil},
		{"an English note with a French word", []string{"Note: Brownies half term planning, Bethan is bringing the glue guns and I'm bringing felt."}, "", []string{`create_note{"text":"Brownies half term planning, Bethan is bringing the glue guns and I'm bringing felt"}`}},
		{"a bill is no shop", []string{"paid rent 540"}, "", []string{`log_expense{"amount":540,"category":"rent"}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newConversation(t)
			for i, said := range tc.said {
				got := c.hearText(said)
				if i < len(tc.said)-1 {
					for range got {
						c.answerCalls("OK")
					}
					continue
				}
				if len(tc.want) == 1 && !strings.Contains(tc.want[0], "{") {
					if len(got) != 1 || got[0].Name != tc.want[0] {
						t.Errorf("%q calls %v, want %s", said, got, tc.want[0])
					}
					continue
				}
				expectCalls(t, got, tc.want...)
			}
			if !strings.Contains(c.lastText(), tc.reply) {
				t.Errorf("%q: %s, want %q", tc.said, c.lastText(), tc.reply)
			}
		})
	}
}
