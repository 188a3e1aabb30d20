package doctor

import (
	"context"
	"errors"
	"strings"

	"hob/platform/tray"
)

// checkTray looks whether something shows icons, and whether Hob's is among them
// and its menu answers.
func checkTray(ctx context.Context, e Env) []Check {
	const name = "tray"
	if e.Config.Tray.Enabled == "off" {
		return ok(name, "off, as [tray] enabled says")
	}
	p, err := tray.Shown(ctx, e.getenv, e.Daemon)
	switch {
	case errors.Is(err, errors.ErrUnsupported) && e.Tray:
		return skip(name, "the icon was given to the system, which does not tell whether it shows it", "look for it in the menu bar or the notification area")
	case err != nil && e.Daemon == 0:
		return skip(name, "the icon is there while Hob runs", "hob start, then: hob doctor tray")
	case err != nil:
		cause, _, _ := strings.Cut(err.Error(), ": start Hob")
		return skip(name, "no icon can be shown: "+cause, "start Hob within the desktop session: hob service install")
	case !p.Host:
		return warn(name, "nothing in this session shows icons (docs/tray.md)", "on GNOME install the extension AppIndicator; or: hob config set tray.enabled off")
	case e.Daemon == 0:
		return skip(name, "the panel takes icons; Hob's is there while it runs", "hob start, then: hob doctor tray")
	case e.DaemonErr != nil || !e.Tray:
		return skip(name, "the panel takes icons; whether Hob shows its own only the running Hob knows", "hob doctor tray")
	case !p.Item:
		return warn(name, "the panel takes icons, and Hob's is not among them", "restart Hob within the desktop session: hob stop, then hob start")
	case !p.Menu:
		return warn(name, "the icon is there, and its menu does not answer", "restart Hob: hob stop, then hob start")
	}
	return ok(name, "the panel shows the icon, and its menu answers")
}
