package offline

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestClassOf(t *testing.T) {
	g := New(Options{}).grammar()
	now := time.Date(2026, 11, 29, 13, 0, 0, 0, time.UTC)
	for class, list := range map[sentenceClass][]string{
		aRequest:    {"remind me to call mum", "can you add milk to the list", "do the laundry", "when it rains, tell me"},
		aQuestion:   {"when is my sister's birthday", "what time is it", "do I have any tasks?", "is it raining", "how many days until christmas"},
		aStatement:  {"she lives in Hamburg", "it's raining", "we still have butter", "i parked on level 2", "they moved"},
		anAnswer:    {"tomorrow at 9", "at 6", "the second one", "yes please", "12", "the last one", "on friday then"},
		aCorrection: {"no, York", "not Karen, Karin", "sorry, tomorrow I said", "i meant june", "wait, not the dentist", "oops, 6pm I meant"},
		aSmallTalk:  {"thanks", "hello there", "good night", "i'm so tired today", "you are useless"},
	} {
		for _, text := range list {
			if got := g.classOf(g.parseSentence(text, now)); got != class {
				t.Errorf("classOf(%q) = %d, want %d", text, got, class)
			}
		}
	}
	if g.classOf(g.parseSentence("Dave moved to Leeds", now)) == aQuestion {
		t.Error(`classOf("Dave moved to Leeds") = aQuestion, want a class that may be stored`)
	}
}

func TestFacts_AreStoredWithTheirSubject(t *testing.T) {
	g := New(Options{}).grammar()
	now := time.Date(2026, 11, 29, 13, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text string
		want []string // nil: nothing is stored
	}{
		{"Dave moved to Leeds", []string{"Dave moved to Leeds"}},
		{"dave lives in Leeds", []string{"Dave lives in Leeds"}},
		{"we live at 14 Elm Road", []string{"we live at 14 Elm Road"}},
		{"im allergic to penicillin", []string{"I'm allergic to penicillin"}},
		{"i live in Leeds btw", []string{"I live in Leeds"}},
		{"my mums birthday is 4 march", []string{"my mum's birthday is 4 march"}},
		{"my sister's called Julia and her birthday is on 3 November", []string{"my sister's called Julia", "my sister Julia's birthday is on 3 November"}},
		{"my brother's name is Tom and he lives in Leeds", []string{"my brother's name is Tom", "my brother Tom lives in Leeds"}},
		{"my sister is Julia and she works at Bosch", []string{"my sister is Julia", "my sister Julia works at Bosch"}},
		{"my wife's birthday is 4 march and my son's is 9 june", []string{"my wife's birthday is on 4 march", "my son's birthday is on 9 june"}},
		{"meine Schwester heißt Julia", []string{"meine Schwester heißt Julia"}},
		{"ma soeur s'appelle Claire", []string{"ma soeur s'appelle Claire"}},
		{"mi hermana vive en Sevilla", []string{"mi hermana vive en Sevilla"}},
		{"remember that Mein Geburtstag ist am 3. Mai", []string{"Mein Geburtstag ist am 3. Mai"}},
		{"her birthday is on 3 November", nil},
		{"she lives in Hamburg", nil},
		{"where does Dave live", nil},
		{"Dave might move to Leeds", nil},
		{"wie heißt mein Bruder", nil},
		{"ich mag Eier", nil},
		{"it's raining", nil},
	} {
		p := g.planRequests(c.text, now, 0)
		var got []string
		for _, call := range p.calls {
			if call.name == "remember" {
				got = append(got, call.args["text"].(string))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q stores %q, want %q", c.text, got, c.want)
		}
	}
}

func TestFacts_AnswerOnlyTheirQuestion(t *testing.T) {
	g := New(Options{}).grammar()
	now := time.Date(2026, 11, 29, 13, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		question, fact string
		want           bool
	}{
		{"when is Julia's birthday?", "my sister is called Julia (you told me today)", false},
		{"when is Julia's birthday?", "my sister Julia's birthday is on 3 November (you told me today)", true},
		{"when is my sister's birthday?", "my sister Julia's birthday is on 3 November (you told me today)", true},
		{"when is my birthday?", "my sister's birthday is on 3 November (you told me today)", false},
		{"when is my birthday?", "my birthday is on 4 May (you told me today)", true},
		{"where does my brother live?", "my brother's name is Tom (you told me today)", false},
		{"where does my brother live?", "my brother Tom lives in Leeds (you told me today)", true},
		{"where does Greta live?", "my cousin Greta's birthday is 9 august (you told me today)", false},
		{"where does Greta live?", "my cousin Greta lives in Basel (you told me today)", true},
		{"where was Greta born?", "my cousin Greta's birthday is 9 august (you told me today)", false},
		{"how old is Greta?", "my cousin Greta's birthday is 9 august (you told me today)", false},
		{"how old is Greta?", "my cousin Greta's birthday is 9 august 1990 (you told me today)", true},
		{"where does Tom work?", "Tom lives in Leeds (you told me today)", false},
		{"how old is my daughter?", "my daughter is called Ella (you told me today)", false},
		{"how old is my daughter?", "my daughter is 7 (you told me today)", true},
		{"what does the plumber charge?", "my plumber is called Reg (you told me today)", false},
		{"what is my phone number?", "my phone number is 07700 900123 (you told me today)", true},
		{"what does my wife drive?", "my wife swapped the Golf for a Polo (you told me today)", true},
		{"whats mias shoe size", "Mia's shoe size is 35 (you told me today)", true},
		{"whats mias shoe size", "my shoe size is 42 (you told me today)", false},
		{"who has my drill?", "I lent my drill to Martin (you told me today)", true},
		{"what size shoes do i take?", "my shoe size is 42 (you told me today)", true},
	} {
		p := g.planRequests(c.question, now, 0)
		if p.next != nil { // the plan first reads the records
			p, _ = p.afterLookup([]done{{}, {}, {}})
		}
		got := true
		if p.keep != nil {
			got = p.keep(c.fact)
		}
		if p.pick != nil {
			got = got && len(p.pick([]string{c.fact})) == 1
		}
		if p.keep == nil && p.pick == nil {
			t.Errorf("%q selects no facts: %+v", c.question, p)
		} else if got != c.want {
			t.Errorf("%q answered by %q: %v, want %v", c.question, c.fact, got, c.want)
		}
	}
}

func TestQuestions_WithAnotherPart(t *testing.T) {
	g := New(Options{}).grammar()
	now := time.Date(2026, 11, 29, 13, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"never mind. what time is it in Madrid?":            "It is 14:00 in Madrid",
		"hi, what's 12*12 and what day is it?":              "12 * 12 = 144\n\nToday is Sunday",
		"thanks! and how many days till new year?":          "33 days",
		"can you see my screen":                             "I act only on the messages",
		"do you listen to everything i say":                 "I act only on the messages",
		"tell me a joke about penguins":                     "I cannot chat",
		"should i take the job":                             "I cannot decide that",
		"what can i say?":                                   "For example:",
		"how far ahead is tokyo":                            "It is 22:00 in Tokyo",
		"what about 10 kg in pounds":                        "10 kg = 22.05 pounds",
		"what time is it there":                             "In which place?",
		"ok":                                                "OK.",
		"lol":                                               "OK.",
		"great, thanks":                                     "You are welcome.",
		"book club is the last thursday of each month":      "",
		"the weather in no idea":                            "",
		"weather in the one i told you":                     "",
		"whats the weather like in Bath and whats 5 plus 5": "5 plus 5 = 10",
	} {
		p := g.planRequests(text, now, 0)
		if got := g.planText(p, text); want != "" && !strings.Contains(got, want) {
			t.Errorf("answer to %q = %q, want %q", text, got, want)
		}
		for _, c := range p.calls {
			if place, _ := c.args["location"].(string); place != "" && place != "Bath" {
				t.Errorf("%q looks up the weather of %q", text, place)
			}
		}
		if want == "" && strings.HasPrefix(p.say, "I cannot") {
			t.Errorf("answer to %q = %q", text, p.say)
		}
	}
}
