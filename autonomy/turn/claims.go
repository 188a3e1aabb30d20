package turn

import (
	"context"
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/turn/actionclaims"
	"hob/platform/provenance"
	"hob/platform/text/minitmpl"
	"hob/platform/text/textnorm"
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
	checked bool // the model got the hint about a claim without a call
}

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

// concludeAnswer returns the answer that ends the turn, unless the answer claims an action that no call
// performed. It sends the model one hint; if the next answer repeats the claim, it corrects the
// answer.
func (k *claimChecker) concludeAnswer(ctx context.Context, text string) (answer string, done bool) {
	claims, err := k.findUnbackedClaims(ctx, text)
	if err != nil {
		k.o.Log.WarnContext(ctx, "cannot look up what an answer claims", "event", k.t.Event.ID, "err", err)
	}
	if len(claims) == 0 {
		return k.conv.defuseLinks(text), true
	}
	k.o.Log.InfoContext(ctx, "an answer claims what no call did", "event", k.t.Event.ID, "claims", len(claims), "corrected", k.checked)
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

// findUnbackedClaims lists the claims of an answer that no call supports. It skips the built-in brain,
// which builds its answers from results, and external agents, because the ledger does not
// contain all their actions.
func (k *claimChecker) findUnbackedClaims(ctx context.Context, text string) ([]actionclaims.Claim, error) {
	if k.model.chosen == nil || k.model.by == offlineBrain || k.model.chosen.Info().Provider == offlineBrain || k.model.chosen.Info().Acts {
		return nil, nil
	}
	claims := actionclaims.Find(text, strings.Join(append([]string{k.t.Text}, k.conv.words...), "\n"))
	if len(claims) == 0 {
		return nil, nil
	}
	deeds := k.hist.effectfulCalls()
	claims = slices.DeleteFunc(claims, func(c actionclaims.Claim) bool { return isClaimBacked(c, deeds) || k.isBorneOut(c, deeds) })
	if len(claims) == 0 {
		return nil, nil
	}
	asked := k.isUserQuestion()
	if !asked && !slices.ContainsFunc(claims, func(c actionclaims.Claim) bool { return c.Earlier }) {
		return claims, nil
	}
	entries, err := k.o.Bus.EffectfulCalls(ctx, k.t.Event.Session, earlierCalls)
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

// minQuote is the minimum length in bytes of a clause whose words in a result are not a
// coincidence.
const minQuote = 12

var (
	// modal begins a request in the form of a question: "can you set a reminder?"
	modal = regexp.MustCompile(`(?i)(^|[.!,;]\s*)(please |bitte |hey |hi |so |and )*(can|could|would|will|may|kannst|könntest|können|könnten|würdest|peux|pouvez|pourrais|pourriez|puedes|podrías|puede|puoi|potresti|può|kun|kunt|zou|pode|poderia|podes)[ -](you|i|we|du|sie|ihr|tu|vous|me|mi|je|u|você)?\b`)
	// inquiry matches questions about past actions.
	inquiry = regexp.MustCompile(`(?i)\b(tell|say|check|confirm|see|show|know|remember|whether|sag|sagen|prüf\w*|weißt|ob|dire|vérifi\w*|decir|confirm\w*|dirmi|zeggen|dizer)\b`)
	// explaining matches questions about a state or an explanation, which request no action.
	explaining = regexp.MustCompile(`(?i)\b(what|how|why|where|when|which|who|explain|describe|was|wie|warum|wo|wann|welche\w*|wer|erklär\w*|comment|pourquoi|où|quand|quel\w*|qui|explique\w*|qué|cómo|por qué|dónde|cuándo|cuál|quién|explica\w*|cosa|come|perché|dove|quando|quale|chi|spiega\w*|wat|hoe|waarom|waar|wanneer|welke|wie|o que|como|por que|onde|qual|quem|explique)\b`)
)

// isBorneOut reports whether something other than a call with effects supports a claim: text read
// in this turn, words of another person that the answer repeats, or any call if the answer only
// says that all is done. For a question, text of an earlier turn counts too.
func (k *claimChecker) isBorneOut(c actionclaims.Claim, deeds []effectfulCall) bool {
	results := k.resultTexts(c.Impersonal && k.isUserQuestion())
	switch {
	case c.Complete:
		return len(deeds) > 0 || len(results) > 0
	case isRepeatedClause(c.Phrase, results):
		return true
	case !c.Impersonal && !c.State:
		return false
	case c.State && !c.Owned && k.isExplanationRequest():
		return true
	}
	if c.Family == actionclaims.AnyFamily && !c.State {
		return len(results) > 0
	}
	return slices.ContainsFunc(results, func(text string) bool { return isClaimSupported(text, c) }) && sameTimes(c.Phrase, results)
}

// resultTexts returns the texts of tools and of other people: those of this turn, or, if whole, of
// the entire context.
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

// isUserQuestion reports whether the user asked a question, so that the answer may report on earlier
// turns. "Can you set a reminder?" does not count.
func (k *claimChecker) isUserQuestion() bool {
	question := func(s string) bool {
		for part := range strings.SplitAfterSeq(s, "?") {
			if strings.HasSuffix(part, "?") && (!modal.MatchString(part) || inquiry.MatchString(part)) {
				return true
			}
		}
		return false
	}
	return question(k.t.Text) || slices.ContainsFunc(k.conv.words, question)
}

// isExplanationRequest reports whether the user asked how something is or works.
func (k *claimChecker) isExplanationRequest() bool {
	return slices.ContainsFunc(append([]string{k.t.Text}, k.conv.words...), explaining.MatchString)
}

// isRepeatedClause reports whether a result contains a clause verbatim.
func isRepeatedClause(clause string, results []string) bool {
	want := textnorm.Fold(strings.TrimRight(clause, ".!"))
	return len(want) >= minQuote && slices.ContainsFunc(results, func(s string) bool { return strings.Contains(textnorm.Fold(s), want) })
}

// isClaimSupported reports whether a result supports a claim: a tool of the same family produced
// it, or it contains one of the claim's words.
func isClaimSupported(result string, c actionclaims.Claim) bool {
	tool, _, _ := strings.Cut(result, "\n")
	if c.Family != actionclaims.AnyFamily && familyOf(tool) == c.Family {
		return true
	}
	words := textnorm.FoldedWords(result)
	return slices.ContainsFunc(textnorm.FoldedWords(c.Phrase), func(w string) bool {
		return len([]rune(w)) >= 4 && !slices.Contains([]string{"your", "that", "this", "will", "everything", "scheduled"}, w) && slices.Contains(words, w)
	})
}

var number = regexp.MustCompile(`\d+`)

// sameTimes reports whether a result contains a number of the clause, also as an hour of the
// afternoon. A clause without numbers passes.
func sameTimes(clause string, results []string) bool {
	named := number.FindAllString(clause, -1)
	if len(named) == 0 {
		return true
	}
	have := map[int]bool{}
	for _, s := range results {
		for _, n := range number.FindAllString(s, -1) {
			if v, err := strconv.Atoi(n); err == nil {
				have[v] = true
			}
		}
	}
	return slices.ContainsFunc(named, func(n string) bool {
		v, err := strconv.Atoi(n)
		return err != nil || have[v] || v <= 12 && have[v+12]
	})
}

// familyOf derives the family of the items that a tool handles from its name.
func familyOf(tool string) actionclaims.Family {
	for _, f := range []struct {
		family actionclaims.Family
		words  []string
	}{
		{actionclaims.Plan, []string{"remind", "alarm", "timer", "schedule", "calendar", "event", "task", "watch", "goal", "habit", "meeting"}},
		{actionclaims.Text, []string{"file", "directory", "folder", "note", "document"}},
	} {
		if slices.ContainsFunc(f.words, func(w string) bool { return strings.Contains(tool, w) }) {
			return f.family
		}
	}
	return actionclaims.AnyFamily
}
