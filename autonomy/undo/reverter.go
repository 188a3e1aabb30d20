// Package undo reverts actions: it runs the undo and redo functions of the tools for the actions in
// the ledger, newest first, and records each attempt in the audit log. It also recognizes a message
// that only says "undo that". The caller acts with the owner's authority; a model may revert only
// the actions that it could take itself.
package undo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// Options holds the options of New. Options without a documented default are required.
type Options struct {
	Store *store.Store
	Bus   *bus.Bus
	Guard *guard.Guard
	// Catalog holds the tools whose actions can be reverted.
	Catalog *tools.Catalog
	// Acts holds the actions that models cannot call but that can be reverted, such as a change to
	// the configuration.
	Acts []tools.Tool
	// Zone returns the user's time zone. Nil means UTC.
	Zone func() *time.Location
	Log  *slog.Logger // nil discards all messages
}

// Reverter reverts actions. Its methods may be called concurrently.
type Reverter struct {
	o Options
	// mu serializes undos, so that no action is reverted twice. Canceling a send does not need mu,
	// because it is one transaction, and must not wait for the undo of another action.
	mu sync.Mutex
}

// New returns a Reverter after checking the options.
func New(o Options) (*Reverter, error) {
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Catalog == nil {
		return nil, errors.New("undo: Options needs Store, Bus, Guard and Catalog")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Zone == nil {
		o.Zone = func() *time.Location { return time.UTC }
	}
	return &Reverter{o: o}, nil
}

// Outcome lists what was undone and what was not, newest first.
type Outcome struct {
	Undone []Step `json:"undone"`
	// Left lists the actions that were not undone. Those without an error were not tried, because
	// an action before them failed.
	Left []Step `json:"not_undone"`
	// Next is the action before the last one if the last one cannot be undone.
	Next *Step `json:"next,omitempty"`
}

// Step is one action in an Outcome.
type Step struct {
	Call  string `json:"call"`
	Tool  string `json:"tool"`
	Label string `json:"label"` // description of the undo
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
}

// Undo undoes actions: first all sends, then the others, newest first. It stops at the first action,
// except a send, that cannot be undone. If the last action cannot be undone, a request for the last
// action undoes nothing and names the action before it. The result's Data is an Outcome. If an undo
// failed and nothing was undone, Undo returns an error. If untrusted text influenced an action, the
// text about its undo is also untrusted.
func (rv *Reverter) Undo(ctx context.Context, r tools.UndoRequest) (tools.Result, error) {
	s, err := rv.selectActions(ctx, r)
	switch {
	case err != nil:
		return tools.Result{}, err
	case s.ask:
		return rv.blockedResult(r, s), nil
	case len(s.list) == 0:
		res := nothingToUndo(r)
		res.Text, res.Source = s.describeSkipped()+res.Text, provenance.Worst(res.Source, s.source)
		return res, nil
	case r.Report:
		return tools.Result{}, rv.reportOnly(ctx, r, s.list)
	}
	res, err := rv.undoAll(ctx, r, s.list, func() ([]bus.Entry, error) { return rv.listSelected(ctx, r) })
	if err == nil {
		res.Text, res.Source = s.describeSkipped()+res.Text, provenance.Worst(res.Source, s.source)
	}
	return res, err
}

// reportOnly returns why a request that was not approved undoes nothing.
func (rv *Reverter) reportOnly(ctx context.Context, r tools.UndoRequest, list []bus.Entry) error {
	if again, err := rv.Undoable(ctx, r); err != nil {
		return rv.notUndone(r, list[0], list, err, provenance.Worst(list[0].Source, tools.SourceOf(err)))
	} else if len(again) == 0 {
		return tools.Errorf(tools.Conflict, "another request changed the actions at the same time; send the request again")
	}
	return tools.Errorf(tools.Conflict, "an action that can be undone was added at the same time; send the request again")
}

func nothingToUndo(r tools.UndoRequest) tools.Result {
	text := "There is nothing to " + actionVerb(r) + "."
	if r.Session != "" && r.Origin == "" && !r.Redo && r.ID == "" {
		text = "There is nothing left to undo in this conversation. List other actions with: hob undo --list"
	}
	return tools.Result{Source: provenance.Tool, Text: text, Data: Outcome{}.withEmptyLists()}
}

// stopCause returns why a batch stops: the owner stopped it, or Hob is shutting down.
func stopCause(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return tools.Errorf(tools.Cancelled, "the request was stopped before this action")
}

func actionVerb(r tools.UndoRequest) string {
	if r.Redo {
		return "do again"
	}
	return "undo"
}

// undoAll undoes the actions in list. It cancels every send that is not too late, without mu, and
// then undoes the others with mu held. reselect selects the actions again, because another request
// may have undone some of them while this one waited for mu.
func (rv *Reverter) undoAll(ctx context.Context, r tools.UndoRequest, list []bus.Entry, reselect func() ([]bus.Entry, error)) (tools.Result, error) {
	b := batch{rv: rv, r: r, list: list, src: provenance.Tool}
	sends := map[string]bool{}
	for _, e := range list {
		if !r.Redo && rv.isSend(e) {
			sends[e.Call] = true
			_ = b.undoStep(ctx, e) // a send that is too late is reported, and the others are canceled
		}
	}
	isSend := func(e bus.Entry) bool { return sends[e.Call] }
	if others := slices.DeleteFunc(slices.Clone(list), isSend); len(others) > 0 {
		rv.mu.Lock()
		defer rv.mu.Unlock()
		again, err := reselect()
		if err != nil {
			b.recordLeft(others, err)
		}
		again = slices.DeleteFunc(again, isSend)
		b.undoInOrder(ctx, again[:min(len(others), len(again))])
	}
	switch {
	case len(b.out.Undone) > 0:
		return tools.Result{Text: b.out.formatText(r), Data: b.out.withEmptyLists(), Source: b.src}, nil
	case b.err != nil:
		return tools.Result{}, rv.notUndone(r, b.failed, list, b.err, b.src)
	}
	return nothingToUndo(r), nil
}

// isSend reports whether the undo of an action cancels a send, within one transaction.
func (rv *Reverter) isSend(e bus.Entry) bool {
	t, ok := rv.findActingTool(e.Tool)
	return bus.IsScheduledUndo(e.Call, e.Undo) || ok && t.Spec().Own && t.Spec().Effects&tools.Send != 0
}

// batch is one undo of several actions.
type batch struct {
	rv     *Reverter
	r      tools.UndoRequest
	list   []bus.Entry
	out    Outcome
	src    provenance.Source
	failed bus.Entry // the first action that failed, with err
	err    error
}

// undoStep undoes one action and returns its error.
func (b *batch) undoStep(ctx context.Context, e bus.Entry) error {
	if i := len(b.out.Undone) + len(b.out.Left); b.r.Progress != nil && len(b.list) > 1 {
		b.r.Progress(float64(i)/float64(len(b.list)), fmt.Sprintf("%d of %d", i+1, len(b.list)))
	}
	text, err := "", stopCause(ctx)
	if err == nil {
		text, err = b.rv.applyUndoStep(ctx, b.r, e)
	}
	if err != nil {
		b.recordLeft([]bus.Entry{e}, err)
		return err
	}
	b.src = provenance.Worst(b.src, e.Source)
	b.out.Undone = append(b.out.Undone, Step{Call: e.Call, Tool: e.Tool, Label: e.UndoLabel, Text: text})
	return nil
}

// undoInOrder undoes actions until one fails.
func (b *batch) undoInOrder(ctx context.Context, list []bus.Entry) {
	for i, e := range list {
		if b.undoStep(ctx, e) != nil {
			b.recordLeft(list[i+1:], nil)
			return
		}
	}
}

// recordLeft records actions that were not undone. The first one failed with err, if not nil.
func (b *batch) recordLeft(list []bus.Entry, err error) {
	for _, e := range list {
		s := Step{Call: e.Call, Tool: e.Tool, Label: e.UndoLabel}
		b.src = provenance.Worst(b.src, e.Source)
		if err != nil {
			s.Error = err.Error()
			b.src = provenance.Worst(b.src, tools.SourceOf(err))
			if b.err == nil {
				b.failed, b.err = e, err
			}
			err = nil
		}
		b.out.Left = append(b.out.Left, s)
	}
}

// notUndone returns the error for a request that undid nothing.
func (rv *Reverter) notUndone(r tools.UndoRequest, e bus.Entry, list []bus.Entry, err error, src provenance.Source) error {
	text := fmt.Sprintf("I could not %s: %v", e.UndoLabel, err)
	if r.Redo {
		text = fmt.Sprintf("I could not redo the action: %v", err)
	}
	if len(list) > 1 {
		text += fmt.Sprintf("; none of the %d actions was undone", len(list))
	}
	if r.ID == "" && tools.CodeOf(err) == tools.Conflict { // skipping this action would undo one that the owner did not mean
		text += "; `hob undo --list` shows earlier actions, and /undo ID undoes one of them"
	}
	return tools.Quoting(tools.Errorf(tools.CodeOf(err), "%s", tools.Clean(text)), src)
}

// withEmptyLists replaces nil lists with empty ones, for JSON clients.
func (o Outcome) withEmptyLists() Outcome {
	if o.Undone == nil {
		o.Undone = []Step{}
	}
	if o.Left == nil {
		o.Left = []Step{}
	}
	return o
}

// formatText formats the outcome. If the batch stopped, it lists what was undone and what was not.
func (o Outcome) formatText(r tools.UndoRequest) string {
	var b strings.Builder
	if len(o.Left) > 0 {
		word := "Undid"
		if r.Redo {
			word = "Redid"
		}
		fmt.Fprintf(&b, "%s %d of %d:\n", word, len(o.Undone), len(o.Undone)+len(o.Left))
	}
	for _, s := range o.Undone {
		b.WriteString(s.Text + "\n")
	}
	var untried strings.Builder
	for _, s := range o.Left {
		if s.Error != "" {
			fmt.Fprintf(&b, "I could not %s: %s\n", s.Label, s.Error)
		} else {
			fmt.Fprintf(&untried, "- %s (%s)\n", s.Label, s.Call)
		}
	}
	if untried.Len() > 0 {
		b.WriteString("These were not undone:\n" + untried.String())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Action is an action outside of a turn: a command by the owner, or maintenance.
type Action struct {
	// Event is the id of the inbox event that JournalTx creates for the first action. Number counts
	// the actions of the event from 1.
	Event  string
	Number int
	// Tool is one of Options.Acts.
	Tool, Text string
	Source     string // "cli" or the part of Hob that acts
	Actor      string // "owner" or "hob"
	Rule       string // why the action was allowed
	Undo       *tools.Undo
}

// Journal records a command by the owner, such as a configuration change, so that it can be undone
// like Hob's own actions. tool is one of Options.Acts.
func (rv *Reverter) Journal(ctx context.Context, tool, text string, undo *tools.Undo) error {
	return rv.o.Store.Write(ctx, func(tx *store.Tx) error { return rv.JournalCommandTx(tx, tool, text, undo) })
}

// JournalCommandTx records a command, as Journal does, in the transaction that performs it.
func (rv *Reverter) JournalCommandTx(tx *store.Tx, tool, text string, undo *tools.Undo) error {
	return rv.JournalTx(tx, Action{Event: bus.NewID(), Number: 1, Tool: tool, Text: text, Source: "cli", Actor: "owner", Rule: "the owner's own command", Undo: undo})
}

// JournalTx records an action that the same transaction performs, so that it can be undone.
func (rv *Reverter) JournalTx(tx *store.Tx, a Action) error {
	now := time.Now()
	ev := bus.Event{
		ID: a.Event, Kind: bus.Task, Source: a.Source, Session: "tool:" + a.Event, Lane: bus.CommandLane(a.Event), Channel: "web", Text: a.Text, Provenance: provenance.Owner,
	}
	if a.Actor != "owner" {
		ev.Provenance = provenance.Hob
	}
	if a.Number == 1 {
		if err := rv.o.Bus.Inbox.DoneTx(tx, ev); err != nil {
			return err
		}
	}
	e := bus.Entry{
		Call: fmt.Sprintf("%s-%d", a.Event, a.Number), Event: a.Event, Session: ev.Session, Tool: a.Tool, Args: json.RawMessage("{}"), Effects: tools.Write.String(), State: bus.CallDone,
		Decision: "allow: by the " + a.Actor, Result: a.Text, Source: provenance.Tool, UndoLabel: a.Undo.Label, Undo: a.Undo.Data, StartedAt: now, FinishedAt: now,
	}
	if a.Actor != "owner" {
		e.Decision = "allow: " + a.Rule
	}
	if err := rv.o.Bus.Ledger.RecordTx(tx, e); err != nil {
		return err
	}
	return rv.o.Guard.AuditTx(tx, guard.Record{
		Actor: a.Actor, Action: "call", Event: a.Event, Session: ev.Session, Origin: a.Source, Tool: a.Tool, Call: e.Call, Effects: e.Effects,
		Verdict: "allow", Rule: a.Rule, Outcome: "done", Args: a.Undo.Data,
	})
}
