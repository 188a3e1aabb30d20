//go:build windows || (darwin && cgo)

package tray

import (
	"context"
	"fmt"

	"fyne.io/systray"
)

// menuNode is a shown item.
type menuNode struct {
	item   Item
	native *systray.MenuItem // nil for a separator
	done   chan struct{}     // closed when the item is removed
	kids   []*menuNode
}

// menuView is the menu that the library shows. The library keeps items in the order of creation and
// cannot remove a separator, so the menu is rebuilt if the order changes. The key of an item never
// changes, so that a click on an outdated menu does nothing instead of something unintended.
type menuView struct {
	t     *Tray
	last  View
	nodes []*menuNode
}

// followViews shows each view until ctx ends.
func (s *menuView) followViews(ctx context.Context) {
	defer s.clearNodes()
	for {
		select {
		case <-ctx.Done():
			return
		case v := <-s.t.views:
			if err := s.tryShow(v); err != nil {
				s.t.o.Log.Info("tray icon removed", "why", err)
				return
			}
		}
	}
}

// tryShow calls the library. It recovers the library's panic when the desktop ends.
func (s *menuView) tryShow(v View) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("tray: %v", r)
		}
	}()
	s.showView(v)
	return nil
}

func (s *menuView) showView(v View) {
	if v.State != s.last.State {
		setIcon(v.State, s.t.o.Look)
	}
	if v.Tooltip != s.last.Tooltip {
		systray.SetTooltip(escapeTitle(v.Tooltip))
	}
	s.last = v
	if !sameShape(nodeItems(s.nodes), v.Items) {
		s.clearNodes()
		systray.ResetMenu()
		for _, it := range v.Items {
			s.nodes = append(s.nodes, s.addNode(nil, it))
		}
		return
	}
	for i, n := range s.nodes {
		s.updateNode(n, v.Items[i])
	}
}

func nodeItems(nodes []*menuNode) []Item {
	var out []Item
	for _, n := range nodes {
		out = append(out, n.item)
	}
	return out
}

// updateNode changes a shown item into another item with the same key.
func (s *menuView) updateNode(n *menuNode, it Item) {
	if n.native == nil {
		return
	}
	if n.item.Title != it.Title {
		n.native.SetTitle(escapeTitle(it.Title))
	}
	if n.item.Checked != it.Checked {
		setChecked(n.native, it.Checked)
	}
	n.item = it
	same := 0
	for same < min(len(n.kids), len(it.Items)) && sameShape([]Item{n.kids[same].item}, it.Items[same:same+1]) {
		s.updateNode(n.kids[same], it.Items[same])
		same++
	}
	for _, k := range n.kids[same:] {
		k.stopListening()
		k.native.Remove()
	}
	n.kids = n.kids[:same]
	for _, k := range it.Items[same:] {
		n.kids = append(n.kids, s.addNode(n, k))
	}
}

func setChecked(m *systray.MenuItem, on bool) {
	if on {
		m.Check()
	} else {
		m.Uncheck()
	}
}

func (s *menuView) addNode(parent *menuNode, it Item) *menuNode {
	n := &menuNode{item: it, done: make(chan struct{})}
	if it.Separator {
		systray.AddSeparator()
		return n
	}
	switch {
	case parent == nil && it.Checked:
		n.native = systray.AddMenuItemCheckbox(escapeTitle(it.Title), "", true)
	case parent == nil:
		n.native = systray.AddMenuItem(escapeTitle(it.Title), "")
	case it.Checked:
		n.native = parent.native.AddSubMenuItemCheckbox(escapeTitle(it.Title), "", true)
	default:
		n.native = parent.native.AddSubMenuItem(escapeTitle(it.Title), "")
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
					s.t.forwardClick(it.Key)
				}
			}
		}()
	}
	for _, k := range it.Items {
		n.kids = append(n.kids, s.addNode(n, k))
	}
	return n
}

// stopListening stops listening to a node. It sets the channel to nil, because the library closes
// the channel while it may still send a click to it, which would panic. The library ignores a nil
// channel.
func (n *menuNode) stopListening() {
	close(n.done)
	if n.native != nil {
		n.native.ClickedCh = nil
	}
	for _, k := range n.kids {
		k.stopListening()
	}
}

func (s *menuView) clearNodes() {
	for _, n := range s.nodes {
		n.stopListening()
	}
	s.nodes = nil
}
