package prompt

import (
	_ "embed" // embeds the text
	"fmt"
	"slices"
	"strings"

	"hob/platform/host/system"
	"hob/platform/text/memoryfile"
	"hob/platform/text/minitmpl"
	"hob/platform/text/sorting"
	"hob/tools"
)

//go:embed manual.md.tmpl
var manualText string

// manual is the data for AGENTS.md.
type manual struct {
	Name               string
	Tools              []*tools.Spec
	Core               []string
	Groups             []group
	Watchers, Channels []string
	Lessons            bool
	Has                func(tool string) bool // reports whether a tool with this name exists
}

// group lists the tools of a category.
type group struct {
	Name  string
	Tools []*tools.Spec
}

// RenderManual returns the text of AGENTS.md, which lists the assistant's actual capabilities for
// the owner. The model reads only the stable block.
func (b *Builder) RenderManual() (string, error) {
	m := manual{Name: b.o.Name, Watchers: b.o.Watchers, Channels: b.o.Channels, Lessons: b.o.Lessons != nil}
	if b.o.Catalog != nil {
		for _, t := range b.o.Catalog.Own() {
			m.Tools = append(m.Tools, t.Spec())
		}
		for _, t := range b.o.Catalog.Core() {
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
	sorting.ByFunc(m.Groups, func(x, y group) int { return strings.Compare(x.Name, y.Name) })
	t, err := minitmpl.Parse(manualText)
	if err != nil {
		return "", fmt.Errorf("prompt: parse the template of AGENTS.md: %w", err)
	}
	text, err := executeTemplate(t, m)
	return text + "\n", err
}

// OwnManual reports whether text was written by RenderManual. WriteManual does not overwrite a file
// that the owner wrote.
func OwnManual(text string) bool {
	mark, _, _ := strings.Cut(manualText, " at its start")
	return strings.HasPrefix(strings.TrimSpace(text), mark)
}

// WriteManual updates AGENTS.md unless the user wrote the file. If the file cannot be read or
// written, WriteManual only logs the error.
func (b *Builder) WriteManual(path string) error {
	text, err := b.RenderManual()
	if err != nil {
		return err
	}
	old, err := memoryfile.Read(path)
	switch {
	case err != nil:
		b.o.Log.Warn("cannot read AGENTS.md; not changed", "err", err)
		return nil
	case old == text:
		return nil
	case old != "" && !OwnManual(old):
		b.o.Log.Info("AGENTS.md was not written by Hob; not changed", "file", path)
		return nil
	}
	if err := system.WriteFile(path, []byte(text)); err != nil { // users read AGENTS.md; Hob does not need it
		b.o.Log.Warn("cannot write AGENTS.md", "err", err)
	}
	return nil
}
