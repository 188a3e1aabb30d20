package offline

import (
	"regexp"
	"testing"
)

// TestFigures checks answers that need no tool, at 10:15 on 4 March 2026 in Vilnius.
func TestFigures(t *testing.T) {
	g := New(testOptions("")).grammar()
	for said, want := range map[string]string{
		"what's a third of 90?":                  `= 30$`,
		"two thirds of 60":                       `= 40$`,
		"three quarters of 200":                  `= 150$`,
		"half of 7":                              `= 3.5$`,
		"what is 20% off 80":                     `= 64$`,
		"seven times eight":                      `= 56$`,
		"twenty five plus 17":                    `= 42$`,
		"square root of 144":                     `= 12$`,
		"20 is what percent of 80":               `^20 is 25% of 80`,
		"what percentage of 60 is 15":            `^15 is 25% of 60`,
		"15% tip on 80":                          `12\.00.*92\.00`,
		"what's an 18% tip on $45.50":            `8\.19.*53\.69`,
		"split 96 between 4 people":              `24 each`,
		"split 90 three ways":                    `30 each`,
		"average of 3, 4 and 8":                  `is 5\.`,
		"what's the sum of 12, 30 and 8":         `is 50\.`,
		"5 feet 11 in cm":                        `= 180\.34 cm`,
		"convert 180 c to fahrenheit":            `= 356 °F`,
		"350 f in c":                             `= 176\.67 °C`,
		"how many seconds in a day":              `= 86400 seconds`,
		"how many tablespoons in a cup":          `= 16 US tablespoons`,
		"what week is it":                        `week 10 `,
		"is 2028 a leap year?":                   `^Yes`,
		"is 2100 a leap year?":                   `^No`,
		"when is the next leap year":             `2028`,
		"how many days are in february":          `28 days`,
		"how many days are there in 2028":        `366 days`,
		"how long until 5pm":                     `^6 hours and 45 minutes until 17:00`,
		"how many hours between 9am and 5:30pm":  `^8 hours and 30 minutes`,
		"what time will it be in 3 hours":        `13:15`,
		"how long ago was 1 march":               `3 days ago`,
		"what time is it in Tokyo?":              `^It is 17:15 in Tokyo .*7 hours ahead`,
		"time in new york":                       `^It is 03:15 in New York .*7 hours behind`,
		"what's the time difference to london":   `2 hours behind`,
		"what is 3pm here in tokyo":              `15:00 here is 22:00 in Tokyo`,
		"what time is it in Narnia":              `do not know the time zone`,
		"how many days between 1 may and 3 june": `^33 days`,
	} {
		p := g.planRequests(said, corpusTime(t), 0)
		if len(p.calls) > 0 || !regexp.MustCompile(want).MatchString(p.say) {
			t.Errorf("%q: %s, want %s", said, describePlan(p), want)
		}
	}
	for said, want := range map[string]string{
		"convert 50 dollars to euros":              `convert_currency {"amount":50,"from":"USD","to":"EUR"}`,
		"how much is £20 in swiss francs":          `convert_currency {"amount":20,"from":"GBP","to":"CHF"}`,
		"what's the exchange rate from usd to eur": `convert_currency {"amount":1,"from":"USD","to":"EUR"}`,
		"100 euros in yen":                         `convert_currency {"amount":100,"from":"EUR","to":"JPY"}`,
	} {
		if p := g.planRequests(said, corpusTime(t), 0); describePlan(p) != want {
			t.Errorf("%q: %s, want %s", said, describePlan(p), want)
		}
	}
}
