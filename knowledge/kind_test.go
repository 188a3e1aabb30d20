package knowledge

import (
	"testing"
	"time"

	say "hob/platform/text/triples"
)

// t0 is Monday, 9 March 2026.
func TestSetKind(t *testing.T) {
	for _, tc := range []struct {
		text, kind, until string
	}{
		{"the spare key is under the blue flowerpot", KindFact, ""},
		{"my birthday is on 3 May", KindFact, ""},
		{"the wedding anniversary of my parents is on 4 July", KindFact, ""},
		{"I prefer aisle seats", KindPreference, ""},
		{"I like strong coffee", KindPreference, ""},
		{"Ich mag starken Kaffee", KindPreference, ""},
		{"we decided to buy the smaller boat", KindDecision, ""},
		{"For the kitchen we settled on oak", KindDecision, ""},
		{"Wir haben beschlossen, das Boot zu verkaufen", KindDecision, ""},
		{"to reset the router, hold the button for 10 seconds", KindProcedure, ""},
		{"First close the valve, then drain the boiler", KindProcedure, ""},
		{"how to start the mower: choke out, pull twice", KindProcedure, ""},
		{"the dentist appointment is on 14 March", KindEvent, "2026-03-15"},
		{"Ana's concert takes place on Friday at 8pm", KindEvent, "2026-03-14"},
		{"Der Termin beim Zahnarzt ist am 2026-03-20", KindEvent, "2026-03-21"},
		{"I have yoga meetings every Tuesday", KindFact, ""},
		{"the concert was on 1 March", KindEvent, ""},
		{"the meeting room is on the second floor", KindFact, ""},
	} {
		f := Fact{Text: tc.text, CreatedAt: t0}
		f.setKind(say.Read(tc.text, t0), t0)
		until := ""
		if !f.ValidUntil.IsZero() {
			until = f.ValidUntil.Format(time.DateOnly)
		}
		if f.Kind != tc.kind || until != tc.until {
			t.Errorf("%q: kind %s until %q, want %s until %q", tc.text, f.Kind, until, tc.kind, tc.until)
		}
	}
}

func TestJunkTexts(t *testing.T) {
	for text, want := range map[string][2]bool{
		"the spare key is under the blue flowerpot": {false, false},
		"I like tea":                               {false, false},
		"what is the wifi password":                {true, false},
		"Ana lives in Oslo?":                       {true, false},
		"How to reset the router: hold the button": {false, false},
		"and then we went home":                    {false, true},
		"the blue one because":                     {false, true},
		"Heron":                                    {false, true},
		"the heron":                                {false, true},
		"会議は毎週火曜日です":                               {false, false},
		"Kestrel-42":                               {false, false},
		"wo ist der Schlüssel":                     {true, false},
		"my sister moved in":                       {false, false},
	} {
		if got := [2]bool{IsQuestion(text), isFragment(text)}; got != want {
			t.Errorf("%q: question %v, fragment %v, want %v", text, got[0], got[1], want)
		}
	}
}
