package extract

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestPassing(t *testing.T) {
	for text, want := range map[string][]string{
		"My sister Ana lives in Kaunas and works at Initech. What a day!":  {"My sister Ana lives in Kaunas", "My sister Ana works at Initech"},
		"I'm allergic to nuts, by the way":                                 {"I'm allergic to nuts, by the way"},
		"my brother's birthday is on 3 May":                                {"my brother's birthday is on 3 May"},
		"I bought a sailing boat":                                          {"I bought a sailing boat"},
		"I have a headache":                                                nil,
		"my wifi password is hunter2":                                      nil,
		"maybe I live in Rome":                                             nil,
		"if I live in Rome I learn Italian":                                nil,
		"Tom says that I live in Rome":                                     nil,
		"do I live in Rome?":                                               nil,
		"Translate: I live in Rome":                                        nil,
		"He wrote:\nI live in Rome":                                        nil,
		"> I live in Rome":                                                 nil,
		`The mail says "I live in Rome and my bank account number is 666"`: nil,
		"Look at this.\n\nI live in Rome":                                  nil,
		"remind me to call Ana tomorrow at 9":                              nil,
		"add milk to my list":                                              nil,
		"Wir wohnen in Hamburg":                                            {"Wir wohnen in Hamburg"},
		"Ana has moved to Riga. She works at Globex.":                      {"Ana has moved to Riga", "Ana works at Globex"},
		"My wife's phone number is +370 600 12345":                         {"My wife's phone number is +370 600 12345"},
	} {
		t.Run(text, func(t *testing.T) {
			var got []string
			for _, s := range say.Lasting(say.OwnWords(text), noon) {
				got = append(got, s.Text)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestChecked(t *testing.T) {
	words := "You know, Uwe next door does our roofs. The mail says my bank account is 666. Is Lea my niece?"
	for _, tc := range []struct {
		name    string
		it      foundItem
		tainted bool
		want    string
	}{
		{"with the words of the user", foundItem{Quote: "Uwe next door does our roofs", Text: "Uwe next door does our roofs"}, false, "Uwe next door does our roofs"},
		{"with other words", foundItem{Quote: "Uwe next door does our roofs", Text: "Uwe is a criminal"}, false, "Uwe next door does our roofs"},
		{"no quote", foundItem{Text: "Uwe does roofs"}, false, ""},
		{"a quote that does not occur there", foundItem{Quote: "Uwe does roofs", Text: "Uwe does roofs"}, false, ""},
		{"content of a mail", foundItem{Quote: "my bank account is 666", Text: "my bank account is 666"}, false, ""},
		{"a question", foundItem{Quote: "Lea my niece", Text: "Lea my niece"}, false, ""},
		{"a secret", foundItem{Quote: "Uwe next door", Text: "Uwe knows my password"}, false, ""},
		{"too long", foundItem{Quote: "Uwe next door does our roofs", Text: strings.Repeat("Uwe ", 100)}, false, ""},
		{"concluded", foundItem{Quote: "Uwe next door does our roofs", Text: "Uwe likes roofs", Kind: "observation"}, false, "Uwe likes roofs"},
		{"inferred next to untrusted text", foundItem{Quote: "Uwe next door does our roofs", Text: "Uwe likes roofs", Kind: "observation"}, true, ""},
		{"concluded without evidence", foundItem{Quote: "Uwe next door", Text: "the evil bank is at Mallory", Kind: "observation"}, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, ok := checkItem(pendingTurn{words: say.OwnWords(words), tainted: tc.tainted}, tc.it)
			if ok != (tc.want != "") || ok && f.Text != tc.want {
				t.Errorf("%q, %v, want %q", f.Text, ok, tc.want)
			}
		})
	}
}

// Whatever a model answers, stored facts contain only the owner's words.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"items":[{"turn":1,"quote":"I live in Rome","text":"I live in Rome","kind":"fact","from":"me","relation":"lives_in","to":"Rome"}]}`, "I live in Rome")
	f.Add(`x {"items":[]} y`, "")
	f.Add(`{"items":[{"turn":1,"quote":"I live","text":"Mallory","kind":"fact"}]}`, "I live in Rome. My cat is called Rex.")
	f.Add(`{"items":null}`, "\xff\"")
	f.Add(`{"items":[{"turn":1e9}]}`, ">")
	f.Fuzz(func(t *testing.T, answer, said string) {
		items, err := Parse(answer)
		if err != nil {
			return
		}
		words := say.OwnWords(said)
		for _, it := range items {
			fact, ok := checkItem(pendingTurn{words: words}, it)
			if !ok || fact.Provenance != provenance.Owner {
				continue
			}
			if _, all := ownShare(words, fact.Text); !all && !containsSequence(textnorm.FoldedWords(words), textnorm.FoldedWords(fact.Text)) {
				t.Fatalf("fact %q does not stand in %q", fact.Text, said)
			}
		}
	})
}
