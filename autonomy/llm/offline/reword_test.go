package offline

import (
	"regexp"
	"testing"
)

// TestRewordedQuestions checks questions in a polite or indirect form, at 10:15 on 4 March 2026 in Vilnius. "" means that
// Hob must not answer with a figure.
func TestRewordedQuestions(t *testing.T) {
	g := New(testOptions("")).grammar()
	for said, want := range map[string]string{
		"Please could you tell me how many days there are until Christmas?":                `^296 days until`,
		"Could you tell me what the square root of 1764 is? I am checking a pupil's work.": `= 42$`,
		"do you know what day Christmas is":                                                `^Christmas is Friday`,
		"I wonder how many ounces there are in a kilo":                                     `= 35\.27 ounces$`,
		"How many pints are there in 2 litres?":                                            `= 3\.52 imperial pints$`,
		"102 fahrenheit in celsius quick":                                                  `= 38\.89 °C$`,
		"A recipe says 350 degrees Fahrenheit; what would that be in Celsius, please?":     `= 176\.67 °C$`,
		"Could you convert 12 ounces of gram flour into grams for me?":                     `= 340\.19 g$`,
		"How many miles is 85 kilometres, roughly?":                                        `= 52\.82 miles$`,
		"how many cups in half a gallon":                                                   `= 8 US cups$`,
		"what is two and a half cups in ml":                                                `= 591\.47 ml$`,
		"1 1/2 cups in ml":                                                                 `= 354\.88 ml$`,
		"whats 37.5 hours at 24.60 an hour":                                                `= 922\.5$`,
		"whats 45 an hr times 32.5 hrs":                                                    `= 1462\.5$`,
		"212 km at 43 cent a km how much is that":                                          `= 91\.16$`,
		"how much do i get for 30 minutes at 40 an hour":                                   `= 20$`,
		"whats 2846 less 1150 mortgage less 187.40 esb less 95":                            `= 1413\.6$`,
		"2400 minus 15.3% self employment tax":                                             `= 2032\.8$`,
		"whats 3/4 of 2.5 cups":                                                            `= 1\.875$`,
		"split 132.50 between 5 of us from choir":                                          `26\.5 each`,
		"whats 4 weeks from today":                                                         `Wednesday, 1 April 2026`,
		"what time is it in Boston, the sister is over there":                              `^It is 03:15 in Boston`,
		"My son is doing homework. What is 12 times 14?":                                   `= 168$`,
		"what is 2 metres plus 30 cm":                                                      "",
		"what is 6 minutes plus 2 hours":                                                   "",
		"what is 3 times a week":                                                           "",
		"what is 20% of 350, not counting tax":                                             "",
		"what is 5 days at 60 miles a day":                                                 "",
		"how much is 3 hours at 15 pounds a day and 2 weeks":                               "",
		"what time is it in Paris, Texas":                                                  `do not know the time zone`,
		"could you tell me what I have on tomorrow and remind me at 6 to check it":         "",
		"what is Diwali": "",
		"I have 3 cats and 12 dogs, how much is that in miles?":                          "",
		"The flight is 3 hours and the drive is 2 hours; what would that be in minutes?": "",
	} {
		p := g.planRequests(said, corpusTime(t), 0)
		switch {
		case want == "" && regexp.MustCompile(` = |^\d| is \d`).MatchString(p.say):
			t.Errorf("%q: %s", said, describePlan(p))
		case want != "" && (len(p.calls) > 0 || !regexp.MustCompile(want).MatchString(p.say)):
			t.Errorf("%q: %s, want %s", said, describePlan(p), want)
		}
	}
	for said, want := range map[string]string{
		"Please could you tell me what reminders I have?":      `list_reminders {}`,
		"We need a new boiler, what is on my list?":            `list_tasks {}`,
		"I'd like to know how much I spent on food this month": `spending_summary {"category":"food","period":"this_month"}`,
		"tell me when Anna mails":                              `create_watcher {"config":{"from":["Anna"]},"kind":"email"}`,
	} {
		if p := g.planRequests(said, corpusTime(t), 0); describePlan(p) != want {
			t.Errorf("%q: %s, want %s", said, describePlan(p), want)
		}
	}
}
