package turn

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/turn/actionclaims"
	"hob/platform/provenance"
	"hob/platform/text/minitmpl"
)

//go:embed text/words.tmpl
var wordsText string

var words = sync.OnceValue(func() *minitmpl.Template {
	return minitmpl.Must(minitmpl.Parse(wordsText, minitmpl.Funcs{
		"shown": guard.Approval.CallText, "from": guard.Approval.OriginText,
		"length": guard.Approval.DetailsLength, "long": func(a guard.Approval) bool { return guard.TooLong([]guard.Approval{a}) },
	}))
})

// renderText fills in one of the engine's own texts.
func renderText(name string, data any) string {
	var b strings.Builder
	if err := words().ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the templates are embedded
	}
	return b.String()
}

// checkMark is the prefix of the hint about a claim. After a crash it shows that the one extra
// model call was made.
const checkMark = "[check] "

// earlierCalls is the maximum number of calls checked for claims about earlier turns.
const earlierCalls = 500

// effectfulCall is a completed call that changed something.
type effectfulCall struct{ tool, effects string }

// concludeTurn ends a turn with an answer, unless the answer claims an action that no call
// performed. It sends the model one hint; if the next answer repeats the claim, it corrects the
// answer.
func (r *turnRun) concludeTurn(ctx context.Context, text string) (out Outcome, done bool) {
	claims, err := r.findUnbackedClaims(ctx, text)
	if err != nil {
		r.o.Log.WarnContext(ctx, "cannot look up what an answer claims", "event", r.t.Event.ID, "err", err)
	}
	if len(claims) == 0 {
		return r.buildOutcome(r.defuseLinks(text)), true
	}
	r.o.Log.InfoContext(ctx, "an answer claims what no call did", "event", r.t.Event.ID, "claims", len(claims), "corrected", r.checked)
	if !r.checked && !r.limits.final && r.round < r.o.Limits.Rounds {
		r.checked = true
		phrases := make([]string, 0, len(claims))
		for _, c := range claims {
			phrases = append(phrases, c.Phrase)
		}
		hint := llm.Part{Text: renderText("hint", phrases), Source: r.answerSource(), Context: true}
		r.msgs = append(r.msgs, llm.Message{Role: llm.User, Parts: []llm.Part{hint}})
		r.streamFurtherText("\n\n")
		return Outcome{}, false
	}
	added := "\n\n" + renderText(claims[0].Language, claims[0].Phrase)
	r.streamFurtherText(added)
	if fresh := r.unstoredMessages(); len(fresh) > 0 { // the history must match the text that was sent
		last := &fresh[len(fresh)-1]
		last.Parts = append(last.Parts, llm.Part{Text: added, Source: r.answerSource()})
	}
	return r.buildOutcome(r.defuseLinks(text) + added), true
}

// streamFurtherText streams additional text of the answer.
func (r *turnRun) streamFurtherText(text string) {
	r.publishModelEvent(llm.Event{Kind: llm.TextDelta, Text: text})
}

// findUnbackedClaims lists the claims of an answer that no call supports. It skips the built-in brain,
// which builds its answers from results, and external agents, because the ledger does not
// contain all their actions.
func (r *turnRun) findUnbackedClaims(ctx context.Context, text string) ([]actionclaims.Claim, error) {
	if r.model == nil || r.by == offlineBrain || r.model.Info().Provider == offlineBrain || r.model.Info().Acts {
		return nil, nil
	}
	claims := actionclaims.Find(text, strings.Join(append([]string{r.t.Text}, r.words...), "\n"))
	if len(claims) == 0 {
		return nil, nil
	}
	deeds := r.effectfulCalls()
	claims = slices.DeleteFunc(claims, func(c actionclaims.Claim) bool { return isClaimBacked(c, deeds) || r.borneOut(c, deeds) })
	if len(claims) == 0 {
		return nil, nil
	}
	asked := r.isUserQuestion()
	if !asked && !slices.ContainsFunc(claims, func(c actionclaims.Claim) bool { return c.Earlier }) {
		return claims, nil
	}
	entries, err := r.o.Bus.EffectfulCalls(ctx, r.t.Event.Session, earlierCalls)
	if err != nil {
		return nil, err
	}
	var before []effectfulCall
	for _, e := range entries {
		before = append(before, effectfulCall{e.Tool, e.Effects})
	}
	return slices.DeleteFunc(claims, func(c actionclaims.Claim) bool { return (asked || c.Earlier) && isClaimBacked(c, before) }), nil
}

// offlineBrain is the provider name of the built-in brain.
const offlineBrain = "offline"

// effectfulCalls returns the completed calls of this turn that changed something.
func (r *turnRun) effectfulCalls() []effectfulCall {
	out := slices.Clone(r.did)
	for _, e := range r.ledger {
		if e.State == "done" {
			out = append(out, effectfulCall{e.Tool, e.Effects})
		}
	}
	return out
}

// recordEffect records a successful call with effects.
func (r *turnRun) recordEffect(s *callStep) {
	if s.ran && s.err == nil && s.tool != nil {
		r.did = append(r.did, effectfulCall{s.tool.Spec().Name, s.tool.Spec().Effects.String()})
	}
}

// isClaimBacked reports whether one of the calls may be the claimed action. For several agents or a
// command the effects are unknown.
func isClaimBacked(c actionclaims.Claim, deeds []effectfulCall) bool {
	return slices.ContainsFunc(deeds, func(d effectfulCall) bool {
		if f := familyOf(d.tool); c.Kind != actionclaims.Sent && f != actionclaims.AnyFamily && c.Family != actionclaims.AnyFamily && f != c.Family {
			return false
		}
		has := func(effect string) bool { return strings.Contains(d.effects, effect) }
		switch {
		case strings.HasPrefix(d.tool, "delegate"), has("exec"):
			return true
		case d.effects == "read", strings.HasPrefix(d.tool, "spawn"): // it has only started a task
			return false
		case c.Kind == actionclaims.Sent:
			return has("send") || has("egress")
		case c.Kind == actionclaims.Deleted:
			return !isAdditiveTool(d.tool)
		}
		return true
	})
}

// isAdditiveTool reports whether a tool, by its name, only adds something.
func isAdditiveTool(tool string) bool {
	verb, _, _ := strings.Cut(tool, "_")
	return slices.Contains([]string{"create", "add", "append", "log", "remember"}, verb)
}

// isClaimHint reports whether a recorded message is the hint about a claim.
func isClaimHint(m llm.Message) bool {
	return m.Role == llm.User && slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
		return p.Context && p.Source != provenance.Owner && strings.HasPrefix(p.Text, checkMark)
	})
}
