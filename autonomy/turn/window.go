package turn

import (
	"context"
	"errors"

	"hob/autonomy/llm"
	"hob/autonomy/session"
)

// fitWindow makes the conversation shorter before a request that would fill the
// model's window.
func (m *modelExchange) fitWindow(ctx context.Context) error {
	if m.o.Compactor == nil {
		return nil
	}
	room, enough := m.o.Compactor.ByteLimits(m.t.Event.Session, m.chosen)
	if room == 0 || m.conv.messageBytes()+m.overheadBytes() <= room {
		return nil
	}
	err := m.shrinkWindow(ctx, enough-m.overheadBytes())
	if errors.Is(err, session.ErrNothing) { // the provider has the last word
		return nil
	}
	return err
}

// streamFitting retries with a shorter conversation if the model rejects it as too long.
func (m *modelExchange) streamFitting(ctx context.Context, q *modelCall) error {
	again, err := m.handleOverflow(ctx, m.readStream(ctx, q))
	if !again {
		return err
	}
	q.req.Messages, q.resp = m.shownTo(), llm.Response{}
	if err := m.chain.beforeModel(ctx, q); err != nil {
		return err
	}
	return tooLong(m.readStream(ctx, q))
}

// handleOverflow reports whether to retry a failed call because the conversation was shortened.
// Otherwise it returns the error for the owner.
func (m *modelExchange) handleOverflow(ctx context.Context, err error) (again bool, _ error) {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.Overflow || e.Visible || m.o.Compactor == nil {
		return false, err
	}
	room := m.conv.messageBytes() / 2
	if _, enough := m.o.Compactor.ByteLimits(m.t.Event.Session, m.chosen); enough > 0 {
		room = min(room, enough-m.overheadBytes())
	}
	switch serr := m.shrinkWindow(ctx, max(room, 0)); {
	case errors.Is(serr, session.ErrNothing):
		return false, tooLong(e)
	case serr != nil:
		return false, serr
	}
	return true, nil
}

// tooLong returns the error for a request that is too long and cannot be shortened.
func tooLong(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.Overflow {
		return err
	}
	return &llm.Error{
		Kind: llm.Overflow, Provider: e.Provider, Status: e.Status, Err: e,
		Message: "this does not fit into the model's context window, even with the conversation shortened",
		Remedy:  "send a shorter message, start a new conversation with /new, or choose a model with a larger window",
	}
}

// shrinkWindow stores the turn's steps, shrinks the window and reads it again.
func (m *modelExchange) shrinkWindow(ctx context.Context, room int) error {
	if err := m.rec.saveSteps(ctx); err != nil {
		return err
	}
	if err := m.o.Compactor.CompactForOverflow(ctx, m.chosen, m.t.Event.Session, m.t.Event.ID, room); err != nil {
		return err
	}
	before, recorded, err := m.o.Sessions.History(ctx, m.t.Event.Session, m.t.Event.ID)
	if err != nil {
		return err
	}
	if before, err = m.rec.answerAbandonedCalls(ctx, before); err != nil {
		return err
	}
	m.conv.own, m.conv.stored = len(before), len(recorded)
	m.conv.msgs = append(append(make([]llm.Message, 0, len(before)+len(recorded)+8), before...), recorded...)
	return nil
}

func (m *modelExchange) overheadBytes() int {
	n := len(m.conv.system)
	for _, t := range m.runner.offered {
		n += len(t.Name) + len(t.Description) + len(t.Schema) + 32
	}
	return n
}

// recordTokenCount lets later requests be weighed by the provider's own count.
func (m *modelExchange) recordTokenCount(u llm.Usage) {
	if u.Known {
		m.o.Sessions.RecordTokenCount(m.t.Event.Session, m.conv.messageBytes()+m.overheadBytes(), m.overheadBytes(), u.Input)
	}
}
