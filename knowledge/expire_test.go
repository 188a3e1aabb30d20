package knowledge

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
	"hob/platform/store"
)

// The test starts at t0, which is a Monday.
func TestExpire_FactsHoldForATime(t *testing.T) {
	b, st := openBase(t)
	now := func(texts ...string) {
		t.Helper()
		list, err := b.ListFacts(t.Context(), 10, false)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range list {
			got = append(got, f.Text)
		}
		if d := cmp.Diff(texts, got); d != "" {
			t.Error(d)
		}
	}
	expire := func(at time.Time) {
		t.Helper()
		writeTx(t, st, func(tx *store.Tx) error { _, _, err := b.ExpireTx(tx, at); return err })
	}
	rememberText(t, b, st, t0, provenance.Owner, "I work at Initech")
	later := rememberText(t, b, st, t0, provenance.Owner, "From Friday I work at Globex")
	rememberText(t, b, st, t0, provenance.Owner, "my brother lives in Leipzig until June")
	if len(later.Retired) != 1 || later.Retired[0].ValidUntil != later.Fact.ValidFrom || later.Fact.ValidFrom.IsZero() {
		t.Errorf("%+v", later)
	}
	now("my brother lives in Leipzig until June", "From Friday I work at Globex", "I work at Initech")
	expire(t0.Add(24 * time.Hour))
	now("my brother lives in Leipzig until June", "From Friday I work at Globex", "I work at Initech")
	expire(later.Fact.ValidFrom)
	now("my brother lives in Leipzig until June", "From Friday I work at Globex")
	expire(t0.AddDate(1, 0, 0))
	now("From Friday I work at Globex")
	writeTx(t, st, func(tx *store.Tx) error { return b.UndoRememberTx(tx, later.Fact.ID) })
	now("I work at Initech")
}

func TestRunExpiry_RetiresExpiredFacts(t *testing.T) {
	b, st := openBase(t)
	over := time.Now().Add(-time.Minute)
	writeTx(t, st, func(tx *store.Tx) error {
		_, err := b.RememberTx(tx, Fact{Text: "the guest room is taken", Provenance: provenance.Owner, CreatedAt: over.Add(-time.Hour), ValidUntil: over})
		return err
	})
	done := make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	go func() { done <- b.RunExpiry(ctx, slog.New(slog.DiscardHandler)) }()
	for {
		list, err := b.ListFacts(ctx, 10, false)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
