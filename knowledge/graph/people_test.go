package graph

import (
	"strings"
	"testing"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/document"
)

func (h *graphFixture) people(src provenance.Source, source string, list ...document.Person) {
	h.t.Helper()
	h.tx(func(tx *store.Tx) error {
		ids, err := h.g.PeopleTx(tx, list, knowledge.TextOrigin{Source: source, Provenance: src, At: noon})
		if err != nil {
			return err
		}
		return h.g.KeepTx(tx, "", source, ids)
	})
	h.follow()
}

func TestPeople_FromHeadersAndCalendars(t *testing.T) {
	h := open(t)
	h.remember(provenance.Owner, "Ada Reed works at Vinted")
	ada := document.Person{Name: "Ada Reed", Mails: []string{"ada@example.org"}}
	h.people(provenance.Outside, "file:/box.mbox", ada, document.Person{Name: "Tom", Mails: []string{"tom@example.org"}}, document.Person{Name: "Tom", Mails: []string{"other@example.net"}})
	if got, want := h.entities(), "Ada Reed Ada Reed=ada@example.org Tom=other@example.net Tom=tom@example.org"; got != want {
		t.Errorf("people are %s, want %s", got, want)
	}
	if own, err := h.g.TrustedNames(h.st.Reader(t.Context()), h.ids()...); err != nil || strings.Contains(strings.Join(flatten(own), " "), "@") {
		t.Errorf("an address from a header is trusted: %v, %v", own, err)
	}
	if got := h.edges(knowledge.EdgeQuery{Text: "what is Tom's email address?"}); len(got) != 2 || !strings.HasSuffix(got[0], "(outside)") {
		t.Errorf("addresses: %q", got)
	}
	if found, err := h.g.FindEntities(h.st.Reader(t.Context()), knowledge.EntityQuery{Text: "example.net"}); err != nil || len(found) != 1 || !found[0].Provenance.Tainted() {
		t.Errorf("search by a part of an address: %+v, %v", found, err)
	}
	// Another source names the same people, and then the first source no longer does.
	h.people(provenance.Outside, "file:/year.ics", ada)
	h.people(provenance.Outside, "file:/box.mbox")
	if got := h.entities(); got != "Ada Reed Ada Reed=ada@example.org" {
		t.Errorf("entities after the first change: %s", got)
	}
	h.people(provenance.Outside, "file:/year.ics")
	if got := h.entities(); got != "Ada Reed" {
		t.Errorf("entities at the end: %s", got)
	}
}

// A contact card of the user adds the address to the person that the user named.
func TestPeople_OfTheUser(t *testing.T) {
	h := open(t)
	h.remember(provenance.Owner, "Ada Reed lives in Riga")
	h.people(provenance.Owner, "file:/contacts.vcf", document.Person{Name: "Ada Reed", Mails: []string{"ada@example.org"}, Org: "Vinted"})
	if got := h.entities(); got != "Ada Reed=ada@example.org" {
		t.Errorf("people are %s", got)
	}
	h.people(provenance.Owner, "file:/contacts.vcf")
	if got := h.entities(); got != "Ada Reed" {
		t.Errorf("entities at the end: %s", got)
	}
}

func (h *graphFixture) ids() (out []string) {
	h.t.Helper()
	list, err := h.g.Entities(h.st.Reader(h.t.Context()), Filter{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.ID)
	}
	return out
}

func flatten(m map[string][]string) (out []string) {
	for _, list := range m {
		out = append(out, list...)
	}
	return out
}
