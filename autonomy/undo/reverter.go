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
	// mu serializes undos, so that no action is reverted twice.
	mu sync.Mutex
}

// New returns a Reverter after checking the options.
func New(o Options) (*Reverter, error) {
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Catalog == nil {
		return nil, errors.New("undo: a required option is missing")
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
	// Left lists the actions that were not undone. The first of them failed and contains the error;
	// the others were not tried.
	Left []Step `json:"not_undone"`
}

// Step is one action in an Outcome.
type Step struct {
	Call  string `json:"call"`
	Tool  string `json:"tool"`
	Label string `json:"label"` // description of the undo
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
}

// Undo undoes actions, newest first. It stops at the first action that cannot be undone. The
// result's Data is an Outcome. If the first action fails, Undo returns an error. If untrusted text
// influenced an action, the text about its undo is also untrusted.
func (rv *Reverter) Undo(ctx context.Context, r tools.UndoRequest) (tools.Result, error) {
	rv.mu.Lock()
	defer rv.mu.Unlock()
	list, err := rv.Undoable(ctx, r)
	if err != nil {
		return tools.Result{}, err
	}
	if len(list) == 0 {
		return tools.Result{Source: provenance.Tool, Text: "There is nothing to " + actionVerb(r) + ".", Data: Outcome{}.withEmptyLists()}, nil
	}
	return rv.undoAll(ctx, r, list)
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

// undoAll undoes the actions in list. The caller holds mu.
func (rv *Reverter) undoAll(ctx context.Context, r tools.UndoRequest, list []bus.Entry) (tools.Result, error) {
	var out Outcome
	src := provenance.Tool
	for i, e := range list {
		if r.Progress != nil && len(list) > 1 {
			r.Progress(float64(i)/float64(len(list)), fmt.Sprintf("%d of %d", i+1, len(list)))
		}
		text, err := "", stopCause(ctx)
		if err == nil {
			text, err = rv.applyUndoStep(ctx, r, e)
		}
		src = provenance.Worst(src, e.Source)
		s := Step{Call: e.Call, Tool: e.Tool, Label: e.UndoLabel, Text: text}
		if err == nil {
			out.Undone = append(out.Undone, s)
			continue
		}
		src = provenance.Worst(src, tools.SourceOf(err))
		if len(out.Undone) == 0 {
			return tools.Result{}, rv.notUndone(r, e, list, err, src)
		}
		s.Error = err.Error()
		out.Left = append(out.Left, s)
		for _, e := range list[i+1:] {
			src = provenance.Worst(src, e.Source)
			out.Left = append(out.Left, Step{Call: e.Call, Tool: e.Tool, Label: e.UndoLabel})
		}
		break
	}
	return tools.Result{Text: out.formatText(r), Data: out.withEmptyLists(), Source: src}, nil
}

// notUndone returns the error for a request that undid nothing.
func (rv *Reverter) notUndone(r tools.UndoRequest, e bus.Entry, list []bus.Entry, err error, src provenance.Source) error {
	text := fmt.Sprintf("I could not %s: %v", e.UndoLabel, err)
	if r.Redo {
		text = fmt.Sprintf("I could not redo it: %v", err)
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
	for i, s := range o.Left {
		if i == 0 {
			fmt.Fprintf(&b, "I could not %s: %s\n", s.Label, s.Error)
			continue
		}
		if i == 1 {
			b.WriteString("These were not undone:\n")
		}
		fmt.Fprintf(&b, "- %s (%s)\n", s.Label, s.Call)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Journal records a command by the owner, such as a configuration change, so that it can be undone
// like Hob's own actions. tool is one of Options.Acts.
func (rv *Reverter) Journal(ctx context.Context, tool, text string, undo *tools.Undo) error {
	id := bus.NewID()
	now := time.Now()
	return rv.o.Store.Write(ctx, func(tx *store.Tx) error {
		ev := bus.Event{
			ID: id, Kind: bus.Task, Source: "cli", Session: "tool:" + id, Lane: bus.CommandLane(id), Channel: "web", Text: text, Provenance: provenance.Owner,
		}
		if err := rv.o.Bus.Inbox.DoneTx(tx, ev); err != nil {
			return err
		}
		e := bus.Entry{
			Call: id + "-1", Event: id, Session: ev.Session, Tool: tool, Args: json.RawMessage("{}"), Effects: tools.Write.String(), State: bus.CallDone,
			Decision: "allow: by the owner", Result: text, Source: provenance.Tool, UndoLabel: undo.Label, Undo: undo.Data, StartedAt: now, FinishedAt: now,
		}
		if err := rv.o.Bus.Ledger.RecordTx(tx, e); err != nil {
			return err
		}
		return rv.o.Guard.AuditTx(tx, guard.Record{
			Actor: "owner", Action: "call", Event: id, Session: ev.Session, Origin: "cli", Tool: tool, Call: e.Call, Effects: e.Effects,
			Verdict: "allow", Rule: "the owner's own command", Outcome: "done", Args: undo.Data,
		})
	})
}
