package doctor

import (
	"strings"
	"testing"

	"hob/platform/host/desktop/desktoptest"
)

func TestDesktop(t *testing.T) {
	e := healthy(t)
	bus := desktoptest.NewBus(t)
	nowhere := func(string) string { return "" }
	if got := desktopOf(t.Context(), conf(t, e, ""), nowhere); got != nil {
		t.Errorf("a machine without a desktop: %+v", got)
	}
	if got := desktopOf(t.Context(), conf(t, e, "[channels.desktop]\nenabled = false\n"), bus.Getenv); got != nil {
		t.Errorf("switched off: %+v", got)
	}
	if got := desktopOf(t.Context(), conf(t, e, "[channels.desktop]\n"), nowhere); len(got) != 2 || got[0].State != Fail || !strings.Contains(got[0].Cause, "no D-Bus session bus") {
		t.Errorf("wanted and not there: %+v", got)
	}
	if got := desktopOf(t.Context(), conf(t, e, ""), bus.Getenv); len(got) != 2 || got[0].State != Warn || got[0].Remedy == "" {
		t.Errorf("no server: %+v", got)
	}
	if got := desktopOf(t.Context(), conf(t, e, ""), bus.Getenv); len(got) != 2 || got[1].Name != "presence" || !strings.Contains(got[1].Cause, "unknown whether") {
		t.Errorf("nobody tells who is there: %+v", got)
	}
	s := desktoptest.NewServer(t, bus, "actions")
	if got := desktopOf(t.Context(), conf(t, e, ""), bus.Getenv); len(got) != 2 || got[0].State != OK || !strings.Contains(got[0].Cause, "test server shows notifications with buttons") {
		t.Errorf("a server: %+v", got)
	}
	if n := len(s.All()); n > 0 {
		t.Errorf("%d notes were shown by a check", n)
	}
}
