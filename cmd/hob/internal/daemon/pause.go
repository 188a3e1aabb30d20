package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/notify"
)

// SetPause implements api.Notices.
func (b *backend) SetPause(ctx context.Context, what string) (api.Pause, error) {
	var err error
	said := "Not paused."
	switch what = strings.TrimSpace(strings.ToLower(what)); what {
	case "":
	case "off":
		var was bool
		if was, err = b.d.loop.Resume(ctx); was {
			said = "Resumed. Waiting work starts now."
		} else {
			said = "Not paused."
		}
	case "on":
		_, err = b.d.loop.Pause(ctx, "")
	default:
		_, err = b.d.loop.Pause(ctx, what)
	}
	if errors.Is(err, notify.ErrTime) {
		return api.Pause{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	if err != nil {
		return api.Pause{}, classifyError(err)
	}
	out := api.Pause{Text: said}
	until, on, err := b.d.bus.Paused(ctx)
	if on {
		out.Paused, out.Text = true, "Paused "+b.d.loop.PauseText(until)+"."
		if until.Before(bus.EndlessPause()) {
			out.Until = until
		}
	}
	return out, classifyError(err)
}
