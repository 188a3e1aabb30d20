package turn

import (
	"context"
	"errors"

	"hob/autonomy/llm"
	"hob/autonomy/session"
)

// fitWindow makes the conversation shorter before a request that would fill the
// model's window.
func (r *turnRun) fitWindow(ctx context.Context) error {
	if r.o.Compactor == nil {
		return nil
	}
	room, enough := r.o.Compactor.ByteLimits(r.t.Event.Session, r.model)
	if room == 0 || r.messageBytes()+r.overheadBytes() <= room {
		return nil
	}
	err := r.shrinkWindow(ctx, enough-r.overheadBytes())
	if errors.Is(err, session.ErrNothing) { // the provider has the last word
		return nil
	}
	return err
}

// streamFitting retries with a shorter conversation if the model rejects it as too long.
func (r *turnRun) streamFitting(ctx context.Context, q *modelCall) error {
	again, err := r.handleOverflow(ctx, r.readStream(ctx, q))
	if !again {
		return err
	}
	q.req.Messages, q.resp = r.shownTo(), llm.Response{}
	if err := r.beforeModel(ctx, q); err != nil {
		return err
	}
	return tooLong(r.readStream(ctx, q))
}

// handleOverflow reports whether to retry a failed call because the conversation was shortened.
// Otherwise it returns the error for the owner.
func (r *turnRun) handleOverflow(ctx context.Context, err error) (again bool, _ error) {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.Overflow || e.Visible || r.o.Compactor == nil {
		return false, err
	}
	room := r.messageBytes() / 2
	if _, enough := r.o.Compactor.ByteLimits(r.t.Event.Session, r.model); enough > 0 {
		room = min(room, enough-r.overheadBytes())
	}
	switch serr := r.shrinkWindow(ctx, max(room, 0)); {
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
func (r *turnRun) shrinkWindow(ctx context.Context, room int) error {
	if err := r.saveSteps(ctx); err != nil {
		return err
	}
	if err := r.o.Compactor.CompactForOverflow(ctx, r.model, r.t.Event.Session, r.t.Event.ID, room); err != nil {
		return err
	}
	before, recorded, err := r.o.Sessions.History(ctx, r.t.Event.Session, r.t.Event.ID)
	if err != nil {
		return err
	}
	if before, err = r.answerAbandonedCalls(ctx, before); err != nil {
		return err
	}
	r.own, r.stored = len(before), len(recorded)
	r.msgs = append(append(make([]llm.Message, 0, len(before)+len(recorded)+8), before...), recorded...)
	return nil
}

// messageBytes returns the size of the request's messages in bytes; overhead that of the rest.
func (r *turnRun) messageBytes() (n int) {
	for _, m := range r.msgs {
		n += session.MessageBytes(m)
	}
	return n
}

func (r *turnRun) overheadBytes() int {
	n := len(r.system)
	for _, t := range r.offered {
		n += len(t.Name) + len(t.Description) + len(t.Schema) + 32
	}
	return n
}

// recordTokenCount lets later requests be weighed by the provider's own count.
func (r *turnRun) recordTokenCount(u llm.Usage) {
	if u.Known {
		r.o.Sessions.RecordTokenCount(r.t.Event.Session, r.messageBytes()+r.overheadBytes(), r.overheadBytes(), u.Input)
	}
}
