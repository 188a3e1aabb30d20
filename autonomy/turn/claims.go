package turn

import (
	"context"
	"slices"
	"strings"

	"hob/autonomy/llm"
	"hob/autonomy/turn/actionclaims"
	"hob/platform/provenance"
)

// claimChecker compares an answer with the ledger.
type claimChecker struct {
	o       *Options
	t       *Turn
	conv    *conversation
	hist    *callHistory
	budget  *turnBudget
	model   *modelExchange
	feed    *liveFeed
	checked bool // whether the model was sent the hint about an unsupported claim
}

// concludeAnswer returns the answer that ends the turn, unless the answer claims an action that no
// call performed. In that case it sends the model one hint. If the next answer repeats the claim,
// concludeAnswer corrects the answer.
func (k *claimChecker) concludeAnswer(ctx context.Context, text string) (answer string, done bool) {
	claims, err := k.findUnbackedClaims(ctx, text)
	if err != nil {
		k.o.Log.WarnContext(ctx, "cannot check the claims in an answer", "event", k.t.Event.ID, "err", err)
	}
	if len(claims) == 0 {
		return k.conv.defuseLinks(text), true
	}
	k.o.Log.InfoContext(ctx, "answer claims an action that no call performed", "event", k.t.Event.ID, "claims", len(claims), "corrected", k.checked)
	if !k.checked && !k.budget.loops.final && k.budget.round < k.o.Limits.Rounds {
		k.checked = true
		phrases := make([]string, 0, len(claims))
		for _, c := range claims {
			phrases = append(phrases, c.Phrase)
		}
		hint := llm.Part{Text: renderText("hint", phrases), Source: k.conv.answerSource(), Context: true}
		k.conv.appendMessage(llm.Message{Role: llm.User, Parts: []llm.Part{hint}})
		k.feed.streamFurtherText("\n\n")
		return "", false
	}
	added := "\n\n" + renderText(claims[0].Language, claims[0].Phrase)
	k.feed.streamFurtherText(added)
	if fresh := k.conv.unstoredMessages(); len(fresh) > 0 { // the history must match the text that was sent
		last := &fresh[len(fresh)-1]
		last.Parts = append(last.Parts, llm.Part{Text: added, Source: k.conv.answerSource()})
	}
	return k.conv.defuseLinks(text) + added, true
}

// findUnbackedClaims returns the claims in an answer that no call supports. It skips the built-in
// brain, which builds its answers from results, and external agents, because the ledger does not
// contain all of their actions.
func (k *claimChecker) findUnbackedClaims(ctx context.Context, text string) ([]actionclaims.Claim, error) {
	if k.model.chosen == nil || k.model.by == offlineBrain || k.model.chosen.Info().Provider == offlineBrain || k.model.chosen.Info().Acts {
		return nil, nil
	}
	claims := actionclaims.Find(text, strings.Join(k.userMessages(), "\n"))
	if len(claims) == 0 {
		return nil, nil
	}
	deeds := k.hist.effectfulCalls()
	claims = slices.DeleteFunc(claims, func(c actionclaims.Claim) bool { return c.IsBackedBy(deeds) || k.isBorneOut(c, deeds) })
	if len(claims) == 0 {
		return nil, nil
	}
	asked := k.isUserQuestion()
	if !asked && !slices.ContainsFunc(claims, func(c actionclaims.Claim) bool { return c.Earlier }) {
		return claims, nil
	}
	entries, err := k.o.Bus.Ledger.EffectfulCalls(ctx, k.t.Event.Session, earlierCalls)
	if err != nil {
		return nil, err
	}
	var before []actionclaims.Action
	for _, e := range entries {
		before = append(before, actionclaims.Action{Tool: e.Tool, Effects: e.Effects})
	}
	return slices.DeleteFunc(claims, func(c actionclaims.Claim) bool { return (asked || c.Earlier) && c.IsBackedBy(before) }), nil
}

// isBorneOut reports whether something other than a call with effects supports a claim. This can be
// text read in this turn, words from another person that the answer repeats, or any call if the
// answer only says that all is done. For a question, text from an earlier turn also counts.
func (k *claimChecker) isBorneOut(c actionclaims.Claim, deeds []actionclaims.Action) bool {
	results := k.resultTexts(c.Impersonal && k.isUserQuestion())
	switch {
	case c.Complete:
		return len(deeds) > 0 || len(results) > 0
	case c.IsQuotedFrom(results):
		return true
	case !c.Impersonal && !c.State:
		return false
	case c.State && !c.Owned && slices.ContainsFunc(k.userMessages(), actionclaims.AsksForExplanation):
		return true
	}
	if c.Family == actionclaims.AnyFamily && !c.State {
		return len(results) > 0
	}
	return c.IsSupportedBy(results)
}

// resultTexts returns the tool results and the messages from other people in this turn or, if whole
// is true, in the entire context.
func (k *claimChecker) resultTexts(whole bool) []string {
	from := k.conv.own
	if whole {
		from = 0
	}
	out := slices.Clone(k.t.Outside)
	for _, m := range k.conv.msgs[from:] {
		for _, p := range m.Parts {
			switch {
			case m.Role == llm.ToolRole && p.Result != nil && !p.Result.Error:
				out = append(out, p.Result.Name+"\n"+p.Result.Text)
			case m.Role == llm.User && p.Source.Tainted():
				out = append(out, p.Text)
			}
		}
	}
	return out
}

// isUserQuestion reports whether the user asked a question.
func (k *claimChecker) isUserQuestion() bool {
	return slices.ContainsFunc(k.userMessages(), actionclaims.IsQuestion)
}

// userMessages returns the message that started the turn and the messages that arrived while it
// ran.
func (k *claimChecker) userMessages() []string { return append([]string{k.t.Text}, k.conv.words...) }

// checkMark is the prefix of the hint about a claim. After a crash, it shows that the one
// additional model call was made.
const checkMark = "[check] "

// isClaimHint reports whether a recorded message is the hint about a claim.
func isClaimHint(m llm.Message) bool {
	return m.Role == llm.User && slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
		return p.Context && p.Source != provenance.Owner && strings.HasPrefix(p.Text, checkMark)
	})
}

// earlierCalls is the maximum number of calls that are checked for claims about earlier turns.
const earlierCalls = 500

// offlineBrain is the provider name of the built-in brain.
const offlineBrain = "offline"
