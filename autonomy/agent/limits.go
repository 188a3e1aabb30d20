package agent

import (
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
	maxRefusals   = 2
	window        = 8
)

// counter watches one turn for going round in circles.
type counter struct {
	limits   Limits
	seen     map[string]int // call hash -> times
	recent   []string       // hashes of the last calls, for A-B-A-B
	failed   map[string]int // tool -> consecutive failures
	errors   map[string]int // "tool: code" -> times
	refusals int
	final    bool // the next model call is the tool-less answer
}

func newCounter(l Limits) counter {
	return counter{limits: l, seen: map[string]int{}, failed: map[string]int{}, errors: map[string]int{}}
}

// refuse reports whether this very call was made too often in this turn.
func (c *counter) refuse(tool string, args []byte) bool {
	h := guard.Hash(tool, args)
	c.seen[h]++
	c.recent = append(c.recent, h)
	if len(c.recent) > window {
		c.recent = c.recent[1:]
	}
	if c.seen[h] < refuseRepeats && !c.pingPong() {
		return false
	}
	if c.refusals++; c.refusals >= maxRefusals {
		c.final = true
	}
	return true
}

// pingPong finds A-B-A-B filling the whole window.
func (c *counter) pingPong() bool {
	if len(c.recent) < window || c.recent[0] == c.recent[1] {
		return false
	}
	for i := 2; i < len(c.recent); i++ {
		if c.recent[i] != c.recent[i-2] {
			return false
		}
	}
	return true
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
	if c.seen[guard.Hash(tool, args)] == warnRepeats {
		return "\n[hint] You have made this very call three times. Its result will not change; use what you have."
	}
	return ""
}

// hint rides in the last result as the rounds run out.
func (c *counter) hint(round int) string {
	switch {
	case c.final || round >= c.limits.Rounds:
		c.final = true
		return "\n[hint] No more tools in this turn. Answer now in words: what is done, what failed and why."
	case round == c.limits.Rounds*9/10:
		return "\n[hint] The tool budget of this turn is nearly used up: answer now."
	case round == c.limits.Rounds*7/10:
		return "\n[hint] Most of the tool budget of this turn is used: bring it together."
	}
	return ""
}

// diagnosis answers in place of a model that has nothing to say.
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
