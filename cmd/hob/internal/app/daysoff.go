package app

import (
	"time"

	"hob/platform/text/holidays"
)

// dayOff returns a function that reports days off; nil if no calendar is configured.
func (d *App) dayOff() func(day time.Time) bool {
	paths := d.opt.Config.Autonomy.DaysOff
	if len(paths) == 0 {
		return nil
	}
	return holidays.New(paths, func(err error) { d.opt.Log.Warn("cannot load all days off", "err", err) }).Has
}
