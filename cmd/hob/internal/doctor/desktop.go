package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	channel "hob/channels/desktop"
	"hob/platform/host/desktop"
)

const desktopWait = 3 * time.Second

// checkDesktop queries the notification server without showing a notification. The daemon may
// run in another session than this command, or in none.
func checkDesktop(ctx context.Context, e Env) []Check { return desktopOf(ctx, e, e.lookupEnv) }

func desktopOf(ctx context.Context, e Env, getenv func(string) string) []Check {
	section, there := e.Config.Channel(channel.Name)
	wanted := there && section.Enabled
	if there && !wanted || !there && !desktop.Available(getenv) {
		return nil
	}
	o := desktop.Options{Getenv: getenv, Wait: desktopWait}
	return append(checkNotifications(ctx, e, o, wanted), checkPresence(ctx, o))
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

func checkNotifications(ctx context.Context, e Env, o desktop.Options, wanted bool) []Check {
	srv, err := desktop.New(o).Server(ctx)
	switch {
	case err != nil && wanted || errors.Is(err, desktop.ErrNoServer) && e.Config.Notify.Channel == channel.Name:
		return failWithError("desktop", err, "without it notifications appear on the web page; or: hob config set channels.desktop.enabled false")
	case err != nil:
		return warnCheck("desktop", "cannot show notifications: "+err.Error(), "see docs/desktop.md, or: hob config set channels.desktop.enabled false")
	case !srv.Sure:
		return warnCheck("desktop", srv.Name+" does not report whether it shows notifications", "see docs/desktop.md")
	case !srv.Actions:
		return okCheck("desktop", srv.Name+" shows notifications without buttons")
	}
	return okCheck("desktop", srv.Name+" shows notifications with buttons")
}
