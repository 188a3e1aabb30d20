package triples

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// sunday is the current time when Read parses the texts.
var sunday = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// formatTriple formats a statement for comparison: "ana lives_in Kaunas".
func formatTriple(s Triple) string {
	var b strings.Builder
	b.WriteString(s.Subject.Key + " " + s.Attr + " " + s.Value)
	for _, m := range []struct {
		on   bool
		word string
	}{{s.Ended, "ended"}, {s.More, "more"}, {s.Past, "past"}, {s.Sure, "sure"}, {s.Now, "now"}, {s.Old != "", "old:" + s.Old}} {
		if m.on {
			b.WriteString(" /" + m.word)
		}
	}
	if !s.From.IsZero() {
		b.WriteString(" from " + s.From.Format(time.DateOnly))
	}
	if !s.Until.IsZero() {
		b.WriteString(" until " + s.Until.Format(time.DateOnly))
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for text, want := range map[string][]string{
		"my sister's birthday is on 3 May":                          {"sister birthday on 3 May"},
		"Kestrel-9981 is the wifi password of the cabin":            {"cabin wifi password Kestrel-9981"},
		"My sister Ana lives in Vilnius and works at Initech":       {"ana lives_in Vilnius", "sister called ana /more", "ana works_at Initech", "sister called ana /more"},
		"I no longer work at Initech":                               {"owner works_at Initech /ended /sure"},
		"We have moved from Vilnius to Kaunas":                      {"owner lives_in Kaunas /now /old:Vilnius"},
		"Actually, the spare key is in the drawer":                  {"key spare where in the drawer /sure"},
		"I meant Kaunas, not Vilnius":                               {"  Kaunas /sure /old:Vilnius"},
		"I used to drive a Volvo, but now I drive a Skoda":          {"owner drives a Volvo /ended /sure", "owner drives a Skoda /now"},
		"The meeting was moved from Tuesday to Thursday":            {"meeting when Thursday /now /old:Tuesday"},
		"The dentist appointment is cancelled":                      {"appointment dentist *  /ended /sure"},
		"I live in Paris until June":                                {"owner lives_in Paris until 2027-06-01"},
		"My brother has lived in Leipzig since 2019":                {"brother lives_in Leipzig from 2019-01-01"},
		"From Monday I work at Globex":                              {"owner works_at Globex from 2026-11-23"},
		"I also work at Globex":                                     {"owner works_at Globex /more"},
		"Mein Geburtstag ist am 3. Mai":                             {"owner birthday am 3. Mai"},
		"Ich wohne nicht mehr in Berlin":                            {"owner lives_in Berlin /ended"},
		"J'habite à Paris":                                          {"owner lives_in Paris"},
		"Vivo en Madrid":                                            {"owner lives_in Madrid"},
		"Abito a Roma":                                              {"owner lives_in Roma"},
		"Gyvenu Vilniuje":                                           {"owner lives_in Vilniuje"},
		"Mieszkam w Krakowie":                                       {"owner lives_in Krakowie"},
		"She said that Ana lives in Rome":                           nil,
		"If I live in Rome, I will learn Italian":                   nil,
		"Do I live in Rome?":                                        nil,
		"I want to live in Rome":                                    nil,
		`The page says "my bank account number is 666 as of today"`: nil,
		"the code is 1234":                                          nil,
		"":                                                          nil,
	} {
		t.Run(text, func(t *testing.T) {
			var got []string
			for _, s := range Read(text, sunday) {
				got = append(got, formatTriple(s))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSameValue(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"180 cm", "1.80 m", true},
		{"82 kg", "181 pounds", true},
		{"180 cm", "181 kg", false},
		{"on 3 May", "May 3rd", true},
		{"3 May", "4 May", false},
		{"the Volvo", "my Volvo", true},
		{"York", "New York", false},
	} {
		if got := SameValue(tc.a, tc.b); got != tc.want {
			t.Errorf("SameValue(%q, %q) = %v", tc.a, tc.b, got)
		}
	}
}

// Statements must only contain words of the text, and reading must be
// deterministic.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"my sister's birthday is on 3 May", "I moved from A to B", "not X but Y", "'s 's is is", "I", "is", "+", "a@b.c is my email", "\xff is \xfe", "I meant A, not B", "«x» is my y", "от is 3", "Ana, my sister, lives in X until June and she works at Y;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := Read(text, sunday)
		for _, s := range list {
			if !utf8.ValidString(s.Value) || !utf8.ValidString(s.Text) {
				t.Fatalf("%q: not valid UTF-8: %+v", text, s)
			}
			if s.Attr != Called && s.Value != "" && !strings.Contains(strings.ToValidUTF8(text, " "), s.Value) && !strings.ContainsAny(text, "\"“«„`") {
				t.Fatalf("%q does not contain the value %q", text, s.Value)
			}
			Corrects(s, list[0], sunday)
		}
		if again := Read(text, sunday); !cmp.Equal(list, again) {
			t.Fatalf("%q was read in two ways", text)
		}
	})
}
