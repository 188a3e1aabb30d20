package tray

import (
	"context"
	"errors"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
)

// templatePreview is the preview of a template. It stays in the menu until the user switches or
// cancels, or previewKept has passed.
type templatePreview struct {
	name  string
	lines []string
	at    time.Time // when the user chose the template
	shown time.Time // when the menu first contained the preview
}

const (
	previewKept      = 10 * time.Minute
	previewLineLimit = maxItems - 2 // with Apply and Cancel
)

// previewKey identifies the preview, so that a late click never applies another one.
func (p *templatePreview) previewKey() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.name + "\n" + strings.Join(p.lines, "\n"))) // never fails
	return p.name + " " + strconv.FormatUint(h.Sum64(), 36)
}

// templateItems returns an item for each template; the one in use has a check mark.
func templateItems(list []Template) []Item {
	if len(list) == 0 {
		return nil
	}
	var out []Item
	for _, t := range list {
		out = append(out, Item{Key: "template " + t.Name, Title: t.Name, Checked: t.Used})
	}
	return []Item{{Title: "Templates", Items: out}}
}

// previewItems returns the preview of a template with the items Apply and Cancel. Users must not
// apply what the menu cannot show completely.
func (m *Menu) previewItems() []Item {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.preview
	if p == nil || time.Since(p.at) > previewKept {
		return nil
	}
	if p.shown.IsZero() {
		p.shown = time.Now()
	}
	var lines []string
	for _, l := range p.lines {
		lines = append(lines, wrapText(l, questionWidth)...)
	}
	it := Item{Title: "Switch to " + p.name + "?"}
	switch {
	case len(lines) > previewLineLimit:
		it.Items = append(textItems(lines[:previewLineLimit-1]), Item{Title: "… read the rest in a terminal: hob template use " + p.name})
	case !m.o.Decides:
		it.Items = append(textItems(lines), Item{Title: "In a terminal: hob template use " + p.name})
	default:
		it.Items = append(textItems(lines), Item{Key: "switch " + p.previewKey(), Title: "Apply"})
	}
	it.Items = append(it.Items, Item{Key: "keep", Title: "Cancel"})
	return []Item{it}
}

func (m *Menu) setPreview(p *templatePreview) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.preview = p
}

// previewTemplate adds the preview of a template to the menu.
func (m *Menu) previewTemplate(ctx context.Context, name string) (string, error) {
	lines, err := m.o.Assistant.PreviewTemplate(ctx, name)
	if err != nil {
		return "", err
	}
	m.setPreview(&templatePreview{name: name, lines: lines, at: time.Now()})
	return "Open the menu again to read what " + name + " changes, and to switch to it.", nil
}

// switchTemplate applies the template whose preview has the key.
func (m *Menu) switchTemplate(ctx context.Context, key string) (string, error) {
	m.mu.Lock()
	var p templatePreview
	if m.preview != nil {
		p = *m.preview
	}
	if m.moved.After(p.shown) { // the item has moved since
		p.shown = m.moved
	}
	m.mu.Unlock()
	if p.previewKey() != key || time.Since(p.at) > previewKept {
		return "", errors.New("this preview is no longer current; choose the template again")
	}
	said, err := m.o.Assistant.SwitchTemplate(ctx, p.name, p.lines, p.shown)
	if err == nil {
		m.setPreview(nil)
	}
	return said, err
}
