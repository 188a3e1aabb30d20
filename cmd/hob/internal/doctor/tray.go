package doctor

import (
	"context"
	"errors"
	"strings"

	"hob/platform/host/tray"
)

// checkTray checks that a panel shows icons, that Hob's is shown and that its menu answers.
func checkTray(ctx context.Context, e Env) []Check {
	const name = "tray"
	if e.Config.Tray.Enabled == "off" {
		return okCheck(name, "off, because of [tray] enabled")
	}
	p, err := tray.Shown(ctx, e.lookupEnv, e.Daemon)
	switch {
	case errors.Is(err, errors.ErrUnsupported) && e.Tray:
		return skipCheck(name, "the icon was registered; the system does not report whether it shows it", "look for it in the menu bar or the notification area")
	case err != nil && e.Daemon == 0:
		return skipCheck(name, "the icon is shown while Hob runs", "hob start, then: hob doctor tray")
	case err != nil:
		cause, _, _ := strings.Cut(err.Error(), ": start Hob")
		return skipCheck(name, "cannot show the icon: "+cause, "start Hob in the desktop session: hob service install")
	case !p.Host:
		return warnCheck(name, "no panel in this session shows icons (docs/tray.md)", "on GNOME install the extension AppIndicator; or: hob config set tray.enabled off")
	case e.Daemon == 0:
		return skipCheck(name, "the panel shows icons; the icon of Hob appears while Hob runs", "hob start, then: hob doctor tray")
	case e.DaemonErr != nil || !e.Tray:
		return skipCheck(name, "the panel shows icons; only the running Hob knows whether its icon is shown", "hob doctor tray")
	case !p.Item:
		return warnCheck(name, "the panel shows icons, but not the icon of Hob", "restart Hob in the desktop session: hob stop, then hob start")
	case !p.Menu:
		return warnCheck(name, "the icon is shown, but its menu does not answer", "restart Hob: hob stop, then hob start")
	}
	return okCheck(name, "the panel shows the icon, and its menu answers")
}
