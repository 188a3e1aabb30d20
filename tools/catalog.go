package tools

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Catalog contains the tools of this process that can run on this platform. It is immutable and
// safe for concurrent use.
type Catalog struct {
	all    []Tool // by name
	byName map[string]Tool
	index  func() *index // built on first use
}

// NewCatalog checks that tool names are unique and drops tools that cannot run on this
// platform.
func NewCatalog(list ...Tool) (*Catalog, error) {
	c := &Catalog{byName: map[string]Tool{}}
	for _, t := range list {
		s := t.Spec()
		if len(s.Platforms) > 0 && !slices.Contains(s.Platforms, runtime.GOOS) {
			continue
		}
		if _, dup := c.byName[s.Name]; dup {
			return nil, fmt.Errorf("tools: two tools are named %q", s.Name)
		}
		if s.Effects == 0 {
			return nil, fmt.Errorf("tools: %q declares no effects", s.Name)
		}
		if s.Foreign && s.Core {
			return nil, fmt.Errorf("tools: %q is a third-party tool and cannot be offered in every request", s.Name)
		}
		c.byName[s.Name] = t
		c.all = append(c.all, t)
	}
	slices.SortFunc(c.all, func(a, b Tool) int { return strings.Compare(a.Spec().Name, b.Spec().Name) })
	c.index = sync.OnceValue(func() *index {
		specs := make([]*Spec, len(c.all))
		for i, t := range c.all {
			specs[i] = t.Spec()
		}
		return newIndex(specs, defaultSynonyms())
	})
	return c, nil
}

// Get returns the tool with exactly that name.
func (c *Catalog) Get(name string) (Tool, bool) {
	t, ok := c.byName[name]
	return t, ok
}

// All returns every tool, ordered by name. The slice must not be changed.
func (c *Catalog) All() []Tool { return c.all }

// Core returns the tools that are offered in every request, ordered by name.
func (c *Catalog) Core() []Tool {
	var out []Tool
	for _, t := range c.all {
		if t.Spec().Core {
			out = append(out, t)
		}
	}
	return out
}

// Search ranks the tools for a request, which may be in another language or mistyped, and returns
// at most n tools. A tool that the request names exactly comes first.
func (c *Catalog) Search(query string, n int) []Tool {
	var out []Tool
	for _, i := range c.index().searchTools(query, n) {
		out = append(out, c.all[i])
	}
	return out
}
