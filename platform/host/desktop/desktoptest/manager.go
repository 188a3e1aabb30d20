//go:build linux

package desktoptest

import (
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

// Manager is a user service manager like systemd --user.
type Manager struct {
	mu    sync.Mutex
	units []Unit
}

// Unit is a unit that the manager was asked to start.
type Unit struct {
	Name        string
	Command     []string
	Environment []string
}

// NewManager claims the bus name of systemd. env is the environment that the manager reports for
// the session.
func NewManager(t testing.TB, b *Bus, env ...string) *Manager {
	t.Helper()
	const name = "org.freedesktop.systemd1"
	const path = dbus.ObjectPath("/org/freedesktop/systemd1")
	m := &Manager{}
	c := b.Conn(t)
	start := func(unit, mode string, props []struct {
		Name  string
		Value dbus.Variant
	}, aux []struct {
		Name  string
		Props []struct {
			Name  string
			Value dbus.Variant
		}
	},
	) (dbus.ObjectPath, *dbus.Error) {
		u := Unit{Name: unit}
		for _, p := range props {
			switch p.Name {
			case "ExecStart":
				var lines []struct {
					Path   string
					Args   []string
					Ignore bool
				}
				if err := p.Value.Store(&lines); err != nil || len(lines) != 1 {
					return "", dbus.MakeFailedError(err)
				}
				u.Command = lines[0].Args
			case "Environment":
				if err := p.Value.Store(&u.Environment); err != nil {
					return "", dbus.MakeFailedError(err)
				}
			}
		}
		m.mu.Lock()
		m.units = append(m.units, u)
		m.mu.Unlock()
		return "/org/freedesktop/systemd1/job/1", nil
	}
	if err := c.ExportMethodTable(map[string]any{"StartTransientUnit": start}, path, name+".Manager"); err != nil {
		t.Fatal(err)
	}
	if _, err := prop.Export(c, path, prop.Map{name + ".Manager": {"Environment": {Value: env, Emit: prop.EmitFalse}}}); err != nil {
		t.Fatal(err)
	}
	if r, err := c.RequestName(name, dbus.NameFlagDoNotQueue); err != nil || r != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("claim the bus name %s: %v %v", name, r, err)
	}
	return m
}

// Units lists the started units.
func (m *Manager) Units() []Unit {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Unit(nil), m.units...)
}
