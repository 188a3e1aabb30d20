package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/channels"
	"hob/knowledge/store"
)

// suspend asks the owner about call i and every later one that needs an
// answer, and puts the turn away until then, all in one transaction.
func (r *run) suspend(ctx context.Context, i int) (bool, error) {
	asks := []*step{r.steps[i]}
	for _, s := range r.steps[i+1:] {
		if s.settled() {
			continue
		}
		d, err := r.o.Guard.Decide(ctx, r.request(ctx, s))
		if err != nil {
			return false, err
		}
		if s.dec = d; d.Verdict == guard.Ask && !goesOn(asks, s) {
			asks = append(asks, s)
		}
	}
	if err := r.write(ctx, func(tx *store.Tx) error { return r.askTx(ctx, tx, asks) }); err != nil {
		return false, fmt.Errorf("agent: ask the owner: %w", err)
	}
	return true, nil
}

// goesOn reports whether a call is one more of those that one question is about:
// whether that tool may go on changing things.
func goesOn(asks []*step, s *step) bool {
	return s.dec.Rule == guard.BatchRule && s.dec.Judgement.Items <= 1 && slices.ContainsFunc(asks, func(a *step) bool {
		return a.dec.Rule == guard.BatchRule && a.tool.Spec().Name == s.tool.Spec().Name
	})
}

func (r *run) askTx(ctx context.Context, tx *store.Tx, asks []*step) error {
	var until time.Time
	var fresh []guard.Approval
	answered := false
	for _, s := range asks {
		a, err := r.o.Guard.AskTx(tx, r.request(ctx, s), s.dec)
		if err != nil {
			return err
		}
		// The answer may have come since the guard was asked.
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
func (r *run) questionTx(tx *store.Tx, open []guard.Approval) error {
	if len(open) == 0 {
		return nil
	}
	err := r.o.Bus.SayTx(tx, r.t.Event.ID, bus.Out{Provenance: r.voice(), Delivery: channels.Delivery{
		Kind: channels.Question, Session: r.t.Report, Channel: r.t.Channel, Chat: r.t.Chat, Text: questionText(open),
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

func questionText(open []guard.Approval) string {
	var b strings.Builder
	for i, a := range open {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "May I do this? %s\n  why I ask: %s\n  ", a.Summary, a.Reason)
		if from := a.From(); from != "" {
			fmt.Fprintf(&b, "in view: %s\n  ", from)
		}
		if len(open) == 1 {
			fmt.Fprintf(&b, "reply yes or no, or: hob approve %s", a.ID)
		} else {
			fmt.Fprintf(&b, "reply /yes %s or /no %s", a.ID, a.ID)
		}
	}
	return b.String()
}
