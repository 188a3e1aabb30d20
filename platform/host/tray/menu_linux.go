package tray

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"
)

// menuLine is an item of the menu with its id.
type menuLine struct {
	id    int32
	key   string // key of a click
	props map[string]dbus.Variant
	kids  []*menuLine
}

// menuModel is the exported menu. An id belongs to one key while that key is shown, and is never
// reused. Thus a click on an outdated menu does nothing instead of something unintended.
type menuModel struct {
	rev  uint32
	root *menuLine
	ids  map[string]int32 // item ids by the path of the keys
	byID map[int32]*menuLine
	was  map[int32]*menuLine // the lines before the last change
}

// itemProps is an entry of GetGroupProperties and ItemsPropertiesUpdated.
type itemProps struct {
	ID    int32
	Props map[string]dbus.Variant
}

// removedProps is an entry of ItemsPropertiesUpdated: properties that were removed from an item.
type removedProps struct {
	ID    int32
	Props []string
}

// layout is an item with its children in the format of GetLayout.
type layout struct {
	ID    int32
	Props map[string]dbus.Variant
	Kids  []dbus.Variant
}

// setItems replaces the items.
func (m *menuModel) setItems(items []Item, serial *int32) {
	next := menuModel{ids: map[string]int32{}, byID: map[int32]*menuLine{}, was: m.byID}
	next.root = &menuLine{props: map[string]dbus.Variant{"children-display": dbus.MakeVariant("submenu")}}
	next.byID[0] = next.root
	next.root.kids = next.buildLines(items, "", m.ids, serial)
	next.rev = m.rev
	if m.root == nil || !reflect.DeepEqual(next.root, m.root) {
		next.rev++
	}
	*m = next
}

func (m *menuModel) buildLines(items []Item, above string, known map[string]int32, serial *int32) (out []*menuLine) {
	for n, it := range items {
		what := above + "/" + it.Key
		if it.Key == "" || m.ids[what] != 0 { // items without a unique key are identified by their position
			what = above + "/#" + strconv.Itoa(n)
		}
		id, ok := known[what]
		if !ok {
			*serial++
			id = *serial
		}
		m.ids[what] = id
		l := &menuLine{id: id, key: it.Key, props: propsOf(it)}
		m.byID[id] = l
		l.kids = m.buildLines(it.Items, what, known, serial)
		out = append(out, l)
	}
	return out
}

func propsOf(it Item) map[string]dbus.Variant {
	if it.Separator {
		return map[string]dbus.Variant{"type": dbus.MakeVariant("separator"), "visible": dbus.MakeVariant(true)}
	}
	p := map[string]dbus.Variant{
		"label":   dbus.MakeVariant(strings.ReplaceAll(it.Title, "_", "__")), // a single underscore would mark an access key
		"enabled": dbus.MakeVariant(it.Key != "" || len(it.Items) > 0),
		"visible": dbus.MakeVariant(true),
	}
	if it.Checked {
		p["toggle-type"], p["toggle-state"] = dbus.MakeVariant("checkmark"), dbus.MakeVariant(int32(1))
	}
	if len(it.Items) > 0 {
		p["children-display"] = dbus.MakeVariant("submenu")
	}
	return p
}

// changedItems returns the properties of items that existed before and changed.
func (m *menuModel) changedItems() []itemProps {
	out := []itemProps{}
	for _, id := range slices.Sorted(maps.Keys(m.byID)) {
		if old, ok := m.was[id]; ok && !reflect.DeepEqual(old.props, m.byID[id].props) {
			out = append(out, itemProps{id, m.byID[id].props})
		}
	}
	return out
}

func (l *menuLine) layoutTree(depth int32) layout {
	out := layout{ID: l.id, Props: l.props, Kids: []dbus.Variant{}}
	if depth == 0 {
		return out
	}
	for _, k := range l.kids {
		out.Kids = append(out.Kids, dbus.MakeVariant(k.layoutTree(depth-1)))
	}
	return out
}

// menuCalls contains the methods of com.canonical.dbusmenu.
type menuCalls struct{ i *trayIcon }

func noItem() *dbus.Error {
	return dbus.NewError("com.canonical.dbusmenu.Error.UnknownId", []any{"item not found"})
}

func (c menuCalls) methodTable() map[string]any {
	return map[string]any{
		"GetLayout": c.GetLayout, "GetGroupProperties": c.GetGroupProperties, "GetProperty": c.GetProperty, "Event": c.Event,
		"EventGroup": c.EventGroup, "AboutToShow": c.AboutToShow, "AboutToShowGroup": c.AboutToShowGroup,
	}
}

// GetLayout implements com.canonical.dbusmenu.
func (c menuCalls) GetLayout(parent, depth int32, _ []string) (uint32, layout, *dbus.Error) {
	c.i.mu.Lock()
	defer c.i.mu.Unlock()
	l := c.i.menu.byID[parent]
	if l == nil {
		return c.i.menu.rev, layout{ID: parent, Props: map[string]dbus.Variant{}, Kids: []dbus.Variant{}}, noItem()
	}
	return c.i.menu.rev, l.layoutTree(depth), nil
}

// GetGroupProperties implements com.canonical.dbusmenu.
func (c menuCalls) GetGroupProperties(ids []int32, _ []string) ([]itemProps, *dbus.Error) {
	c.i.mu.Lock()
	defer c.i.mu.Unlock()
	if len(ids) == 0 {
		ids = slices.Sorted(maps.Keys(c.i.menu.byID))
	}
	out := []itemProps{}
	for _, id := range ids {
		if l := c.i.menu.byID[id]; l != nil {
			out = append(out, itemProps{id, l.props})
		}
	}
	return out, nil
}

// GetProperty implements com.canonical.dbusmenu.
func (c menuCalls) GetProperty(id int32, name string) (dbus.Variant, *dbus.Error) {
	c.i.mu.Lock()
	defer c.i.mu.Unlock()
	if l := c.i.menu.byID[id]; l != nil {
		if v, ok := l.props[name]; ok {
			return v, nil
		}
	}
	return dbus.MakeVariant(""), noItem()
}

// Event implements com.canonical.dbusmenu.
func (c menuCalls) Event(from dbus.Sender, id int32, event string, _ dbus.Variant, _ uint32) *dbus.Error {
	if !c.handleEvent(from, id, event) {
		return noItem()
	}
	return nil
}

// EventGroup implements com.canonical.dbusmenu.
func (c menuCalls) EventGroup(from dbus.Sender, events []struct {
	ID    int32
	Event string
	Data  dbus.Variant
	At    uint32
},
) ([]int32, *dbus.Error) {
	wrong := []int32{}
	for _, e := range events {
		if !c.handleEvent(from, e.ID, e.Event) {
			wrong = append(wrong, e.ID)
		}
	}
	return wrong, nil
}

// AboutToShow implements com.canonical.dbusmenu.
func (menuCalls) AboutToShow(int32) (bool, *dbus.Error) { return false, nil }

// AboutToShowGroup implements com.canonical.dbusmenu.
func (menuCalls) AboutToShowGroup([]int32) (updates, wrong []int32, err *dbus.Error) {
	return []int32{}, []int32{}, nil
}

// handleEvent handles an event of an item. It returns false if the item does not exist.
func (c menuCalls) handleEvent(from dbus.Sender, id int32, event string) bool {
	c.i.mu.Lock()
	l := c.i.menu.byID[id]
	c.i.mu.Unlock()
	if l == nil {
		return false
	}
	if event != "clicked" || l.key == "" {
		return true
	}
	if err := c.i.checkSender(string(from)); err != nil {
		c.i.t.o.Log.Warn("tray click rejected", "why", err)
		return true
	}
	c.i.t.forwardClick(l.key)
	return true
}

// checkSender checks the process behind a connection, as reported by the bus.
func (i *trayIcon) checkSender(from string) error {
	if i.t.o.Trust == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(i.conn.Context(), connectWait)
	defer cancel()
	var pid uint32
	if err := i.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetConnectionUnixProcessID", 0, from).Store(&pid); err != nil {
		return err
	}
	return i.t.o.Trust(int(pid))
}
