package agents

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hob/tools"
)

// category is the prefix of a pattern that matches a category of tools.
const category = "category:"

// engine is the category of tools that the engine refers to, such as the tool that reads the rest
// of a long result. An agent that has any tools also has these.
const engine = "engine"

// matchesTool reports whether a pattern matches the tool. A pattern is a tool name, "read_*", or
// "category:files".
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

// FilterTools returns an agent's tools: the allowed ones (all, if allow is empty) minus the denied
// ones. A pattern that matches no tool is an error, because a typo in the deny list would leave a
// tool available. Patterns for tools of external servers always match, because these tools may be
// registered later.
func FilterTools(all []tools.Tool, allow, deny []string) ([]tools.Tool, error) {
	for _, p := range slices.Concat(allow, deny) {
		if !isForeignPattern(p) && !slices.ContainsFunc(all, func(t tools.Tool) bool { return matchesTool(p, t.Spec()) }) {
			return nil, fmt.Errorf("no tool or category matches %q; list them with: hob tool list", p)
		}
	}
	var out []tools.Tool
	for _, t := range all {
		if isAllowedTool(t.Spec(), allow, deny) {
			out = append(out, t)
		}
	}
	return out, nil
}

func isAllowedTool(s *tools.Spec, allow, deny []string) bool {
	return (len(allow) == 0 || s.Category == engine || fitsAny(allow, s)) && !fitsAny(deny, s)
}

// isForeignPattern reports whether a pattern is for tools of external servers, such as "github__*"
// or "category:mcp".
func isForeignPattern(pattern string) bool {
	return strings.Contains(pattern, tools.ForeignSeparator) || pattern == category+"mcp"
}
