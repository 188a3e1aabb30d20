package agents

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hob/tools"
)

// category is the prefix of a pattern for a category of tools.
const category = "category:"

// engine is the category of tools that the engine refers to, such as the tool that reads the
// rest of a long result: an agent with any tools has these too.
const engine = "engine"

// matchesTool reports whether a pattern matches the tool: its name, "read_*", or "category:files".
func matchesTool(pattern string, s *tools.Spec) bool {
	name := s.Name
	if c, ok := strings.CutPrefix(pattern, category); ok {
		pattern, name = c, s.Category
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func fitsAny(patterns []string, s *tools.Spec) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matchesTool(p, s) })
}

// FilterTools returns the tools of an agent: the allowed ones (all without a list) minus the denied
// ones. A pattern without a match is an error: a typo in the deny list would leave the tool
// available.
func FilterTools(all []tools.Tool, allow, deny []string) ([]tools.Tool, error) {
	for _, p := range slices.Concat(allow, deny) {
		if !slices.ContainsFunc(all, func(t tools.Tool) bool { return matchesTool(p, t.Spec()) }) {
			return nil, fmt.Errorf("no tool or category matches %q; list them with: hob tool list", p)
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
