package knowledge

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
	"hob/platform/store"
)

// inForce returns the texts of the valid facts, sorted.
func inForce(t *testing.T, b *Base) []string {
	t.Helper()
	list, err := b.ListFacts(t.Context(), 50, false)
	if err != nil {
		t.Fatal(err)
	}
	out := factTexts(list)
	slices.Sort(out)
	return out
}

func TestCorrection_KeepsTheRestOfAFact(t *testing.T) {
	for _, tc := range []struct {
		name, old, new string
		want           []string
	}{
		{"another statement", "I live in Vilnius and work at Acme", "I moved to Kaunas", []string{"I moved to Kaunas", "I work at Acme"}},
		{
			"sentences without statements", "I live in Vilnius. The spare fuse lies behind the meter, ask Tomas first. Water the balcony plants twice weekly.", "I moved to Kaunas",
			[]string{"I moved to Kaunas", "The spare fuse lies behind the meter, ask Tomas first. Water the balcony plants twice weekly"},
		},
		{"question in between", "Where is the ladder? I live in Vilnius, and the cellar smells of paint", "I moved to Kaunas", []string{"I moved to Kaunas", "Where is the ladder?", "the cellar smells of paint"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, st := openBase(t)
			rememberText(t, b, st, t0, provenance.Owner, tc.old)
			r := rememberText(t, b, st, t0.Add(time.Hour), provenance.Owner, tc.new)
			if d := cmp.Diff(tc.want, inForce(t, b)); d != "" {
				t.Error(d)
			}
			writeTx(t, st, func(tx *store.Tx) error { return b.UndoRememberTx(tx, r.Fact.ID) })
			if d := cmp.Diff([]string{tc.old}, inForce(t, b)); d != "" {
				t.Errorf("facts after the undo differ: %s", d)
			}
		})
	}
}

func TestCorrection_StartsLater(t *testing.T) {
	b, st := openBase(t)
	rememberText(t, b, st, t0, provenance.Owner, "I live in Vilnius and work at Acme. The fuse lies behind the meter")
	r := rememberText(t, b, st, t0, provenance.Owner, "From Friday I live in Kaunas")
	writeTx(t, st, func(tx *store.Tx) error { _, _, err := b.ExpireTx(tx, r.Fact.ValidFrom); return err })
	if d := cmp.Diff([]string{"From Friday I live in Kaunas", "I work at Acme", "The fuse lies behind the meter"}, inForce(t, b)); d != "" {
		t.Error(d)
	}
}

func TestCorrection_CanceledReplacesNothing(t *testing.T) {
	b, st := openBase(t)
	rememberText(t, b, st, t0, provenance.Owner, "I work at Initech")
	r := rememberText(t, b, st, t0, provenance.Owner, "From Friday I work at Globex")
	rememberText(t, b, st, t0.Add(time.Hour), provenance.Owner, "I no longer work at Globex")
	if due, err := nextExpiry(st.Reader(t.Context())); err != nil || !due.IsZero() {
		t.Errorf("next expiry = %v, %v", due, err)
	}
	writeTx(t, st, func(tx *store.Tx) error { _, _, err := b.ExpireTx(tx, r.Fact.ValidFrom); return err })
	if got := inForce(t, b); !slices.Contains(got, "I work at Initech") {
		t.Errorf("in force: %q", got)
	}
}

// A fact replaces an earlier fact even if it expired before ExpireTx ran.
func TestCorrection_ExpiredReplacesAnEarlierFact(t *testing.T) {
	b, st := openBase(t)
	rememberText(t, b, st, t0, provenance.Owner, "I work at Initech")
	rememberText(t, b, st, t0, provenance.Owner, "From Friday until June I work at Globex")
	writeTx(t, st, func(tx *store.Tx) error { _, _, err := b.ExpireTx(tx, t0.AddDate(1, 0, 0)); return err })
	if got := inForce(t, b); len(got) != 0 {
		t.Errorf("in force: %q", got)
	}
}

func TestCorrection_RestKeepsItsTimes(t *testing.T) {
	b, st := openBase(t)
	rememberText(t, b, st, t0, provenance.Owner, "I work at Acme since February and live in Vilnius")
	rememberText(t, b, st, t0.AddDate(1, 6, 0), provenance.Owner, "I moved to Kaunas")
	list, err := b.ListFacts(t.Context(), 10, false)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(f Fact) bool { return f.Text == "I work at Acme since February" })
	if i < 0 || list[i].ValidFrom.Year() != t0.Year() {
		t.Errorf("%+v", list)
	}
}

// A new fact counts as known only if all its statements are known. One matching fact does not count
// for two statements.
func TestRemember_KnownOnlyIfAllStatementsAre(t *testing.T) {
	b, st := openBase(t)
	rememberText(t, b, st, t0, provenance.Owner, "My sister Ana lives in Kaunas and my sister Ana works at Acme")
	if r := rememberText(t, b, st, t0.Add(time.Hour), provenance.Owner, "my sister Ana plays tennis"); r.Known {
		t.Errorf("got known fact %q, want a new fact", r.Fact.Text)
	}
	if r := rememberText(t, b, st, t0.Add(time.Hour), provenance.Owner, "my sister Ana lives in Kaunas"); !r.Known {
		t.Error("the repeated fact was not recognized as known")
	}
}

// A correction by the user never makes untrusted text trusted.
func TestCorrection_UntrustedTextStaysUntrusted(t *testing.T) {
	b, st := openBase(t)
	rememberText(t, b, st, t0, provenance.Outside, "The landlord Acme works at Vilnius")
	if r := rememberText(t, b, st, t0.Add(time.Hour), provenance.Owner, "I meant Kaunas, not Vilnius"); r.Fact.Text != "I meant Kaunas, not Vilnius" {
		t.Errorf("fact %q has provenance %s", r.Fact.Text, r.Fact.Provenance)
	}
	rememberText(t, b, st, t0.Add(2*time.Hour), provenance.Owner, "Ana lives in Riga")
	rememberText(t, b, st, t0.Add(2*time.Hour), provenance.Outside, "Mallory lives in Riga")
	if r := rememberText(t, b, st, t0.Add(3*time.Hour), provenance.Owner, "I meant Tartu, not Riga"); r.Fact.Text != "Ana lives in Tartu" {
		t.Errorf("%q", r.Fact.Text)
	}
}

func TestUndo_FactThatALaterFactReplaced(t *testing.T) {
	b, st := openBase(t)
	rememberText(t, b, st, t0, provenance.Owner, "I live in Vilnius and work at Acme")
	r := rememberText(t, b, st, t0.Add(time.Hour), provenance.Owner, "I moved to Kaunas")
	rememberText(t, b, st, t0.Add(2*time.Hour), provenance.Owner, "I work at Globex now")
	err := st.Write(t.Context(), func(tx *store.Tx) error { return b.UndoRememberTx(tx, r.Fact.ID) })
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("Write = %v, want ErrNotFound", err)
	}
	if d := cmp.Diff([]string{"I moved to Kaunas", "I work at Globex now"}, inForce(t, b)); d != "" {
		t.Error(d)
	}
}

// The remaining part of a corrected untrusted fact stays untrusted and keeps its origin.
func TestCorrection_RestKeepsItsOrigin(t *testing.T) {
	from := []provenance.Origin{{Kind: "mail", Label: "m1"}}
	for name, later := range map[string]string{"at once": "I moved to Kaunas", "when the new one begins": "From Friday I live in Kaunas"} {
		t.Run(name, func(t *testing.T) {
			b, st := openBase(t)
			writeTx(t, st, func(tx *store.Tx) error {
				_, err := b.RememberTx(tx, Fact{Text: "I live in Vilnius and work at Acme", Provenance: provenance.Outside, Origins: from, CreatedAt: t0})
				return err
			})
			r := rememberText(t, b, st, t0.Add(time.Hour), provenance.Owner, later)
			writeTx(t, st, func(tx *store.Tx) error { _, _, err := b.ExpireTx(tx, t0.AddDate(0, 1, 0)); return err })
			list, err := b.ListFacts(t.Context(), 10, false)
			if err != nil {
				t.Fatal(err)
			}
			list = slices.DeleteFunc(list, func(f Fact) bool { return f.ID == r.Fact.ID })
			if len(list) != 1 || list[0].Text != "I work at Acme" {
				t.Fatalf("DeleteFunc = %+v", list)
			}
			rest, err := b.Fact(st.Reader(t.Context()), list[0].ID)
			if d := cmp.Diff(from, rest.Origins); d != "" || err != nil || rest.Provenance != provenance.Outside {
				t.Errorf("%+v, %v: %s", rest, err, d)
			}
		})
	}
}

// "tomorrow" is resolved in the user's time zone.
func TestCorrection_UsesTheUsersZone(t *testing.T) {
	b, st := openBase(t)
	zone := time.FixedZone("west", -8*3600)
	evening := time.Date(2026, 3, 2, 20, 0, 0, 0, zone) // already the next day in UTC
	rememberText(t, b, st, evening, provenance.Owner, "I live in Vilnius and I work at Acme from tomorrow")
	rememberText(t, b, st, evening.Add(time.Minute), provenance.Owner, "I moved to Kaunas")
	list, err := b.ListFacts(t.Context(), 10, false)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(f Fact) bool { return f.Text == "I work at Acme from tomorrow" })
	if i < 0 || !list[i].ValidFrom.Equal(time.Date(2026, 3, 3, 0, 0, 0, 0, zone)) {
		t.Errorf("%+v", list)
	}
}
