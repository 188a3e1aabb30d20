package power

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
	"hob/platform/retry"
)

const (
	upower        = "org.freedesktop.UPower"
	upowerDisplay = dbus.ObjectPath("/org/freedesktop/UPower/devices/DisplayDevice")
	upowerDevice  = upower + ".Device"
)

// readBattery queries UPower, or the kernel's sysfs if UPower is not available.
func readBattery(ctx context.Context, o Options) (Battery, error) {
	b, err := askUPower(ctx, o)
	if err == nil {
		return b, nil
	}
	b, sys := readSupplies(filepath.Join(o.Sys, "class", "power_supply"))
	if sys == nil {
		return b, nil
	}
	return Battery{}, fmt.Errorf("%w: %w", ErrUnseen, errors.Join(err, sys))
}

func askUPower(ctx context.Context, o Options) (b Battery, err error) {
	conn, err := session.Dial(ctx, session.SystemBus(o.Getenv))
	if err != nil {
		return b, err
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	var props map[string]dbus.Variant
	if err := session.Call(ctx, conn, upower, upowerDisplay, "org.freedesktop.DBus.Properties.GetAll", []any{upowerDevice}, &props); err != nil {
		return b, err
	}
	percent, ok := props["Percentage"].Value().(float64)
	if b.Present, _ = props["IsPresent"].Value().(bool); b.Present && (!ok || percent != percent || percent < 0 || percent > 100) {
		return Battery{}, errors.New("UPower does not report the charge")
	}
	if on, err := session.Property[bool](ctx, conn, upower, "/org/freedesktop/UPower", upower, "OnBattery"); err == nil {
		b.Mains = !on
	}
	if !b.Present {
		return b, nil
	}
	b.Percent = int(percent + 0.5)
	state, _ := props["State"].Value().(uint32)
	left := "TimeToEmpty"
	switch state {
	case 1:
		b.State, left = Charging, "TimeToFull"
	case 2:
		b.State = Discharging
	case 4:
		b.State = Full
	case 5, 6:
		b.State = Held
	default:
		b.State = Unknown
	}
	if n, ok := props[left].Value().(int64); ok && n > 0 && n < 1e6 {
		b.Left = time.Duration(n) * time.Second
	}
	return b, nil
}

// readSupplies reads sysfs (Documentation/ABI/testing/sysfs-class-power).
func readSupplies(dir string) (b Battery, err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return b, err
	}
	percents := 0
	for _, e := range list[:min(64, len(list))] {
		value := func(name string) string {
			v, err := os.ReadFile(filepath.Join(dir, e.Name(), name))
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(v[:min(100, len(v))]))
		}
		switch {
		case value("type") == "Mains" || value("type") == "USB":
			b.Mains = b.Mains || value("online") == "1"
		case value("type") == "Battery" && value("scope") != "Device": // skip the batteries of mice and similar devices
			n, err := strconv.Atoi(value("capacity"))
			if err != nil || n < 0 || n > 100 {
				continue
			}
			percents += n
			if b.Present {
				percents /= 2
			}
			b.Present, b.Percent, b.State = true, percents, sysState(value("status"), b.State)
		}
	}
	return b, nil
}

// sysState returns the combined state of the batteries read before and a battery with the sysfs
// state s. A battery in use takes precedence.
func sysState(s string, before State) State {
	now := Unknown
	switch s {
	case "Charging":
		now = Charging
	case "Discharging":
		now = Discharging
	case "Full":
		now = Full
	case "Not charging":
		now = Held
	}
	if before == Charging || before == Discharging {
		return before
	}
	return now
}

// watchSleep receives logind's PrepareForSleep signals (org.freedesktop.login1). The bus sets the
// sender, so only the owner of that name, which is root on the system bus, can send them.
func watchSleep(ctx context.Context, o Options, on func(Event)) error {
	for heard := false; ; heard = true {
		err := listenPrepareForSleep(ctx, o, on)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !heard {
			return err
		}
		_ = retry.Sleep(ctx, again) // the bus connection closed; the bus may become available again
	}
}

// listenPrepareForSleep reports sleep events and returns nil when the connection ends.
func listenPrepareForSleep(ctx context.Context, o Options, on func(Event)) error {
	conn, err := session.Dial(ctx, session.SystemBus(o.Getenv))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	var there bool
	if err := session.Call(ctx, conn, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner", []any{session.Login}, &there); err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("logind is not running: %w", errors.ErrUnsupported)
	}
	signals := make(chan *dbus.Signal, 8)
	conn.Signal(signals)
	// The bus resolves the sender of the rule to the current owner of the name.
	if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(session.Login), dbus.WithMatchInterface(session.Login+".Manager"), dbus.WithMatchMember("PrepareForSleep")); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case s, ok := <-signals:
			if !ok {
				return nil
			}
			if before, ok := sleepOf(s); ok {
				on(Event(before))
			}
		}
	}
}

func sleepOf(s *dbus.Signal) (before, ok bool) {
	if s.Name != session.Login+".Manager.PrepareForSleep" || len(s.Body) != 1 {
		return false, false
	}
	before, ok = s.Body[0].(bool)
	return before, ok
}

// again is the delay before the next connection to a closed bus.
const again = 30 * time.Second
