package turn

import (
	"context"
	"errors"

	"hob/autonomy/config"
	"hob/autonomy/hooks"
	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/tools"
)

// hookProvider is the provider in the error of a turn that a hook refused.
const hookProvider = "hook"

// runTurnPrograms runs the user's hooks before a turn with a model. Text that they add becomes
// untrusted text of the current message. The error ends the turn.
func (b *contextBuilder) runTurnPrograms(ctx context.Context) error {
	if b.t.Call != nil {
		return nil
	}
	added, err := b.o.Programs.Run(ctx, b.turnEvent(config.TurnBefore))
	if refused, ok := errors.AsType[*hooks.Refusal](err); ok {
		return &llm.Error{Kind: llm.BadRequest, Provider: hookProvider, Message: refused.Error(), Whole: true, Err: refused}
	}
	for i, a := range added {
		for len(b.t.OutsideFrom) < len(b.t.Outside) { // the entries must correspond
			b.t.OutsideFrom = append(b.t.OutsideFrom, firstOrigin(b.t.Origins))
		}
		b.t.Outside = append(b.t.Outside, hooks.Join("", added[i:i+1]))
		b.t.OutsideFrom = append(b.t.OutsideFrom, a.Origin())
	}
	return err
}

func firstOrigin(list []provenance.Origin) provenance.Origin {
	if len(list) == 0 {
		return provenance.Origin{Kind: "message"}
	}
	return list[0]
}

// turnEvent returns the turn's part of the input for hooks.
func (b *contextBuilder) turnEvent(on string) hooks.Event {
	e := hookEvent(b.o, b.t, on)
	e.Text, e.Tainted = b.t.Text, b.t.Source.Tainted() || len(b.t.Outside) > 0 || b.conv.isTainted()
	return e
}

func hookEvent(o *Options, t *Turn, on string) hooks.Event {
	return hooks.Event{On: on, Session: t.Event.Session, Event: t.Event.ID, Channel: t.Channel, Person: t.Person, Agent: o.Name, Attended: t.Attended}
}

// programMiddleware runs the user's hooks before and after each call. It comes before the policy,
// so that a hook that accepts a call does not authorize the call.
func (hc *hookChain) programMiddleware() middleware {
	l := middleware{name: "hooks"}
	if hc.o.Programs.Has(config.ToolBefore) {
		l.beforeTool = func(ctx context.Context, s *callStep) error {
			added, err := hc.o.Programs.Run(ctx, hc.callEvent(config.ToolBefore, s))
			s.added = added
			if refused, ok := errors.AsType[*hooks.Refusal](err); ok {
				return tools.Errorf(tools.PolicyDenied, "%s", refused.Error())
			}
			return err
		}
	}
	if hc.o.Programs.Has(config.ToolBefore) || hc.o.Programs.Has(config.ToolAfter) {
		l.afterTool = hc.runAfterPrograms
	}
	return l
}

// passesPrograms reports whether the hooks accept a call for which Hob is about to ask the user.
// The hooks run again before the call itself.
func (hc *hookChain) passesPrograms(ctx context.Context, s *callStep) bool {
	_, err := hc.o.Programs.Run(ctx, hc.callEvent(config.ToolBefore, s))
	return err == nil
}

// runAfterPrograms runs the hooks after a call, and appends to the result what hooks added before
// and after the call. The whole result then counts as untrusted.
func (hc *hookChain) runAfterPrograms(ctx context.Context, s *callStep) {
	if s.tool != nil && tools.CodeOf(s.err) != tools.Cancelled {
		e := hc.callEvent(config.ToolAfter, s)
		if e.Text = s.text; s.err != nil {
			e.Text, e.Error = "", s.err.Error()
		}
		added, err := hc.o.Programs.Run(ctx, e)
		if err != nil {
			hc.o.Log.WarnContext(ctx, "hooks not run", "on", e.On, "event", hc.t.Event.ID, "err", err)
		}
		s.added = append(s.added, added...)
	}
	if len(s.added) == 0 {
		return
	}
	text := hooks.Join(s.text[:s.body], s.added)
	s.text, s.body = text+s.text[s.body:], len(text)
}

func (hc *hookChain) callEvent(on string, s *callStep) hooks.Event {
	e := hookEvent(hc.o, hc.t, on)
	e.Call, e.Tool, e.Arguments, e.Tainted = s.call.ID, s.call.Name, s.args, hc.conv.isTainted()
	if s.tool != nil {
		e.Tool, e.Effects = s.tool.Spec().Name, s.tool.Spec().Effects.Names()
	}
	return e
}

// addedOrigins returns the origins of the text that hooks added to the result of a call.
func addedOrigins(s *callStep) []provenance.Origin {
	var out []provenance.Origin
	for _, a := range s.added {
		out = append(out, a.Origin())
	}
	return out
}
