package crew

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hob/tools"
)

// category marks a pattern for whole categories of tools.
const category = "category:"

// engine is the category of tools that the engine itself speaks of to models,
// such as the one for the rest of a long result: who is allowed some tools has
// these, too.
const engine = "engine"

// fits reports whether a pattern means the tool: its name, "read_*", or
// "category:files".
func fits(pattern string, s *tools.Spec) bool {
	name := s.Name
	if c, ok := strings.CutPrefix(pattern, category); ok {
		pattern, name = c, s.Category
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func fitsAny(patterns []string, s *tools.Spec) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(p, s) })
}

// Narrow returns the tools that an agent has: those it is allowed (all when
// nothing is), without those it is denied. A pattern that fits no tool is an
// error: a slip in a list of what is denied would leave the tool there.
func Narrow(all []tools.Tool, allow, deny []string) ([]tools.Tool, error) {
	for _, p := range slices.Concat(allow, deny) {
		if !slices.ContainsFunc(all, func(t tools.Tool) bool { return fits(p, t.Spec()) }) {
			return nil, fmt.Errorf("no tool or category fits %q; list them with: hob tool list", p)
		}
	}
	var out []tools.Tool
	for _, t := range all {
		if s := t.Spec(); (len(allow) == 0 || s.Category == engine || fitsAny(allow, s)) && !fitsAny(deny, s) {
			out = append(out, t)
		}
	}
	return out, nil
}
