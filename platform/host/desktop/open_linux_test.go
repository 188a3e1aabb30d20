package desktop

import (
	"errors"
	"os"
	"testing"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/desktoptest"
)

// browser is a portal that opens addresses.
type browser struct{ opened chan string }

func (b browser) OpenURI(_, address string, _ map[string]dbus.Variant) (dbus.ObjectPath, *dbus.Error) {
	b.opened <- address
	return "/handle", nil
}

// TestOpen checks that an address with a sign-in token is passed to the portal, but not to a portal
// that Hob started.
func TestOpen(t *testing.T) {
	bus := desktoptest.NewBus(t)
	conn := bus.Conn(t)
	b := browser{make(chan string, 1)}
	if err := conn.Export(b, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI"); err != nil {
		t.Fatal(err)
	}
	no := errors.New("it is Hob's")
	var asked int
	n := New(Options{Getenv: bus.Getenv, Trust: func(pid int) error {
		if asked = pid; pid == os.Getpid() {
			return no
		}
		return nil
	}})
	if err := n.Open(t.Context(), "http://x/1"); err == nil || errors.Is(err, no) {
		t.Errorf("without a portal: %v", err)
	}
	if _, err := conn.RequestName("org.freedesktop.portal.Desktop", 0); err != nil {
		t.Fatal(err)
	}
	if err := n.Open(t.Context(), "http://x/2"); !errors.Is(err, no) || asked != os.Getpid() || len(b.opened) != 0 {
		t.Errorf("portal that Hob started: %v", err)
	}
	if err := New(Options{Getenv: bus.Getenv}).Open(t.Context(), "http://x/3"); err != nil || <-b.opened != "http://x/3" {
		t.Errorf("the address was not opened: %v", err)
	}
}
