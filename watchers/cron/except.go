package cron

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/watchers"
)

// maxExcept limits the entries for excluded days in a schedule.
const maxExcept = 100

// errNoDaysOff explains how to configure the days off.
var errNoDaysOff = errors.New(`cron: days off are not configured; name a calendar file that contains them: hob config set autonomy.days_off '["~/holidays.ics"]'`)

func checkExcept(list []string) error {
	if len(list) > maxExcept {
		return fmt.Errorf(`cron: "except" may contain at most %d days`, maxExcept)
	}
	for _, e := range list {
		if e != dateparse.DaysOff && !dateparse.ExceptDate(e) {
			return fmt.Errorf(`cron: "except" contains %q; use a yearly date ("12-24"), a single date ("2026-12-24"), or %q`, strings.ToValidUTF8(e, "?"), dateparse.DaysOff)
		}
	}
	return nil
}

// zonedSchedule is a schedule whose times can be converted to another zone.
type zonedSchedule interface {
	watchers.Timed
	watchers.ZoneBound
}

// exceptionSchedule excludes some days from a schedule.
type exceptionSchedule struct {
	zonedSchedule
	except []string
	zone   func() *time.Location
	off    func(day time.Time) bool // the user's days off
}

// mostSpared limits the consecutive excluded occurrences that are skipped. If all these occurrences
// are excluded, there is no next time.
const mostSpared = 1500

// Next implements watchers.Timed.
func (s exceptionSchedule) Next(t time.Time) (time.Time, bool) {
	for range mostSpared {
		next, ok := s.zonedSchedule.Next(t)
		if !ok {
			return next, false
		}
		day := next.In(s.zone())
		if !s.isExcluded(day) {
			return next, true
		}
		y, m, d := day.Date()
		t = time.Date(y, m, d+1, 0, 0, 0, 0, day.Location()).Add(-time.Nanosecond)
		if t.Before(next) { // a clock change can make a day end twice, so never return to a time before next
			t = next
		}
	}
	return time.Time{}, false
}

// Spares implements watchers.ExceptionFilter.
func (s exceptionSchedule) Spares(at time.Time) bool { return s.isExcluded(at.In(s.zone())) }

func (s exceptionSchedule) isExcluded(day time.Time) bool {
	return slices.ContainsFunc(s.except, func(e string) bool {
		if e == dateparse.DaysOff {
			return s.off(day)
		}
		return strings.HasSuffix(day.Format(time.DateOnly), e)
	})
}
