package undo

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/payload"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
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
	slow  chan struct{} // if not nil, an undo of the value sends to it twice: when it begins, and before it ends
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
		Undo: func(_ context.Context, data json.RawMessage) (string, error) {
			if f.slow != nil {
				f.slow <- struct{}{}
				f.slow <- struct{}{}
			}
			return set("undid", data)
		},
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
	f.store, err = storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{bus.Migrations(), guard.Migrations()}, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() {
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	f.bus = bus.New(f.store, bus.Options{})
	f.guard, err = guard.New(f.store, guard.Options{})
	failOnError(t, err)
	failOnError(t, f.guard.InitKeys(t.Context()))
	catalog, err := tools.NewCatalog(f.valueTool("set_value"))
	failOnError(t, err)
	f.Reverter, err = New(Options{Store: f.store, Bus: f.bus, Guard: f.guard, Catalog: catalog, Acts: []tools.Tool{f.valueTool("change_config")}})
	failOnError(t, err)
	return f
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// recordAction records an action of an event in a session.
func (f *fixture) recordAction(call, event, session string) {
	f.t.Helper()
	e := bus.Entry{Call: call, Event: event, Session: session, Tool: "set_value", Args: []byte(`{}`), State: bus.CallDone, UndoLabel: "restore " + call, Undo: []byte(`"` + call + `"`), Source: provenance.Tool}
	failOnError(f.t, f.store.Write(f.t.Context(), func(tx *store.Tx) error { return f.bus.Ledger.RecordTx(tx, e) }))
}

func TestNew_RejectsMissingOptions(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("New accepts empty options")
	}
}

func TestUndoable_SelectsActions(t *testing.T) {
	f := newFixture(t)
	for _, a := range [][3]string{{"a1", "a", "here"}, {"a2", "a", "here"}, {"b1", "b", "there"}} {
		f.recordAction(a[0], a[1], a[2])
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
		{"another conversation has nothing to undo", tools.UndoRequest{Session: "elsewhere"}, nil},
		{"a call", tools.UndoRequest{ID: "a1"}, []string{"a1"}},
		{"the newest action that the words describe", tools.UndoRequest{ID: "the value restore"}, []string{"b1"}},
	} {
		list, err := f.Undoable(t.Context(), c.r)
		failOnError(t, err)
		var got []string
		for _, e := range list {
			got = append(got, e.Call)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if _, err := f.Undoable(t.Context(), tools.UndoRequest{ID: "nothing"}); err == nil {
		t.Error("Undoable with an unknown id selects actions")
	}
	if _, err := f.Undoable(t.Context(), tools.UndoRequest{ID: "a1", Redo: true}); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("redo of an action that was not undone = %v, want a conflict", err)
	}
}

// A request that was not approved because nothing could be undone undoes nothing, even if an action was
// added since.
func TestUndo_ReportRevertsNothing(t *testing.T) {
	f := newFixture(t)
	if r, err := f.Undo(t.Context(), tools.UndoRequest{Report: true}); err != nil || r.Text != "There is nothing to undo." {
		t.Errorf("without an action: %+v, %v", r, err)
	}
	f.recordAction("a1", "a", "s")
	if _, err := f.Undo(t.Context(), tools.UndoRequest{Report: true}); tools.CodeOf(err) != tools.Conflict || f.value != "" {
		t.Errorf("Undo = %v, value %q, want a conflict and no change", err, f.value)
	}
}

func TestUndo_RevertsAndRedoes(t *testing.T) {
	f := newFixture(t)
	f.recordAction("a1", "a", "s")
	r, err := f.Undo(t.Context(), tools.UndoRequest{By: "x", Origin: "web"})
	failOnError(t, err)
	if r.Text != "undid a1" || f.value != "undid a1" || r.Source != provenance.Tool {
		t.Errorf("%+v, value %q", r, f.value)
	}
	if r, err = f.Undo(t.Context(), tools.UndoRequest{}); err != nil || r.Text != "There is nothing to undo." {
		t.Errorf("second Undo = %+v, %v", r, err)
	}
	if _, err := f.Undo(t.Context(), tools.UndoRequest{ID: "a1"}); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("second Undo of the same action = %v, want a conflict", err)
	}
	if r, err = f.Undo(t.Context(), tools.UndoRequest{Redo: true, By: "y"}); err != nil || r.Text != "redid a1" {
		t.Errorf("redo: %+v, %v", r, err)
	}
	var actions []string
	for _, by := range []string{"x", "y"} {
		list, err := f.guard.Audit(t.Context(), by, 0, 10)
		failOnError(t, err)
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
	f.recordAction("a1", "a", "s")
	failOnError(t, f.store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE ledger SET undo = 'nonsense'`)
		return err
	}))
	if _, err := f.Undo(t.Context(), tools.UndoRequest{By: "x"}); err == nil || !strings.Contains(err.Error(), "I could not restore a1") {
		t.Errorf("Undo = %v", err)
	}
	list, err := f.guard.Audit(t.Context(), "x", 0, 10)
	if err != nil || len(list) != 1 || list[0].Outcome != "failed" {
		t.Errorf("the audit log: %+v, %v", list, err)
	}
}

// A command of the user can be undone by the user, but not by a model, because no model could have
// run the command.
func TestJournal_OnlyTheUserUndoesACommand(t *testing.T) {
	f := newFixture(t)
	failOnError(t, f.Journal(t.Context(), "change_config", "Changed the configuration", tools.NewUndo("restore the configuration", "before")))
	if _, err := f.Undo(t.Context(), tools.UndoRequest{By: "x"}); tools.CodeOf(err) != tools.PolicyDenied || f.value != "" {
		t.Errorf("a model undid the command: %v, value %q", err, f.value)
	}
	if r, err := f.Undo(t.Context(), tools.UndoRequest{By: "x", Origin: "web"}); err != nil || r.Text != "undid before" {
		t.Errorf("Undo of the user = %+v, %v", r, err)
	}
}

// recordSend records a delayed email. If late is true, the send can no longer be canceled.
func (f *fixture) recordSend(call, event, session string, late bool) {
	f.t.Helper()
	now := time.Now()
	failOnError(f.t, f.store.Write(f.t.Context(), func(tx *store.Tx) error {
		at := now.Add(time.Hour)
		if late {
			at = now
		}
		err := f.bus.Scheduled.AddTx(tx, bus.ScheduledSend{Call: call, Event: event, Session: session, Report: session, Tool: "send_email", Effects: "send", Args: []byte(`{}`), What: "the mail " + call, Provenance: provenance.Tool, Zone: "UTC", At: at, CreatedAt: now})
		if err != nil {
			return err
		}
		u := tools.NewUndo("cancel the mail "+call, bus.ScheduledUndo(call))
		return f.bus.Ledger.RecordTx(tx, bus.Entry{Call: call, Event: event, Session: session, Tool: "send_email", Args: []byte(`{}`), State: bus.CallDone, UndoLabel: u.Label, Undo: u.Data, Source: provenance.Tool, StartedAt: now})
	}))
	if late {
		_, err := f.bus.Scheduled.Claim(f.t.Context(), 1)
		failOnError(f.t, err)
		failOnError(f.t, f.bus.Scheduled.Commit(f.t.Context(), call))
	}
}

func (f *fixture) sendState(call string) bus.SendState {
	f.t.Helper()
	s, err := f.bus.Scheduled.Get(f.store.Reader(f.t.Context()), call)
	failOnError(f.t, err)
	return s.State
}

// A send that is too late, and an action that cannot be undone, do not prevent the cancellation of
// the other sends.
func TestUndo_CancelsAllSendsOfARequest(t *testing.T) {
	f := newFixture(t)
	_, err := f.bus.Inbox.Put(t.Context(), bus.Event{ID: "a", Kind: bus.Message, Source: "web", Session: "s"})
	failOnError(t, err)
	f.recordSend("m1", "a", "s", false)
	f.recordAction("a1", "a", "s")
	f.recordSend("m2", "a", "s", false)
	f.recordAction("bad", "a", "s")
	f.recordSend("late", "a", "s", true)
	failOnError(t, f.store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE ledger SET undo = 'nonsense' WHERE call = 'bad'`)
		return err
	}))
	r, err := f.Undo(t.Context(), tools.UndoRequest{ID: "a", By: "x", Origin: "web"})
	failOnError(t, err)
	for _, call := range []string{"m1", "m2"} {
		if s := f.sendState(call); s != bus.SendCancelled {
			t.Errorf("%s is %s", call, s)
		}
	}
	want := `Undid 2 of 5:
Canceled: the mail m2 was not sent.
Canceled: the mail m1 was not sent.
I could not cancel the mail late: too late: it is being sent now
I could not restore bad: the record cannot be read
These were not undone:
- restore a1 (a1)`
	if diff := cmp.Diff(want, r.Text); diff != "" {
		t.Error(diff)
	}
	if _, err := f.Undo(t.Context(), tools.UndoRequest{ID: "late"}); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("Undo after the delay = %v, want a conflict", err)
	}
}

// If another request cancels a send first, this request reports that the send was canceled, not
// that it was sent.
func TestUndo_ReportsASendThatAnotherRequestCanceled(t *testing.T) {
	f := newFixture(t)
	_, err := f.bus.Inbox.Put(t.Context(), bus.Event{ID: "a", Kind: bus.Message, Source: "web", Session: "s"})
	failOnError(t, err)
	f.recordSend("m1", "a", "s", false)
	failOnError(t, f.store.Write(t.Context(), func(tx *store.Tx) error { // the other request cancels the send after this request has selected it
		_, err := f.bus.Scheduled.CancelTx(tx, "m1", "canceled by the user")
		return err
	}))
	_, err = f.Undo(t.Context(), tools.UndoRequest{ID: "m1", By: "x", Origin: "web"})
	if tools.CodeOf(err) != tools.Conflict || !strings.Contains(err.Error(), "already undone") || strings.Contains(err.Error(), "too late") {
		t.Errorf("Undo = %v, want \"already undone\"", err)
	}
}

// A send that was canceled because its text was forgotten does not block the undo of earlier actions.
func TestUndo_SkipsASendThatWasForgotten(t *testing.T) {
	f := newFixture(t)
	_, err := f.bus.Inbox.Put(t.Context(), bus.Event{ID: "a", Kind: bus.Message, Source: "web", Session: "s"})
	failOnError(t, err)
	f.recordAction("a1", "a", "s")
	f.recordSend("m1", "a", "s", false)
	failOnError(t, f.store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := f.bus.Scheduled.CancelTx(tx, "m1", "its text was forgotten")
		return err
	}))
	for _, r := range []tools.UndoRequest{{Last: 5}, {Session: "s", Origin: "web", Last: 5}, {ID: "a"}} {
		if list, err := f.Undoable(t.Context(), r); err != nil || len(list) != 1 || list[0].Call != "a1" {
			t.Errorf("Undoable(%+v) = %+v, %v, want a1 only", r, list, err)
		}
	}
	r, err := f.Undo(t.Context(), tools.UndoRequest{By: "x", Origin: "web"})
	if err != nil || !strings.Contains(r.Text, "a1") {
		t.Errorf("Undo = %q, %v, want a1", r.Text, err)
	}
}

// The time in which a send can be canceled is short, so canceling does not wait for a slow undo.
func TestUndo_CancelsASendWhileAnotherUndoRuns(t *testing.T) {
	f := newFixture(t)
	f.slow = make(chan struct{})
	f.recordAction("a1", "a", "there")
	f.recordSend("m1", "b", "here", false)
	done := make(chan error, 1)
	go func() {
		_, err := f.Undo(context.Background(), tools.UndoRequest{ID: "a1"})
		done <- err
	}()
	<-f.slow
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	canceled := make(chan error, 1)
	go func() {
		_, err := f.Undo(ctx, tools.UndoRequest{Session: "here"})
		canceled <- err
	}()
	select {
	case err := <-canceled:
		failOnError(t, err)
	case <-ctx.Done():
		t.Error("the cancellation waits for the other undo")
	}
	if s := f.sendState("m1"); s != bus.SendCancelled {
		t.Errorf("the mail is %s", s)
	}
	<-f.slow
	failOnError(t, <-done)
}

// If two requests undo the last action, the second one undoes the action before it.
func TestUndo_SecondRequestSelectsAgain(t *testing.T) {
	f := newFixture(t)
	f.slow = make(chan struct{})
	f.recordAction("a1", "a", "s")
	f.recordAction("a2", "b", "s")
	done := make(chan string, 2)
	for range 2 {
		go func() {
			r, err := f.Undo(context.Background(), tools.UndoRequest{Session: "s"})
			if err != nil {
				done <- err.Error()
				return
			}
			done <- r.Text
		}()
	}
	for range 4 {
		<-f.slow
	}
	got := []string{<-done, <-done}
	slices.Sort(got)
	if want := []string{"undid a1", "undid a2"}; !slices.Equal(got, want) {
		t.Errorf("undone: %q, want %q", got, want)
	}
}

// "Undo that" refers to the last action, also if the event of that action arrived before other
// messages and waited for an approval.
func TestUndoByMessage_RefersToTheLastAction(t *testing.T) {
	const action = 10 * time.Second // after the start
	for name, tc := range map[string]struct {
		received, done time.Duration // of the other message
		parked         bool          // whether the action waits for an answer
		first          bool          // whether the other message arrived before the event of the action
		want           bool
	}{
		"a message answered before the action":                 {received: 5 * time.Second, done: 8 * time.Second, want: true},
		"a message answered after the action":                  {received: 12 * time.Second, done: 15 * time.Second},
		"an earlier message answered after the action":         {received: 1 * time.Second, done: 15 * time.Second, first: true},
		"an earlier message answered before":                   {received: 1 * time.Second, done: 2 * time.Second, first: true, want: true},
		"a message whose question was open before the action":  {received: 5 * time.Second, parked: true, want: true},
		"a message whose question was asked after the action":  {received: 12 * time.Second, parked: true},
		"a message that still waits behind the running action": {received: 12 * time.Second, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			start := time.Now().Add(-time.Minute)
			put := func(id string, at time.Duration) bus.Event {
				e := bus.Event{ID: id, Kind: bus.Message, Source: "web", Session: "s", Channel: "web", Text: "undo that", Provenance: provenance.Owner, ReceivedAt: start.Add(at)}
				_, err := f.bus.Inbox.Put(t.Context(), e)
				failOnError(t, err)
				return e
			}
			if tc.first {
				put("other", tc.received)
				put("acting", 2*time.Second)
			} else {
				put("acting", 0)
				put("other", tc.received)
			}
			ask := put("ask", 20*time.Second)
			failOnError(t, f.store.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(`UPDATE inbox SET state = 'done', done_at = ? WHERE id = 'acting'`, start.Add(11*time.Second).UnixMilli())
				if tc.done > 0 {
					_, err = tx.Exec(`UPDATE inbox SET state = 'done', done_at = ? WHERE id = 'other'`, start.Add(tc.done).UnixMilli())
				}
				if tc.parked {
					_, err = tx.Exec(`UPDATE inbox SET lane = 's parked' WHERE id = 'other'`)
				}
				return err
			}))
			f.recordAction("a1", "acting", "s")
			failOnError(t, f.store.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(`UPDATE ledger SET started_at = ?`, start.Add(action).UnixMilli())
				return err
			}))
			_, is, err := f.UndoByMessage(t.Context(), ask, payload.Message{})
			if err != nil || is != tc.want {
				t.Errorf("UndoByMessage = %v, %v, want %v", is, err, tc.want)
			}
		})
	}
}
