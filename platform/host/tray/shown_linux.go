package tray

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
)

// Shown reports whether the session has a panel and whether the panel shows the icon of a process.
// It starts nothing and clicks on nothing. The error states why the bus could not be queried.
func Shown(ctx context.Context, getenv func(string) string, pid int) (p Panel, err error) {
	address, err := session.Bus(getenv)
	if err != nil {
		return p, err
	}
	conn, err := session.Dial(ctx, address)
	if err != nil {
		return p, err
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	var owner string
	if err := session.Call(ctx, conn, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.GetNameOwner", []any{watcher}, &owner); err != nil {
		if session.IsDBusError(err, "NameHasNoOwner") {
			return p, nil
		}
		return p, err
	}
	if p.Host, err = session.Property[bool](ctx, conn, watcher, "/StatusNotifierWatcher", watcher, "IsStatusNotifierHostRegistered"); err != nil {
		return p, fmt.Errorf("panel does not answer: %w", err)
	}
	items, err := session.Property[[]string](ctx, conn, watcher, "/StatusNotifierWatcher", watcher, "RegisteredStatusNotifierItems")
	if err != nil {
		return p, fmt.Errorf("panel does not answer: %w", err)
	}
	mine := itemName(pid)
	var unique string // some panels identify an item by its connection
	if session.Call(ctx, conn, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.GetNameOwner", []any{mine}, &unique) != nil {
		return p, nil // the item is not on the bus
	}
	p.Item = slices.ContainsFunc(items, func(s string) bool {
		name, _, _ := strings.Cut(s, "/")
		return name == mine || name == unique
	})
	var rev uint32
	var root struct {
		ID    int32
		Props map[string]dbus.Variant
		Kids  []dbus.Variant
	}
	err = session.Call(ctx, conn, mine, menuPath, menuIface+".GetLayout", []any{int32(0), int32(1), []string{}}, &rev, &root)
	p.Menu = err == nil && len(root.Kids) > 0
	return p, nil
}
