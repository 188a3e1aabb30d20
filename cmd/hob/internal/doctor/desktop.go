package doctor

import (
	"context"
	"errors"
	"os"
	"time"

	channel "hob/channels/desktop"
	"hob/platform/desktop"
)

const desktopWait = 3 * time.Second

// checkDesktop asks what would show notes. It shows none. The daemon may run
// elsewhere than this command: in a session of its own, or in none.
func checkDesktop(ctx context.Context, e Env) []Check { return desktopOf(ctx, e, os.Getenv) }

func desktopOf(ctx context.Context, e Env, getenv func(string) string) []Check {
	section, there := e.Config.Channel(channel.Name)
	wanted := there && section.Enabled
	if there && !wanted || !there && !desktop.Available(getenv) {
		return nil
	}
	srv, err := desktop.New(desktop.Options{Getenv: getenv, Wait: desktopWait}).Server(ctx)
	switch {
	case err != nil && wanted || errors.Is(err, desktop.ErrNoServer) && e.Config.Notify.Channel == channel.Name:
		return failed("desktop", err, "without it notices are told on the page; or: hob config set channels.desktop.enabled false")
	case err != nil:
		return warn("desktop", "no notes can be shown: "+err.Error(), "see docs/desktop.md, or: hob config set channels.desktop.enabled false")
	case !srv.Sure:
		return warn("desktop", srv.Name+" does not tell whether it shows notes", "see docs/desktop.md")
	case !srv.Actions:
		return ok("desktop", srv.Name+" shows notes, without buttons")
	}
	return ok("desktop", srv.Name+" shows notes with buttons")
}
