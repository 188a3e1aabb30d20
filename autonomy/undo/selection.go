package undo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// maxChecked is the maximum number of actions that are checked for a request.
const maxChecked = 200

// selection is the meaning of a request to undo.
type selection struct {
	list []bus.Entry // the actions to undo, in this order
	// gone lists the newer actions that have nothing left to undo, such as a fact that was forgotten.
	gone []Step
	// blocked is a newer action, or one of the same answer, that cannot be undone. If ask is set,
	// nothing may be undone, because the user may mean this action.
	blocked   *Step
	blockedAt time.Time
	reason    string // why blocked cannot be undone any more; "" if it never could
	ask       bool
	source    provenance.Source // of gone and blocked
}

// errChecked ends the transaction of a check, so that the transaction changes nothing.
var errChecked = errors.New("the check of an undo is complete")

// checkUndo returns for each action the error that its undo would return now, or nil. The undo of
// actions in Hob's own database and of delayed sends is tried in a transaction that is rolled back.
// The others are not tried: files and accounts are checked when they are undone.
func (rv *Reverter) checkUndo(ctx context.Context, list []bus.Entry) (out []error, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	err = rv.o.Store.Write(ctx, func(tx *store.Tx) error {
		out = nil // a transaction may be repeated
		for _, e := range list {
			if _, err := tx.Exec(`SAVEPOINT undo_check`); err != nil {
				return err
			}
			out = append(out, rv.tryUndoTx(ctx, tx, e))
			if _, err := tx.Exec(`ROLLBACK TO undo_check; RELEASE undo_check`); err != nil {
				return err
			}
		}
		return errChecked
	})
	if errors.Is(err, errChecked) {
		err = nil
	}
	return out, err
}

// tryUndoTx undoes an action in a transaction that the caller rolls back.
func (rv *Reverter) tryUndoTx(ctx context.Context, tx *store.Tx, e bus.Entry) error {
	if bus.IsScheduledUndo(e.Call, e.Undo) {
		_, err := rv.cancelSendTx(tx, e)
		return err
	}
	t, ok := rv.findActingTool(e.Tool)
	if !ok {
		return errNoTool(e)
	}
	t = tools.Undoing(t, e.Undo)
	u, ok := t.(tools.Undoer)
	switch {
	case !ok || !u.CanUndo():
		return tools.Errorf(tools.Unsupported, "%s cannot be undone", tools.Clean(e.Tool))
	case !t.Spec().Own:
		return nil
	}
	_, err := u.UndoTx(ctx, tx, e.Undo)
	return err
}

func errNoTool(e bus.Entry) error {
	return tools.Errorf(tools.Unsupported, "the tool %s no longer exists", tools.Clean(e.Tool))
}

// isGone reports whether the error of a check means that nothing is left to undo.
func isGone(err error) bool { return tools.CodeOf(err) == tools.NotFound }

// ListUndoable lists the actions that can be undone, newest first. It omits actions that have nothing
// left to undo, and adds the reason to the label of actions that cannot be undone any more.
func (rv *Reverter) ListUndoable(ctx context.Context, limit int) ([]bus.Entry, error) {
	list, err := rv.o.Bus.Ledger.Undoable(ctx, limit)
	if err != nil {
		return nil, err
	}
	errs, err := rv.checkUndo(ctx, list)
	if err != nil {
		return nil, err
	}
	out := []bus.Entry{}
	for i, e := range list {
		switch {
		case errs[i] == nil:
			out = append(out, e)
		case !isGone(errs[i]):
			e.UndoLabel += " (not possible: " + errs[i].Error() + ")"
			e.Source = provenance.Worst(e.Source, tools.SourceOf(errs[i]))
			out = append(out, e)
		}
	}
	return out, nil
}

// selectActions selects the actions of a request. It returns an error only for an id that has
// nothing to undo.
func (rv *Reverter) selectActions(ctx context.Context, r tools.UndoRequest) (selection, error) {
	switch {
	case r.Redo:
		list, err := rv.findRedoable(ctx, r.ID)
		return selection{list: list, source: provenance.Tool}, err
	case r.ID != "":
		list, err := rv.undoableID(ctx, r)
		return selection{list: list, source: provenance.Tool}, err
	}
	s, err := rv.selectLast(ctx, r, r.Session)
	if err == nil && len(s.list) == 0 && r.Session != "" && r.Origin != "" { // a model may undo only actions of this conversation
		here := s
		if s, err = rv.selectLast(ctx, r, ""); here.blocked != nil {
			s.blocked, s.blockedAt, s.reason, s.ask = here.blocked, here.blockedAt, here.reason, true
			s.source = provenance.Worst(s.source, here.source)
		}
	}
	return s, err
}

// listUndoable lists the actions of a conversation that have a record for their undo, or of all
// conversations if session is "", newest first.
func (rv *Reverter) listUndoable(ctx context.Context, session string) ([]bus.Entry, error) {
	if session == "" {
		return rv.o.Bus.Ledger.Undoable(ctx, maxChecked)
	}
	return rv.o.Bus.Ledger.UndoableIn(ctx, session, maxChecked)
}

// selectLast selects the last actions of a conversation, or of all conversations if session is "".
func (rv *Reverter) selectLast(ctx context.Context, r tools.UndoRequest, session string) (s selection, err error) {
	list, err := rv.listUndoable(ctx, session)
	if err != nil {
		return s, err
	}
	plain := r.Last <= 1 && !r.Turn
	if s, err = rv.dropGone(ctx, list, max(1, r.Last), plain); err != nil {
		return s, err
	}
	oldest := ""
	if len(s.list) > 0 {
		oldest = s.list[len(s.list)-1].Call
	}
	fixed, ok, err := rv.lastFixed(ctx, session, oldest)
	if err != nil {
		return s, err
	}
	if ok && (s.blocked == nil || fixed.StartedAt.After(s.blockedAt)) {
		s.recordBlocked(rv, fixed, "")
	}
	s.ask = s.blocked != nil && (plain || r.Turn && (len(s.list) == 0 || fixed.Event != s.list[0].Event))
	if r.Turn && len(s.list) > 0 && !s.ask {
		all, err := rv.o.Bus.Ledger.UndoableOf(ctx, s.list[0].Event)
		if err != nil {
			return s, err
		}
		turn, err := rv.dropGone(ctx, all, len(all), false)
		s.list = turn.list
		return s, err
	}
	return s, nil
}

// dropGone returns the first n actions that have something to undo. If clean is set, it returns only
// actions that can be undone now; the newest of the others blocks the request.
func (rv *Reverter) dropGone(ctx context.Context, list []bus.Entry, n int, clean bool) (s selection, err error) {
	const step = 10 // most requests need one action
	s.source = provenance.Tool
	for len(list) > 0 && len(s.list) < n {
		part := list[:min(len(list), max(step, n-len(s.list)))]
		list = list[len(part):]
		errs, err := rv.checkUndo(ctx, part)
		if err != nil {
			return s, err
		}
		for i, e := range part {
			switch err := errs[i]; {
			case len(s.list) == n:
			case err != nil && isGone(err):
				s.gone = append(s.gone, Step{Call: e.Call, Tool: e.Tool, Label: e.UndoLabel, Error: err.Error()})
				s.source = provenance.Worst(s.source, provenance.Worst(e.Source, tools.SourceOf(err)))
			case err == nil || !clean:
				s.list = append(s.list, e)
			case s.blocked == nil:
				s.recordBlocked(rv, e, err.Error())
				s.source = provenance.Worst(s.source, tools.SourceOf(err))
			}
		}
	}
	return s, nil
}

func (s *selection) recordBlocked(rv *Reverter, e bus.Entry, reason string) {
	s.blocked, s.blockedAt, s.reason = &Step{Call: e.Call, Tool: e.Tool, Label: rv.describeAction(e), Error: cmp.Or(reason, "this action cannot be undone")}, e.StartedAt, reason
	s.source = provenance.Worst(s.source, e.Source)
}

// lastFixed finds the last action that cannot be undone after the action called since.
func (rv *Reverter) lastFixed(ctx context.Context, session, since string) (bus.Entry, bool, error) {
	list, err := rv.o.Bus.Ledger.Irreversible(ctx, session, since, maxChecked)
	if err != nil {
		return bus.Entry{}, false, err
	}
	i := slices.IndexFunc(list, func(e bus.Entry) bool {
		t, ok := rv.findActingTool(e.Tool)
		if !ok || !t.Spec().Own {
			return true
		}
		u, ok := t.(tools.Undoer) // without undo data, an own action that can be undone changed nothing
		return !ok || !u.CanUndo()
	})
	if i < 0 {
		return bus.Entry{}, false, nil
	}
	return list[i], true, nil
}

// describeAction describes what an action did, on one line.
func (rv *Reverter) describeAction(e bus.Entry) string {
	var in struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(e.Args, &in) == nil && in.Command != "" {
		return "`" + textnorm.Ellipsize(textnorm.FirstLine(in.Command), 100) + "`"
	}
	text := strings.ReplaceAll(e.Tool, "_", " ")
	if t, ok := rv.findActingTool(e.Tool); ok {
		if s, ok := t.(tools.Summarizer); ok {
			text = cmp.Or(s.Summary(e.Args), text)
		}
	}
	return "“" + textnorm.Ellipsize(textnorm.FirstLine(text), 100) + "”"
}

// FormatTime returns when an action started: the time of day, with the date if it was not today.
func (rv *Reverter) FormatTime(e bus.Entry) string {
	at, now := e.StartedAt.In(rv.o.Zone()), time.Now().In(rv.o.Zone())
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// nextHint precedes, in a question to the user, the id of the action that a model should undo if the
// user agrees. The built-in brain reads the id too (see autonomy/llm/offline).
const nextHint = "\n[hint] If the user agrees, call undo with the id "

// blockedResult answers a request that undoes nothing because the last action cannot be undone.
func (rv *Reverter) blockedResult(r tools.UndoRequest, s selection) tools.Result {
	var b strings.Builder
	fmt.Fprintf(&b, "The last action, %s, cannot be undone", s.blocked.Label)
	if s.reason != "" {
		b.WriteString(": " + strings.TrimSuffix(s.reason, "."))
	}
	b.WriteString(".")
	out := Outcome{Left: []Step{*s.blocked}}.withEmptyLists()
	if len(s.list) == 0 {
		return tools.Result{Text: b.String(), Data: out, Source: provenance.Worst(provenance.Tool, s.source)}
	}
	e := s.list[0]
	out.Next = &Step{Call: e.Call, Tool: e.Tool, Label: e.UndoLabel}
	fmt.Fprintf(&b, " The action before it (%s) can be undone. ", rv.FormatTime(e))
	switch r.Origin {
	case "": // a model asks
		fmt.Fprintf(&b, "Should I %s?", e.UndoLabel)
		b.WriteString(nextHint + e.Call)
	case "tool":
		fmt.Fprintf(&b, "To %s: hob undo %s", e.UndoLabel, e.Call)
	default:
		fmt.Fprintf(&b, "To %s: /undo %s", e.UndoLabel, e.Call)
	}
	return tools.Result{Text: b.String(), Data: out, Source: provenance.Worst(provenance.Worst(provenance.Tool, s.source), e.Source)}
}

// describeSkipped returns the lines about the actions that a request passed over.
func (s selection) describeSkipped() string {
	var b strings.Builder
	for _, g := range s.gone {
		fmt.Fprintf(&b, "Skipped: I could not %s, because %s.\n", g.Label, strings.TrimSuffix(g.Error, "."))
	}
	if s.blocked != nil {
		fmt.Fprintf(&b, "Not undone: %s cannot be undone.\n", s.blocked.Label)
	}
	return b.String()
}

// Describe names the actions that a call of the tool undo reverted: "Undo: delete the task \"milk\"".
// It returns "" for other calls and for calls that reverted nothing.
func Describe(e bus.Entry) string {
	var done Outcome
	var in struct{ Redo bool }
	if e.Tool != "undo" || json.Unmarshal(e.Data, &done) != nil || len(done.Undone) == 0 {
		return ""
	}
	var labels []string
	for _, s := range done.Undone {
		labels = append(labels, s.Label)
	}
	verb := "Undo: "
	if json.Unmarshal(e.Args, &in) == nil && in.Redo {
		verb = "Redo, which reverts: "
	}
	return verb + strings.Join(labels, "; ")
}
