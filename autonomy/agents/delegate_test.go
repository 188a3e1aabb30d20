package agents_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/session"
	"hob/autonomy/turn"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
)

const (
	parentEvent   = "parent"
	parentSession = "main"
	parentCall    = "call-1"
)

// fixture is a registry with the agents hob, scout, loner and boxed. hob may delegate to scout
// and boxed, boxed (which works in a container) to all.
type fixture struct {
	*agents.Registry
	t     *testing.T
	store *store.Store
	bus   *bus.Bus
}

func newFixture(t *testing.T, parallel int) *fixture {
	t.Helper()
	sets := []store.MigrationSet{bus.Migrations(), guard.Migrations(), session.Migrations(), origins.Migrations(), agents.Migrations()}
	db, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), sets, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() { failOnError(t, db.Close()) })
	g, err := guard.New(db, guard.Options{})
	failOnError(t, err)
	failOnError(t, g.InitKeys(t.Context()))
	catalog, err := tools.NewCatalog(namedTool("read_file", "files"), namedTool("write_file", "files"), namedTool("create_schedule", "watch"))
	failOnError(t, err)
	f := &fixture{t: t, store: db, bus: bus.New(db, bus.Options{})}
	member := func(name string, isolated bool, to ...string) agents.Member {
		return agents.Member{Name: name, Runner: &turn.Runner{}, Options: turn.Options{Catalog: catalog}, Delegates: to, Isolated: isolated}
	}
	f.Registry, err = agents.New(agents.Options{
		Store: db, Bus: f.bus, Guard: g, Sessions: session.New(db), Parallel: parallel,
		Members: []agents.Member{member(agents.Default, false, "scout", "boxed"), member("scout", false), member("loner", false), member("boxed", true, "*")},
	})
	failOnError(t, err)
	return f
}

func namedTool(name, category string) tools.Tool {
	return tools.New(tools.Def[struct{}]{
		Spec: tools.Spec{Name: name, Category: category, Description: "Test tool.", Effects: tools.Read},
		Run:  func(context.Context, tools.Call, struct{}) (tools.Result, error) { return tools.Result{}, nil },
	})
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testCaller is the turn that delegates.
func testCaller() turn.Caller {
	return turn.Caller{
		Turn:  turn.Turn{Event: bus.Event{ID: parentEvent, Session: parentSession}, Attended: true},
		Tools: []string{"read_file", "write_file", "create_schedule"}, Level: guard.Supervised, Rounds: 20, Tokens: 9000,
	}
}

func (f *fixture) beginTasks(who turn.Caller, wishes ...tools.TaskRequest) error {
	ctx := turn.WithCaller(f.t.Context(), who)
	return f.store.Write(ctx, func(tx *store.Tx) error {
		return f.BeginTx(ctx, tx, tools.Call{ID: parentCall, Session: parentSession}, wishes)
	})
}

// listTasks returns the tasks of the call in their order.
func (f *fixture) listTasks() []agents.Task {
	f.t.Helper()
	list, err := f.Tasks(f.t.Context(), true, 100)
	failOnError(f.t, err)
	slices.SortFunc(list, func(a, b agents.Task) int { return strings.Compare(a.Task, b.Task) })
	return list
}

func (f *fixture) listStates() (out []agents.State) {
	f.t.Helper()
	for _, x := range f.listTasks() {
		out = append(out, x.State)
	}
	return out
}

// endTask ends the turn of a task.
func (f *fixture) endTask(id string, e agents.TaskOutcome) {
	f.t.Helper()
	failOnError(f.t, f.store.Write(f.t.Context(), func(tx *store.Tx) error {
		x, err := f.Task(f.t.Context(), id)
		if err != nil {
			return err
		}
		ev, err := f.bus.Inbox.Event(f.t.Context(), x.Event)
		if err != nil {
			return err
		}
		return f.EndTx(tx, ev, e)
	}))
}

// currentOutcome returns the result that the delegating turn would get now.
func (f *fixture) currentOutcome() (out tools.Outcome) {
	f.t.Helper()
	failOnError(f.t, f.store.Write(f.t.Context(), func(tx *store.Tx) (err error) {
		out, err = f.OutcomeTx(f.t.Context(), tx, tools.Call{ID: parentCall, Session: parentSession})
		return err
	}))
	return out
}

func makeRequests(n int) (out []tools.TaskRequest) {
	for i := range n {
		out = append(out, tools.TaskRequest{Task: fmt.Sprintf("part %02d", i+1)})
	}
	return out
}

func TestDelegationLimits(t *testing.T) {
	deep, boxed := testCaller(), testCaller()
	deep.Turn.Depth = 1
	boxed.Agent = "boxed"
	one := func(r tools.TaskRequest) []tools.TaskRequest { return []tools.TaskRequest{r} }
	for _, tt := range []struct {
		name   string
		who    turn.Caller
		wishes []tools.TaskRequest
		code   tools.Code
		text   string
	}{
		{"a task may not delegate", deep, makeRequests(1), tools.PolicyDenied, "do the task yourself"},
		{"no task", testCaller(), nil, tools.InvalidArguments, "tasks is empty"},
		{"too many tasks", testCaller(), makeRequests(17), tools.InvalidArguments, "at most 16"},
		{"an unknown agent", testCaller(), one(tools.TaskRequest{Agent: "ghost", Task: "x"}), tools.NotFound, "hob, boxed, scout"},
		{"an agent that may not be asked", testCaller(), one(tools.TaskRequest{Agent: "loner", Task: "x"}), tools.NotFound, "loner"},
		{"from a container", boxed, one(tools.TaskRequest{Agent: "scout", Task: "x"}), tools.PolicyDenied, "container"},
		{"an empty task", testCaller(), one(tools.TaskRequest{Task: " \n"}), tools.InvalidArguments, "task is empty"},
		{"too much input", testCaller(), one(tools.TaskRequest{Task: "x", Input: strings.Repeat("a", 100_001)}), tools.InvalidArguments, "100 KB"},
		{"invalid UTF-8", testCaller(), one(tools.TaskRequest{Task: "\xff"}), tools.InvalidArguments, "UTF-8"},
		{"a pattern that matches no tool", testCaller(), one(tools.TaskRequest{Task: "x", Tools: []string{"fly_*"}}), tools.InvalidArguments, "fly_"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, 3)
			err := f.beginTasks(tt.who, tt.wishes...)
			if tools.CodeOf(err) != tt.code || !strings.Contains(fmt.Sprint(err), tt.text) {
				t.Errorf("BeginTx = %v, want %s with %q", err, tt.code, tt.text)
			}
			if got := f.listTasks(); len(got) > 0 {
				t.Errorf("the rejected call stored %+v", got)
			}
		})
	}
	t.Run("too many open tasks", func(t *testing.T) {
		f := newFixture(t, 3)
		for range 4 {
			failOnError(t, f.beginTasks(testCaller(), makeRequests(16)...))
		}
		if err := f.beginTasks(testCaller(), makeRequests(1)...); tools.CodeOf(err) != tools.Conflict {
			t.Errorf("BeginTx = %v, want %s", err, tools.Conflict)
		}
	})
	t.Run("outside of a turn", func(t *testing.T) {
		f := newFixture(t, 3)
		err := f.store.Write(t.Context(), func(tx *store.Tx) error {
			return f.BeginTx(t.Context(), tx, tools.Call{ID: parentCall}, makeRequests(1))
		})
		if tools.CodeOf(err) != tools.Unsupported {
			t.Errorf("BeginTx = %v, want %s", err, tools.Unsupported)
		}
	})
}

// A failed delegate frees its slot, and the call reports its failure together with the other
// results.
func TestTasks_ReportFailureOfDelegate(t *testing.T) {
	f := newFixture(t, 2)
	failOnError(t, f.beginTasks(testCaller(), makeRequests(4)...))
	list := f.listTasks()
	want := func(states ...agents.State) {
		t.Helper()
		if got := f.listStates(); !slices.Equal(got, states) {
			t.Fatalf("states = %v, want %v", got, states)
		}
	}
	want(agents.Open, agents.Open, agents.Queued, agents.Queued)
	f.endTask(list[0].ID, agents.TaskOutcome{State: agents.Failed, Answer: "the disk is full", Source: provenance.Hob, Rounds: 2})
	want(agents.Failed, agents.Open, agents.Open, agents.Queued)
	if out := f.currentOutcome(); out.Done || !out.Until.After(time.Now()) {
		t.Errorf("before the task ended the outcome is %+v", out)
	}
	f.endTask(list[1].ID, agents.TaskOutcome{State: agents.Done, Answer: "a page says so", Source: provenance.Outside, Rounds: 3})
	f.endTask(list[2].ID, agents.TaskOutcome{State: agents.Done, Answer: "three", Source: provenance.Hob})
	f.endTask(list[3].ID, agents.TaskOutcome{State: agents.Done, Answer: "four", Source: provenance.Hob})
	want(agents.Failed, agents.Done, agents.Done, agents.Done)
	out := f.currentOutcome()
	if !out.Done || out.Err != nil || out.Stopped || out.Rounds != 5 || !out.Result.Source.Tainted() {
		t.Errorf("the outcome is %+v", out)
	}
	for _, text := range []string{"failed: the disk is full", "a page says so", "three", "four"} {
		if !strings.Contains(out.Result.Text, text) {
			t.Errorf("the result does not contain %q:\n%s", text, out.Result.Text)
		}
	}
}

func TestCancel(t *testing.T) {
	f := newFixture(t, 1)
	failOnError(t, f.beginTasks(testCaller(), makeRequests(2)...))
	list := f.listTasks()
	if got, err := f.Cancel(t.Context(), list[0].ID); err != nil || got.State != agents.Cancelled {
		t.Fatalf("Cancel = %+v, %v", got, err)
	}
	if got := f.listStates(); !slices.Equal(got, []agents.State{agents.Cancelled, agents.Open}) {
		t.Errorf("states = %v, want the next task open", got)
	}
	if _, err := f.Cancel(t.Context(), list[0].ID); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("a second Cancel = %v, want %s", err, tools.Conflict)
	}
	if _, err := f.Cancel(t.Context(), "t-unknown"); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("Cancel of an unknown task = %v, want %v", err, bus.ErrNotFound)
	}
	f.endTask(list[0].ID, agents.TaskOutcome{State: agents.Done, Answer: "too late", Source: provenance.Hob})
	f.endTask(list[1].ID, agents.TaskOutcome{State: agents.Done, Answer: "two", Source: provenance.Hob})
	out := f.currentOutcome()
	if text := out.Result.Text; !out.Done || !strings.Contains(text, "canceled by the user") || strings.Contains(text, "too late") || !strings.Contains(text, "two") {
		t.Errorf("after Cancel the outcome is %+v", out)
	}
}

func TestStop(t *testing.T) {
	f := newFixture(t, 1)
	if stopped, err := f.Stop(t.Context(), parentSession); stopped || err != nil {
		t.Errorf("Stop without tasks = %v, %v", stopped, err)
	}
	failOnError(t, f.beginTasks(testCaller(), makeRequests(3)...))
	if stopped, err := f.Stop(t.Context(), "another"); stopped || err != nil {
		t.Errorf("Stop of another conversation = %v, %v", stopped, err)
	}
	if stopped, err := f.Stop(t.Context(), parentSession); !stopped || err != nil {
		t.Fatalf("Stop = %v, %v", stopped, err)
	}
	if got := f.listStates(); !slices.Equal(got, []agents.State{agents.Stopped, agents.Stopped, agents.Stopped}) {
		t.Errorf("states = %v", got)
	}
	if out := f.currentOutcome(); !out.Done || !out.Stopped || tools.CodeOf(out.Err) != tools.Cancelled {
		t.Errorf("after Stop the outcome is %+v", out)
	}
}

// The turn of a task has at most the rights of the turn that delegated it, and a share of what
// remains of its limits.
func TestJob_HasAtMostTheRightsOfItsParent(t *testing.T) {
	f := newFixture(t, 3)
	who := testCaller()
	who.Tainted = true
	failOnError(t, f.beginTasks(who, tools.TaskRequest{Agent: "scout", Task: "part 1", Tools: []string{"read_*"}}, tools.TaskRequest{Task: "part 2", Background: true}))
	list := f.listTasks()
	ev, err := f.bus.Inbox.Event(t.Context(), list[0].Event)
	failOnError(t, err)
	if !ev.Provenance.Tainted() || ev.Session != parentSession+"/"+list[0].ID {
		t.Errorf("the event is %+v", ev)
	}
	for _, want := range []string{`"tools":["read_file"]`, `"rounds":6`, `"tokens":3000`, `"depth":1`} {
		if !strings.Contains(string(ev.Payload), want) {
			t.Errorf("the payload does not contain %s:\n%s", want, ev.Payload)
		}
	}
	if ev, err = f.bus.Inbox.Event(t.Context(), list[1].Event); err != nil || strings.Contains(string(ev.Payload), "create_schedule") {
		t.Errorf("the task got the right to create schedules: %s, %v", ev.Payload, err)
	}
}

// The time limit does not end a restored background task while the task is on hold, because its end
// would start a turn of the model. A release restarts the time limit. Dropping the task or its
// parent ends the task.
func TestDecideHeldTx(t *testing.T) {
	for _, c := range []struct {
		name    string
		decide  string // "task" or bus.AllHeld
		release bool
		want    agents.State
		event   bus.State
	}{
		{"release of the task", "task", true, agents.Open, bus.Pending},
		{"release of all", bus.AllHeld, true, agents.Open, bus.Pending},
		{"drop of the task", "task", false, agents.Cancelled, bus.Dead},
		{"drop of all", bus.AllHeld, false, agents.Cancelled, bus.Dead},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, ctx := newFixture(t, 3), t.Context()
			failOnError(t, f.beginTasks(testCaller(), tools.TaskRequest{Agent: "scout", Task: "part 1", Background: true, FollowUp: true}))
			failOnError(t, f.store.Write(ctx, func(tx *store.Tx) error {
				if _, err := tx.Exec(`UPDATE crew_tasks SET created_at = created_at - 86400000`); err != nil {
					return err
				}
				return bus.StartHoldTx(tx, "old")
			}))
			if _, err := f.Due(ctx, time.Now()); err != nil {
				t.Fatal(err)
			}
			task := f.listTasks()[0]
			if events, err := f.bus.Inbox.List(ctx, "", "", 10); err != nil || len(events) != 1 || events[0].State != bus.Held || task.State != agents.Open {
				t.Fatalf("on hold: %v, %+v, %v, want only the held event of an open task", task.State, events, err)
			}
			id := c.decide
			if id == "task" {
				id = task.Event
			}
			failOnError(t, f.store.Write(ctx, func(tx *store.Tx) error { _, err := f.DecideHeldTx(tx, id, c.release); return err }))
			if _, err := f.Due(ctx, time.Now()); err != nil {
				t.Fatal(err)
			}
			ev, err := f.bus.Inbox.Event(ctx, task.Event)
			if got := f.listStates(); err != nil || got[0] != c.want || ev.State != c.event {
				t.Errorf("state %v, event %v, %v, want %v and %v", got, ev.State, err, c.want, c.event)
			}
		})
	}
	f, ctx := newFixture(t, 1), t.Context()
	_, err := f.bus.Inbox.Put(ctx, bus.Event{ID: parentEvent, Kind: bus.Watcher, Source: "w", Session: parentSession})
	failOnError(t, err)
	failOnError(t, f.beginTasks(testCaller(), makeRequests(2)...))
	failOnError(t, f.store.Write(ctx, func(tx *store.Tx) error { return bus.StartHoldTx(tx, "old") }))
	failOnError(t, f.store.Write(ctx, func(tx *store.Tx) error { _, err := f.DecideHeldTx(tx, parentEvent, false); return err }))
	if got := f.listStates(); !slices.Equal(got, []agents.State{agents.Cancelled, agents.Cancelled}) {
		t.Errorf("after their parent was dropped the tasks are %v, want both canceled", got)
	}
	if s, err := f.bus.Hold.Status(ctx); err != nil || s.Events != 0 {
		t.Errorf("Status = %+v, %v, want no held event", s, err)
	}
}
