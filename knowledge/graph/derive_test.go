package graph

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// forgetRows runs an erasure request of the user.
func (h *graphFixture) forgetRows(f knowledge.ForgetRequest) {
	h.t.Helper()
	f.EveryRealm = true
	going, err := h.b.PlanCommitted(h.t.Context(), f)
	if err != nil {
		h.t.Fatal(err)
	}
	e := going.Erasure
	h.writeTx(func(tx *store.Tx) error {
		s := e.Scrubber()
		if _, err := h.b.Eraser().EraseTx(tx, &e, s); err != nil {
			return err
		}
		_, err := h.g.Eraser().EraseTx(tx, &e, s)
		return err
	})
	h.followChanges()
}

// listEntities returns the known entities with their names.
func (h *graphFixture) listEntities() (out []string) {
	h.t.Helper()
	list, err := h.g.Entities(h.st.Reader(h.t.Context()), Filter{EveryRealm: true, Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range list {
		if e.ID != OwnerID {
			out = append(out, strings.Join(append([]string{e.Name}, e.Aliases...), ", "))
		}
	}
	slices.Sort(out)
	return out
}

// storedText returns all text in the tables.
func (h *graphFixture) storedText() (out string) {
	h.t.Helper()
	list, err := scanStrings(h.st.Reader(h.t.Context()).Query(`SELECT name || ' ' || source FROM entities UNION ALL SELECT key || ' ' || text || ' ' || source FROM entity_aliases UNION ALL SELECT name || ' ' || source FROM relations`))
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

func (h *graphFixture) linkEntities(l knowledge.Link) (out knowledge.Linked) {
	h.t.Helper()
	if l.Provenance == provenance.Unknown {
		l.Provenance = provenance.Owner
	}
	l.At = noon
	h.writeTx(func(tx *store.Tx) (err error) { out, err = h.g.LinkTx(tx, l); return err })
	h.followChanges()
	return out
}

func (h *graphFixture) indexNote(ref, text string) {
	h.t.Helper()
	h.writeTx(func(tx *store.Tx) error {
		return h.b.IndexTx(tx, knowledge.Doc{Kind: "note", Ref: ref, Text: text, At: noon, Provenance: provenance.Owner})
	})
	h.followChanges()
}

// checkExport checks that the export is consistent.
func (h *graphFixture) checkExport() {
	h.t.Helper()
	there := map[string]bool{}
	relations := 0
	err := h.g.ForEach(h.st.Reader(h.t.Context()), func(e knowledge.Entity) error { there[e.ID] = true; return nil }, func(r knowledge.Relation) error {
		relations++
		if !there[r.From] || !there[r.To] {
			h.t.Errorf("relation %+v refers to an entity that was not exported", r)
		}
		return nil
	})
	if err != nil || relations != 2 {
		h.t.Errorf("exported %d relations, %v", relations, err)
	}
}

func TestIdentity_SharedAddressMerges(t *testing.T) {
	const ana, bob = "Ana Silva works at Acme", "Bob Berg works at Initech"
	anas, bobs := "Ana Silva's email is a@x.lt", "Bob Berg's email is a@x.lt"
	apart := []string{"Ana Silva works_at Acme"}
	one := []string{"Ana Silva works_at Acme", "Ana Silva works_at Initech"}
	for _, tc := range []struct {
		name         string
		first, third provenance.Source // provenance of the first two facts, and of the third one
		want         []string
	}{
		{"trusted text merges", provenance.Owner, provenance.Owner, one},
		{"untrusted text does not merge trusted entities", provenance.Owner, provenance.Outside, apart},
		{"untrusted text merges untrusted entities", provenance.Outside, provenance.Outside, one},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := openGraph(t)
			h.rememberTexts(tc.first, ana, bob, anas)
			r := h.rememberTexts(tc.third, bobs)
			if d := cmp.Diff(tc.want, h.listNeighbors("Ana Silva")); d != "" {
				t.Error(d)
			}
			h.checkExport()
			h.writeTx(func(tx *store.Tx) error { return h.b.UndoRememberTx(tx, r.Fact.ID) })
			h.followChanges()
			if d := cmp.Diff(apart, h.listNeighbors("Ana Silva")); d != "" {
				t.Errorf("after the undo: %s", d)
			}
			if d := cmp.Diff([]string{"Bob Berg works_at Initech"}, h.listNeighbors("Bob Berg")); d != "" {
				t.Errorf("after the undo: %s", d)
			}
		})
	}
}

// If a statement such as "my sister is called Ana" gives the name of a role, the entity without a
// name gets this name while the statement is valid.
func TestIdentity_RoleGetsItsName(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "My sister lives in Vilnius")
	h.rememberTexts(provenance.Outside, "My sister is called Mallory")
	if got := h.listNeighbors("Mallory"); strings.Contains(strings.Join(got, "; "), "Vilnius") {
		t.Errorf("untrusted text named the entity: %q", got)
	}
	h.rememberTexts(provenance.Owner, "My sister is called Ana")
	if got := h.listNeighbors("Ana"); !slices.Contains(got, "Ana lives_in Vilnius") {
		t.Errorf("listNeighbors = %q", got)
	}
	h.rememberTexts(provenance.Owner, "My sister is called Eva, not Ana")
	if got := h.listNeighbors("Eva"); !slices.Contains(got, "Eva lives_in Vilnius") {
		t.Errorf("listNeighbors = %q", got)
	}
	if got := h.listNeighbors("Ana"); slices.Contains(got, "Ana lives_in Vilnius") {
		t.Errorf("listNeighbors = %q", got)
	}
}

// Two entities with the same name do not lead to further entities with each fact.
func TestNamesakes(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "My friend Ana Silva lives in Kaunas")
	h.writeTx(func(tx *store.Tx) error {
		_, _, err := h.g.RestoreEntityTx(tx, knowledge.Entity{ID: "x1", Name: "Ana Silva", Kind: knowledge.Person, Aliases: []string{"ana@x.lt"}, Provenance: provenance.Outside})
		return err
	})
	h.rememberTexts(provenance.Owner, "Ana Silva works at Acme", "Ana Silva drives a Volvo", "Ana Silva is married to Tomas Berg")
	h.rememberTexts(provenance.Outside, "Ana Silva lives in Riga")
	if d := cmp.Diff([]string{"Acme", "Ana Silva, ana@x.lt", "Ana Silva, my friend", "Kaunas", "Riga", "Tomas Berg", "Volvo"}, h.listEntities()); d != "" {
		t.Error(d)
	}
	if got := h.listNeighbors("Tomas Berg"); !slices.Contains(got, "Tomas Berg married_to Ana Silva") {
		t.Errorf("listNeighbors = %q", got)
	}
	h = openGraph(t)
	h.rememberTexts(provenance.Owner, "My sister Ana lives in Kaunas", "My sister Eva lives in Riga", "My sister likes tea", "My sister works at Acme", "My sister drives a Volvo")
	if d := cmp.Diff([]string{"Acme", "Ana, my sister", "Eva, my sister", "Kaunas", "Riga", "Volvo", "my sister"}, h.listEntities()); d != "" {
		t.Error(d)
	}
}

func TestForget_KeepsOtherStatements(t *testing.T) {
	for _, tc := range []struct {
		name   string
		make   func(h *graphFixture) knowledge.ForgetRequest
		want   []string // remaining entities
		gone   string   // must not occur anywhere
		around []string // relations around Ana
	}{
		{"source with an independent fact", func(h *graphFixture) knowledge.ForgetRequest {
			h.writeTx(func(tx *store.Tx) error {
				_, err := h.b.RememberTx(tx, knowledge.Fact{Text: "My friend Ana Silva likes tea", Provenance: provenance.Owner, CreatedAt: noon, Source: "event:1", Event: "1"})
				return err
			})
			h.rememberTexts(provenance.Owner, "Ana works at Acme")
			return knowledge.ForgetRequest{Source: "event:1"}
		}, []string{"Acme", "Ana"}, "silva", []string{"Ana works_at Acme"}},
		{"fact with an independent fact", func(h *graphFixture) knowledge.ForgetRequest {
			r := h.rememberTexts(provenance.Owner, "My friend Ana Silva works at Acme")
			h.rememberTexts(provenance.Owner, "Ana drives a Volvo")
			return knowledge.ForgetRequest{ID: r.Fact.ID}
		}, []string{"Ana", "Volvo"}, "silva", []string{"Ana drives Volvo"}},
		{"fact with an independent link", func(h *graphFixture) knowledge.ForgetRequest {
			r := h.rememberTexts(provenance.Owner, "My friend Ana Silva works at Acme")
			h.linkEntities(knowledge.Link{From: "Ana", Relation: "knows", To: "Otto"})
			return knowledge.ForgetRequest{ID: r.Fact.ID}
		}, []string{"Ana", "Otto"}, "silva", []string{"Ana knows Otto"}},
		{"fact that names the person in a note", func(h *graphFixture) knowledge.ForgetRequest {
			h.indexNote("n1", "Dinner with Quark")
			r := h.rememberTexts(provenance.Owner, "My friend Quark works at Acme")
			return knowledge.ForgetRequest{ID: r.Fact.ID}
		}, nil, "quark", nil},
		{"link with an independent fact", func(h *graphFixture) knowledge.ForgetRequest {
			h.linkEntities(knowledge.Link{From: "Ana Quark", Relation: "married to", To: "Otto", Source: "event:1"})
			h.rememberTexts(provenance.Owner, "Ana works at Acme")
			return knowledge.ForgetRequest{Source: "event:1"}
		}, []string{"Acme", "Ana"}, "quark", []string{"Ana works_at Acme"}},
		{"link with an independent note", func(h *graphFixture) knowledge.ForgetRequest {
			h.linkEntities(knowledge.Link{From: "Ana Quark", Relation: "married to", To: "Otto", Source: "event:1"})
			h.indexNote("n1", "Dinner with Ana Quark")
			return knowledge.ForgetRequest{Source: "event:1"}
		}, nil, "quark", nil},
		{"link with an independent link", func(h *graphFixture) knowledge.ForgetRequest {
			h.linkEntities(knowledge.Link{From: "Ana Quark", Relation: "married to", To: "Otto", Source: "event:1"})
			h.linkEntities(knowledge.Link{From: "Ana", Relation: "knows", To: "Kim", Source: "event:2"})
			return knowledge.ForgetRequest{Source: "event:1"}
		}, []string{"Ana", "Kim"}, "quark", []string{"Ana knows Kim"}},
		{"import with an independent import", func(h *graphFixture) knowledge.ForgetRequest {
			for source, alias := range map[string]string{"import:a": "a@quark.lt", "import:b": "ana@x.lt"} {
				h.writeTx(func(tx *store.Tx) error {
					_, _, err := h.g.RestoreEntityTx(tx, knowledge.Entity{Name: "Ana", Kind: knowledge.Person, Aliases: []string{alias}, Provenance: provenance.Outside, Source: source})
					return err
				})
			}
			return knowledge.ForgetRequest{Source: "import:a"}
		}, []string{"Ana, ana@x.lt"}, "quark", nil},
		{"a name", func(h *graphFixture) knowledge.ForgetRequest {
			h.linkEntities(knowledge.Link{From: "Ana Quark", Relation: "married to", To: "Otto Berg"})
			return knowledge.ForgetRequest{Query: "Ana Quark", Everything: true}
		}, []string{"Otto Berg"}, "quark", nil},
		{"a name from two links", func(h *graphFixture) knowledge.ForgetRequest {
			h.linkEntities(knowledge.Link{From: "Ana", Relation: "works at", To: "Quark Lane 7", Source: "event:1"})
			h.linkEntities(knowledge.Link{From: "Otto", Relation: "works at", To: "Quark Lane 7", Source: "event:2"})
			return knowledge.ForgetRequest{Query: "Quark Lane 7", Everything: true}
		}, []string{"Ana", "Otto"}, "quark", nil},
		{"a relation", func(h *graphFixture) knowledge.ForgetRequest {
			h.linkEntities(knowledge.Link{From: "Ana", Relation: "guards the quark of", To: "Otto", Source: "event:1"})
			return knowledge.ForgetRequest{Query: "guards the quark", Everything: true}
		}, []string{"Ana", "Otto"}, "quark", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := openGraph(t)
			h.forgetRows(tc.make(h))
			if d := cmp.Diff(tc.want, h.listEntities()); d != "" {
				t.Error(d)
			}
			if all := h.storedText(); strings.Contains(strings.ToLower(all), tc.gone) {
				t.Errorf("erased text is still stored: %s", all)
			}
			if d := cmp.Diff(tc.around, h.listNeighbors("Ana")); d != "" {
				t.Error(d)
			}
		})
	}
}

// A link made in a conversation is erased with it.
func TestForget_Conversation(t *testing.T) {
	h := openGraph(t)
	b, err := knowledge.New(h.st, knowledge.Options{Graph: h.g, Events: func(store.Querier, string) ([]string, error) { return []string{"1"}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	h.b = b
	h.linkEntities(knowledge.Link{From: "Zelda Quark", Relation: "married to", To: "Otto", Source: "event:1"})
	h.forgetRows(knowledge.ForgetRequest{Source: "session:s1"})
	if got := h.listEntities(); got != nil {
		t.Errorf("erased entities remain: %q", got)
	}
}

// A link that belongs to a fact is valid as long as the fact.
func TestLink_OfAFact(t *testing.T) {
	h := openGraph(t)
	f := h.rememberTexts(provenance.Owner, "Uwe lives in Riga").Fact
	h.linkEntities(knowledge.Link{From: "Uwe", Relation: "neighbour of", To: "me", Fact: f.ID, Source: "event:1"})
	if d := cmp.Diff([]string{"Uwe lives_in Riga", "Uwe neighbour_of you"}, h.listNeighbors("Uwe")); d != "" {
		t.Error(d)
	}
	r := h.rememberTexts(provenance.Owner, "Uwe moved to Vilnius")
	if d := cmp.Diff([]string{"Uwe lives_in Riga (over)", "Uwe lives_in Vilnius", "Uwe neighbour_of you (over)"}, h.listNeighbors("Uwe")); d != "" || len(r.Retired) != 1 {
		t.Errorf("after a correction (%+v): %s", r.Retired, d)
	}
	err := h.st.Write(t.Context(), func(tx *store.Tx) error {
		_, err := h.g.LinkTx(tx, knowledge.Link{From: "Uwe", Relation: "knows", To: "Lea", Fact: f.ID, Provenance: provenance.Owner})
		return err
	})
	if !errors.Is(err, knowledge.ErrNoEntity) {
		t.Errorf("link for a retired fact: got %v, want ErrNobody", err)
	}
	h.writeTx(func(tx *store.Tx) error { return h.b.UndoRememberTx(tx, r.Fact.ID) })
	h.followChanges()
	if d := cmp.Diff([]string{"Uwe lives_in Riga", "Uwe neighbour_of you"}, h.listNeighbors("Uwe")); d != "" {
		t.Errorf("after the undo: %s", d)
	}
	h.forgetRows(knowledge.ForgetRequest{ID: f.ID})
	if got := h.listEntities(); got != nil {
		t.Errorf("entities after the fact was erased: %q", got)
	}
}

func TestUnlink_KeepsEarlierData(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "Ana Silva works at Acme")
	before := h.storedText()
	out := h.linkEntities(knowledge.Link{From: "Ana", Relation: "knows", To: "Otto"})
	h.writeTx(func(tx *store.Tx) error { return h.g.UnlinkTx(tx, out.Relation.ID, out.Made) })
	if d := cmp.Diff(before, h.storedText()); d != "" {
		t.Error(d)
	}
}

// An id of an entity in another realm counts as unknown.
func TestLink_StaysInItsNamespace(t *testing.T) {
	h := openGraph(t)
	ana := h.linkEntities(knowledge.Link{From: "Ana", Relation: "knows", To: "Otto"}).From
	err := h.st.Write(t.Context(), func(tx *store.Tx) error {
		_, err := h.g.LinkTx(tx, knowledge.Link{From: ana.ID, Relation: "knows", To: "Kim", Realm: "guest", Provenance: provenance.Outside, At: noon})
		return err
	})
	if !errors.Is(err, knowledge.ErrNoEntity) {
		t.Errorf("%v", err)
	}
	h.linkEntities(knowledge.Link{From: "me", Relation: "knows", To: "Kim", Realm: "guest"})
	if got := h.listNeighbors("Kim"); got != nil {
		t.Errorf("entity of another realm is visible: %q", got)
	}
}

func TestMentions_OfARow(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "My friend Ana Silva works at Acme")
	h.indexNote("n1", "Dinner with Ana Silva")
	if got := h.rowsAround("Ana Silva", 0); !slices.Contains(got, "Dinner with Ana Silva") {
		t.Fatalf("rowsAround = %q", got)
	}
	h.indexNote("n1", "Dinner with Bob")
	if got := h.rowsAround("Ana Silva", 0); slices.Contains(got, "Dinner with Bob") {
		t.Errorf("neighbors after the note changed: %q", got)
	}
}

// stoppingBase is a base whose search fails after some calls, as if the process had been killed.
type stoppingBase struct {
	*knowledge.Base

	after int
}

func (s *stoppingBase) Search(q store.Querier, text string, opt knowledge.SearchOptions) ([]knowledge.Hit, error) {
	if s.after--; s.after < 0 {
		return nil, errors.New("killed")
	}
	return s.Base.Search(q, text, opt)
}

// Earlier rows are searched for new names, regardless of the number and source of the names, and
// even after a crash.
func TestFollow_SearchesEarlierRowsForNewNames(t *testing.T) {
	const many = 45
	name := func(i int) string { return fmt.Sprintf("Ana%c%c Quark", 'a'+i/26, 'a'+i%26) }
	for _, tc := range []struct {
		name string
		give func(h *graphFixture, tx *store.Tx, name string) error
	}{
		{"facts", func(h *graphFixture, tx *store.Tx, name string) error {
			_, err := h.b.RememberTx(tx, knowledge.Fact{Text: name + " works at Initech", Provenance: provenance.Owner, CreatedAt: noon})
			return err
		}},
		{"links", func(h *graphFixture, tx *store.Tx, name string) error {
			_, err := h.g.LinkTx(tx, knowledge.Link{From: name, Relation: "works at", To: "Initech", Provenance: provenance.Owner, At: noon})
			return err
		}},
		{"an import", func(h *graphFixture, tx *store.Tx, name string) error {
			_, _, err := h.g.RestoreEntityTx(tx, knowledge.Entity{Name: name, Kind: knowledge.Person, Provenance: provenance.Owner})
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := openGraph(t)
			for i := range many {
				h.indexNote(fmt.Sprint("n", i), "Dinner with "+name(i))
			}
			h.writeTx(func(tx *store.Tx) error {
				for i := range many {
					if err := tc.give(h, tx, name(i)); err != nil {
						return err
					}
				}
				return nil
			})
			if _, err := h.g.Follow(t.Context(), &stoppingBase{h.b, 10}); err == nil {
				t.Fatal("Follow returned no error")
			}
			g, err := New(Options{Store: h.st})
			if err != nil {
				t.Fatal(err)
			}
			h.g = g
			h.followChanges()
			for i := range many {
				if got := h.rowsAround(name(i), 0); !slices.Contains(got, "Dinner with "+name(i)) {
					t.Errorf("around %s: %q", name(i), got)
				}
			}
		})
	}
}

// This version reads the graph of an older version.
func TestOpen_OlderGraph(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob.db")
	old := Migrations()
	old.Steps = old.Steps[:1]
	st, err := storetest.Open(t.Context(), path, append(knowledge.Migrations(), old), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Write(t.Context(), func(tx *store.Tx) error {
		for _, s := range []string{
			`INSERT INTO entities (id, name, kind, realm, provenance, source, by_hand, created_at, updated_at) VALUES ('e1', 'Ana Quark', 'person', '', 'owner', 'event:1', 1, 1, 1)`,
			`INSERT INTO entity_aliases VALUES ('e1', 'ana quark', 'Ana Quark', 'name', 0)`,
		} {
			if _, err := tx.Exec(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	h := openAt(t, path)
	h.rememberTexts(provenance.Owner, "Ana Quark works at Acme")
	if d := cmp.Diff([]string{"Ana Quark works_at Acme"}, h.listNeighbors("Ana Quark")); d != "" {
		t.Error(d)
	}
	h.forgetRows(knowledge.ForgetRequest{Query: "Ana Quark", Everything: true})
	if all := h.storedText(); strings.Contains(strings.ToLower(all), "quark") {
		t.Errorf("erased text is still stored: %s", all)
	}
}

// The store keeps changes until the graph has processed them, even if all other consumers have.
func TestFollow_StoreKeepsUnprocessedChanges(t *testing.T) {
	h := openGraph(t)
	h.writeTx(func(tx *store.Tx) error {
		_, err := h.b.RememberTx(tx, knowledge.Fact{Text: "Ana Quark works at Acme", Provenance: provenance.Owner, CreatedAt: noon})
		return err
	})
	h.writeTx(func(tx *store.Tx) error { return h.b.AckChangesTx(tx, "index", 1) })
	h.followChanges()
	if d := cmp.Diff([]string{"Ana Quark works_at Acme"}, h.listNeighbors("Ana Quark")); d != "" {
		t.Error(d)
	}
}

func TestLink_DistinguishesIDAndName(t *testing.T) {
	for range 1000 {
		if id := newID(); !looksLikeID(id) {
			t.Fatal(id)
		}
	}
}
