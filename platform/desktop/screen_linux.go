package desktop

import (
	"context"
	"errors"
	"time"

	"hob/platform/desktop/session"
	"hob/platform/desktop/xwin"
)

// screenIdle asks the X server of this machine. Under Wayland there may be one,
// too, which knows of little: whoever runs there has been asked before.
func screenIdle(ctx context.Context, getenv func(string) string) (time.Duration, error) {
	e := session.Look(ctx, getenv)
	if e.Wayland != "" {
		return 0, errors.New("the X server under Wayland does not see what is touched")
	}
	x, err := xwin.Dial(ctx, e)
	if err != nil {
		return 0, err
	}
	defer x.Close()
	return x.Idle()
}
