package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	channelsall "hob/channels/all"
	"hob/platform/host/desktop"
)

const desktopWait = 3 * time.Second

// checkDesktop queries the notification server without showing a notification. The daemon may
// run in another session than this command, or in none.
func checkDesktop(ctx context.Context, e Env) []Check { return desktopOf(ctx, e, e.lookupEnv) }

// desktopChannel returns the name of the channel of the desktop.
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

// checkPresence reports how Hob detects the presence of the user.
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
		return failWithError("desktop", err, "without it notifications appear on the web page; or: "+off)
	case err != nil:
		return warnCheck("desktop", "cannot show notifications: "+err.Error(), "see docs/desktop.md, or: "+off)
	case !srv.Sure:
		return warnCheck("desktop", srv.Name+" does not report whether it shows notifications", "see docs/desktop.md")
	case !srv.Actions:
		return okCheck("desktop", srv.Name+" shows notifications without buttons")
	}
	return okCheck("desktop", srv.Name+" shows notifications with buttons")
}
