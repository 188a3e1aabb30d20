package turn

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/turn/actionclaims"
	"hob/platform/provenance"
	"hob/tools"
)

// callHistory lists the calls of the turn: the calls of the last answer, some of which may not have
// run yet, and all calls that ended earlier.
type callHistory struct {
	o     *Options
	t     *Turn
	conv  *conversation
	rec   *stepRecorder
	steps []*callStep           // the calls of the last answer, while they are processed
	ended map[string]priorCall  // calls that ended since the turn was resumed
	did   []actionclaims.Action // successful actions since the turn was resumed
}

// rememberCall records a finished call.
func (h *callHistory) rememberCall(s *callStep) {
	if s.tool == nil {
		return
	}
	h.ended[s.call.ID] = pastStep(s, s.ran && s.err == nil || tools.CodeOf(s.err) == tools.OutcomeUnknown)
}

// recordEffect records a successful call with effects.
func (h *callHistory) recordEffect(s *callStep) {
	if s.ran && s.err == nil && s.tool != nil {
		h.did = append(h.did, actionclaims.Action{Tool: s.tool.Spec().Name, Effects: s.tool.Spec().Effects.String()})
	}
}

// effectfulCalls returns the completed calls in this turn that changed something.
func (h *callHistory) effectfulCalls() []actionclaims.Action {
	out := slices.Clone(h.did)
	for _, e := range h.rec.ledger {
		if e.State == "done" {
			out = append(out, actionclaims.Action{Tool: e.Tool, Effects: e.Effects})
		}
	}
	return out
}

// priorCall is an earlier call in this turn, with the data that the guard's limits need.
type priorCall struct {
	tool, decision string
	ran            bool // whether the call ran, or may have run
	items          int  // number of items it changes; 0: not stored, ask the tool with args
	args           json.RawMessage
	links          []string
	urls           []string // addresses that the call contacted; nil means that they are not stored, so ask the tool with args
}

// pastOf converts a ledger entry of this turn. The entry may come from an earlier attempt.
func pastOf(e bus.Entry) priorCall {
	return priorCall{tool: e.Tool, decision: e.Decision, args: e.Args, links: e.Links, ran: e.State == bus.CallDone || e.State == bus.CallStarted || e.State == bus.CallUnknown}
}

func pastStep(s *callStep, ran bool) priorCall {
	return priorCall{
		tool: s.tool.Spec().Name, decision: decisionOf(s), items: max(1, s.dec.Judgment.Items), args: s.args, links: openableAddresses(s), ran: ran,
		urls: s.dec.Judgment.URLs,
	}
}

// priorCalls returns the calls in this turn before s: the calls of earlier answers, and those
// before s in the same answer that have run or may run.
func (h *callHistory) priorCalls(s *callStep) []priorCall {
	all := map[string]priorCall{}
	for id, p := range h.ended {
		all[id] = p
	}
	for id, e := range h.rec.ledger { // the ledger also has the calls before a crash, with the rule that allowed each
		all[id] = pastOf(e)
	}
	before := true
	for _, o := range h.steps {
		_, recorded := h.rec.ledger[o.call.ID]
		switch before = before && o != s; {
		case !before:
			delete(all, o.call.ID)
		case !recorded && o.tool != nil:
			all[o.call.ID] = pastStep(o, o.ran && o.err == nil || !o.hasOutcome() && o.dec.Verdict == guard.Allow)
		}
	}
	out := make([]priorCall, 0, len(all))
	for _, p := range all {
		out = append(out, p)
	}
	return out
}

// countChanges returns how many items the step's tool has changed in this turn, and whether the
// owner approved or denied such a batch of changes in this turn.
func (h *callHistory) countChanges(ctx context.Context, s *callStep) (n int, agreed, refused bool) {
	name := s.tool.Spec().Name
	for _, p := range h.priorCalls(s) {
		if p.tool != name {
			continue
		}
		if strings.HasSuffix(p.decision, guard.BatchMark) {
			agreed = agreed || strings.HasPrefix(p.decision, guard.Allow.String())
			refused = refused || strings.HasPrefix(p.decision, guard.Deny.String())
		}
		if p.items == 0 {
			p.items = max(1, tools.JudgmentOf(ctx, s.tool, p.args).Items)
		}
		if p.ran {
			n += p.items
		}
	}
	return n, agreed, refused
}

// egressEvidence collects the evidence for an egress decision. The owner's words are Turn.Words,
// the parts of user messages with the owner's provenance, and the arguments of a call that the
// owner wrote. Text added by Hob, summaries and tool results do not count.
func (h *callHistory) egressEvidence(ctx context.Context, s *callStep) guard.EgressEvidence {
	out := guard.EgressEvidence{Words: slices.Clone(h.t.Words), Now: slices.Clone(h.t.Words)}
	for i, m := range h.conv.msgs {
		if m.Role != llm.User {
			continue
		}
		for _, p := range m.Parts {
			if p.Source != provenance.Owner || p.Context || p.Text == "" {
				continue
			}
			out.Words = append(out.Words, p.Text)
			if i >= h.conv.own {
				out.Now = append(out.Now, p.Text)
			}
		}
	}
	if h.t.Call != nil && h.t.Source == provenance.Owner { // the owner wrote the call
		words := jsonStrings(h.t.Call.Args)
		out.Words, out.Now = append(out.Words, words...), append(out.Now, words...)
	}
	for _, p := range h.priorCalls(s) {
		if p.ran {
			out.Links = append(out.Links, p.links...)
		}
		if p.ran && p.decision == guard.Allow.String()+": "+guard.Verbatim {
			if p.urls == nil {
				p.urls = h.urlsOf(ctx, p)
			}
			out.Opened = append(out.Opened, p.urls...)
		}
	}
	return out
}

// urlsOf returns the addresses that a call contacted before the turn was suspended. If they are
// unknown, they count as 1 address.
func (h *callHistory) urlsOf(ctx context.Context, p priorCall) []string {
	if t, ok := h.o.Catalog.Get(p.tool); ok {
		if u := tools.JudgmentOf(ctx, t, p.args).URLs; len(u) > 0 {
			return u
		}
	}
	return []string{""}
}

// jsonStrings returns the strings in a JSON value.
func jsonStrings(raw json.RawMessage) []string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	var out []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
	return out
}

// Limits on the addresses stored for one result: their number, and the length of each in bytes.
const (
	maxLinks = 300
	maxLink  = 2048
)

// openableAddresses returns the addresses in a step's result that the model may open next without
// changes. A page may repeat its own address. If the model invented that address, an address on
// another host that contains a piece of it is excluded, because the model could have put data into
// that piece.
func openableAddresses(s *callStep) []string {
	list := linksOf(s.tool, s.result)
	if s.dec.Rule == guard.Verbatim || len(s.dec.Judgment.URLs) == 0 {
		return list
	}
	var pieces, hosts []string
	for _, raw := range s.dec.Judgment.URLs {
		if u, err := url.Parse(raw); err == nil {
			hosts = append(hosts, u.Hostname())
			pieces = append(pieces, piecesOf(decodePlain(u.EscapedPath()+" "+u.RawQuery))...)
		}
	}
	return slices.DeleteFunc(list, func(l string) bool {
		u, err := url.Parse(l)
		if err != nil {
			return true
		}
		text := decodePlain(u.Host + u.EscapedPath() + " " + u.RawQuery)
		return !slices.Contains(hosts, u.Hostname()) && slices.ContainsFunc(pieces, func(p string) bool { return strings.Contains(text, p) })
	})
}

// echoed is the minimum length in bytes of an address piece that can carry data.
const echoed = 4

func piecesOf(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(list, func(p string) bool { return len(p) < echoed })
}

// decodePlain decodes up to 3 levels of URL escapes and converts s to lower case, so that neither
// can hide text.
func decodePlain(s string) string {
	for range 3 {
		plain, err := url.QueryUnescape(s)
		if err != nil || plain == s {
			break
		}
		s = plain
	}
	return strings.ToLower(s)
}

// linksOf returns the addresses in a result that the model may open next. It returns none for a
// third-party tool, because such addresses may contain the arguments of the call.
func linksOf(t tools.Tool, res tools.Result) []string {
	if len(res.Links) == 0 || t != nil && t.Spec().Foreign {
		return nil
	}
	out := make([]string, 0, min(len(res.Links), maxLinks))
	for _, l := range res.Links {
		if len(out) < maxLinks && len(l) <= maxLink && !strings.ContainsAny(l, "\n\r") && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}
