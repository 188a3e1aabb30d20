package bus_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
)

func TestLedger_KeepsFinalStates(t *testing.T) {
	f := newBus(t)
	ctx := t.Context()
	entry := bus.Entry{Call: "c1", Event: "e", Session: "s", Tool: "send", Args: []byte(`{"a":1}`), Effects: "send", State: bus.CallStarted, Decision: "allow: x", StartedAt: f.now}
	record := func(e bus.Entry) error {
		return f.store.Write(ctx, func(tx *store.Tx) error { return f.Ledger.RecordTx(tx, e) })
	}
	failOnError(t, record(entry))
	done := entry
	done.State, done.Result, done.Source, done.FinishedAt = bus.CallDone, "sent", provenance.Tool, f.now.Add(time.Second)
	done.UndoLabel, done.Undo, done.Data = "take it back", []byte(`7`), []byte(`[1]`)
	failOnError(t, record(done))
	for _, state := range []bus.CallState{bus.CallStarted, bus.CallDone, bus.CallFailed, bus.CallUnknown} {
		again := entry
		again.State = state
		if err := record(again); !errors.Is(err, bus.ErrEnded) {
			t.Errorf("recording %s after done = %v, want ErrEnded", state, err)
		}
	}
	got, err := f.Ledger.Call(ctx, "c1")
	failOnError(t, err)
	if diff := cmp.Diff(done, got); diff != "" {
		t.Error(diff)
	}
	if _, err := f.Ledger.Call(ctx, "c2"); !errors.Is(err, bus.ErrNotFound) {
		t.Error(err)
	}
	second := done
	second.Call = "c2"
	failOnError(t, record(second))
	list, err := f.Ledger.Undoable(ctx, 9)
	if err != nil || len(list) != 2 || list[0].Call != "c2" {
		t.Fatalf("undoable: %v, %v", list, err)
	}
	for _, want := range []bool{true, false} {
		f.writeTx(func(tx *store.Tx) error {
			first, err := f.Ledger.UndoneTx(tx, "c2", "e9")
			if first != want {
				t.Errorf("undone calls = %v, want %v", first, want)
			}
			return err
		})
	}
	if list, err = f.Ledger.Undoable(ctx, 9); err != nil || len(list) != 1 || list[0].Call != "c1" {
		t.Errorf("undoable: %v, %v", list, err)
	}
	if calls, err := f.Ledger.Calls(ctx, "e"); err != nil || len(calls) != 2 || calls[0].Call != "c1" {
		t.Errorf("calls: %v, %v", calls, err)
	}
}
