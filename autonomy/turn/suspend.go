package turn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/channels"
	"hob/platform/store"
	"hob/tools"
)

// suspendCalls asks the owner about call i and every later call that needs approval, and suspends
// the turn, all in one transaction. A call on the owner's screen gets a separate question.
func (r *turnRun) suspendCalls(ctx context.Context, i int) (bool, error) {
	asks := []*callStep{r.steps[i]}
	for _, s := range r.steps[i+1:] {
		if isScreenCall(r.steps[i]) {
			break
		}
		if s.hasOutcome() {
			continue
		}
		d, err := r.o.Guard.Decide(ctx, r.guardRequest(ctx, s))
		if err != nil {
			return false, err
		}
		if s.dec = d; d.Verdict == guard.Ask && !goesOn(asks, s) && !isScreenCall(s) {
			asks = append(asks, s)
		}
	}
	if err := r.writeWithSteps(ctx, func(tx *store.Tx) error { return r.askTx(ctx, tx, asks) }); err != nil {
		return false, fmt.Errorf("turn: ask the owner: %w", err)
	}
	return true, nil
}

// goesOn reports whether a call belongs to an existing question: whether the tool may continue
// to change items.
func goesOn(asks []*callStep, s *callStep) bool {
	return s.dec.Rule == guard.BatchRule && s.dec.Judgement.Items <= 1 && slices.ContainsFunc(asks, func(a *callStep) bool {
		return a.dec.Rule == guard.BatchRule && a.tool.Spec().Name == s.tool.Spec().Name
	})
}

// isScreenCall reports whether a call acts on the owner's screen. Such a call runs only while no
// question is open, because it could answer it. Later calls are judged by the screen that it
// leaves.
func isScreenCall(s *callStep) bool {
	j := s.dec.Judgement
	return j.Private && j.Effects&tools.Exec != 0
}

func (r *turnRun) askTx(ctx context.Context, tx *store.Tx, asks []*callStep) error {
	var until time.Time
	var fresh []guard.Approval
	answered := false
	questions := make([]guard.Question, len(asks))
	for i, s := range asks {
		questions[i] = guard.Question{Request: r.guardRequest(ctx, s), Decision: s.dec}
	}
	rows, err := r.o.Guard.AskAllTx(tx, questions)
	if err != nil {
		return err
	}
	for i, s := range asks {
		a := rows[i]
		// The answer may have arrived since the guard decided.
		answered = answered || a.State != guard.Pending
		if until.IsZero() || a.ExpiresAt.Before(until) {
			until = a.ExpiresAt
		}
		if s.dec.Approval != "" {
			continue // the owner has this question already
		}
		fresh = append(fresh, a)
		if err := r.auditTx(tx, s, "asked"); err != nil {
			return err
		}
	}
	if answered {
		until = time.Time{}
	}
	if err := r.questionTx(tx, fresh); err != nil {
		return err
	}
	return r.o.Bus.SuspendTx(tx, r.t.Event.ID, until)
}

// questionTx puts the questions before the owner.
func (r *turnRun) questionTx(tx *store.Tx, open []guard.Approval) error {
	if len(open) == 0 {
		return nil
	}
	ids := make([]string, len(open))
	for i, a := range open {
		ids[i] = a.ID
	}
	err := r.o.Bus.EnqueueTx(tx, r.t.Event.ID, bus.OutboxItem{Provenance: r.answerSource(), Asks: ids, Delivery: channels.Delivery{
		Kind: channels.Question, Session: r.t.Report, Channel: r.t.Channel, Chat: r.t.Chat, Text: questionText(open, r.t.Attended && r.t.Event.Kind == bus.Message),
	}})
	if err != nil {
		return err
	}
	tx.AfterCommit(func() {
		for _, a := range open {
			r.o.Bus.Feed.Publish("approval_required", r.t.Event.ID, r.t.Event.Session, a)
		}
	})
	return nil
}

// questionText formats the approval requests: each call in its exact form, and those of a batch as
// one request. bare reports that a bare yes may answer them.
func questionText(open []guard.Approval, bare bool) string {
	if len(open) == 1 && open[0].Batch == "" && bare {
		return renderText("question", open[0])
	}
	var out []string
	for i, a := range open {
		if a.Batch == "" {
			out = append(out, renderText("one", a))
			continue
		}
		if slices.ContainsFunc(open[:i], func(b guard.Approval) bool { return b.Batch == a.Batch }) {
			continue
		}
		all := slices.DeleteFunc(slices.Clone(open), func(b guard.Approval) bool { return b.Batch != a.Batch })
		form := "batch"
		if guard.TooLong(all) {
			form = "longbatch"
		}
		text := renderText(form, map[string]any{"All": all, "First": all[0]})
		if len(all) == len(open) && bare && form == "batch" {
			text += renderText("only", nil)
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}
