package agent

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"hob/autonomy/guard"
	"hob/tools"
)

// Numbers of the loop breaker.
const (
	warnRepeats   = 3
	refuseRepeats = 4
	warnTurns     = 4 // A-B-A-B
	refuseTurns   = 6 // A-B-A-B-A-B
	maxRefusals   = 2
	maxCalls      = 64  // of one answer
	lastWords     = 256 // minimum tokens for an answer, even if the budget is used up
	window        = 8
)

// limiting bounds the turn: rounds, tokens, repeats, failures.
func (r *run) limiting() link {
	return link{
		name: "limits", always: true, // a model may make the same mistake for ever
		beforeModel: func(_ context.Context, q *modelCall) error {
			if r.round+r.lent > r.o.Limits.Rounds || r.spent > r.o.Limits.Tokens {
				r.limits.final = true
			}
			q.req.NoTools = r.limits.final
			q.req.MaxTokens = max(r.o.Limits.Tokens-r.spent, lastWords)
			return nil
		},
		afterModel: func(_ context.Context, q *modelCall) {
			if r.spent += q.resp.Usage.Output; q.resp.Usage.Output == 0 {
				r.spent += tokens(q.resp.Parts)
			}
		},
		beforeTool: func(_ context.Context, s *step) error {
			if r.limits.refuse(s.what()) {
				s.refuse("repeated", tools.Errorf(tools.Repeated, "this call was made again and again in this turn and is refused; use what you have or say what is in the way"))
			}
			return nil
		},
		afterTool: func(_ context.Context, s *step) {
			if r.t.Call != nil {
				return // hints are for models
			}
			name, _ := s.what()
			s.text += r.limits.note(name, s.args, s.err)
			if s == r.steps[len(r.steps)-1] {
				s.text += r.limits.hint(r.round+r.lent, r.spent > r.o.Limits.Tokens)
			}
		},
	}
}

// counter watches one turn for going round in circles.
type counter struct {
	limits   Limits
	recent   []string       // hashes of the last calls
	failed   map[string]int // tool -> consecutive failures
	errors   map[string]int // "tool: code" -> times
	refusals int
	hinted   int  // percent of the rounds that were last spoken of
	final    bool // the next model call is the tool-less answer
}

func newCounter(l Limits) counter {
	return counter{limits: l, failed: map[string]int{}, errors: map[string]int{}}
}

// count takes a call into the window.
func (c *counter) count(tool string, args []byte) {
	c.recent = append(c.recent, guard.Hash(tool, args))
	if len(c.recent) > window {
		c.recent = c.recent[1:]
	}
}

// refuse counts a call and reports whether it was repeated too often recently.
func (c *counter) refuse(tool string, args []byte) bool {
	c.count(tool, args)
	if c.repeats(guard.Hash(tool, args)) < refuseRepeats && c.turns() < refuseTurns {
		return false
	}
	if c.refusals++; c.refusals >= maxRefusals {
		c.final = true
	}
	return true
}

// repeats counts a call in the window.
func (c *counter) repeats(hash string) (n int) {
	for _, h := range c.recent {
		if h == hash {
			n++
		}
	}
	return n
}

// turns returns how many of the last calls alternate between two calls.
func (c *counter) turns() int {
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

// note returns what to add to a call's result for the model.
func (c *counter) note(tool string, args []byte, err error) string {
	if err != nil {
		c.failed[tool]++
		c.errors[tool+": "+string(tools.CodeOf(err))]++
		if c.failed[tool] == c.limits.Failures {
			return fmt.Sprintf("\n[hint] %s has failed %d times in a row. Try something else, or say what is in the way.", tool, c.failed[tool])
		}
		return ""
	}
	delete(c.failed, tool)
	h := guard.Hash(tool, args)
	switch {
	case c.repeats(h) == warnRepeats:
		return "\n[hint] You have made this very call three times. Its result will not change; use what you have."
	case len(c.recent) > 0 && c.recent[len(c.recent)-1] == h && c.turns() == warnTurns:
		return "\n[hint] You are going back and forth between two calls. Their results will not change; use what you have."
	}
	return ""
}

// hint adds a hint to the last result if few rounds remain.
func (c *counter) hint(round int, spent bool) string {
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
		return "\n[hint] Most of the tool budget of this turn is used: bring it together."
	}
	return ""
}

// diagnosis returns an answer in place of an empty one.
func (c *counter) diagnosis() string {
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
