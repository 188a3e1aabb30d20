package summary

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"Dr. Ona Kairys met J. R. Smith at 3 p.m. on Monday. They left.", []string{"Dr. Ona Kairys met J. R. Smith at 3 p.m. on Monday.", "They left."}},
		{"It cost 1.4 million. \"Too much!\" she said. See e.g. Nida.", []string{"It cost 1.4 million.", "\"Too much!\"", "she said.", "See e.g. Nida."}},
		{"Am 3. Mai kam er an. Danach ging er.", []string{"Am 3. Mai kam er an.", "Danach ging er."}},
		{"今日は晴れです。明日は雨です。", []string{"今日は晴れです。", "明日は雨です。"}},
		{"A line of a plain text that is wrapped at some width by its\nauthor goes on here.", []string{"A line of a plain text that is wrapped at some width by its author goes on here."}},
		{"# Heading\nThe first sentence[12] of it.\n- An item of a list", []string{"The first sentence of it.", "An item of a list"}},
		{"", nil},
	} {
		var got []string
		for _, s := range Split(c.in) {
			got = append(got, s.Text)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("Split(%q):\n%s", c.in, d)
		}
	}
}

const story = `# Lighthouse to be restored
Home | News | Sport
The lighthouse of the cape will be restored by the spring of 2027, the harbour office said on Monday.
It has leaked for years.
The restoration costs 1.4 million euros, of which the European fund for coasts pays two thirds.
Why so much? Nobody wanted to say.
The lighthouse restoration is paid to two thirds by the European fund for coasts and costs 1.4 million euros.
The office had asked three firms; a shipyard from Klaipėda won the restoration of the lighthouse.
Subscribe now to our newsletter for more stories like this one.
Visitors can follow the restoration of the lighthouse from a platform that opens in June.
We use cookies on this site to improve everything you read.`

func TestExtract_KeepsFactsAndOmitsTheRest(t *testing.T) {
	s := Extract(story, Options{Title: "Lighthouse to be restored", Chars: 320})
	text := s.Text()
	for _, want := range []string{"2027", "1.4 million"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing: %s", want, text)
		}
	}
	for _, no := range []string{"cookies", "Subscribe", "Home |", "Why so much"} {
		if strings.Contains(text, no) {
			t.Errorf("%q is in the summary: %s", no, text)
		}
	}
	if strings.Count(text, "1.4 million") > 1 {
		t.Errorf("a statement occurs twice: %s", text)
	}
	if n := utf8.RuneCountInString(text); n > 366 || s.Language != "en" {
		t.Errorf("%d characters in %q", n, s.Language)
	}
}

func TestExtract_FollowsFocus(t *testing.T) {
	s := Extract(story, Options{Focus: "visitors platform", Chars: 90})
	if !strings.Contains(s.Text(), "platform that opens in June") {
		t.Error(s.Text())
	}
}

func TestExtract_SkipsSentences(t *testing.T) {
	s := Extract(story, Options{Skip: func(x string) bool { return strings.Contains(x, "1.4") }})
	if s.Skipped != 2 || strings.Contains(s.Text(), "1.4") {
		t.Errorf("%d skipped: %s", s.Skipped, s.Text())
	}
}

// FuzzExtract checks that a summary contains only sentences of the text and is shorter.
func FuzzExtract(f *testing.F) {
	f.Add(story, 200)
	f.Add("One sentence only, which is rather long for what it says.", 5)
	f.Add("\xff\n# \n- \n…!?。", 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		all := Split(text)
		s := Extract(text, Options{Chars: n})
		for _, x := range s.Sentences {
			if !slices.ContainsFunc(all, func(y Sentence) bool { return y.Text == x.Text }) {
				t.Fatalf("%q is not in the text", x.Text)
			}
		}
	})
}
