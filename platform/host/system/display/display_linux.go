package display

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
	"hob/platform/host/osrun"
)

func newBackend(o Options) backend { return linuxDisplay{o, osrun.Programs{Getenv: o.Getenv}} }

type linuxDisplay struct {
	opt Options
	run osrun.Programs
}

// backlight is a screen whose brightness the kernel controls.
type backlight struct {
	name    string
	now, of int
}

// findBacklight selects a backlight in the order that
// Documentation/ABI/stable/sysfs-class-backlight recommends: firmware, platform, raw.
func (d linuxDisplay) findBacklight() (backlight, error) {
	dir := filepath.Join(d.opt.Sys, "class", "backlight")
	list, err := os.ReadDir(dir)
	if err != nil || len(list) == 0 {
		return backlight{}, ErrNoBacklight
	}
	best, rank := backlight{}, 4
	for _, e := range list[:min(32, len(list))] {
		value := func(name string) string {
			v, err := os.ReadFile(filepath.Join(dir, e.Name(), name))
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(v[:min(40, len(v))]))
		}
		now, err1 := strconv.Atoi(value("brightness"))
		of, err2 := strconv.Atoi(value("max_brightness"))
		if err1 != nil || err2 != nil || of < 1 || now < 0 || now > of {
			continue
		}
		r := slices.Index([]string{"firmware", "platform", "raw"}, value("type"))
		if r < 0 {
			r = 3
		}
		if r < rank {
			best, rank = backlight{e.Name(), now, of}, r
		}
	}
	if rank == 4 {
		return best, ErrNoBacklight
	}
	return best, nil
}

func (d linuxDisplay) readBrightness(context.Context) (int, error) {
	b, err := d.findBacklight()
	if err != nil {
		return 0, err
	}
	return (b.now*100 + b.of/2) / b.of, nil
}

// setBrightness uses logind, which allows it for users of the local seat.
func (d linuxDisplay) setBrightness(ctx context.Context, percent int) error {
	ctx, cancel := context.WithTimeout(ctx, d.opt.Wait)
	defer cancel()
	b, err := d.findBacklight()
	if err != nil {
		return err
	}
	conn, err := session.Dial(ctx, session.SystemBus(d.opt.Getenv))
	if err != nil {
		return fmt.Errorf("set the brightness: %w", err)
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	seat, err := session.Seat(ctx, conn)
	if err != nil {
		return fmt.Errorf("set the brightness: %w", err)
	}
	to := uint32(max(1, b.of*percent/100)) //nolint:gosec // between 1 and the maximum of the screen
	if err := session.Call(ctx, conn, session.Login, seat, session.Login+".Session.SetBrightness", []any{"backlight", b.name, to}); err != nil {
		return fmt.Errorf("set the brightness: %w", err)
	}
	return nil
}

const (
	portal     = "org.freedesktop.portal.Desktop"
	portalPath = dbus.ObjectPath("/org/freedesktop/portal/desktop")
	appearance = "org.freedesktop.appearance"
	gnome      = "org.gnome.desktop.interface"
)

// isDark queries the desktop's portal (org.freedesktop.portal.Settings), and GSettings if
// there is no portal.
func (d linuxDisplay) isDark(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opt.Wait)
	defer cancel()
	on, err := d.askPortal(ctx)
	if err == nil {
		return on, nil
	}
	out, gerr := d.run.Run(ctx, nil, "gsettings", "get", gnome, "color-scheme")
	if gerr == nil {
		return strings.Contains(string(out), "prefer-dark"), nil
	}
	return false, fmt.Errorf("%w: %w", ErrUnsaid, errors.Join(err, gerr))
}

func (d linuxDisplay) askPortal(ctx context.Context) (bool, error) {
	address, err := session.Bus(d.opt.Getenv)
	if err != nil {
		return false, err
	}
	conn, err := session.Dial(ctx, address)
	if err != nil {
		return false, err
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	var v dbus.Variant
	const settings = "org.freedesktop.portal.Settings"
	err = session.Call(ctx, conn, portal, portalPath, settings+".ReadOne", []any{appearance, "color-scheme"}, &v)
	if session.IsDBusError(err, "UnknownMethod") { // a portal from before 2023
		err = session.Call(ctx, conn, portal, portalPath, settings+".Read", []any{appearance, "color-scheme"}, &v)
	}
	if err != nil {
		return false, err
	}
	for {
		inner, ok := v.Value().(dbus.Variant)
		if !ok {
			break
		}
		v = inner
	}
	scheme, ok := v.Value().(uint32)
	if !ok {
		return false, fmt.Errorf("%w: unexpected portal value %v", ErrUnsaid, v)
	}
	return scheme == 1, nil
}

// setDark changes the same settings as the desktop's own settings dialog.
func (d linuxDisplay) setDark(ctx context.Context, on bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*d.opt.Wait)
	defer cancel()
	scheme, kde := "default", "BreezeLight"
	if on {
		scheme, kde = "prefer-dark", "BreezeDark"
	}
	if strings.Contains(strings.ToUpper(session.DetectSession(ctx, d.opt.Getenv).Desktop), "KDE") {
		_, err := d.run.Run(ctx, nil, "plasma-apply-colorscheme", kde)
		return err
	}
	_, err := d.run.Run(ctx, nil, "gsettings", "set", gnome, "color-scheme", scheme)
	return err
}
