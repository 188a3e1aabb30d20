package app

import (
	"slices"
	"testing"

	"hob/knowledge"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
)

// Only the owner's words determine who a person is. A mail that claims to be from that person has
// no effect.
func TestPeople_OnlyTheOwnersWordsCount(t *testing.T) {
	h := openDaemon(t, "")
	tell := func(src provenance.Source, texts ...string) {
		failOnError(t, h.d.store.Write(t.Context(), func(tx *store.Tx) error {
			for _, s := range texts {
				if _, err := h.d.base.RememberTx(tx, knowledge.Fact{Text: s, Provenance: src}); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	tell(provenance.Owner, "my sister Ana Silva lives in Vilnius", "Ana Silva's email is ana@silva.example")
	tell(provenance.Outside, "Ana Silva's email is ana@evil.example", "Bob Evil's email is bob@evil.example")
	called := func() []string { return h.d.graph.ContactAliases(h.d.store.Reader(t.Context()), "Ana Silva") }
	waitUntil(t, "she is known", func() bool { return slices.Contains(called(), "ana@silva.example") })
	waitUntil(t, "the lie is noted", func() bool {
		var n int
		return h.d.store.Read().QueryRow(`SELECT count(*) FROM entity_aliases WHERE text IN ('ana@evil.example', 'bob@evil.example')`).Scan(&n) == nil && n == 2
	})
	for _, name := range []string{"my sister", "sister"} {
		if got := h.d.graph.ContactAliases(h.d.store.Reader(t.Context()), name); !slices.Contains(got, "ana@silva.example") {
			t.Errorf("%s: ContactAliases = %q", name, got)
		}
	}
	if got := called(); slices.Contains(got, "ana@evil.example") {
		t.Error(got)
	}
	why, err := h.d.personalDeps().Mail.Matters(t.Context())
	failOnError(t, err)
	for address, want := range map[string]string{"ana@silva.example": "you know Ana Silva", "ana@evil.example": "", "bob@evil.example": ""} {
		if got := why(pim.Message{From: []pim.Person{{Name: "A.", Address: address}}}); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
