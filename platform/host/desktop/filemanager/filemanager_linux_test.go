package filemanager

import (
	"errors"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/desktoptest"
)

type shower struct {
	mu   sync.Mutex
	uris []string
}

// ShowItems implements the interface.
func (s *shower) ShowItems(uris []string, _ string) *dbus.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uris = append(s.uris, uris...)
	return nil
}

func TestReveal(t *testing.T) {
	bus := desktoptest.NewBus(t)
	f := New(Options{Getenv: bus.Getenv})
	if err := f.Reveal(t.Context(), "/home/me/x"); !errors.Is(err, ErrNone) || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without a file manager: %v", err)
	}
	s, conn := &shower{}, bus.Conn(t)
	if err := conn.Export(s, managerPath, manager); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName(manager, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Reveal(t.Context(), "/home/me/a b?#%.txt"); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.uris) != 1 || s.uris[0] != "file:///home/me/a%20b%3F%23%25.txt" {
		t.Errorf("shown %q", s.uris)
	}
}
