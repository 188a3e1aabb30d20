//go:build linux

package desktoptest

import (
	"os"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

// Login simulates logind and UPower on a bus that replaces the system bus
// (org.freedesktop.login1, org.freedesktop.UPower).
type Login struct {
	conn  *dbus.Conn
	power *prop.Properties

	mu     sync.Mutex
	bright []uint32
}

// NewLogin claims the bus names. charge is the battery's percentage; -1 means no battery.
func NewLogin(t testing.TB, b *Bus, charge float64, state uint32) *Login {
	t.Helper()
	l := &Login{conn: b.Conn(t)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const (
		user = dbus.ObjectPath("/org/freedesktop/login1/user/_1")
		seat = dbus.ObjectPath("/org/freedesktop/login1/session/_1")
	)
	type shown struct {
		ID   string
		Path dbus.ObjectPath
	}
	must(l.conn.Export(loginManager{user}, "/org/freedesktop/login1", "org.freedesktop.login1.Manager"))
	_, err := prop.Export(l.conn, user, prop.Map{"org.freedesktop.login1.User": {"Display": {Value: shown{"1", seat}}}})
	must(err)
	must(l.conn.Export(loginSession{l}, seat, "org.freedesktop.login1.Session"))
	l.power, err = prop.Export(l.conn, "/org/freedesktop/UPower/devices/DisplayDevice", prop.Map{"org.freedesktop.UPower.Device": {
		"IsPresent": {Value: charge >= 0}, "Percentage": {Value: max(0, charge)}, "State": {Value: state}, "TimeToEmpty": {Value: int64(5400)}, "TimeToFull": {Value: int64(600)},
	}})
	must(err)
	_, err = prop.Export(l.conn, "/org/freedesktop/UPower", prop.Map{"org.freedesktop.UPower": {"OnBattery": {Value: state == 2}}})
	must(err)
	for _, name := range []string{"org.freedesktop.login1", "org.freedesktop.UPower"} {
		if reply, err := l.conn.RequestName(name, 0); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
			t.Fatalf("claim the bus name %s: %v %v", name, reply, err)
		}
	}
	return l
}

// Sleep sends logind's signal before (true) or after (false) a sleep.
func (l *Login) Sleep(before bool) {
	_ = l.conn.Emit("/org/freedesktop/login1", "org.freedesktop.login1.Manager.PrepareForSleep", before)
}

// Bright returns the values that the backlight was set to.
func (l *Login) Bright() []uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]uint32(nil), l.bright...)
}

// Environ returns the environment of a process with this bus as its system bus.
func (b *Bus) Environ(more map[string]string) func(string) string {
	return func(key string) string {
		if v, ok := more[key]; ok {
			return v
		}
		switch key {
		case "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS":
			return b.Address
		}
		return ""
	}
}

type loginManager struct{ user dbus.ObjectPath }

// GetUser returns the object of the user with this uid.
func (m loginManager) GetUser(uid uint32) (dbus.ObjectPath, *dbus.Error) {
	if int64(uid) != int64(os.Getuid()) {
		return "", dbus.NewError("org.freedesktop.login1.NoSuchUser", nil)
	}
	return m.user, nil
}

type loginSession struct{ l *Login }

// SetBrightness records the brightness of a device.
func (s loginSession) SetBrightness(class, device string, to uint32) *dbus.Error {
	if class != "backlight" || device == "" {
		return dbus.NewError("org.freedesktop.DBus.Error.InvalidArgs", nil)
	}
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.l.bright = append(s.l.bright, to)
	return nil
}
