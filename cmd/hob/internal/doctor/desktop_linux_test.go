package doctor

import (
	"strings"
	"testing"

	"hob/platform/host/desktop/desktoptest"
)

func TestDesktop(t *testing.T) {
	e := healthyEnv(t)
	bus := desktoptest.NewBus(t)
	nowhere := func(string) string { return "" }
	if got := desktopOf(t.Context(), withConfig(t, e, ""), nowhere); got != nil {
		t.Errorf("findings without a desktop: %+v", got)
	}
	if got := desktopOf(t.Context(), withConfig(t, e, "[channels.desktop]\nenabled = false\n"), bus.Getenv); got != nil {
		t.Errorf("findings with the channel disabled: %+v", got)
	}
	if got := desktopOf(t.Context(), withConfig(t, e, "[channels.desktop]\n"), nowhere); len(got) != 2 || got[0].State != Fail || !strings.Contains(got[0].Cause, "no D-Bus session bus") {
		t.Errorf("findings with the channel enabled but no desktop: %+v", got)
	}
	if got := desktopOf(t.Context(), withConfig(t, e, ""), bus.Getenv); len(got) != 2 || got[0].State != Warn || got[0].Remedy == "" {
		t.Errorf("findings without a notification server: %+v", got)
	}
	if got := desktopOf(t.Context(), withConfig(t, e, ""), bus.Getenv); len(got) != 2 || got[1].Name != "presence" || !strings.Contains(got[1].Cause, "unknown whether") {
		t.Errorf("findings without presence information: %+v", got)
	}
	s := desktoptest.NewServer(t, bus, "actions")
	if got := desktopOf(t.Context(), withConfig(t, e, ""), bus.Getenv); len(got) != 2 || got[0].State != OK || !strings.Contains(got[0].Cause, "test server shows notifications with buttons") {
		t.Errorf("a server: %+v", got)
	}
	if n := len(s.All()); n > 0 {
		t.Errorf("a check showed %d notifications", n)
	}
}
