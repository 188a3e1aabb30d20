package turn

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"hob/autonomy/guard"
	"hob/autonomy/hooks"
	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/tools"
)

// callStep is the state of one call of a model's answer.
type callStep struct {
	call   llm.ToolCall // as requested by the model
	tool   tools.Tool   // the tool to execute
	args   json.RawMessage
	dec    guard.Decision
	err    error // error of a call that did not run, or of its tool
	result tools.Result
	ran    bool
	// decided reports whether the call has passed the middleware chain. The call may not have run
	// yet.
	decided bool
	// delayed reports whether the call waits in the database so that the user can cancel it; see
	// delayedCall.
	delayed bool
	took    time.Duration
	text    string // the part that the model reads
	body    int    // number of leading bytes of text that are the result; hints follow
	// inView lists the origins of the untrusted text that was in context when the call was decided,
	// and tainted reports whether there was any such text. Calls that run together are all decided
	// before the first of them runs.
	inView  []provenance.Origin
	tainted bool
	// added is the text that the user's hooks added to the result.
	added []hooks.Added
	// heldInMemory reports whether the caller blocks until the owner answers. Such an approval
	// request cannot stay open for days.
	heldInMemory bool
}

// hasOutcome reports whether the call's result is known.
func (s *callStep) hasOutcome() bool { return s.ran || s.err != nil }

// refuseCall refuses a call before the policy check.
func (s *callStep) refuseCall(rule string, err error) {
	s.err, s.dec = err, guard.Decision{Verdict: guard.Deny, Rule: rule}
}

// applyDenial ends a call that the guard denied. The reason has Hob's provenance, unless it comes
// from the tool's refusal, which may quote text that the tool read.
func (s *callStep) applyDenial() {
	if s.dec.Verdict != guard.Deny {
		return
	}
	src := provenance.Tool
	if s.dec.Judgment.Refused != nil {
		src = tools.SourceOf(s.dec.Judgment.Refused)
	}
	code := cmp.Or(s.dec.Code, tools.PolicyDenied)
	s.err = &tools.Error{Code: code, Message: s.dec.Reason, Source: src}
}

// refuseUngranted refuses a call whose grant ended before it started.
func (s *callStep) refuseUngranted(err error) bool {
	if s == nil || !errors.Is(err, guard.ErrGrantEnded) {
		return false
	}
	rule := s.dec.Rule
	s.refuseCall(rule, tools.Errorf(tools.PolicyDenied, "%w", tools.CleanErr(guard.ErrGrantEnded)))
	return true
}

// toolAndArgs returns the tool and the arguments that identify the call for the loop detector.
func (s *callStep) toolAndArgs() (tool string, args []byte) {
	if s.tool == nil {
		return s.call.Name, s.call.Args
	}
	return s.tool.Spec().Name, s.args
}

func decisionOf(s *callStep) string { return s.dec.Verdict.String() + ": " + s.dec.Rule }

func outcomeOf(s *callStep) string {
	if s.err != nil {
		return string(tools.CodeOf(s.err))
	}
	return "done"
}

// outcomeSource returns the provenance of a call's own result or error. If the call has none, it
// returns the untrusted provenance.
func outcomeSource(s *callStep) provenance.Source {
	src := s.result.Source
	if s.err != nil {
		src = provenance.Worst(tools.SourceOf(s.err), cmp.Or(src, provenance.Tool)) // after an error there is often no result
	}
	return provenance.Worst(src)
}

func callsOf(m llm.Message) []llm.ToolCall {
	r := llm.Response{Parts: m.Parts}
	return r.Calls()
}

func textOf(m llm.Message) string {
	r := llm.Response{Parts: m.Parts}
	return strings.TrimSpace(r.Text())
}

func dropCalls(parts []llm.Part) []llm.Part {
	out := parts[:0]
	for _, p := range parts {
		if p.Call == nil {
			out = append(out, p)
		}
	}
	return out
}
