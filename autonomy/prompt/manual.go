package prompt

import (
	_ "embed" // the text
	"fmt"
	"slices"
	"strings"

	"hob/platform/wording"
	"hob/tools"
)

//go:embed manual.md.tmpl
var manualText string

// manual is what AGENTS.md is made from.
type manual struct {
	Name               string
	Tools              []*tools.Spec
	Core               []string
	Groups             []group
	Watchers, Channels []string
	Lessons            bool
	Has                func(tool string) bool // whether there is one of this name
}

// group are the tools of a category.
type group struct {
	Name  string
	Tools []*tools.Spec
}

// Manual is AGENTS.md: what this assistant really has, for its owner to read.
// The model needs no more of it than what the stable block says.
func (b *Builder) Manual() (string, error) {
	m := manual{Name: b.o.Name, Watchers: b.o.Watchers, Channels: b.o.Channels, Lessons: b.o.Lessons != nil}
	if b.o.Catalogue != nil {
		for _, t := range b.o.Catalogue.All() {
			m.Tools = append(m.Tools, t.Spec())
		}
		for _, t := range b.o.Catalogue.Core() {
			m.Core = append(m.Core, t.Spec().Name)
		}
	}
	m.Has = func(tool string) bool {
		return slices.ContainsFunc(m.Tools, func(s *tools.Spec) bool { return s.Name == tool })
	}
	for _, s := range m.Tools {
		i := slices.IndexFunc(m.Groups, func(g group) bool { return g.Name == s.Category })
		if i < 0 {
			i = len(m.Groups)
			m.Groups = append(m.Groups, group{Name: s.Category})
		}
		m.Groups[i].Tools = append(m.Groups[i].Tools, s)
	}
	slices.SortFunc(m.Groups, func(x, y group) int { return strings.Compare(x.Name, y.Name) })
	t, err := wording.Parse(manualText)
	if err != nil {
		return "", fmt.Errorf("prompt: %w", err)
	}
	text, err := execute(t, m)
	return text + "\n", err
}

// OwnManual reports whether a text was written by Manual: one that the owner
// wrote is not overwritten.
func OwnManual(text string) bool {
	mark, _, _ := strings.Cut(manualText, " at its start")
	return strings.HasPrefix(strings.TrimSpace(text), mark)
}
