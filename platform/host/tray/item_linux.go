package tray

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/godbus/dbus/v5"
)

// Names from the StatusNotifierItem specification and dbusmenu.
const (
	itemIface = "org.kde.StatusNotifierItem"
	itemPath  = dbus.ObjectPath("/StatusNotifierItem")
	menuIface = "com.canonical.dbusmenu"
	menuPath  = dbus.ObjectPath("/StatusNotifierItem/menu")
	propIface = "org.freedesktop.DBus.Properties"
)

// iconSizes returns the sizes of the pixmaps in pixels, for normal and high-resolution
// panels.
func iconSizes() []int { return []int{22, 48} }

// trayIcon is the tray icon on one connection.
type trayIcon struct {
	t    *Tray
	conn *dbus.Conn

	mu   sync.Mutex
	menu menuModel
	pics []pixmap
}

// pixmap is a picture in the format of the specification: ARGB in network byte order.
type pixmap struct {
	W, H int32
	Pix  []byte
}

// toolTip is a tooltip: icon name, pictures, title and text.
type toolTip struct {
	Icon  string
	Pics  []pixmap
	Title string
	Text  string
}

// exportObjects exports the objects that panels call.
func (i *trayIcon) exportObjects() error {
	i.mu.Lock()
	i.setView(i.t.last)
	i.mu.Unlock()
	for _, x := range []struct {
		calls map[string]any
		path  dbus.ObjectPath
		iface string
	}{
		{itemMethods, itemPath, itemIface},
		{properties{i.itemProperties}.methodTable(), itemPath, propIface},
		{menuCalls{i}.methodTable(), menuPath, menuIface},
		{properties{menuProperties}.methodTable(), menuPath, propIface},
	} {
		// Do not use Export, which finds methods by their names; see platform/text/minitmpl.
		if err := i.conn.ExportMethodTable(x.calls, x.path, x.iface); err != nil {
			return fmt.Errorf("tray: export %s: %w", x.iface, err)
		}
	}
	return nil
}

// itemBusName returns the item's D-Bus name.
func itemBusName() string { return itemName(os.Getpid()) }

func itemName(pid int) string { return fmt.Sprintf("org.kde.StatusNotifierItem-%d-1", pid) }

// registerItem announces the icon to the panel. If there is no panel, this is not an error: the
// icon is registered when a panel appears.
func (i *trayIcon) registerItem(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	if _, err := i.conn.RequestName(itemBusName(), dbus.NameFlagDoNotQueue); err != nil {
		return fmt.Errorf("tray: request the bus name: %w", err)
	}
	err := i.conn.Object(watcher, "/StatusNotifierWatcher").CallWithContext(ctx, watcher+".RegisterStatusNotifierItem", dbus.FlagNoAutoStart, itemBusName()).Err
	var e dbus.Error
	if errors.As(err, &e) {
		i.t.o.Log.Debug("tray icon registration failed", "why", e)
		return nil
	}
	if err != nil && ctx.Err() != nil {
		i.t.o.Log.Info("panel does not respond; waiting for another panel")
		return nil
	}
	return err
}

// setView replaces the exported view. The caller holds i.mu.
func (i *trayIcon) setView(v View) {
	if v.State != i.t.last.State || i.pics == nil {
		i.pics = nil
		for _, n := range iconSizes() {
			i.pics = append(i.pics, pixmapOf(v.State, i.t.o.Look, n))
		}
	}
	i.t.last = v
	i.menu.setItems(v.Items, &i.t.serial)
}

func pixmapOf(s State, l Look, size int) pixmap {
	m := DrawIcon(s, l, size)
	out := pixmap{W: int32(size), H: int32(size), Pix: make([]byte, 0, 4*size*size)}
	for p := 0; p < len(m.Pix); p += 4 {
		out.Pix = append(out.Pix, m.Pix[p+3], m.Pix[p], m.Pix[p+1], m.Pix[p+2])
	}
	return out
}

// showView replaces the view and notifies panels of the changes. A signal fails only if the bus is
// gone, which Run detects.
func (i *trayIcon) showView(v View) {
	i.mu.Lock()
	before, rev := i.t.last, i.menu.rev
	i.setView(v)
	now, changed := i.menu.rev, i.menu.changedItems()
	i.mu.Unlock()
	if v.State != before.State {
		_ = i.conn.Emit(itemPath, itemIface+".NewIcon")
		_ = i.conn.Emit(itemPath, itemIface+".NewStatus", itemStatus(v.State))
	}
	if v.Tooltip != before.Tooltip {
		_ = i.conn.Emit(itemPath, itemIface+".NewToolTip")
	}
	if now == rev {
		return
	}
	if len(changed) > 0 {
		_ = i.conn.Emit(menuPath, menuIface+".ItemsPropertiesUpdated", changed, []removedProps{})
	}
	_ = i.conn.Emit(menuPath, menuIface+".LayoutUpdated", now, int32(0))
}

func itemStatus(s State) string {
	if s == NeedsYou || s == Failing {
		return "NeedsAttention"
	}
	return "Active"
}

func (i *trayIcon) itemProperties() (string, map[string]dbus.Variant) {
	i.mu.Lock()
	defer i.mu.Unlock()
	p := map[string]any{
		"Category": "ApplicationStatus", "Id": i.t.o.Name, "Title": i.t.o.Name, "Status": itemStatus(i.t.last.State), "WindowId": int32(0),
		"IconName": "", "IconThemePath": "", "IconPixmap": i.pics, "AttentionIconName": "", "AttentionIconPixmap": i.pics, "AttentionMovieName": "",
		"OverlayIconName": "", "OverlayIconPixmap": []pixmap{}, "ToolTip": toolTip{Pics: []pixmap{}, Title: i.t.last.Tooltip}, "ItemIsMenu": true, "Menu": menuPath,
	}
	return itemIface, makeVariants(p)
}

func menuProperties() (string, map[string]dbus.Variant) {
	return menuIface, makeVariants(map[string]any{"Version": uint32(3), "TextDirection": "ltr", "Status": "normal", "IconThemePath": []string{}})
}

func makeVariants(in map[string]any) map[string]dbus.Variant {
	out := map[string]dbus.Variant{}
	for k, v := range in {
		out[k] = dbus.MakeVariant(v)
	}
	return out
}

// properties implements org.freedesktop.DBus.Properties for one interface, read-only.
type properties struct {
	all func() (iface string, p map[string]dbus.Variant)
}

func (p properties) methodTable() map[string]any {
	return map[string]any{"Get": p.Get, "GetAll": p.GetAll, "Set": p.Set}
}

// Get implements org.freedesktop.DBus.Properties.
func (p properties) Get(iface, name string) (dbus.Variant, *dbus.Error) {
	own, all := p.all()
	v, ok := all[name]
	if iface != own || !ok {
		return v, dbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", []any{"property not found"})
	}
	return v, nil
}

// GetAll implements org.freedesktop.DBus.Properties.
func (p properties) GetAll(iface string) (map[string]dbus.Variant, *dbus.Error) {
	own, all := p.all()
	if iface != own {
		return map[string]dbus.Variant{}, nil
	}
	return all, nil
}

// Set implements org.freedesktop.DBus.Properties.
func (properties) Set(string, string, dbus.Variant) *dbus.Error {
	return dbus.NewError("org.freedesktop.DBus.Error.PropertyReadOnly", []any{"property is read-only"})
}

// itemMethods lists the methods of an item. All do nothing, because the menu handles clicks.
var itemMethods = map[string]any{
	"Activate":          func(int32, int32) *dbus.Error { return nil },
	"SecondaryActivate": func(int32, int32) *dbus.Error { return nil },
	"ContextMenu":       func(int32, int32) *dbus.Error { return nil },
	"Scroll":            func(int32, string) *dbus.Error { return nil },
}
