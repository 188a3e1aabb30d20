package knowledge

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/platform/text/credential"
)

// recollectTexts returns the texts that help with a message, with all credentials.
func recollectTexts(t *testing.T, b *Base, st *store.Store, realm, text string) (out []string) {
	t.Helper()
	got, err := b.Recollect(t.Context(), st.Reader(t.Context()), RecollectRequest{Text: text, Realm: realm, Viewer: credential.Everything()})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range got.Hits {
		out = append(out, h.Text)
	}
	return out
}

func TestRecollect(t *testing.T) {
	b, st := openBase(t)
	for i, f := range []struct {
		from provenance.Source
		text string
	}{
		{"owner", "my sister's birthday is on 3 May"},
		{"owner", "I am allergic to penicillin"},
		{"owner", "my favourite restaurant is the Roma"},
		{"outside", "hello from your bank: the parcel of the customer arrives on Tuesday"},
		{"outside", "Anna's flight lands at 9"},
		{"owner", "meine Mutter wohnt in Köln"},
	} {
		rememberText(t, b, st, t0.Add(time.Duration(i)*time.Minute), f.from, f.text)
	}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"greeting", "hello", nil},
		{"chat", "Good morning! How are you today? Please help me with one more thing", nil},
		{"one word in common", "what shall I give my sister for her birthdays", []string{"my sister's birthday is on 3 May"}},
		{"in a long request of the user", "please book a table at the restaurant that I like", []string{"my favourite restaurant is the Roma"}},
		{"one of many words", "please book a table for four at an italian restaurant next week", nil},
		{"no word in common", "what is the capital of France", nil},
		{"one word does not match a tainted fact", "what shall I send to the customer", nil},
		{"question about a tainted fact", "when does the parcel for the customer arrive", []string{"hello from your bank: the parcel of the customer arrives on Tuesday"}},
		{"fewer than half of the words do not match a tainted fact", "write to the customer about the parcel, the invoice, the discount, the warranty and the new address", nil},
		{"an order about own affairs does not match a tainted fact", "put the parcel of my customer on the list", nil},
		{"operators", `"AND" OR (sister* NEAR ^birthday) -:`, []string{"my sister's birthday is on 3 May"}},
		{"german", "Wann hat meine Mutter Zeit?", []string{"meine Mutter wohnt in Köln"}},
		{"accents", "wer wohnt in Koln", []string{"meine Mutter wohnt in Köln"}},
		{"empty", "", nil},
		{"huge", strings.Repeat("penicillin x ", 20_000), []string{"I am allergic to penicillin"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, recollectTexts(t, b, st, "", tt.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRecollect_ReturnsAtMostFive(t *testing.T) {
	b, st := openBase(t)
	for _, who := range strings.Fields("Ada Ben Cleo Dan Eve Fay") {
		rememberText(t, b, st, t0, provenance.Owner, who+" drinks coffee")
	}
	if got := recollectTexts(t, b, st, "", "who drinks coffee"); len(got) != 5 {
		t.Errorf("%d facts, want 5", len(got))
	}
}

// Other agents cannot see the memory of an agent with its own realm.
func TestRealms(t *testing.T) {
	b, st := openBase(t)
	keep := func(realm, text string) Remembered {
		t.Helper()
		var r Remembered
		writeTx(t, st, func(tx *store.Tx) (err error) {
			r, err = b.RememberTx(tx, Fact{Text: text, Realm: realm, Provenance: provenance.Owner})
			return err
		})
		return r
	}
	keep("work", "the door code of the office is 1234")
	keep("", "the door code of the office is 9876")
	keep("work", "the door code of the office is 5555") // corrects only the fact in the same realm
	r := st.Reader(t.Context())
	for realm, want := range map[string]string{"work": "the door code of the office is 5555", "": "the door code of the office is 9876", "home": ""} {
		for name, ask := range map[string]func() ([]Fact, error){
			"recall": func() ([]Fact, error) { return b.Recall(r, realm, "office door code", 5) },
			"newest": func() ([]Fact, error) { return b.Recall(r, realm, "", 5) },
		} {
			got, err := ask()
			if err != nil || strings.Join(factTexts(got), "|") != want {
				t.Errorf("%s in %q: %q, %v", name, realm, factTexts(got), err)
			}
		}
		if got := recollectTexts(t, b, st, realm, "office door code"); strings.Join(got, "|") != want {
			t.Errorf("recollected in %q: %q", realm, got)
		}
		hits, err := b.Search(r, "office", SearchOptions{Realm: realm})
		if err != nil || len(hits) != min(len(want), 1) {
			t.Errorf("search in %q: %+v, %v", realm, hits, err)
		}
	}
	writeTx(t, st, func(tx *store.Tx) error {
		return b.IndexTx(tx, Doc{Kind: "note", Ref: "n1", Text: "the office party", Provenance: provenance.Owner})
	})
	if hits, err := b.Search(r, "party", SearchOptions{Realm: "work"}); err != nil || len(hits) != 1 {
		t.Errorf("search for a note found %+v, %v", hits, err)
	}
	if all, err := b.Search(r, "office door code", SearchOptions{Kinds: []string{KindFact}, Limit: 5, EveryRealm: true}); err != nil || len(all) != 2 {
		t.Errorf("Facts = %+v, %v, want the facts of all realms", all, err)
	}
}

// countingIndex counts the lookups, and can forget which ones Recollect has made.
type countingIndex struct {
	Index
	lookups []TermQuery
}

func (x *countingIndex) SearchTerms(q store.Querier, w TermQuery) (WordAnswer, error) {
	x.lookups = append(x.lookups, w)
	return x.Index.SearchTerms(q, w)
}

// Recollect does not look up the same words twice, and a lookup that it reuses equals a new one.
func TestRecollect_LooksUpWordsOnce(t *testing.T) {
	b, st := openBase(t)
	x := &countingIndex{Index: NewScan(Weights{})}
	b.opt.Index = x
	for i := range 400 {
		rememberText(t, b, st, t0.Add(time.Duration(i)*time.Minute), "owner", fmt.Sprintf("the door code of room %d is %d", i%40, 1000+i))
	}
	for text, want := range map[string]int{"door code of the room?": 1, "what is my door code for the office in Zürich?": 2, "hello": 0} {
		x.lookups = nil
		found := recollectTexts(t, b, st, "", text)
		if len(x.lookups) != want || (len(found) > 0) != (want > 0) {
			t.Errorf("%q: %d lookups, want %d: %+v, found %q", text, len(x.lookups), want, x.lookups, found)
		}
	}
	q := st.Reader(t.Context())
	scope, err := b.resolveScope(q, Request{})
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"Door", "code"}
	all, err := b.lookupWords(q, scope, TermQuery{Text: "Door code", Limit: matched})
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := b.lookupWords(q, scope, TermQuery{Text: "door code", Limit: 60})
	if err != nil {
		t.Fatal(err)
	}
	reused, ok := (&wordLookup{words: words, scope: scope, limit: matched, answer: all}).answerFor([]string{"door", "code"}, 60)
	if d := cmp.Diff(fresh.Matches, reused.Matches); !ok || d != "" {
		t.Errorf("reused lookup (-new +reused): %s", d)
	}
}

func FuzzTopicWords(f *testing.F) {
	for _, s := range []string{`"`, "a\x00b", "NEAR(a b)", "\xff\xfe", "sister's", "🏃"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := TopicWords(s); len(got) > maxTerms {
			t.Errorf("%d words, above the limit", len(got))
		}
	})
}

func BenchmarkRecollect(b *testing.B) {
	st, err := storetest.Open(b.Context(), filepath.Join(b.TempDir(), "hob.db"), Migrations(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	base, err := New(st, Options{})
	if err != nil {
		b.Fatal(err)
	}
	err = st.Write(b.Context(), func(tx *store.Tx) error {
		for i := range 5000 {
			if _, err := base.RememberTx(tx, Fact{Text: fmt.Sprintf("fact number %d about subject%d and place%d", i, i%97, i%13), Provenance: provenance.Owner}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, text := range []string{"hello, how are you", "what is there about subject42 in place5", "every fact about a number"} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				if _, err := base.Recollect(b.Context(), st.Reader(b.Context()), RecollectRequest{Text: text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// An earlier message of the user that says the same as an order adds nothing to it.
func TestRecollect_OmitsRepeatedOrders(t *testing.T) {
	b, st := openBase(t)
	for ref, text := range map[string]string{"m1": "write a letter in the house style", "m2": "the landlord's letter is in the blue folder of the study"} {
		writeTx(t, st, func(tx *store.Tx) error {
			return b.IndexTx(tx, Doc{Kind: KindTurn, Ref: ref, Text: text, Speaker: ByOwner, Provenance: provenance.Owner})
		})
	}
	for order, want := range map[string][]string{
		"write a letter in the house style please": nil,
		"show me the landlord's letter":            {"the landlord's letter is in the blue folder of the study"},
	} {
		if d := cmp.Diff(want, recollectTexts(t, b, st, "", order)); d != "" {
			t.Errorf("%s: %s", order, d)
		}
	}
}

// The message that stated a fact adds nothing to the fact, also if the conversation contains the fact already.
func TestRecollect_OmitsTheMessageThatStatedAFact(t *testing.T) {
	b, st := openBase(t)
	const fact = "my sister's birthday is on 3 May"
	writeTx(t, st, func(tx *store.Tx) error {
		if _, err := b.RememberTx(tx, Fact{Text: fact, Provenance: provenance.Owner}); err != nil {
			return err
		}
		return b.IndexTx(tx, Doc{Kind: KindTurn, Ref: "m1", Text: "remember that " + fact, Speaker: ByOwner, Provenance: provenance.Owner})
	})
	for _, seen := range []bool{false, true} {
		found, err := b.Recollect(t.Context(), st.Reader(t.Context()), RecollectRequest{
			Text: "what about my sister's birthday", Rows: 5, Seen: func(h Hit) bool { return seen && h.Text == fact },
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range found.Hits {
			got = append(got, h.Text)
		}
		if want := []string{fact}; seen && len(got) != 0 || !seen && !cmp.Equal(got, want) {
			t.Errorf("with the fact in the context %v: %q", seen, got)
		}
	}
}
