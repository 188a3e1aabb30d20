//go:build windows || (darwin && cgo)

package tray

import (
	"context"
	"fmt"

	"fyne.io/systray"
)

// node is a shown item.
type node struct {
	item   Item
	native *systray.MenuItem // nil: a separator
	done   chan struct{}     // closed when the item is removed
	kids   []*node
}

// shown is the menu that the library shows. The library keeps items in creation order and
// cannot remove a separator, so a different order rebuilds the menu. An item never
// changes its key: a click on an outdated menu does nothing instead of something else.
type shown struct {
	t     *Tray
	last  View
	nodes []*node
}

// follow shows each view until ctx ends.
func (s *shown) follow(ctx context.Context) {
	defer s.clear()
	for {
		select {
		case <-ctx.Done():
			return
		case v := <-s.t.views:
			if err := s.try(v); err != nil {
				s.t.o.Log.Info("tray icon removed", "why", err)
				return
			}
		}
	}
}

// try calls the library and recovers its panic when the desktop ends.
func (s *shown) try(v View) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("tray: %v", r)
		}
	}()
	s.show(v)
	return nil
}

func (s *shown) show(v View) {
	if v.State != s.last.State {
		setIcon(v.State, s.t.o.Look)
	}
	if v.Tooltip != s.last.Tooltip {
		systray.SetTooltip(escape(v.Tooltip))
	}
	s.last = v
	if !sameShape(items(s.nodes), v.Items) {
		s.clear()
		systray.ResetMenu()
		for _, it := range v.Items {
			s.nodes = append(s.nodes, s.add(nil, it))
		}
		return
	}
	for i, n := range s.nodes {
		s.update(n, v.Items[i])
	}
}

func items(nodes []*node) []Item {
	var out []Item
	for _, n := range nodes {
		out = append(out, n.item)
	}
	return out
}

// update changes a shown item into another item with the same key.
func (s *shown) update(n *node, it Item) {
	if n.native == nil {
		return
	}
	if n.item.Title != it.Title {
		n.native.SetTitle(escape(it.Title))
	}
	if n.item.Checked != it.Checked {
		mark(n.native, it.Checked)
	}
	n.item = it
	same := 0
	for same < min(len(n.kids), len(it.Items)) && sameShape([]Item{n.kids[same].item}, it.Items[same:same+1]) {
		s.update(n.kids[same], it.Items[same])
		same++
	}
	for _, k := range n.kids[same:] {
		k.end()
		k.native.Remove()
	}
	n.kids = n.kids[:same]
	for _, k := range it.Items[same:] {
		n.kids = append(n.kids, s.add(n, k))
	}
}

func mark(m *systray.MenuItem, on bool) {
	if on {
		m.Check()
	} else {
		m.Uncheck()
	}
}

func (s *shown) add(parent *node, it Item) *node {
	n := &node{item: it, done: make(chan struct{})}
	if it.Separator {
		systray.AddSeparator()
		return n
	}
	switch {
	case parent == nil && it.Checked:
		n.native = systray.AddMenuItemCheckbox(escape(it.Title), "", true)
	case parent == nil:
		n.native = systray.AddMenuItem(escape(it.Title), "")
	case it.Checked:
		n.native = parent.native.AddSubMenuItemCheckbox(escape(it.Title), "", true)
	default:
		n.native = parent.native.AddSubMenuItem(escape(it.Title), "")
	}
	if it.Key == "" && len(it.Items) == 0 {
		n.native.Disable()
	}
	if it.Key != "" {
		clicks := n.native.ClickedCh
		go func() {
			for {
				select {
				case <-n.done:
					return
				case <-clicks:
					s.t.clicked(it.Key)
				}
			}
		}()
	}
	for _, k := range it.Items {
		n.kids = append(n.kids, s.add(n, k))
	}
	return n
}

// end stops listening to a node. The library closes the channel while a click may be
// sent to it, which would panic; it ignores a nil channel.
func (n *node) end() {
	close(n.done)
	if n.native != nil {
		n.native.ClickedCh = nil
	}
	for _, k := range n.kids {
		k.end()
	}
}

func (s *shown) clear() {
	for _, n := range s.nodes {
		n.end()
	}
	s.nodes = nil
}
