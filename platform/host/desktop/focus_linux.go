package desktop

import (
	"context"
	"errors"
	"strings"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/osrun"
)

// lookFocus queries the notification server (Plasma's property, or dunst's own), then GNOME's
// settings.
func lookFocus(ctx context.Context, o Options) (Focus, string, error) {
	said := func(on bool, by string) (Focus, string, error) {
		if on {
			return FocusOn, by, nil
		}
		return FocusOff, by, nil
	}
	address, err := sessionBus(o.Getenv)
	if err != nil {
		return FocusUnknown, "", err
	}
	conn, err := dialBus(ctx, address)
	if err != nil {
		return FocusUnknown, "", err
	}
	defer conn.Close() //nolint:errcheck // nothing was to be kept
	for _, p := range [][3]string{{notesName, "Inhibited", "the notification server"}, {"org.dunstproject.cmd0", "paused", "dunst"}} {
		var v dbus.Variant // do not start a service to query it
		call := conn.Object(notesName, notesPath).CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", dbus.FlagNoAutoStart, p[0], p[1])
		if err := call.Store(&v); err == nil {
			if on, ok := v.Value().(bool); ok {
				return said(on, p[2])
			}
		}
	}
	out, err := osrun.Programs{Getenv: o.Getenv}.Run(ctx, nil, "gsettings", "get", "org.gnome.desktop.notifications", "show-banners")
	if err == nil && strings.Contains(strings.ToUpper(o.Getenv("XDG_CURRENT_DESKTOP")), "GNOME") {
		return said(strings.TrimSpace(string(out)) == "false", "GNOME")
	}
	return FocusUnknown, "", errors.New("this desktop does not report its do-not-disturb setting")
}
