package desktop

import (
	"context"
	"errors"
	"time"

	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/xwin"
)

// screenIdle queries the local X server. Under Wayland it may be XWayland, which does not see
// all input; the Wayland desktops were queried before.
func screenIdle(ctx context.Context, getenv func(string) string) (time.Duration, error) {
	e := session.DetectSession(ctx, getenv)
	if e.Wayland != "" {
		return 0, errors.New("the X server under Wayland does not see all input")
	}
	x, err := xwin.Dial(ctx, e)
	if err != nil {
		return 0, err
	}
	defer x.Close()
	return x.Idle()
}
