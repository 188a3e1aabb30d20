package graph

import (
	"strings"
	"testing"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/document"
)

func (h *graphFixture) addPeople(src provenance.Source, source string, list ...document.Person) {
	h.t.Helper()
	h.writeTx(func(tx *store.Tx) error {
		ids, err := h.g.PeopleTx(tx, list, knowledge.TextOrigin{Source: source, Provenance: src, At: noon})
		if err != nil {
			return err
		}
		return h.g.KeepTx(tx, "", source, ids)
	})
	h.followChanges()
}

func TestPeople_FromHeadersAndCalendars(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "Ada Reed works at Vinted")
	ada := document.Person{Name: "Ada Reed", Mails: []string{"ada@example.org"}}
	h.addPeople(provenance.Outside, "file:/box.mbox", ada, document.Person{Name: "Tom", Mails: []string{"tom@example.org"}}, document.Person{Name: "Tom", Mails: []string{"other@example.net"}})
	if got, want := h.describeEntities(), "Ada Reed Ada Reed=ada@example.org Tom=other@example.net Tom=tom@example.org"; got != want {
		t.Errorf("people are %s, want %s", got, want)
	}
	if own, err := h.g.TrustedNames(h.st.Reader(t.Context()), h.listIDs()...); err != nil || strings.Contains(strings.Join(flattenLists(own), " "), "@") {
		t.Errorf("an address from a header is trusted: %v, %v", own, err)
	}
	if got := h.listEdges(knowledge.EdgeQuery{Text: "what is Tom's email address?"}); len(got) != 2 || !strings.HasSuffix(got[0], "(outside)") {
		t.Errorf("addresses: %q", got)
	}
	if found, err := h.g.FindEntities(h.st.Reader(t.Context()), knowledge.EntityQuery{Text: "example.net"}); err != nil || len(found) != 1 || !found[0].Provenance.Tainted() {
		t.Errorf("search by a part of an address: %+v, %v", found, err)
	}
	// Another source names the same people, and then the first source no longer does.
	h.addPeople(provenance.Outside, "file:/year.ics", ada)
	h.addPeople(provenance.Outside, "file:/box.mbox")
	if got := h.describeEntities(); got != "Ada Reed Ada Reed=ada@example.org" {
		t.Errorf("entities after the first change: %s", got)
	}
	h.addPeople(provenance.Outside, "file:/year.ics")
	if got := h.describeEntities(); got != "Ada Reed" {
		t.Errorf("entities at the end: %s", got)
	}
}

// A contact card of the user adds the address to the person that the user named.
func TestPeople_OfTheUser(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "Ada Reed lives in Riga")
	h.addPeople(provenance.Owner, "file:/contacts.vcf", document.Person{Name: "Ada Reed", Mails: []string{"ada@example.org"}, Org: "Vinted"})
	if got := h.describeEntities(); got != "Ada Reed=ada@example.org" {
		t.Errorf("people are %s", got)
	}
	h.addPeople(provenance.Owner, "file:/contacts.vcf")
	if got := h.describeEntities(); got != "Ada Reed" {
		t.Errorf("entities at the end: %s", got)
	}
}

func (h *graphFixture) listIDs() (out []string) {
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

func flattenLists(m map[string][]string) (out []string) {
	for _, list := range m {
		out = append(out, list...)
	}
	return out
}

// A name that nobody has is no error.
func TestAliases_OfUnknownNameAreNone(t *testing.T) {
	h := openGraph(t)
	if names, err := h.g.Aliases(h.st.Reader(t.Context()), "Nobody"); err != nil || len(names) > 0 {
		t.Errorf("Aliases = %q, %v", names, err)
	}
}
