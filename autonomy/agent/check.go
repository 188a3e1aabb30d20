package agent

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"hob/autonomy/claim"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/wording"
)

//go:embed text/words.tmpl
var wordsText string

var words = sync.OnceValue(func() *wording.Template {
	return wording.Must(wording.Parse(wordsText, wording.Funcs{
		"shown": guard.Approval.Shown, "from": guard.Approval.From,
		"length": guard.Approval.Length, "long": func(a guard.Approval) bool { return guard.TooLong([]guard.Approval{a}) },
	}))
})

// worded fills in one of the engine's own texts.
func worded(name string, data any) string {
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

// deed is a completed call that changed something.
type deed struct{ tool, effects string }

// conclude ends a turn with an answer, unless the answer claims an action that no call
// performed. It sends the model one hint; if the next answer repeats the claim, it corrects the
// answer.
func (r *run) conclude(ctx context.Context, text string) (out Outcome, done bool) {
	claims, err := r.unbacked(ctx, text)
	if err != nil {
		r.o.Log.WarnContext(ctx, "cannot look up what an answer claims", "event", r.t.Event.ID, "err", err)
	}
	if len(claims) == 0 {
		return r.outcome(r.defused(text)), true
	}
	r.o.Log.InfoContext(ctx, "an answer claims what no call did", "event", r.t.Event.ID, "claims", len(claims), "corrected", r.checked)
	if !r.checked && !r.limits.final && r.round < r.o.Limits.Rounds {
		r.checked = true
		phrases := make([]string, 0, len(claims))
		for _, c := range claims {
			phrases = append(phrases, c.Phrase)
		}
		hint := llm.Part{Text: worded("hint", phrases), Source: r.voice(), Context: true}
		r.msgs = append(r.msgs, llm.Message{Role: llm.User, Parts: []llm.Part{hint}})
		r.further("\n\n")
		return Outcome{}, false
	}
	added := "\n\n" + worded(claims[0].Language, claims[0].Phrase)
	r.further(added)
	if fresh := r.fresh(); len(fresh) > 0 { // the history must match the text that was sent
		last := &fresh[len(fresh)-1]
		last.Parts = append(last.Parts, llm.Part{Text: added, Source: r.voice()})
	}
	return r.outcome(r.defused(text) + added), true
}

// further streams additional text of the answer.
func (r *run) further(text string) {
	r.publish(llm.Event{Kind: llm.TextDelta, Text: text})
}

// unbacked lists the claims of an answer that no call supports. It skips the built-in brain,
// which builds its answers from results, and external agents, because the ledger does not
// contain all their actions.
func (r *run) unbacked(ctx context.Context, text string) ([]claim.Claim, error) {
	if r.model == nil || r.by == offlineBrain || r.model.Info().Provider == offlineBrain || r.model.Info().Acts {
		return nil, nil
	}
	claims := claim.Find(text, strings.Join(append([]string{r.t.Text}, r.words...), "\n"))
	if len(claims) == 0 {
		return nil, nil
	}
	deeds := r.deeds()
	claims = slices.DeleteFunc(claims, func(c claim.Claim) bool { return backed(c, deeds) || r.borneOut(c, deeds) })
	if len(claims) == 0 {
		return nil, nil
	}
	asked := r.asked()
	if !asked && !slices.ContainsFunc(claims, func(c claim.Claim) bool { return c.Earlier }) {
		return claims, nil
	}
	entries, err := r.o.Bus.Effects(ctx, r.t.Event.Session, earlierCalls)
	if err != nil {
		return nil, err
	}
	var before []deed
	for _, e := range entries {
		before = append(before, deed{e.Tool, e.Effects})
	}
	return slices.DeleteFunc(claims, func(c claim.Claim) bool { return (asked || c.Earlier) && backed(c, before) }), nil
}

// offlineBrain is the provider name of the built-in brain.
const offlineBrain = "offline"

// deeds returns the completed calls of this turn that changed something.
func (r *run) deeds() []deed {
	out := slices.Clone(r.did)
	for _, e := range r.ledger {
		if e.State == "done" {
			out = append(out, deed{e.Tool, e.Effects})
		}
	}
	return out
}

// note keeps a call that went well.
func (r *run) note(s *step) {
	if s.ran && s.err == nil && s.tool != nil {
		r.did = append(r.did, deed{s.tool.Spec().Name, s.tool.Spec().Effects.String()})
	}
}

// backed reports whether one of the calls may be the claimed action. For several agents or a
// command the effects are unknown.
func backed(c claim.Claim, deeds []deed) bool {
	return slices.ContainsFunc(deeds, func(d deed) bool {
		if f := familyOf(d.tool); c.Kind != claim.Sent && f != claim.AnyFamily && c.Family != claim.AnyFamily && f != c.Family {
			return false
		}
		has := func(effect string) bool { return strings.Contains(d.effects, effect) }
		switch {
		case strings.HasPrefix(d.tool, "delegate"), has("exec"):
			return true
		case d.effects == "read", strings.HasPrefix(d.tool, "spawn"): // it has only started a task
			return false
		case c.Kind == claim.Sent:
			return has("send") || has("egress")
		case c.Kind == claim.Deleted:
			return !makes(d.tool)
		}
		return true
	})
}

// makes reports whether a tool, by its name, only adds something.
func makes(tool string) bool {
	verb, _, _ := strings.Cut(tool, "_")
	return slices.Contains([]string{"create", "add", "append", "log", "remember"}, verb)
}

// hinted reports whether a recorded message is the hint about a claim.
func hinted(m llm.Message) bool {
	return m.Role == llm.User && slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
		return p.Context && p.Source != provenance.Owner && strings.HasPrefix(p.Text, checkMark)
	})
}
