package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	channelsall "hob/channels/all"
	"hob/platform/host/desktop"
	"hob/platform/host/permission"
	"hob/platform/host/tray"
)

const desktopWait = 3 * time.Second

// checkDesktop queries the notification server without showing a notification. The daemon may run
// in a different session than this command, or in none.
func checkDesktop(ctx context.Context, e Env) []Check { return desktopOf(ctx, e, e.lookupEnv) }

// desktopChannel returns the name of the desktop channel.
func desktopChannel() string {
	for _, d := range channelsall.Drivers() {
		if about := d.Describe(); about.OnDesktop {
			return about.Name
		}
	}
	return ""
}

func desktopOf(ctx context.Context, e Env, getenv func(string) string) []Check {
	name := desktopChannel()
	section, there := e.Config.Channel(name)
	wanted := there && section.Enabled
	if there && !wanted || !there && !desktop.Available(getenv) {
		return nil
	}
	o := desktop.Options{Getenv: getenv, Wait: desktopWait}
	return append(checkNotifications(ctx, e, o, name, wanted), checkPresence(ctx, o))
}

// checkPresence reports how Hob detects the user's presence.
func checkPresence(ctx context.Context, o desktop.Options) Check {
	p, err := desktop.DetectPresence(ctx, o)
	switch {
	case err != nil:
		return Check{Name: "presence", State: Skip, Cause: "unknown whether you are at the machine: " + strings.ReplaceAll(err.Error(), "\n", "; ")}
	case p.LockKnown && p.Locked:
		return Check{Name: "presence", State: OK, Cause: "the screen is locked"}
	}
	return Check{Name: "presence", State: OK, Cause: fmt.Sprintf("last input on this machine %s ago (source: %s)", p.Idle.Round(time.Second), p.By)}
}

func checkNotifications(ctx context.Context, e Env, o desktop.Options, name string, wanted bool) []Check {
	off := "hob config set channels." + name + ".enabled false"
	srv, err := desktop.New(o).Server(ctx)
	switch {
	case err != nil && wanted || errors.Is(err, desktop.ErrNoServer) && e.Config.Notify.Channel == name:
		return failWithError("desktop", err, "without it, notifications appear on the web page; to disable the channel: "+off)
	case err != nil:
		return warnCheck("desktop", "cannot show notifications: "+err.Error(), "see docs/desktop.md, or: "+off)
	case !srv.Sure:
		return warnCheck("desktop", srv.Name+" does not report whether it shows notifications", "see docs/desktop.md")
	case !srv.Actions:
		return okCheck("desktop", srv.Name+" shows notifications without buttons")
	}
	return okCheck("desktop", srv.Name+" shows notifications with buttons")
}

// checkTray checks that a panel shows icons, that Hob's icon is shown and that its menu responds.
func checkTray(ctx context.Context, e Env) []Check {
	const name = "tray"
	if e.Config.Tray.Enabled == "off" {
		return okCheck(name, "disabled by [tray] enabled")
	}
	p, err := tray.Shown(ctx, e.lookupEnv, e.Daemon)
	switch {
	case errors.Is(err, errors.ErrUnsupported) && e.Tray:
		return skipCheck(name, "the icon is registered; the system does not report whether it is visible", "look for it in the menu bar or the notification area")
	case err != nil && e.Daemon == 0:
		return skipCheck(name, "the icon is shown while Hob is running", "hob start, then: hob doctor tray")
	case err != nil:
		cause, _, _ := strings.Cut(err.Error(), ": start Hob")
		return skipCheck(name, "cannot show the icon: "+cause, "start Hob in the desktop session: hob service install")
	case !p.Host:
		return warnCheck(name, "no panel in this session shows icons (docs/tray.md)", "on GNOME install the extension AppIndicator; or: hob config set tray.enabled off")
	case e.Daemon == 0:
		return skipCheck(name, "the panel shows icons; Hob's icon appears while Hob is running", "hob start, then: hob doctor tray")
	case e.DaemonErr != nil || !e.Tray:
		return skipCheck(name, "the panel shows icons; only the running Hob knows whether its icon is shown", "hob doctor tray")
	case !p.Item:
		return warnCheck(name, "the panel shows icons, but not Hob's icon", "restart Hob in the desktop session: hob stop, then hob start")
	case !p.Menu:
		return warnCheck(name, "the icon is shown, but its menu does not respond", "restart Hob: hob stop, then hob start")
	}
	return okCheck(name, "the panel shows the icon, and its menu responds")
}

// checkPermissions checks the macOS permissions of this process. It requests none.
func checkPermissions(_ context.Context, e Env) []Check {
	if !e.Desktop {
		return nil
	}
	return missingPermissionChecks(permission.List())
}

// missingPermissionChecks returns a finding for each missing permission, with a link to the
// settings page for granting it.
func missingPermissionChecks(list []permission.Permission) (out []Check) {
	const name = "permissions"
	var given []string
	for _, p := range list {
		if p.Given {
			given = append(given, p.Name)
			continue
		}
		remedy := "enable " + p.For + " in System Settings, Privacy & Security, " + p.Name
		if p.Restart {
			remedy += ", and restart Hob"
		}
		c := warnCheck(name, p.Name+" is not granted to "+p.For+". With it "+p.Why, remedy)
		c[0].Link = p.Pane
		out = append(out, c...)
	}
	if len(out) > 0 || len(given) == 0 { // other systems ask when a permission is needed
		return out
	}
	return okCheck(name, strings.Join(given, ", ")+" are given")
}
