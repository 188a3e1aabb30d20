package doctor

import (
	"strings"
	"testing"

	"hob/platform/host/desktop/desktoptest"
)

// TestSession checks the findings without a desktop, and with a real screen without an
// accessibility service.
func TestSession(t *testing.T) {
	e := healthyEnv(t)
	if got := checkSession(t.Context(), e); got != nil {
		t.Errorf("the test read the real desktop: %+v", got)
	}
	e.Desktop = true
	if got := checkSession(t.Context(), e); len(got) != 1 || got[0].State != Skip || !strings.Contains(got[0].Cause, "no desktop session") || got[0].Remedy == "" {
		t.Errorf("findings without a desktop: %+v", got)
	}
	display := desktoptest.Display(t)
	bus := desktoptest.NewBus(t)
	t.Setenv("XAUTHORITY", "")
	e.Getenv = func(key string) string {
		if key == "DISPLAY" {
			return display
		}
		return bus.Getenv(key)
	}
	got := checkSession(t.Context(), e)
	if len(got) != 1 || got[0].State != Warn || !strings.Contains(got[0].Cause, "accessibility") || !strings.Contains(got[0].Remedy, "at-spi2-core") {
		t.Errorf("a bare screen: %+v", got)
	}
}
