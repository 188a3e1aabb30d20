package agent

import (
	"context"
	"errors"

	"hob/autonomy/llm"
	"hob/autonomy/session"
)

// fit makes the conversation shorter before a request that would fill the
// model's window.
func (r *run) fit(ctx context.Context) error {
	if r.o.Compactor == nil {
		return nil
	}
	room, enough := r.o.Compactor.Room(r.t.Event.Session, r.model)
	if room == 0 || r.weight()+r.overhead() <= room {
		return nil
	}
	err := r.shrink(ctx, enough-r.overhead())
	if errors.Is(err, session.ErrNothing) { // the provider has the last word
		return nil
	}
	return err
}

// streamFitting retries with a shorter conversation if the model rejects it as too long.
func (r *run) streamFitting(ctx context.Context, q *modelCall) error {
	again, err := r.overflowed(ctx, r.stream(ctx, q))
	if !again {
		return err
	}
	q.req.Messages, q.resp = r.shownTo(), llm.Response{}
	if err := r.beforeModel(ctx, q); err != nil {
		return err
	}
	return tooLong(r.stream(ctx, q))
}

// overflowed reports whether to retry a failed call because the conversation was shortened.
// Otherwise it returns the error for the owner.
func (r *run) overflowed(ctx context.Context, err error) (again bool, _ error) {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.Overflow || e.Visible || r.o.Compactor == nil {
		return false, err
	}
	room := r.weight() / 2
	if _, enough := r.o.Compactor.Room(r.t.Event.Session, r.model); enough > 0 {
		room = min(room, enough-r.overhead())
	}
	switch serr := r.shrink(ctx, max(room, 0)); {
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

// shrink stores what the turn has done, makes the window smaller and reads it
// again.
func (r *run) shrink(ctx context.Context, room int) error {
	if err := r.save(ctx); err != nil {
		return err
	}
	if err := r.o.Compactor.Shrink(ctx, r.model, r.t.Event.Session, r.t.Event.ID, room); err != nil {
		return err
	}
	before, recorded, err := r.o.Sessions.History(ctx, r.t.Event.Session, r.t.Event.ID)
	if err != nil {
		return err
	}
	if before, err = r.mend(ctx, before); err != nil {
		return err
	}
	r.own, r.stored = len(before), len(recorded)
	r.msgs = append(append(make([]llm.Message, 0, len(before)+len(recorded)+8), before...), recorded...)
	return nil
}

// weight returns the size of the request's messages in bytes; overhead that of the rest.
func (r *run) weight() (n int) {
	for _, m := range r.msgs {
		n += session.Chars(m)
	}
	return n
}

func (r *run) overhead() int {
	n := len(r.system)
	for _, t := range r.offered {
		n += len(t.Name) + len(t.Description) + len(t.Schema) + 32
	}
	return n
}

// counted lets later requests be weighed by the provider's own count.
func (r *run) counted(u llm.Usage) {
	if u.Known {
		r.o.Sessions.Counted(r.t.Event.Session, r.weight()+r.overhead(), r.overhead(), u.Input)
	}
}
