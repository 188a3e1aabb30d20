package knowledge

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
	"hob/platform/store"
)

// restoreFact stores a fact without comparing it with the others, as earlier versions and imports did.
func restoreFact(t *testing.T, b *Base, st *store.Store, f Fact) Fact {
	t.Helper()
	if f.Provenance == provenance.Unknown {
		f.Provenance = provenance.Owner
	}
	writeTx(t, st, func(tx *store.Tx) error {
		if f.Kind == "" {
			f.setKind(nil, f.CreatedAt)
		}
		if err := b.insertTx(tx, f, nil); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE claimed SET version = 0 WHERE fact = ?`, f.ID)
		return err
	})
	writeTx(t, st, b.parseFactsTx)
	return f
}

// consolidateAll plans and makes changes until none is left.
func consolidateAll(t *testing.T, b *Base, st *store.Store, now time.Time) (all []FactChange) {
	t.Helper()
	for range 10 {
		p, err := b.PlanConsolidation(st.Reader(t.Context()), now)
		if err != nil {
			t.Fatal(err)
		}
		var done []FactChange
		writeTx(t, st, func(tx *store.Tx) (err error) { done, err = b.ConsolidateTx(tx, p); return err })
		if len(done) != len(p.Changes) {
			t.Errorf("%d of %d planned changes were made", len(done), len(p.Changes))
		}
		if len(done) == 0 {
			return all
		}
		all = append(all, done...)
	}
	t.Error("the consolidation did not finish")
	return all
}

func liveTexts(t *testing.T, b *Base) []string {
	t.Helper()
	list, err := b.ListFacts(t.Context(), 1000, false)
	if err != nil {
		t.Fatal(err)
	}
	out := factTexts(list)
	slices.Sort(out)
	return out
}

func TestConsolidation(t *testing.T) {
	at := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Hour) }
	now := t0.AddDate(0, 0, 10)
	for _, tc := range []struct {
		name        string
		facts       []Fact
		ops, remain string // separated by "|"
	}{
		{"the same words with fillers", []Fact{{ID: "a", Text: "to open the locker, push the door"}, {ID: "b", Text: "To open locker, please push door"}}, "merge b a", "to open the locker, push the door"},
		{"the more detailed fact stays", []Fact{{ID: "a", Text: "I live in Vilnius"}, {ID: "b", Text: "I live in Vilnius, Lithuania"}}, "merge a b", "I live in Vilnius, Lithuania"},
		{"of equal facts the older one stays", []Fact{{ID: "a", Text: "my sister is called Ana"}, {ID: "b", Text: "my sister's name is Ana"}}, "merge b a", "my sister is called Ana"},
		{"a trusted fact replaces an untrusted one", []Fact{{ID: "a", Text: "to open the locker, push door", Provenance: provenance.Outside}, {ID: "b", Text: "to open locker, push the door"}}, "merge a b", "to open locker, push the door"},
		{"a statement replaces a conclusion", []Fact{{ID: "a", Text: "the user walks a lot", Kind: KindObservation, Provenance: provenance.Hob}, {ID: "b", Text: "user walks a lot"}}, "merge a b", "user walks a lot"},
		{"namespaces stay apart", []Fact{{ID: "a", Text: "I live in Vilnius"}, {ID: "b", Text: "I live in Vilnius", Realm: "work"}}, "", "I live in Vilnius|I live in Vilnius"},
		{"other values stay", []Fact{{ID: "a", Text: "I like tea"}, {ID: "b", Text: "I like coffee"}, {ID: "c", Text: "Ana likes Ben"}, {ID: "d", Text: "Ben likes Ana"}}, "", "Ana likes Ben|Ben likes Ana|I like coffee|I like tea"},
		{"a negation stays", []Fact{{ID: "a", Text: "the locker opens with a key"}, {ID: "b", Text: "the locker opens not with a key"}}, "", "the locker opens not with a key|the locker opens with a key"},
		{"other times stay", []Fact{{ID: "a", Text: "the guest room is taken", ValidUntil: now.AddDate(0, 1, 0)}, {ID: "b", Text: "the guest room is taken"}}, "", "the guest room is taken|the guest room is taken"},
		{"a newer fact closes an older one", []Fact{{ID: "a", Text: "I work at Initech"}, {ID: "b", Text: "I work at Globex"}}, "close a b", "I work at Globex"},
		{
			"a name that became known later",
			[]Fact{{ID: "a", Text: "my sister lives in Riga"}, {ID: "b", Text: "Ana lives in Oslo"}, {ID: "c", Text: "my sister is called Ana"}},
			"close a b", "Ana lives in Oslo|my sister is called Ana",
		},
		{"an uncorrected part stays", []Fact{{ID: "a", Text: "I work at Initech and I drive a Volvo"}, {ID: "b", Text: "I work at Globex"}}, "close a b", "I drive a Volvo|I work at Globex"},
		{"an untrusted fact closes nothing", []Fact{{ID: "a", Text: "I work at Initech"}, {ID: "b", Text: "I work at Globex", Provenance: provenance.Outside}}, "", "I work at Globex|I work at Initech"},
		{"a conclusion closes nothing", []Fact{{ID: "a", Text: "I work at Initech"}, {ID: "b", Text: "I work at Globex", Kind: KindObservation, Provenance: provenance.Hob}}, "", "I work at Globex|I work at Initech"},
		{"a past event ends", []Fact{{ID: "a", Text: "the dentist appointment is on 5 March", Kind: KindEvent, ValidUntil: t0.AddDate(0, 0, 4)}, {ID: "b", Text: "the concert is in May", Kind: KindEvent, ValidUntil: t0.AddDate(0, 2, 0)}}, "expire a", "the concert is in May"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, st := openBase(t)
			for i, f := range tc.facts {
				f.CreatedAt = at(i)
				restoreFact(t, b, st, f)
			}
			before := liveTexts(t, b)
			done := consolidateAll(t, b, st, now)
			var ops []string
			for _, c := range done {
				ops = append(ops, strings.TrimSpace(c.Op+" "+c.Fact+" "+c.By))
			}
			if got := strings.Join(ops, "|"); got != tc.ops {
				t.Errorf("changes %q, want %q", got, tc.ops)
			}
			if d := cmp.Diff(strings.Split(tc.remain, "|"), liveTexts(t, b)); d != "" {
				t.Error(d)
			}
			var n int
			writeTx(t, st, func(tx *store.Tx) (err error) { n, _, err = b.UndoConsolidationTx(tx, done); return err })
			if n != len(done) {
				t.Errorf("%d of %d changes were undone", n, len(done))
			}
			if d := cmp.Diff(before, liveTexts(t, b)); d != "" {
				t.Errorf("facts after undo: %s", d)
			}
			if again := consolidateAll(t, b, st, now); len(again) > 0 {
				t.Errorf("the next run repeats undone changes: %+v", again)
			}
		})
	}
}

// A change whose facts were corrected, forgotten or pinned since is neither made nor undone.
func TestConsolidation_LeavesWhatChangedSince(t *testing.T) {
	two := func(t *testing.T) (*Base, *store.Store, ConsolidationPlan) {
		b, st := openBase(t)
		restoreFact(t, b, st, Fact{ID: "a", Text: "I live in Vilnius", CreatedAt: t0})
		restoreFact(t, b, st, Fact{ID: "b", Text: "I live in Vilnius, Lithuania", CreatedAt: t0.Add(time.Hour)})
		p, err := b.PlanConsolidation(st.Reader(t.Context()), t0.Add(2*time.Hour))
		if err != nil || len(p.Changes) != 1 {
			t.Fatalf("PlanConsolidation = %+v %v", p, err)
		}
		return b, st, p
	}
	t.Run("corrected before", func(t *testing.T) {
		b, st, p := two(t)
		rememberText(t, b, st, t0.Add(3*time.Hour), provenance.Owner, "I live in Kaunas")
		writeTx(t, st, func(tx *store.Tx) error {
			done, err := b.ConsolidateTx(tx, p)
			if len(done) > 0 {
				t.Errorf("%+v", done)
			}
			return err
		})
	})
	t.Run("erased before", func(t *testing.T) {
		b, st, p := two(t)
		err := st.Write(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.Exec(`INSERT INTO erasures (id, event, state, keep_backups, begun_at) VALUES ('e', '', 'open', 0, 1)`); err != nil {
				return err
			}
			_, err := b.ConsolidateTx(tx, p)
			return err
		})
		if !errors.Is(err, ErrErased) {
			t.Errorf("ConsolidateTx = %v, want ErrErased", err)
		}
	})
	t.Run("corrected after", func(t *testing.T) {
		b, st, p := two(t)
		var done []FactChange
		writeTx(t, st, func(tx *store.Tx) (err error) { done, err = b.ConsolidateTx(tx, p); return err })
		rememberText(t, b, st, t0.Add(3*time.Hour), provenance.Owner, "I live in Kaunas")
		writeTx(t, st, func(tx *store.Tx) error {
			n, left, err := b.UndoConsolidationTx(tx, done)
			if n != 0 || left != len(done) {
				t.Errorf("%d changes were undone although a correction followed", n)
			}
			return err
		})
		if d := cmp.Diff([]string{"I live in Kaunas"}, liveTexts(t, b)); d != "" {
			t.Error(d)
		}
	})
}

func TestCountJunk(t *testing.T) {
	b, st := openBase(t)
	for i, text := range []string{"I live in Vilnius", "I live in Vilnius, Lithuania", "what is the wifi password", "and then home", "the spare key is under the pot"} {
		restoreFact(t, b, st, Fact{ID: string(rune('a' + i)), Text: text, CreatedAt: t0})
	}
	count := func(now time.Time) JunkCount {
		t.Helper()
		n, err := b.CountJunk(st.Reader(t.Context()), now)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if d := cmp.Diff(JunkCount{Facts: 5, Duplicates: 1, Questions: 1, Fragments: 1, Junk: 3, Share: 0.6}, count(t0.AddDate(0, 0, 20))); d != "" {
		t.Error(d)
	}
	if n := count(t0.AddDate(0, 0, 31)); n.Unused != 5 || n.Junk != 5 {
		t.Errorf("%+v", n)
	}
	a, err := b.Retrieve(t.Context(), st.Reader(t.Context()), Request{Text: "where is the spare key"})
	if err != nil || len(a.Hits) == 0 {
		t.Fatal(a, err)
	}
	if err := b.StoreUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t0.AddDate(0, 0, 31)); n.Unused >= 5 {
		t.Errorf("a fact that a search returned counts as unused: %+v", n)
	}
}

// Forgetting a conversation erases what was stated in it, also if a duplicate from elsewhere was
// merged into it; the duplicate is valid again. Forgetting the fact itself erases both.
func TestConsolidation_ForgettingReachesMergedFacts(t *testing.T) {
	merged := func(t *testing.T) (*Base, *store.Store) {
		b, st := openBase(t)
		restoreFact(t, b, st, Fact{ID: "a", Text: "to open the locker, push the door", Source: "import:one", CreatedAt: t0})
		restoreFact(t, b, st, Fact{ID: "b", Text: "to open locker, please push door", Source: "import:two", CreatedAt: t0.Add(time.Hour)})
		if done := consolidateAll(t, b, st, t0.Add(2*time.Hour)); len(done) != 1 || done[0].Fact != "b" {
			t.Fatalf("%+v", done)
		}
		return b, st
	}
	erase := func(t *testing.T, b *Base, st *store.Store, f ForgetRequest) []string {
		t.Helper()
		plan, err := b.PlanErasure(st.Reader(t.Context()), f)
		if err != nil {
			t.Fatal(err)
		}
		writeTx(t, st, func(tx *store.Tx) error { _, err := b.removeRowsTx(tx, &plan.Erasure, nil); return err })
		all, err := b.ListFacts(t.Context(), 10, true)
		if err != nil {
			t.Fatal(err)
		}
		if live := liveTexts(t, b); len(live) != len(all) {
			t.Errorf("%d facts are retired without a fact that replaces them", len(all)-len(live))
		}
		return factTexts(all)
	}
	t.Run("by source", func(t *testing.T) {
		b, st := merged(t)
		if d := cmp.Diff([]string{"to open locker, please push door"}, erase(t, b, st, ForgetRequest{Source: "import:one"})); d != "" {
			t.Error(d)
		}
	})
	t.Run("by id", func(t *testing.T) {
		b, st := merged(t)
		if left := erase(t, b, st, ForgetRequest{ID: "a"}); len(left) > 0 {
			t.Errorf("after the erasure these texts remain: %q", left)
		}
	})
}

// Conclusions that a model summarized are replaced by its text, which undo and forgetting reach.
func TestSummarizeTx(t *testing.T) {
	texts := []string{"the user walks in the evening", "the user walks in the park", "the user walks with Rex", "the user cooks on Sundays"}
	summarized := func(t *testing.T, list ...Summary) (*Base, *store.Store, []FactChange) {
		b, st := openBase(t)
		for i, text := range texts {
			restoreFact(t, b, st, Fact{ID: string(rune('a' + i)), Text: text, Kind: KindObservation, Provenance: provenance.Hob, Source: "import:" + string(rune('a'+i)), CreatedAt: t0.Add(time.Duration(i) * time.Hour)})
		}
		sets, err := b.ConclusionSets(st.Reader(t.Context()), t0.Add(-time.Hour), 4, 10)
		if err != nil || len(sets) != 1 || len(sets[0].Facts) != 4 || sets[0].Facts[0].ID != "d" {
			t.Fatalf("ConclusionSets = %+v %v", sets, err)
		}
		var done []FactChange
		writeTx(t, st, func(tx *store.Tx) (err error) {
			done, err = b.SummarizeTx(tx, sets[0], list, t0.Add(10*time.Hour))
			return err
		})
		return b, st, done
	}
	good := Summary{Text: "the user walks with Rex in the park in the evening", Of: []int{1, 2, 3}}
	t.Run("is undone", func(t *testing.T) {
		b, st, done := summarized(t, good)
		if d := cmp.Diff([]string{"the user cooks on Sundays", good.Text}, liveTexts(t, b)); d != "" {
			t.Error(d)
		}
		writeTx(t, st, func(tx *store.Tx) error {
			n, left, err := b.UndoConsolidationTx(tx, done)
			if n != 3 || left != 0 {
				t.Errorf("%d facts restored, %d remain", n, left)
			}
			return err
		})
		want := slices.Sorted(slices.Values(texts))
		if d := cmp.Diff(want, liveTexts(t, b)); d != "" {
			t.Error(d)
		}
	})
	t.Run("is forgotten with a source", func(t *testing.T) {
		b, st, _ := summarized(t, good)
		plan, err := b.PlanErasure(st.Reader(t.Context()), ForgetRequest{Source: "import:a"})
		if err != nil {
			t.Fatal(err)
		}
		writeTx(t, st, func(tx *store.Tx) error { _, err := b.removeRowsTx(tx, &plan.Erasure, nil); return err })
		want := slices.Sorted(slices.Values(texts[1:]))
		if d := cmp.Diff(want, liveTexts(t, b)); d != "" {
			t.Error(d)
		}
	})
	for name, bad := range map[string]Summary{
		"other words": {Text: "the user owns a large dog and jogs daily", Of: []int{1, 2}}, "a question": {Text: "does the user walk in the park", Of: []int{1, 2}},
		"one conclusion": {Text: "the user walks", Of: []int{1}}, "a wrong number": {Text: "the user walks", Of: []int{1, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, done := summarized(t, bad); len(done) > 0 {
				t.Errorf("%+v", done)
			}
		})
	}
}
