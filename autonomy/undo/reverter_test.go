package undo

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// fixture is a reverter over a store without a loop. Its tools change the value.
type fixture struct {
	*Reverter
	t     *testing.T
	store *store.Store
	bus   *bus.Bus
	guard *guard.Guard
	value string
}

type noArgs struct{}

// valueTool returns a tool whose undo and redo set the value.
func (f *fixture) valueTool(name string) tools.Tool {
	set := func(verb string, data json.RawMessage) (string, error) {
		var to string
		if err := json.Unmarshal(data, &to); err != nil {
			return "", tools.Errorf(tools.Failed, "the record cannot be read")
		}
		f.value = verb + " " + to
		return f.value, nil
	}
	return tools.New(tools.Def[noArgs]{
		Spec: tools.Spec{Name: name, Category: "test", Description: "Set the value.", Effects: tools.Write},
		Run:  func(context.Context, tools.Call, noArgs) (tools.Result, error) { return tools.Result{}, nil },
		Undo: func(_ context.Context, data json.RawMessage) (string, error) { return set("undid", data) },
		Redo: func(_ context.Context, data json.RawMessage) (string, json.RawMessage, error) {
			text, err := set("redid", data)
			return text, data, err
		},
	})
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t}
	var err error
	f.store, err = store.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{bus.Migrations(), guard.Migrations()}, store.Options{})
	fatal(t, err)
	t.Cleanup(func() {
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	f.bus = bus.New(f.store, bus.Options{})
	f.guard, err = guard.New(f.store, guard.Options{})
	fatal(t, err)
	fatal(t, f.guard.InitKeys(t.Context()))
	catalog, err := tools.NewCatalog(f.valueTool("set_value"))
	fatal(t, err)
	f.Reverter, err = New(Options{Store: f.store, Bus: f.bus, Guard: f.guard, Catalog: catalog, Acts: []tools.Tool{f.valueTool("change_config")}})
	fatal(t, err)
	return f
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// record records an action of an event in a session.
func (f *fixture) record(call, event, session string) {
	f.t.Helper()
	e := bus.Entry{Call: call, Event: event, Session: session, Tool: "set_value", Args: []byte(`{}`), State: bus.CallDone, UndoLabel: "restore " + call, Undo: []byte(`"` + call + `"`), Source: provenance.Tool}
	fatal(f.t, f.store.Write(f.t.Context(), func(tx *store.Tx) error { return f.bus.Ledger.RecordTx(tx, e) }))
}

func TestNew_RejectsMissingOptions(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("New accepts no options")
	}
}

func TestUndoable_SelectsActions(t *testing.T) {
	f := newFixture(t)
	for _, a := range [][3]string{{"a1", "a", "here"}, {"a2", "a", "here"}, {"b1", "b", "there"}} {
		f.record(a[0], a[1], a[2])
	}
	for _, c := range []struct {
		name string
		r    tools.UndoRequest
		want []string
	}{
		{"the last action", tools.UndoRequest{}, []string{"b1"}},
		{"the last two", tools.UndoRequest{Last: 2}, []string{"b1", "a2"}},
		{"the last of a conversation", tools.UndoRequest{Session: "here"}, []string{"a2"}},
		{"all of a conversation's last answer", tools.UndoRequest{Session: "here", Turn: true}, []string{"a2", "a1"}},
		{"another conversation: the last anywhere", tools.UndoRequest{Session: "elsewhere"}, []string{"b1"}},
		{"a call", tools.UndoRequest{ID: "a1"}, []string{"a1"}},
	} {
		list, err := f.Undoable(t.Context(), c.r)
		fatal(t, err)
		var got []string
		for _, e := range list {
			got = append(got, e.Call)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if _, err := f.Undoable(t.Context(), tools.UndoRequest{ID: "nothing"}); err == nil {
		t.Error("an unknown id selects actions")
	}
	if _, err := f.Undoable(t.Context(), tools.UndoRequest{ID: "a1", Redo: true}); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("redo of what was not undone: %v", err)
	}
}

func TestUndo_RevertsAndRedoes(t *testing.T) {
	f := newFixture(t)
	f.record("a1", "a", "s")
	r, err := f.Undo(t.Context(), tools.UndoRequest{By: "x", Origin: "web"})
	fatal(t, err)
	if r.Text != "undid a1" || f.value != "undid a1" || r.Source != provenance.Tool {
		t.Errorf("%+v, value %q", r, f.value)
	}
	if r, err = f.Undo(t.Context(), tools.UndoRequest{}); err != nil || r.Text != "There is nothing to undo." {
		t.Errorf("a second undo: %+v, %v", r, err)
	}
	if _, err := f.Undo(t.Context(), tools.UndoRequest{ID: "a1"}); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("undone twice: %v", err)
	}
	if r, err = f.Undo(t.Context(), tools.UndoRequest{Redo: true, By: "y"}); err != nil || r.Text != "redid a1" {
		t.Errorf("redo: %+v, %v", r, err)
	}
	var actions []string
	for _, by := range []string{"x", "y"} {
		list, err := f.guard.Audit(t.Context(), by, 0, 10)
		fatal(t, err)
		for _, a := range list {
			actions = append(actions, by+" "+a.Action+" "+a.Outcome)
		}
	}
	if want := []string{"x undo done", "y redo done"}; !slices.Equal(actions, want) {
		t.Errorf("the audit log has %q, want %q", actions, want)
	}
}

func TestUndo_RecordsFailures(t *testing.T) {
	f := newFixture(t)
	f.record("a1", "a", "s")
	fatal(t, f.store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE ledger SET undo = 'nonsense'`)
		return err
	}))
	if _, err := f.Undo(t.Context(), tools.UndoRequest{By: "x"}); err == nil || !strings.Contains(err.Error(), "I could not restore a1") {
		t.Errorf("%v", err)
	}
	list, err := f.guard.Audit(t.Context(), "x", 0, 10)
	if err != nil || len(list) != 1 || list[0].Outcome != "failed" {
		t.Errorf("the audit log: %+v, %v", list, err)
	}
}

// A command of the user can be undone by the user, but not by a model: no model could have done it.
func TestJournal_OnlyTheUserUndoesACommand(t *testing.T) {
	f := newFixture(t)
	fatal(t, f.Journal(t.Context(), "change_config", "Changed the configuration", tools.NewUndo("restore the configuration", "before")))
	if _, err := f.Undo(t.Context(), tools.UndoRequest{By: "x"}); tools.CodeOf(err) != tools.PolicyDenied || f.value != "" {
		t.Errorf("a model undid the command: %v, value %q", err, f.value)
	}
	if r, err := f.Undo(t.Context(), tools.UndoRequest{By: "x", Origin: "web"}); err != nil || r.Text != "undid before" {
		t.Errorf("the user's undo: %+v, %v", r, err)
	}
}
