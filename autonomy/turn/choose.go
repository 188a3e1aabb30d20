package turn

import (
	"context"
	"slices"

	"hob/autonomy/llm"
	"hob/autonomy/turn/modelrouter"
	"hob/platform/store"
)

// chooseModel finds the model of the turn, once.
func (r *turnRun) chooseModel(ctx context.Context) error {
	c, err := r.o.Model(ctx, modelrouter.TurnInfo{
		Agent:   r.o.Name,
		Session: r.t.Event.Session, Event: r.t.Event.ID, Text: r.t.Text, Bare: len(r.t.Images) == 0 && len(r.t.Outside) == 0,
		Attended: r.t.Attended && r.t.Depth == 0, Chain: r.toolsBefore(), Resumed: r.stored > 0,
	})
	if err != nil {
		return err
	}
	r.model = c.Model
	r.pending = append(r.pending, func(tx *store.Tx) error {
		return r.o.Sessions.StampTx(tx, r.t.Event.Session, r.t.Event.ID, r.Stamp(r.system))
	})
	if c.Record != nil {
		r.pending = append(r.pending, c.Record)
	}
	r.o.Bus.Feed.Publish("message_start", r.t.Event.ID, r.t.Event.Session, map[string]string{"model": c.Model.Info().Name(), "reason": c.Reason})
	return nil
}

// toolsBefore reports whether the turn before this one used tools.
func (r *turnRun) toolsBefore() bool {
	for i := r.own - 1; i >= 0; i-- {
		switch m := r.msgs[i]; m.Role {
		case llm.ToolRole:
			return true
		case llm.User:
			if slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return !p.Context }) {
				return false
			}
		}
	}
	return false
}

// billingAccount returns the account for the usage of this turn's calls.
func (r *turnRun) billingAccount() llm.Account {
	purpose := llm.ForTurn
	if r.t.Depth > 0 {
		purpose = llm.ForSubAgent
	}
	return llm.Account{Purpose: purpose, Agent: r.o.Name, Session: r.t.Event.Session, Event: r.t.Event.ID, Unattended: !r.t.Attended && !r.t.Guest}
}
