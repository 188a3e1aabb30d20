package knowledge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

var t0 = time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)

func openBase(t *testing.T) (*Base, *store.Store) {
	t.Helper()
	st, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), Migrations(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	b, err := New(st, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b, st
}

func writeTx(t *testing.T, st *store.Store, f func(*store.Tx) error) {
	t.Helper()
	if err := st.Write(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func rememberText(t *testing.T, b *Base, st *store.Store, at time.Time, from provenance.Source, text string) Remembered {
	t.Helper()
	var r Remembered
	writeTx(t, st, func(tx *store.Tx) (err error) {
		r, err = b.RememberTx(tx, Fact{Text: text, Provenance: from, CreatedAt: at})
		return err
	})
	return r
}

func factTexts(facts []Fact) []string {
	var out []string
	for _, f := range facts {
		out = append(out, f.Text)
	}
	return out
}

func TestRecall(t *testing.T) {
	b, st := openBase(t)
	for i, s := range []string{
		"my sister's birthday is on 3 May", "the spare key is under the blue flowerpot", "I am allergic to penicillin",
		"Zoë likes crème brûlée", "the plumber is called Marek", "会議は毎週火曜日です", "чай в шкафу", "invoice-4711.pdf is paid",
		"I parked the car on level 3", "my brother lives in Leipzig",
	} {
		rememberText(t, b, st, t0.Add(time.Duration(i)*time.Minute), provenance.Owner, s)
	}
	tests := []struct{ name, query, want string }{
		{"question", "when is my sister's birthday", "my sister's birthday is on 3 May"},
		{"question mark and case", "WHEN IS MY SISTER’S BIRTHDAY?", "my sister's birthday is on 3 May"},
		{"plural", "sisters birthdays", "my sister's birthday is on 3 May"},
		{"loose", "where did I put the spare key", "the spare key is under the blue flowerpot"},
		{"stem", "what are my allergies", "I am allergic to penicillin"},
		{"query without accents", "who likes creme brulee", "Zoë likes crème brûlée"},
		{"query with extra accents", "plumbér", "the plumber is called Marek"},
		{"beginning", "penic", "I am allergic to penicillin"},
		{"script without spaces", "火曜日", "会議は毎週火曜日です"},
		{"cyrillic", "где чай", "чай в шкафу"},
		{"number", "4711", "invoice-4711.pdf is paid"},
		{"half of the words", "car parking spot in the garage level", "I parked the car on level 3"},
		{"nothing in common", "capital of France", ""},
		{"operators are words", `"AND" OR (sister* NEAR birthday) ^: -`, "my sister's birthday is on 3 May"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := b.Recall(st.Reader(t.Context()), "", tc.query, 3)
			if err != nil {
				t.Fatal(err)
			}
			first := ""
			if len(got) > 0 {
				first = got[0].Text
			}
			if first != tc.want {
				t.Errorf("Recall(%q) = %q, want %q", tc.query, factTexts(got), tc.want)
			}
		})
	}
	for _, huge := range []string{strings.Repeat("x", 200_000), strings.Repeat("%", 200_000), strings.Repeat("milk ", 50_000)} {
		if _, err := b.Recall(st.Reader(t.Context()), "", huge, 3); err != nil {
			t.Errorf("a huge query: %v", err)
		}
	}
	all, err := b.Recall(st.Reader(t.Context()), "", "", 2)
	if d := cmp.Diff([]string{"my brother lives in Leipzig", "I parked the car on level 3"}, factTexts(all)); d != "" || err != nil {
		t.Errorf("empty query: %v %s", err, d)
	}
}

func TestCorrection(t *testing.T) {
	tests := []struct {
		name, old, new string
		from           provenance.Source
		want           []string // facts that Recall returns for an empty query, newest first
	}{
		{"a date", "my sister's birthday is on 3 May", "my sister's birthday is on 4 May", "owner", []string{"my sister's birthday is on 4 May"}},
		{"reversed order", "Kestrel-9981 is the wifi password of the cabin", "the cabin wifi password is now Heron-1234", "owner", []string{"the cabin wifi password is now Heron-1234"}},
		{"favourite", "my favorite colour is blue", "my favourite colour is green", "owner", []string{"my favourite colour is green"}},
		{"same value", "my sister's birthday is 3 May", "my sister's birthday is on 3 May.", "owner", []string{"my sister's birthday is 3 May"}},
		{"same text", "Marek is our plumber", "marek is our plumber!", "owner", []string{"Marek is our plumber"}},
		{"another person", "my sister's birthday is on 3 May", "my brother's birthday is on 4 May", "owner", []string{"my brother's birthday is on 4 May", "my sister's birthday is on 3 May"}},
		{"attribute with several values", "my sister is a doctor", "my sister is tall", "owner", []string{"my sister is tall", "my sister is a doctor"}},
		{"hedged", "my favourite colour is blue", "my favourite colour is also green", "owner", []string{"my favourite colour is also green", "my favourite colour is blue"}},
		{"denied", "my address is 5 Foo Street", "my address is not 5 Foo Street", "owner", []string{"my address is not 5 Foo Street"}},
		{"missing subject", "the code is 1234", "the code is 4321", "owner", []string{"the code is 4321", "the code is 1234"}},
		{"two statements", "my phone number is 1", "my phone number is 2 and my email is a@b.c", "owner", []string{"my phone number is 2 and my email is a@b.c"}},
		{"untrusted text never corrects trusted facts", "my bank account number is 1", "my bank account number is 666", "outside", []string{"my bank account number is 666", "my bank account number is 1"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b, st := openBase(t)
			rememberText(t, b, st, t0, provenance.Owner, tc.old)
			r := rememberText(t, b, st, t0.Add(time.Hour), tc.from, tc.new)
			got, err := b.Recall(st.Reader(t.Context()), "", "", 10)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, factTexts(got)); d != "" {
				t.Fatal(d)
			}
			if len(r.Retired) == 0 {
				return
			}
			history, err := b.ListFacts(t.Context(), 10, true)
			if err != nil || len(history) != 2 || history[1].RetiredBy != r.Fact.ID {
				t.Fatalf("history: %+v, %v", history, err)
			}
			writeTx(t, st, func(tx *store.Tx) error { return b.UndoRememberTx(tx, r.Fact.ID) })
			got, err = b.Recall(st.Reader(t.Context()), "", tc.old, 10)
			if d := cmp.Diff([]string{tc.old}, factTexts(got)); d != "" || err != nil {
				t.Fatalf("after the undo: %v %s", err, d)
			}
		})
	}
}

func TestForget_LeavesNothing(t *testing.T) {
	storetest.FileOnly(t, "the test reads the file")
	b, st := openBase(t)
	rememberText(t, b, st, t0, provenance.Owner, "Kestrel-9981 is the wifi password of the cabin")
	rememberText(t, b, st, t0, provenance.Owner, "something else about a flowerpot")
	r := rememberText(t, b, st, t0.Add(time.Hour), provenance.Owner, "the cabin wifi password is Heron-1234")
	going, err := b.PlanCommitted(t.Context(), ForgetRequest{ID: r.Fact.ID})
	if err != nil || len(going.Facts) != 2 {
		t.Fatalf("plan erases %+v, want the new and the old fact: %v", going.Facts, err)
	}
	writeTx(t, st, func(tx *store.Tx) error {
		_, err := b.Eraser().EraseTx(tx, &going.Erasure, going.Erasure.Scrubber())
		return err
	})
	for _, q := range []string{"kestrel", "heron", "wifi"} {
		hits, err := b.Search(st.Reader(t.Context()), q, SearchOptions{Kinds: []string{KindFact, KindRetired}})
		if err != nil || len(hits) != 0 {
			t.Errorf("Search(%q) = %v, %v", q, hits, err)
		}
	}
	if _, err := b.PlanCommitted(t.Context(), ForgetRequest{ID: r.Fact.ID}); !errors.Is(err, ErrNotFound) {
		t.Errorf("second erasure = %v, want ErrNotFound", err)
	}
	path := st.Path()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"estrel", "eron-1234", "heron"} {
		if strings.Contains(string(raw), s) {
			t.Errorf("the file still contains %q", s)
		}
	}
}

func TestIndex(t *testing.T) {
	b, st := openBase(t)
	d := Doc{Kind: "note", Ref: "n1", Title: "Groceries", Text: "milk and eggs", At: t0, Provenance: provenance.Owner}
	writeTx(t, st, func(tx *store.Tx) error {
		return errors.Join(b.IndexTx(tx, d), b.IndexTx(tx, Doc{Kind: "task", Ref: "t1", Text: "buy milk and flour", At: t0.Add(-90 * 24 * time.Hour)}))
	})
	search := func(q string, kinds ...string) string {
		hits, err := b.Search(st.Reader(t.Context()), q, SearchOptions{Kinds: kinds})
		if err != nil {
			t.Fatal(err)
		}
		var refs []string
		for _, h := range hits {
			refs = append(refs, h.Ref+":"+string(h.Provenance))
		}
		return strings.Join(refs, " ")
	}
	if got := search("milk"); got != "n1:owner t1:outside" {
		t.Errorf("both kinds: %s", got)
	}
	if got := search("milk", "task"); got != "t1:outside" {
		t.Errorf("tasks: %s", got)
	}
	d.Text = "bread"
	writeTx(t, st, func(tx *store.Tx) error { return b.IndexTx(tx, d) })
	if got := search("eggs") + search("bread"); got != "n1:owner" {
		t.Errorf("after a change: %s", got)
	}
	writeTx(t, st, func(tx *store.Tx) error { return b.UnindexTx(tx, "note", "n1") })
	if got := search("groceries"); got != "" {
		t.Errorf("after removal: %s", got)
	}
	if _, err := st.Read().ExecContext(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
}

func TestRemember_RejectsMistakes(t *testing.T) {
	b, st := openBase(t)
	for text, want := range map[string]error{"  \n": ErrEmpty, strings.Repeat("x", MaxFact+1): ErrTooLong} {
		err := st.Write(t.Context(), func(tx *store.Tx) error { _, err := b.RememberTx(tx, Fact{Text: text}); return err })
		if !errors.Is(err, want) {
			t.Errorf("%.10q: %v, want %v", text, err, want)
		}
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("New accepted a missing store")
	}
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{`"`, `a" OR "b`, `*`, `NEAR(a b)`, `title:x`, `-a ^b`, "a\x00b", "%_\\", "\xff\xfe", "''", "{a}:b", "s' s's", "🏃 🏃"} {
		f.Add(s)
	}
	dir := f.TempDir()
	st, err := storetest.Open(f.Context(), filepath.Join(dir, "hob.db"), Migrations(), store.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = st.Close() })
	b, err := New(st, Options{})
	if err != nil {
		f.Fatal(err)
	}
	err = st.Write(f.Context(), func(tx *store.Tx) error {
		_, err := b.RememberTx(tx, Fact{Text: "my sister's birthday is on 3 May"})
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, all := range []bool{true, false} {
			if _, err := b.Search(st.Reader(t.Context()), s, SearchOptions{All: all}); err != nil {
				t.Fatalf("Search(%q): %v", s, err)
			}
		}
		if _, err := b.Recollect(t.Context(), st.Reader(t.Context()), RecollectRequest{Text: s}); err != nil {
			t.Fatalf("Relevant(%q): %v", s, err)
		}
		firstStatement(s)
	})
}

func BenchmarkRecall(b *testing.B) {
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
			if _, err := base.RememberTx(tx, Fact{Text: fmt.Sprintf("fact number %d about thing %d and place %d", i, i%97, i%13)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := base.Recall(st.Reader(b.Context()), "", "what do you know about thing 42 in place 5", 5); err != nil {
			b.Fatal(err)
		}
	}
}
