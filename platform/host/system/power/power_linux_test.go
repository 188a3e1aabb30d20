package power

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hob/platform/host/desktop/desktoptest"
)

func TestUPower(t *testing.T) {
	for name, tc := range map[string]struct {
		charge float64
		state  uint32
		want   Battery
	}{
		"discharging": {79.6, 2, Battery{true, 80, Discharging, 90 * time.Minute, false}},
		"charging":    {50, 1, Battery{true, 50, Charging, 10 * time.Minute, true}},
		"full":        {100, 4, Battery{true, 100, Full, 90 * time.Minute, true}},
		"no battery":  {-1, 0, Battery{Mains: true}},
	} {
		t.Run(name, func(t *testing.T) {
			bus := desktoptest.NewBus(t)
			desktoptest.NewLogin(t, bus, tc.charge, tc.state)
			got, err := ReadBattery(t.Context(), Options{Getenv: bus.Environ(nil), Sys: t.TempDir()})
			if err != nil || got != tc.want {
				t.Errorf("ReadBattery = %+v, %v", got, err)
			}
		})
	}
}

// Without UPower, sysfs is read. Without both, the state is unknown.
func TestSupplies(t *testing.T) {
	none := func(k string) string {
		return map[string]string{"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"}[k]
	}
	sys := t.TempDir()
	if _, err := ReadBattery(t.Context(), Options{Getenv: none, Sys: sys}); !errors.Is(err, ErrUnseen) {
		t.Errorf("ReadBattery without a battery = %v", err)
	}
	put := func(dev string, files map[string]string) {
		dir := filepath.Join(sys, "class", "power_supply", dev)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for k, v := range files {
			if err := os.WriteFile(filepath.Join(dir, k), []byte(v+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("AC", map[string]string{"type": "Mains", "online": "1"})
	if b, err := ReadBattery(t.Context(), Options{Getenv: none, Sys: sys}); err != nil || b != (Battery{Mains: true}) {
		t.Errorf("ReadBattery with mains only = %+v, %v", b, err)
	}
	put("BAT0", map[string]string{"type": "Battery", "capacity": "60", "status": "Charging"})
	put("BAT1", map[string]string{"type": "Battery", "capacity": "80", "status": "Full"})
	put("hidpp_battery_0", map[string]string{"type": "Battery", "scope": "Device", "capacity": "5", "status": "Discharging"})
	if b, err := ReadBattery(t.Context(), Options{Getenv: none, Sys: sys}); err != nil || b != (Battery{Present: true, Percent: 70, State: Charging, Mains: true}) {
		t.Errorf("ReadBattery with two batteries and a mouse = %+v, %v", b, err)
	}
}

// TestSleep checks that signals of logind are reported and signals of other senders are ignored.
func TestSleep(t *testing.T) {
	bus := desktoptest.NewBus(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Getenv: bus.Environ(nil)}
	if err := WatchSleep(ctx, o, func(Event) {}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("WatchSleep without logind = %v", err)
	}
	login := desktoptest.NewLogin(t, bus, -1, 0)
	events, ended := make(chan Event, 8), make(chan error, 1)
	go func() { ended <- WatchSleep(ctx, o, func(e Event) { events <- e }) }()
	liar := bus.Conn(t)
	for _, want := range []Event{Sleeps, Wakes} {
		for told := false; !told; { // repeat until WatchSleep listens
			_ = liar.Emit("/org/freedesktop/login1", "org.freedesktop.login1.Manager.PrepareForSleep", !bool(want))
			login.Sleep(bool(want))
			select {
			case e := <-events:
				if told = e == want; !told && want == Sleeps {
					t.Fatal("signal of another sender was reported")
				}
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
