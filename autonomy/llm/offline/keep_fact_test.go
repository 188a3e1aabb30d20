package offline

import (
	"strings"
	"testing"
)

// TestKeptFacts checks statements that are kept, and others that are not.
func TestKeptFacts(t *testing.T) {
	for said, want := range map[string]string{
		"My grandson Rohan's birthday is on the 14th of February, and he will be nine. Please remember it.": `remember{"text":"My grandson Rohan's birthday is on the 14th of February, and he will be nine"}`,
		"My son Rohan is nine, please remember that.":                                                       `remember{"text":"My son Rohan is nine"}`,
		"dee's bday is feb 19":                            `remember{"text":"dee's bday is feb 19"}`,
		"save kev's number 404-555-0148":                  `remember{"text":"kev's number is 404-555-0148"}`,
		"passport is in the blue bin in the hall closet":  "Should I remember that",
		"Declan the roofer is 087 555 0142":               "Should I remember that",
		"the milk is off, please remember that if I shop": "",
		"I need to call mum at 5, don't let me forget":    "",
		"the meeting is in room 5":                        "",
		"dinner is in the oven":                           "",
		"the total is 1 250 000":                          "",
		"5 times 3 is 15":                                 "",
		"this is 087 555 0142":                            "",
	} {
		c := newConversation(t)
		got := ""
		for _, k := range c.hearText(said) {
			got += k.Name + string(k.Args)
		}
		asked := strings.Contains(c.lastText(), "Should I remember")
		switch {
		case strings.HasPrefix(want, "Should") && (got != "" || !asked), !strings.HasPrefix(want, "Should") && (got != want || asked):
			t.Errorf("%q led to %q, reply %q, want %q", said, got, c.lastText(), want)
		}
	}
}
