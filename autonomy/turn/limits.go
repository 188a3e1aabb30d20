package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"hob/autonomy/guard"
	"hob/tools"
)

// turnBudget tracks how much of its limits the turn has used. It refuses calls that repeat without
// progress.
type turnBudget struct {
	o     *Options
	t     *Turn
	hist  *callHistory
	rec   *stepRecorder
	loops loopDetector
	round int
	spent int // output tokens, estimated if the model does not count them
	lent  int // rounds used by delegated tasks
}

// limitMiddleware returns the middleware that limits the turn's rounds, tokens, repeated calls and
// failures.
func (l *turnBudget) limitMiddleware() middleware {
	return middleware{
		name: "limits", always: true, // also for refused calls, because a model may repeat the same mistake
		beforeModel: func(_ context.Context, q *modelCall) error {
			if l.round+l.lent > l.o.Limits.Rounds || l.spent > l.o.Limits.Tokens {
				l.loops.final = true
			}
			q.req.NoTools = l.loops.final
			q.req.MaxTokens = max(l.o.Limits.Tokens-l.spent, lastWords)
			return nil
		},
		afterModel: func(_ context.Context, q *modelCall) {
			if l.spent += q.resp.Usage.Output; q.resp.Usage.Output == 0 {
				l.spent += estimateTokens(q.resp.Parts)
			}
		},
		beforeTool: func(_ context.Context, s *callStep) error {
			if l.loops.countAndCheck(s.toolAndArgs()) {
				s.refuseCall("repeated", tools.Errorf(tools.Repeated, "this call was repeated too often in this turn and is refused; use the results that you have, or report what is missing"))
			}
			return nil
		},
		afterTool: func(_ context.Context, s *callStep) {
			if l.t.Call != nil {
				return // hints are for models
			}
			name, _ := s.toolAndArgs()
			s.text += l.loops.resultNote(name, s.args, s.err)
			if s == l.hist.steps[len(l.hist.steps)-1] {
				s.text += l.loops.roundsHint(l.round+l.lent, l.spent > l.o.Limits.Tokens)
			}
		},
	}
}

// recountLent restores the rounds and tokens that a call's delegated tasks have used.
func (l *turnBudget) recountLent(s *callStep) {
	if _, waits := s.tool.(tools.Waiter); !waits {
		return
	}
	var used struct{ Rounds, Tokens int }
	if json.Unmarshal(l.rec.ledger[s.call.ID].Data, &used) == nil {
		l.lent += used.Rounds
		l.spent += used.Tokens
	}
}

// Limits of the loop detector.
const (
	warnRepeats   = 3
	refuseRepeats = 4
	warnTurns     = 4 // pattern A-B-A-B
	refuseTurns   = 6 // pattern A-B-A-B-A-B
	maxRefusals   = 2
	maxCalls      = 64  // per answer
	lastWords     = 256 // minimum tokens for an answer, even if the budget is used up
	window        = 8
)

// loopDetector detects calls or failures that repeat without progress in a turn.
type loopDetector struct {
	limits   Limits
	recent   []string       // hashes of the last calls
	failed   map[string]int // tool -> consecutive failures
	errors   map[string]int // "tool: code" -> number of failures
	refusals int
	hinted   int  // percentage of used rounds at the last hint to the model
	final    bool // the next model call gets no tools and must answer
}

func newCounter(l Limits) loopDetector {
	return loopDetector{limits: l, failed: map[string]int{}, errors: map[string]int{}}
}

// countCall adds a call to the window of recent calls.
func (c *loopDetector) countCall(tool string, args []byte) {
	c.recent = append(c.recent, guard.HashArguments(tool, args))
	if len(c.recent) > window {
		c.recent = c.recent[1:]
	}
}

// countAndCheck counts a call and reports whether it was repeated too often among the recent calls.
func (c *loopDetector) countAndCheck(tool string, args []byte) bool {
	c.countCall(tool, args)
	if c.countRepeats(guard.HashArguments(tool, args)) < refuseRepeats && c.countAlternations() < refuseTurns {
		return false
	}
	if c.refusals++; c.refusals >= maxRefusals {
		c.final = true
	}
	return true
}

// countRepeats returns how often a call occurs in the window of recent calls.
func (c *loopDetector) countRepeats(hash string) (n int) {
	for _, h := range c.recent {
		if h == hash {
			n++
		}
	}
	return n
}

// countAlternations returns how many of the most recent calls alternate between two different
// calls.
func (c *loopDetector) countAlternations() int {
	n := len(c.recent)
	if n < 2 || c.recent[n-1] == c.recent[n-2] {
		return 0
	}
	k := 2
	for k < n && c.recent[n-1-k] == c.recent[n-1-k+2] {
		k++
	}
	return k
}

// resultNote returns a note for the model, to be appended to a call's result.
func (c *loopDetector) resultNote(tool string, args []byte, err error) string {
	if tools.CodeOf(err) == tools.InputRequired { // tools.CodeOf(nil) is Failed
		return questionHint
	}
	if err != nil {
		c.failed[tool]++
		c.errors[tool+": "+string(tools.CodeOf(err))]++
		if c.failed[tool] == c.limits.Failures {
			return fmt.Sprintf("\n[hint] %s has failed %d times in a row. Try something else, or say what is in the way.", tool, c.failed[tool])
		}
		return ""
	}
	delete(c.failed, tool)
	h := guard.HashArguments(tool, args)
	switch {
	case c.countRepeats(h) == warnRepeats:
		return "\n[hint] You have made exactly this call three times. Its result will not change; use what you have."
	case len(c.recent) > 0 && c.recent[len(c.recent)-1] == h && c.countAlternations() == warnTurns:
		return "\n[hint] You are going back and forth between two calls. Their results will not change; use what you have."
	}
	return ""
}

// questionHint follows the error of a call whose server asks the user a question. The question itself
// is untrusted text, the hint is not.
const questionHint = "\n[hint] Show the question to the user in your answer and wait. Pass on only what the user answers, with the tool whose name ends with __answer_question. For an address to open, call that tool at once: the user sees the address with the approval request."

// roundsHint returns a hint to append to the last result if few rounds remain.
func (c *loopDetector) roundsHint(round int, spent bool) string {
	used := round * 100 / c.limits.Rounds
	switch {
	case c.final || spent || used >= 100:
		c.final = true
		return "\n[hint] No more tools in this turn. Answer now in words: what is done, what failed and why."
	case used >= 90 && c.hinted < 90:
		c.hinted = 90
		return "\n[hint] The tool budget of this turn is nearly used up: answer now."
	case used >= 70 && c.hinted < 70:
		c.hinted = 70
		return "\n[hint] Most of the tool budget of this turn is used: start to wrap up."
	}
	return ""
}

// diagnoseStop returns the text to show if the answer is empty.
func (c *loopDetector) diagnoseStop() string {
	if len(c.errors) == 0 {
		return "The model gave an empty answer. Ask again, or choose another model with `hob config set agent.model`."
	}
	var list []string
	for k, n := range c.errors {
		list = append(list, fmt.Sprintf("%s (%d×)", k, n))
	}
	sort.Strings(list)
	return "I could not finish this. What failed: " + strings.Join(list, ", ") + "."
}
