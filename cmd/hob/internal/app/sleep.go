package app

import (
	"context"
	"errors"

	"hob/platform/host/system/power"
)

// followSleep makes the loop, the channels and the watchers check the clock when the machine
// wakes. Without wake notifications they do so within a tick.
func (d *App) followSleep(ctx context.Context) error {
	if env := d.environLookup(); env != nil {
		err := power.WatchSleep(ctx, power.Options{Getenv: env}, func(e power.Event) {
			if e != power.Wakes {
				return
			}
			d.opt.Log.Info("machine woke from sleep")
			d.watchers.HandleWake()
			d.channels.HandleWake()
			d.bus.SignalWork()
		})
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			d.opt.Log.Debug("no wake notifications on this system", "err", err)
		}
	}
	<-ctx.Done()
	return nil
}
