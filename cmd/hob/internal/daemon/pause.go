package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/channels/web"
)

// pausedNow is the state of the pause.
type pausedNow struct {
	Paused bool      `json:"paused"`
	Until  time.Time `json:"until,omitzero"` // zero: until it is resumed
	Text   string    `json:"text"`
}

// changePause implements "pause" of web.Backend's Manage.
func (b *backend) changePause(ctx context.Context, what string) (any, error) {
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
		return nil, fmt.Errorf("%w: %w", web.ErrInvalid, err)
	}
	if err != nil {
		return nil, classifyError(err)
	}
	out := pausedNow{Text: said}
	until, on, err := b.d.bus.Paused(ctx)
	if on {
		out.Paused, out.Text = true, "Paused "+b.d.loop.PauseText(until)+"."
		if until.Before(bus.EndlessPause()) {
			out.Until = until
		}
	}
	return out, classifyError(err)
}
