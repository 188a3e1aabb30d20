package tools

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/sorting"
)

// Catalog contains the tools of this process that can run on this platform: Hob's own tools, which
// never change, and the foreign tools of sources such as MCP servers, which SetForeign replaces at
// any time. It is safe for concurrent use. Its methods return slices that never change later.
type Catalog struct {
	own    []Tool // sorted by name
	parent *Catalog
	keep   func(*Spec) bool // selects the foreign tools of parent

	mu      sync.Mutex
	foreign map[string][]Tool // keyed by source
	now     *toolSet          // cached content; nil after a change
	version int               // number of changes of the field foreign
}

// toolSet is the content of a catalog at one time.
type toolSet struct {
	all     []Tool // sorted by name
	byName  map[string]Tool
	index   func() *index // built on first use
	version int           // version of the catalog that contains the foreign tools
}

// NewCatalog checks that tool names are unique and drops tools that cannot run on this
// platform.
func NewCatalog(list ...Tool) (*Catalog, error) {
	c := &Catalog{}
	names := map[string]bool{}
	for _, t := range list {
		s := t.Spec()
		if len(s.Platforms) > 0 && !slices.Contains(s.Platforms, runtime.GOOS) {
			continue
		}
		if names[s.Name] {
			return nil, fmt.Errorf("tools: two tools are named %q", s.Name)
		}
		if err := checkCatalogSpec(s); err != nil {
			return nil, err
		}
		names[s.Name] = true
		c.own = append(c.own, t)
	}
	sorting.ByFunc(c.own, compareNames)
	return c, nil
}

func checkCatalogSpec(s *Spec) error {
	switch {
	case s.Effects == 0:
		return fmt.Errorf("tools: %q declares no effects", s.Name)
	case s.Foreign && s.Core:
		return fmt.Errorf("tools: %q is a third-party tool and cannot be offered in every request", s.Name)
	}
	return nil
}

func compareNames(a, b Tool) int { return strings.Compare(a.Spec().Name, b.Spec().Name) }

// Following returns a catalog of the tools in list that also contains the foreign tools of c that
// keep selects, now and after later changes of c.
func (c *Catalog) Following(keep func(*Spec) bool, list ...Tool) (*Catalog, error) {
	f, err := NewCatalog(slices.DeleteFunc(slices.Clone(list), func(t Tool) bool { return c.isForeign(t.Spec().Name) })...)
	if err != nil {
		return nil, err
	}
	f.parent, f.keep = c, keep
	if c.parent != nil {
		f.parent, f.keep = c.parent, func(s *Spec) bool { return c.keep(s) && keep(s) }
	}
	return f, nil
}

// isForeign reports whether the catalog contains a tool with this name that SetForeign added.
func (c *Catalog) isForeign(name string) bool {
	_, fixed := slices.BinarySearchFunc(c.own, name, func(t Tool, name string) int { return strings.Compare(t.Spec().Name, name) })
	_, ok := c.Get(name)
	return ok && !fixed
}

// ForeignSeparator separates the name of a source from the name of its tool.
const ForeignSeparator = "__"

// validForeign is the form of a foreign tool's name: SOURCE__TOOL.
var validForeign = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9-]*(_[A-Za-z0-9-]+)*__[A-Za-z0-9_.-]{1,128}$`)

// SetForeign replaces the tools of a source, such as "mcp:github"; an empty list removes them. The
// tools must be foreign and not core, and be named SOURCE__TOOL. No name may equal or resemble the
// name of another tool (see Confusable). If a tool is invalid, SetForeign changes nothing, and its
// error describes all invalid tools.
func (c *Catalog) SetForeign(source string, list []Tool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parent != nil {
		return errors.New("tools: this catalog follows another catalog; call SetForeign on the followed catalog")
	}
	taken := map[string]string{}
	for _, t := range c.own {
		if strings.Contains(t.Spec().Name, ForeignSeparator) { // names without the separator do not resemble foreign names
			taken[Confusable(t.Spec().Name)] = t.Spec().Name
		}
	}
	for from, tools := range c.foreign {
		for _, t := range tools {
			if from != source {
				taken[Confusable(t.Spec().Name)] = t.Spec().Name
			}
		}
	}
	var errs []error
	for _, t := range list {
		s := t.Spec()
		key := Confusable(s.Name)
		switch other, dup := taken[key]; {
		case !validForeign.MatchString(s.Name):
			errs = append(errs, fmt.Errorf("tools: %q is not a valid name; use letters, digits, _, - and . after SOURCE__", s.Name))
		case !s.Foreign:
			errs = append(errs, fmt.Errorf("tools: %q is not marked as a third-party tool", s.Name))
		case dup:
			errs = append(errs, fmt.Errorf("tools: the name %q equals or resembles the name %q of another tool", s.Name, other))
		default:
			errs = append(errs, checkCatalogSpec(s))
		}
		taken[key] = s.Name
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	next := maps.Clone(c.foreign)
	if next == nil {
		next = map[string][]Tool{}
	}
	if next[source] = slices.Clone(list); len(list) == 0 {
		delete(next, source)
	}
	c.foreign, c.now = next, nil
	c.version++
	return nil
}

// Confusable returns the form in which two names that a reader could mistake for each other are
// equal: without case, separators, and the difference between 0 and O, or 1, l and I.
func Confusable(name string) string {
	source, tool, ok := strings.Cut(name, ForeignSeparator)
	if !ok {
		return foldName(name)
	}
	return foldName(source) + ForeignSeparator + foldName(tool)
}

func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		switch r = unicode.ToLower(r); r {
		case '_', '-', '.':
			return -1
		case '0':
			return 'o'
		case '1', 'i':
			return 'l'
		}
		return r
	}, s)
}

// foreignTools returns the foreign tools and the number of their changes.
func (c *Catalog) foreignTools() (list []Tool, version int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, tools := range c.foreign {
		list = append(list, tools...)
	}
	return list, c.version
}

// currentTools returns the content of the catalog.
func (c *Catalog) currentTools() *toolSet {
	if c.parent != nil {
		list, version := c.parent.foreignTools()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.now == nil || c.now.version != version {
			c.now = newToolSet(c.own, slices.DeleteFunc(list, func(t Tool) bool { return !c.keep(t.Spec()) }), version)
		}
		return c.now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		var list []Tool
		for _, tools := range c.foreign {
			list = append(list, tools...)
		}
		c.now = newToolSet(c.own, list, c.version)
	}
	return c.now
}

func newToolSet(own, foreign []Tool, version int) *toolSet {
	s := &toolSet{all: slices.Concat(own, foreign), byName: map[string]Tool{}, version: version}
	sorting.ByFunc(s.all, compareNames)
	for _, t := range s.all {
		s.byName[t.Spec().Name] = t
	}
	s.index = sync.OnceValue(func() *index {
		specs := make([]*Spec, len(s.all))
		for i, t := range s.all {
			specs[i] = t.Spec()
		}
		return newIndex(specs, defaultSynonyms(), defaultPhrases())
	})
	return s
}

// Get returns the tool with exactly that name.
func (c *Catalog) Get(name string) (Tool, bool) {
	t, ok := c.currentTools().byName[name]
	return t, ok
}

// All returns every tool, ordered by name. The slice must not be changed.
func (c *Catalog) All() []Tool { return c.currentTools().all }

// Own returns the tools that never change, ordered by name. The slice must not be changed. Text
// that must stay the same during a conversation lists only these tools.
func (c *Catalog) Own() []Tool { return c.own }

// Core returns the tools that are offered in every request, ordered by name.
func (c *Catalog) Core() []Tool {
	var out []Tool
	for _, t := range c.own {
		if t.Spec().Core {
			out = append(out, t)
		}
	}
	return out
}

// Search ranks the tools for a request, which may be in another language or mistyped, and returns
// at most n tools. A tool that the request names exactly comes first.
func (c *Catalog) Search(query string, n int) []Tool {
	s := c.currentTools()
	var out []Tool
	for _, i := range s.index().searchTools(query, n) {
		out = append(out, s.all[i])
	}
	return out
}
