// Package traytest provides a test double for package tray: a panel that accepts icons on a private session bus.
package traytest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	// Name is the bus name where icons register.
	Name = "org.kde.StatusNotifierWatcher"
	item = "org.kde.StatusNotifierItem"
	menu = "com.canonical.dbusmenu"
)

// Panel is a panel that accepts icons.
type Panel struct {
	conn *dbus.Conn

	mu    sync.Mutex
	items []string // the registered connections
}

// NewPanel starts a panel on the bus of conn.
func NewPanel(t testing.TB, conn *dbus.Conn) *Panel {
	t.Helper()
	p := &Panel{conn: conn}
	if err := conn.Export(watcherMethods{p}, "/StatusNotifierWatcher", Name); err != nil {
		t.Fatal(err)
	}
	if err := conn.Export(panelProps{p}, "/StatusNotifierWatcher", "org.freedesktop.DBus.Properties"); err != nil {
		t.Fatal(err)
	}
	if r, err := conn.RequestName(Name, dbus.NameFlagDoNotQueue); err != nil || r != dbus.RequestNameReplyPrimaryOwner {
		t.Fatal(r, err)
	}
	return p
}

type watcherMethods struct{ p *Panel }

type panelProps struct{ p *Panel }

// Get returns the watcher's properties and the registered icons.
func (x panelProps) Get(_, name string) (dbus.Variant, *dbus.Error) {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	if name == "IsStatusNotifierHostRegistered" {
		return dbus.MakeVariant(true), nil
	}
	var out []string
	for _, at := range x.p.items {
		out = append(out, at+"/StatusNotifierItem")
	}
	return dbus.MakeVariant(out), nil
}

// RegisterStatusNotifierItem implements org.kde.StatusNotifierWatcher.
func (k watcherMethods) RegisterStatusNotifierItem(_ string, from dbus.Sender) *dbus.Error {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	k.p.items = append(k.p.items, string(from))
	return nil
}

// Leave removes the panel from the bus.
func (p *Panel) Leave(t testing.TB) {
	t.Helper()
	if _, err := p.conn.ReleaseName(Name); err != nil {
		t.Fatal(err)
	}
}

// Icon waits for the nth registered icon.
func (p *Panel) Icon(t testing.TB, n int) Icon {
	t.Helper()
	var out Icon
	Eventually(t, "an icon registers", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.items) < n {
			return false
		}
		out = Icon{p.conn, p.items[n-1]}
		return true
	})
	return out
}

// Icons returns the number of registered icons.
func (p *Panel) Icons() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.items)
}

// Icon is a registered icon.
type Icon struct {
	conn *dbus.Conn
	At   string // connection of the icon
}

// IconAt returns the icon of a connection.
func IconAt(conn *dbus.Conn, at string) Icon { return Icon{conn, at} }

// Pixels returns the drawn icon: its width and its pixels as ARGB.
func (i Icon) Pixels(t testing.TB) (width int32, argb []byte) {
	t.Helper()
	v, err := i.conn.Object(i.At, "/StatusNotifierItem").GetProperty(item + ".IconPixmap")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		W, H int32
		Pix  []byte
	}
	if err := v.Store(&list); err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return list[len(list)-1].W, list[len(list)-1].Pix
}

// Line is a line of the menu.
type Line struct {
	ID      int32
	Label   string // "-" is a separator
	Enabled bool
	Checked bool
	Lines   []Line
}

type layout struct {
	ID    int32
	Props map[string]dbus.Variant
	Kids  []dbus.Variant
}

// Menu reads the menu.
func (i Icon) Menu(t testing.TB) []Line {
	t.Helper()
	var rev uint32
	var l layout
	call := i.conn.Object(i.At, "/StatusNotifierItem/menu").Call(menu+".GetLayout", 0, int32(0), int32(-1), []string{})
	if err := call.Store(&rev, &l); err != nil {
		t.Fatal(err)
	}
	return menuLines(t, l)
}

func menuLines(t testing.TB, l layout) (out []Line) {
	t.Helper()
	for _, v := range l.Kids {
		var k layout
		if err := dbus.Store([]any{v.Value()}, &k); err != nil {
			t.Fatal(err)
		}
		n := Line{ID: k.ID, Label: variantText(k.Props["label"]), Enabled: variantBool(k.Props["enabled"]), Lines: menuLines(t, k)}
		if variantText(k.Props["type"]) == "separator" {
			n.Label = "-"
		}
		if c, ok := k.Props["toggle-state"]; ok {
			n.Checked = c.String() == "1"
		}
		out = append(out, n)
	}
	return out
}

func variantText(v dbus.Variant) string { s, _ := v.Value().(string); return s }

func variantBool(v dbus.Variant) bool { b, _ := v.Value().(bool); return b }

// Find returns the line whose label has the prefix begins, at any depth.
func Find(list []Line, begins string) (Line, bool) {
	for _, l := range list {
		if strings.HasPrefix(l.Label, begins) {
			return l, true
		}
		if k, ok := Find(l.Lines, begins); ok {
			return k, true
		}
	}
	return Line{}, false
}

// Click clicks the item with an id. A program that the click ends may leave the bus before it replies.
func (i Icon) Click(t testing.TB, id int32) {
	t.Helper()
	call := i.conn.Object(i.At, "/StatusNotifierItem/menu").Call(menu+".Event", 0, id, "clicked", dbus.MakeVariant(int32(0)), uint32(0))
	if e := (dbus.Error{}); call.Err != nil && !(errors.As(call.Err, &e) && (e.Name == menu+".Error.UnknownId" || e.Name == "org.freedesktop.DBus.Error.NoReply")) {
		t.Fatal(call.Err)
	}
}

// Choose waits for an item whose label begins with the text, and clicks it.
func (i Icon) Choose(t testing.TB, begins string) {
	t.Helper()
	var l Line
	Eventually(t, "the menu has "+begins, func() (ok bool) {
		l, ok = Find(i.Menu(t), begins)
		return ok
	})
	i.Click(t, l.ID)
}

// Eventually waits until is returns true, or fails the test.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("timed out waiting until " + what)
		}
	}
}
