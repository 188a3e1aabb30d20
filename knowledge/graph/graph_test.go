package graph

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/store/storetest"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

type graphFixture struct {
	t  *testing.T
	st *store.Store
	b  *knowledge.Base
	g  *Graph
}

func openGraph(t *testing.T) *graphFixture {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "hob.db"))
}

func openAt(t *testing.T, path string) *graphFixture {
	t.Helper()
	st, err := storetest.Open(t.Context(), path, append(knowledge.Migrations(), Migrations()), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	g, err := New(Options{Store: st, Region: func() string { return "LT" }})
	if err != nil {
		t.Fatal(err)
	}
	b, err := knowledge.New(st, knowledge.Options{Graph: g})
	if err != nil {
		t.Fatal(err)
	}
	return &graphFixture{t, st, b, g}
}

func (h *graphFixture) writeTx(f func(tx *store.Tx) error) {
	h.t.Helper()
	if err := h.st.Write(h.t.Context(), f); err != nil {
		h.t.Fatal(err)
	}
}

func (h *graphFixture) rememberTexts(src provenance.Source, texts ...string) (last knowledge.Remembered) {
	h.t.Helper()
	for _, s := range texts {
		h.writeTx(func(tx *store.Tx) (err error) {
			last, err = h.b.RememberTx(tx, knowledge.Fact{Text: s, Provenance: src, CreatedAt: noon})
			return err
		})
	}
	h.followChanges()
	return last
}

func (h *graphFixture) followChanges() {
	h.t.Helper()
	for more := true; more; {
		var err error
		if more, err = h.g.Follow(h.t.Context(), h.b); err != nil {
			h.t.Fatal(err)
		}
	}
}

// listNeighbors describes the neighbors of the entity that a text names.
func (h *graphFixture) listNeighbors(text string) []string {
	h.t.Helper()
	q := h.st.Reader(h.t.Context())
	list, err := h.g.Named(q, []string{""}, text)
	if err != nil {
		h.t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		near, err := h.g.Neighbors(q, e.ID)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, n := range near {
			line := e.Name + " " + n.Name + " " + n.Entity.Name
			if n.Over {
				line += " (over)"
			}
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestFollow_DerivesGraphFromFacts(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "My sister lives in Vilnius", "My sister is called Ana", "Ana works at Initech and her phone number is 8 600 12345", "Tom is married to Ana", "Tom drives a Skoda")
	want := []string{
		"Ana lives_in Vilnius", "Ana married_to Tom", "Ana sibling_of you", "Ana works_at Initech",
	}
	for _, ask := range []string{"where does my sister live?", "Ana", "whose number is +37060012345?"} {
		got := h.listNeighbors(ask)
		if strings.Contains(ask, "+370") {
			got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, "Ana ") })
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", ask, d)
		}
	}
	near := h.rowsAround("what does Ana's husband drive?", 2)
	if !slices.Contains(near, "Tom drives a Skoda") {
		t.Errorf("two hops: %q", near)
	}
	h.rememberTexts(provenance.Owner, "Ana moved to Kaunas")
	if got := strings.Join(h.listNeighbors("Ana"), "; "); !strings.Contains(got, "Ana lives_in Kaunas") || !strings.Contains(got, "Ana lives_in Vilnius (over)") {
		t.Errorf("after a correction: %s", got)
	}
}

// A speaker with a name becomes an entity; another program or its user does not.
func TestFollow_SpeakerBecomesAnEntity(t *testing.T) {
	h := openGraph(t)
	for i, who := range []string{"owner", knowledge.ByYou, knowledge.ByChatGPT, knowledge.ByClaude, "Claude Martin"} {
		h.writeTx(func(tx *store.Tx) error {
			return h.b.IndexTx(tx, knowledge.Doc{Kind: knowledge.KindTurn, Ref: string(rune(97 + i)), Text: "Hello there", At: noon, Provenance: provenance.Outside, Speaker: who})
		})
	}
	h.followChanges()
	list, err := h.g.Entities(h.st.Reader(t.Context()), Filter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
	}
	if !slices.Equal(names, []string{"Claude Martin"}) {
		t.Errorf("people: %q", names)
	}
}

func TestFollow_CorrectedFactKeepsItsEntity(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "my sister Ana works at Initech in Vilnius")
	h.writeTx(func(tx *store.Tx) error {
		return h.b.IndexTx(tx, knowledge.Doc{Kind: knowledge.KindTurn, Ref: "m1", Text: "Ana says that Initech in Vilnius is fine", At: noon, Provenance: provenance.Owner, Speaker: "owner"})
	})
	h.followChanges()
	h.rememberTexts(provenance.Owner, "my sister Ana now works at Globex")
	list, err := h.g.Entities(h.st.Reader(t.Context()), Filter{EveryRealm: true, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	if d := cmp.Diff([]string{"Ana", "Globex", "Initech in Vilnius", "you"}, names); d != "" {
		t.Error(d)
	}
}

// rowsAround returns the texts of the rows around the entity that a text names.
func (h *graphFixture) rowsAround(text string, hops int) (out []string) {
	h.t.Helper()
	q := h.st.Reader(h.t.Context())
	list, err := h.g.Named(q, []string{""}, text)
	if err != nil {
		h.t.Fatal(err)
	}
	var ids []string
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	rows, err := h.g.ExpandNeighbors(q, []string{""}, ids, hops, 20)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, n := range rows {
		var s string
		if err := q.QueryRow(`SELECT text FROM docs WHERE n = ?`, n.N).Scan(&s); err != nil {
			h.t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func TestIdentity(t *testing.T) {
	for _, tc := range []struct {
		name  string
		facts []string
		want  int // people besides the user
	}{
		{"one Ana", []string{"Ana lives in Vilnius", "Ana Silva works at Initech"}, 1},
		{"two Anas", []string{"Ana Silva lives in Vilnius", "Ana Costa works at Initech"}, 2},
		{"one address", []string{"Ana Silva's email is a@example.org", "Bela's email is a@example.org"}, 1},
		{"a role and a name", []string{"my sister lives in Vilnius", "my sister Ana works at Initech"}, 2},
		{"two sisters", []string{"my sister Ana lives in Vilnius", "my sister Eva lives in Riga"}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := openGraph(t)
			h.rememberTexts(provenance.Owner, tc.facts...)
			list, err := h.g.Entities(h.st.Reader(t.Context()), Filter{Kind: knowledge.Person})
			if err != nil {
				t.Fatal(err)
			}
			list = slices.DeleteFunc(list, func(e knowledge.Entity) bool { return e.ID == OwnerID })
			if len(list) != tc.want {
				t.Errorf("%d people, want %d: %+v", len(list), tc.want, list)
			}
		})
	}
}

func TestLink(t *testing.T) {
	h := openGraph(t)
	link := func(l knowledge.Link) (out knowledge.Linked, err error) {
		l.Provenance, l.At = provenance.Owner, noon
		err = h.st.Write(t.Context(), func(tx *store.Tx) (err error) { out, err = h.g.LinkTx(tx, l); return err })
		return out, err
	}
	first, err := link(knowledge.Link{From: "Initech", Relation: "employs", To: "Ana Silva"})
	if err != nil || first.From.Name != "Ana Silva" || first.Relation.Name != "works_at" || len(first.Made) != 2 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := link(knowledge.Link{From: "Ana", Relation: "works for", To: "initech"})
	if err != nil || !again.Known || again.Relation.ID != first.Relation.ID {
		t.Errorf("second Link = %+v, %v", again, err)
	}
	if _, err := link(knowledge.Link{From: "Ana", Relation: "knows", To: "ana silva"}); err == nil {
		t.Error("link to itself was accepted")
	}
	h.writeTx(func(tx *store.Tx) error { return h.g.UnlinkTx(tx, first.Relation.ID, first.Made) })
	list, err := h.g.Entities(h.st.Reader(t.Context()), Filter{})
	if err != nil || len(list) != 0 {
		t.Errorf("after the undo: %+v, %v", list, err)
	}
}

func TestForget_RemovesDerivedData(t *testing.T) {
	h := openGraph(t)
	r := h.rememberTexts(provenance.Owner, "Ana lives in Vilnius")
	h.writeTx(func(tx *store.Tx) error {
		_, err := h.g.LinkTx(tx, knowledge.Link{From: "Bela Kestrel", Relation: "knows", To: "Carl", Provenance: provenance.Outside, Source: "mail:7"})
		return err
	})
	h.forgetRows(knowledge.ForgetRequest{ID: r.Fact.ID})
	h.writeTx(func(tx *store.Tx) error {
		_, err := h.g.Eraser().EraseTx(tx, &erase.Erasure{Sources: []string{"mail:7"}}, erase.NewScrubber("Kestrel"))
		return err
	})
	for _, table := range []string{"relations", "mentions", "entity_aliases", "entities"} {
		var n int
		if err := h.st.Reader(t.Context()).QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v", table, n, err)
		}
	}
}

// A new name is found in earlier rows.
func TestFollow_FindsEarlierRows(t *testing.T) {
	h := openGraph(t)
	h.writeTx(func(tx *store.Tx) error {
		return h.b.IndexTx(tx, knowledge.Doc{Kind: "note", Ref: "n1", Text: "Ana brought the blue ladder back", At: noon, Provenance: provenance.Owner})
	})
	h.followChanges()
	h.rememberTexts(provenance.Owner, "My sister is called Ana")
	if got := h.rowsAround("my sister", 0); !slices.Contains(got, "Ana brought the blue ladder back") {
		t.Errorf("around her: %q", got)
	}
}

func TestFollow_UntrustedStaysUntrusted(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Outside, "Ana lives in Vilnius")
	list, err := h.g.Entities(h.st.Reader(t.Context()), Filter{Text: "ana"})
	if err != nil || len(list) != 1 || !list[0].Provenance.Tainted() {
		t.Errorf("Entities = %+v, %v", list, err)
	}
}

func TestNear_HubIsLimited(t *testing.T) {
	h := openGraph(t)
	for i := range 300 {
		h.writeTx(func(tx *store.Tx) error {
			_, err := h.b.RememberTx(tx, knowledge.Fact{Text: "P" + strings.Repeat("x", i%20) + string(rune('a'+i%26)) + " works at Initech", Provenance: provenance.Owner, CreatedAt: noon})
			return err
		})
	}
	h.followChanges()
	if got := h.rowsAround("Initech", 2); len(got) > 20 || len(got) == 0 {
		t.Errorf("%d rows", len(got))
	}
}

func TestCanonicalRelation(t *testing.T) {
	for in, want := range map[string]string{
		"works for": "works_at", "employs": "works_at turned", "is the sister of": "sibling_of", "mother of": "parent_of", "daughter of": "parent_of turned",
		"is married to": "married_to", "collects": "collects", "Lives In": "lives_in",
	} {
		name, turned := CanonicalRelation(in)
		if turned {
			name += " turned"
		}
		if name != want {
			t.Errorf("Normal(%q) = %q, want %q", in, name, want)
		}
	}
}

func FuzzGrams(f *testing.F) {
	f.Add("my sister Ana's a@b.c")
	f.Add("\xff my")
	f.Fuzz(func(t *testing.T, s string) {
		if n := len(nameCandidates(s)); n > 4000 {
			t.Fatalf("%d", n)
		}
		NormalizePhone(s, "LT")
		CanonicalRelation(s)
	})
}

func TestPhone(t *testing.T) {
	for _, tc := range []struct{ in, region, want string }{
		{"8 600 12345", "LT", "+37060012345"},
		{"0 600 12345", "LT", "+37060012345"},
		{"+370 600 12345", "DE", "+37060012345"},
		{"00370 600 12345", "", "+37060012345"},
		{"+49 (0)30 901820", "LT", "+4930901820"},
		{"030 901820", "DE", "+4930901820"},
		{"(212) 555-0123", "US", "+12125550123"},
		{"1 212 555 0123", "US", "+12125550123"},
		{"06 1 234 5678", "HU", "+3612345678"},
		{"612 34 56 78", "ES", "+34612345678"},
		{"600 12345", "", ""},
		{"12", "LT", ""},
		{"1234567890123456", "LT", ""},
		{"a@b.c", "LT", ""},
	} {
		if got, _ := NormalizePhone(tc.in, tc.region); got != tc.want {
			t.Errorf("Phone(%q, %q) = %q, want %q", tc.in, tc.region, got, tc.want)
		}
	}
}
