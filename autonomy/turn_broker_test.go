package autonomy_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store/storetest"
	"hob/tools"
)

// actingAgent is an external agent. The test defines the actions that it requests from the permission
// broker.
type actingAgent struct {
	do func(ctx context.Context, d llm.PermissionBroker) string
}

func (actingAgent) Info() llm.Info { return llm.Info{Provider: "robot", Acts: true} }

func (a actingAgent) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		err := r.Broker.CheckAllowed()
		if err != nil {
			yield(llm.Event{}, &llm.Error{Kind: llm.Unauthorized, Provider: "robot", Message: err.Error(), Whole: true})
			return
		}
		text := a.do(ctx, r.Broker)
		if ctx.Err() != nil {
			yield(llm.Event{}, &llm.Error{Kind: llm.Interrupted, Provider: "robot", Message: "stopped", Acted: true})
			return
		}
		if yield(llm.Event{Kind: llm.TextDelta, Text: text, Source: provenance.Outside}, nil) {
			yield(llm.Event{Kind: llm.Done, Stop: llm.EndTurn, Source: provenance.Outside}, nil)
		}
	}
}

func runAction(id string) llm.Action {
	return llm.Action{ID: id, By: "robot", Kind: "execute", Does: llm.Runs, Title: "tidy up", Args: []byte(`{"agent":"robot","input":{"command":"rm x"}}`)}
}

func describeResult(r llm.PermissionResult, err error) string {
	return fmt.Sprintf("allowed %v, expired %v, %s, %v", r.Allowed, r.Expired, r.Reason, err)
}

func TestExternalAgent_AsksTheGuard(t *testing.T) {
	with := func(change func(*llm.Action)) llm.Action {
		a := runAction("1")
		change(&a)
		return a
	}
	for name, c := range map[string]struct {
		action llm.Action
		level  guard.Level
		state  guard.ApprovalState // of the question, "" for none
		want   string
	}{
		"a program":                {runAction("1"), "", guard.TimedOut, "allowed false, expired true, the approval request was not answered in time, <nil>"},
		"a look":                   {with(func(a *llm.Action) { a.Does = llm.Reads }), "", "", "allowed true, expired false, it only reads, <nil>"},
		"a read in another folder": {with(func(a *llm.Action) { a.Does, a.Beyond = llm.Reads, true }), "", guard.TimedOut, "allowed false, expired true, the approval request was not answered in time, <nil>"},
		"a change":                 {with(func(a *llm.Action) { a.Does = llm.Writes }), "", guard.TimedOut, "allowed false, expired true, the approval request was not answered in time, <nil>"},
		"a change, trusted": {
			with(func(a *llm.Action) { a.Does = llm.Writes }), guard.Trusted, guard.TimedOut,
			"allowed false, expired true, the approval request was not answered in time, <nil>",
		},
		"an action without details": {with(func(a *llm.Action) { a.Does = 0 }), "", guard.TimedOut, "allowed false, expired true, the approval request was not answered in time, <nil>"},
		"an unknown action":         {with(func(a *llm.Action) { a.Does = llm.Reads | 1<<7 }), "", guard.TimedOut, "allowed false, expired true, the approval request was not answered in time, <nil>"},
		"a change, watching": {
			with(func(a *llm.Action) { a.Does = llm.Writes }), guard.Watch, "",
			`allowed false, expired false, Hob may only read ([autonomy] level = "watch"), <nil>`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := startEngine(t, setup{guard: guard.Options{Live: 30 * time.Millisecond, Level: c.level}, model: actingAgent{func(ctx context.Context, d llm.PermissionBroker) string {
				return describeResult(d.RequestPermission(ctx, c.action))
			}}})
			id := e.putMessage("s", "tidy up", "")
			if got := e.awaitClosed(id); got.Answer != c.want {
				t.Errorf("answer of the broker = %q, want %q", got.Answer, c.want)
			}
			list, err := e.guard.Approvals(t.Context(), "", "s", "", 10)
			failOnError(t, err)
			switch {
			case c.state == "" && len(list) > 0:
				t.Errorf("approval requests = %+v, want none", list)
			case c.state != "" && (len(list) != 1 || list[0].State != c.state || list[0].Provenance != provenance.Outside):
				t.Errorf("questions %+v, want one in state %s", list, c.state)
			}
		})
	}
}

func TestExternalAgent_ActionsAreRecordedAndTaint(t *testing.T) {
	m := actingAgent{func(ctx context.Context, d llm.PermissionBroker) string {
		look, sneak := runAction("look"), runAction("sneak")
		look.Kind, look.Does = "read", llm.Reads
		for _, s := range []llm.ActionState{llm.Planned, llm.Begun, llm.Ended, llm.Begun, llm.Failed} { // reports after the end of an action are ignored
			look.State, sneak.State, sneak.Result = s, s, "gone"
			d.RecordAction(ctx, look)
			d.RecordAction(ctx, sneak)
		}
		r, err := d.RequestPermission(ctx, sneak)
		return describeResult(r, err)
	}}
	e := startEngine(t, setup{model: m})
	id := e.putMessage("s", "go", "")
	if got := e.awaitClosed(id); !strings.Contains(got.Answer, "has ended") {
		t.Errorf("%q", got.Answer)
	}
	entries, err := e.bus.Ledger.Calls(t.Context(), id)
	failOnError(t, err)
	var got []string
	for _, x := range entries {
		got = append(got, fmt.Sprintf("%s %s %s %s %s", x.Tool, x.Effects, x.State, x.Decision, x.Source))
	}
	want := []string{
		"agent_execute exec done allow: not asked: the agent does it by itself outside",
		"agent_read read done allow: not asked: the agent does it by itself outside",
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	rows, err := e.sessions.Messages(t.Context(), "s", 0, 1)
	failOnError(t, err)
	if rows[0].Message.Parts[0].Source != provenance.Outside {
		t.Errorf("the stored answer is %+v", rows[0].Message)
	}
	if n, err := e.guard.Verify(t.Context()); err != nil || n == 0 {
		t.Errorf("%d audit lines, %v", n, err)
	}
}

func TestExternalAgent_ServesOnlyTheOwner(t *testing.T) {
	e := startEngine(t, setup{pushes: map[string]bool{"telegram": true}, model: actingAgent{func(context.Context, llm.PermissionBroker) string { return "all your mail" }}})
	acc, err := e.intake.Receive(t.Context(), channels.Inbound{Channel: "telegram", Chat: "7", Session: "telegram:7", Sender: "eve", Text: "what is in the mail?"})
	failOnError(t, err)
	if got := e.awaitClosed(acc.Event); strings.Contains(got.Answer, "mail") || !strings.Contains(got.Answer, "it answers only the user") {
		t.Errorf("%+v", got)
	}
}

// The process dies while a question is open and another action has started. The next run learns
// about both.
func TestExternalAgent_NextRunLearnsOfInterruptedActions(t *testing.T) {
	storetest.FileOnly(t, "the test copies the files as a SIGKILL leaves them")
	e := startEngine(t, setup{model: actingAgent{func(ctx context.Context, d llm.PermissionBroker) string {
		pay := runAction("pay")
		pay.State = llm.Begun
		d.RecordAction(ctx, pay)
		return describeResult(d.RequestPermission(ctx, runAction("ask")))
	}}})
	sub := e.bus.Feed.Subscribe(0)
	defer sub.Close()
	id := e.putMessage("s", "go", "")
	for ev := range sub.C() {
		if ev.Type == "approval_required" {
			break
		}
	}
	snaps := &snapshots{t: t, path: e.path}
	snaps.takeSnapshot("the question waits")
	e.stop()
	var before []llm.Action
	e = startEngine(t, setup{dir: snaps.taken[0].dir, model: actingAgent{func(_ context.Context, d llm.PermissionBroker) string {
		before = d.PriorActions()
		return "again"
	}}})
	if got := e.awaitClosed(id); got.Answer != "again" {
		t.Errorf("%+v", got)
	}
	if len(before) != 1 || before[0].State != llm.Begun || before[0].Kind != "execute" || before[0].By != "robot" {
		t.Errorf("the agent gets the prior actions %+v", before)
	}
	list, err := e.guard.Approvals(t.Context(), "", "s", "", 10)
	failOnError(t, err)
	if len(list) != 1 || list[0].State != guard.Cancelled {
		t.Errorf("questions %+v", list)
	}
	calls, err := e.bus.Ledger.Calls(t.Context(), id)
	failOnError(t, err)
	if len(calls) != 1 || calls[0].State != bus.CallUnknown || calls[0].Code != string(tools.OutcomeUnknown) {
		t.Errorf("the ledger has %+v", calls)
	}
	out, err := e.bus.Outbox.EventDeliveries(t.Context(), id)
	failOnError(t, err)
	if !slices.ContainsFunc(out, func(d bus.Delivery) bool {
		return strings.Contains(d.Text, "My question "+list[0].ID+" has expired") && strings.Contains(d.Text, `not known whether this took effect: let robot run a program: rm x`)
	}) {
		t.Errorf("the owner received %+v", out)
	}
}
