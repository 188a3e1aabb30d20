package trace_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/trace"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{trace.Migrations()}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func writeTx(t *testing.T, s *store.Store, do func(tx *store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}

func TestReadTurn_ReturnsTheFirstTraceOfAnEvent(t *testing.T) {
	s := openStore(t)
	at := time.UnixMilli(1_700_000_000_000).UTC()
	want := trace.Turn{How: "turn", Model: "m", Rounds: 2, Usage: llm.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Known: true}, Tainted: true, StartedAt: at, EndedAt: at.Add(time.Second)}
	writeTx(t, s, func(tx *store.Tx) error { return trace.WriteTurnTx(tx, "e", "s", want) })
	writeTx(t, s, func(tx *store.Tx) error { return trace.WriteTurnTx(tx, "e", "s", trace.Turn{How: "error"}) })
	got, err := trace.ReadTurn(s.Reader(t.Context()), "e")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := trace.ReadTurn(s.Reader(t.Context()), "other"); got != nil || err != nil {
		t.Errorf("an event without a trace: %v, %v", got, err)
	}
}

func TestTicks_KeepTheLastStateOfAnEvent(t *testing.T) {
	s := openStore(t)
	first, second := bus.NewID(), bus.NewID()
	for _, x := range []trace.Tick{
		{Tick: first, Event: "a", Woke: trace.WokeStart, Rule: "r", State: trace.TickWaits},
		{Tick: first, Event: "b", Woke: trace.WokeStart, Rule: "r", State: trace.TickDone},
		{Tick: first, Event: "a", Woke: trace.WokeClock, Rule: "r2", State: trace.TickRetry},
		{Tick: second, Event: "a", Woke: trace.WokeSlot, Rule: "r3", State: trace.TickDone},
	} {
		writeTx(t, s, func(tx *store.Tx) error { return trace.WriteTickTx(tx, x) })
	}
	q := s.Reader(t.Context())
	for id, want := range map[string]string{"": second, "a": second, "b": first, first: first, "other": ""} {
		if got, err := trace.FindTick(q, id); got != want || err != nil {
			t.Errorf("FindTick(%q) = %q, %v; want %q", id, got, err, want)
		}
	}
	events, err := trace.TickEvents(q, first)
	if err != nil || len(events) != 2 || events[0].State != trace.TickRetry || events[0].Rule != "r2" || events[0].Woke != trace.WokeStart {
		t.Errorf("the events of the first tick: %+v, %v", events, err)
	}
	ticks, err := trace.EventTicks(q, "a")
	if err != nil || len(ticks) != 2 || ticks[0].Tick != first {
		t.Errorf("the ticks of event a: %+v, %v", ticks, err)
	}
	last, err := trace.LastTick(q, "a")
	if err != nil || last == nil || last.Rule != "r3" {
		t.Errorf("the last tick of event a: %+v, %v", last, err)
	}
	if last, err := trace.LastTick(q, "other"); last != nil || err != nil {
		t.Errorf("the last tick of an unknown event: %+v, %v", last, err)
	}
}

func TestPruneTicks_RemovesOnlyOldTicks(t *testing.T) {
	s := openStore(t)
	old, recent := "01800000-0000-7000-8000-000000000000", bus.NewID() // old: of 2022
	for _, tick := range []string{old, recent} {
		writeTx(t, s, func(tx *store.Tx) error { return trace.WriteTickTx(tx, trace.Tick{Tick: tick, Event: "e"}) })
	}
	for _, c := range []struct {
		keep time.Duration
		want int
	}{{0, 2}, {time.Hour, 1}} {
		if err := trace.PruneTicks(t.Context(), s, c.keep); err != nil {
			t.Fatal(err)
		}
		left, err := trace.EventTicks(s.Reader(t.Context()), "e")
		if err != nil || len(left) != c.want {
			t.Errorf("keep %s leaves %+v, %v; want %d ticks", c.keep, left, err, c.want)
		}
	}
}
