package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"hob/platform/text/holidays"
	"hob/platform/text/textnorm"
)

// checkDaysOff checks that the calendars of [autonomy] days_off are readable and contain a
// future day.
func checkDaysOff(_ context.Context, e Env) (out []Check) {
	now := time.Now()
	coming := 0
	for _, path := range e.Config.Autonomy.DaysOff {
		days, err := holidays.Read(path, now)
		if err != nil {
			out = append(out, warnCheck("days off", fmt.Sprintf("%s: %v", filepath.Base(path), err), "add calendar data (.ics), or remove it from autonomy.days_off")...)
		}
		for d := range days {
			if d >= now.Format(time.DateOnly) {
				coming++
			}
		}
	}
	switch {
	case len(e.Config.Autonomy.DaysOff) == 0 || len(out) > 0:
		return out
	case coming == 0:
		return warnCheck("days off", "your calendars contain no future days off", "download them again, or correct autonomy.days_off")
	}
	return okCheck("days off", textnorm.CountNoun(coming, "day", "days")+" off ahead")
}
