package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
)

func (h *graphFixture) listEdges(w knowledge.EdgeQuery) (out []string) {
	h.t.Helper()
	if w.Realms == nil {
		w.Realms = []string{""}
	}
	w.Now = noon
	list, err := h.g.Edges(h.st.Reader(h.t.Context()), w)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range list {
		s := e.Text
		if e.Provenance.Tainted() {
			s += " (outside)"
			if len(e.Origins) == 0 {
				h.t.Errorf("%s has no origin", e.Text)
			}
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func TestEdges_AnswerQuestions(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "Ada works at Vinted", "Ada is married to Tom", "Tom lives in Kaunas", "my sister is called Ona", "I work at Initech", "Bob works at Initech", "Bob lives in Riga until May 2020")
	h.rememberTexts(provenance.Outside, "Mallory works at Vinted")
	for text, want := range map[string][]string{
		"who works at Vinted?":                     {"Ada works at Vinted", "Mallory works at Vinted (outside)"},
		"where does Ada's husband live?":           {"Ada is married to Tom", "Tom lives in Kaunas"},
		"who is Ada?":                              {"Ada is married to Tom", "Ada works at Vinted"},
		"where do I work?":                         {"you work at Initech"},
		"who is my sister?":                        {"Ona is a sibling of you"},
		"what did Ada say about the budget?":       nil,
		"who lives in Vilnius?":                    nil,
		"where does Bob live?":                     nil,
		"Welche Leute arbeiten bei Vinted?":        {"Ada works at Vinted", "Mallory works at Vinted (outside)"},
		"does anyone that I know live in Kaunas?":  {"Tom lives in Kaunas"},
		"who is the wife of Tom, and her employer": {"Ada is married to Tom", "Ada works at Vinted"},
	} {
		if d := cmp.Diff(want, h.listEdges(knowledge.EdgeQuery{Text: text})); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
	if got := h.listEdges(knowledge.EdgeQuery{Text: "what did Ada say about the budget?", Around: true}); len(got) != 2 {
		t.Errorf("around: %q, want the 2 relations of Ada", got)
	}
	if got := h.listEdges(knowledge.EdgeQuery{Text: "who works at Vinted?", Realms: []string{"work"}}); got != nil {
		t.Errorf("another realm sees %q", got)
	}
}

func TestEdges_AreBounded(t *testing.T) {
	h := openGraph(t)
	for i := range 120 {
		h.linkEntities(knowledge.Link{From: fmt.Sprintf("Worker%d", i), FromKind: knowledge.Person, Relation: "works at", To: "Hubco", Provenance: provenance.Owner, At: noon})
	}
	if got := len(h.listEdges(knowledge.EdgeQuery{Text: "who works at Hubco?"})); got != maxEdges {
		t.Errorf("%d relations, want %d", got, maxEdges)
	}
	if got := len(h.listEdges(knowledge.EdgeQuery{Text: "Hubco", Limit: 6, Around: true})); got != 6 {
		t.Errorf("%d relations, want 6", got)
	}
}

// A name from an unknown sender never replaces the name that the user gave a person.
func TestEdges_ShowTrustedNames(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Outside, "Ada works at Evilcorp")
	h.rememberTexts(provenance.Owner, "Ada lives in Vilnius")
	if d := cmp.Diff([]string{"Ada lives in Vilnius", "Ada works at Evilcorp (outside)"}, h.listEdges(knowledge.EdgeQuery{Text: "Ada"})); d != "" {
		t.Error(d)
	}
}

func TestUpsert_KeepsTrustApart(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "Ada works at Vinted")
	upsert := func(src provenance.Source, name string, names ...string) (out knowledge.EntityChanged, err error) {
		err = h.st.Write(t.Context(), func(tx *store.Tx) (err error) {
			out, err = h.g.UpsertTx(tx, knowledge.EntityChange{Name: name, Names: names, Provenance: src, Source: "event:1", At: noon})
			return err
		})
		return out, err
	}
	if _, err := upsert(provenance.Outside, "Ada", "evil@example.org"); !errors.Is(err, knowledge.ErrTrustedEntity) {
		t.Fatalf("untrusted text changed Ada: %v", err)
	}
	made, err := upsert(provenance.Outside, "Eve", "eve@example.org")
	if err != nil || !made.Made {
		t.Fatal(made, err)
	}
	if own, err := upsert(provenance.Owner, "Eve"); err != nil || !own.Made || own.Entity.ID == made.Entity.ID {
		t.Errorf("trusted text extended an untrusted entity: %+v, %v", own, err)
	}
	done, err := upsert(provenance.Owner, "Ada", "Ada Lovelace", "ada@example.org")
	if err != nil || len(done.Keys) != 2 || strings.Contains(strings.Join(done.Keys, " "), "ada") {
		t.Fatal(done, err)
	}
	aliases := func() string {
		e, err := h.g.Entity(h.st.Reader(t.Context()), done.Entity.ID)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(e.Aliases, ", ")
	}
	if got := aliases(); got != "Ada Lovelace, ada@example.org" {
		t.Errorf("aliases are %s", got)
	}
	h.writeTx(func(tx *store.Tx) error { return h.g.RevertUpsertTx(tx, done) })
	if got := aliases(); got != "" {
		t.Errorf("after the undo the aliases are %s", got)
	}
}
