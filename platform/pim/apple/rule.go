package apple

import (
	"fmt"
	"time"

	"github.com/teambition/rrule-go"

	"hob/platform/pim"
)

// rule is a recurrence as EventKit takes it (EKRecurrenceRule).
type rule struct {
	Frequency int       `json:"frequency"` // EKRecurrenceFrequency: 0 daily to 3 yearly
	Interval  int       `json:"interval"`
	Days      []weekday `json:"days,omitempty"`
	MonthDays []int     `json:"monthDays,omitempty"`
	Months    []int     `json:"months,omitempty"`
	Positions []int     `json:"positions,omitempty"`
	Count     int       `json:"count,omitempty"`
	Until     int64     `json:"until,omitempty"`
}

type weekday struct {
	Day  int `json:"day"` // EKWeekday: 1 is Sunday
	Week int `json:"week"`
}

// parseRule parses the subset of RRULE (RFC 5545, 3.3.10) that EventKit supports.
func parseRule(s string) (*rule, error) {
	o, err := rrule.StrToROption(s)
	if err != nil {
		return nil, fmt.Errorf("Calendar: %w: the rule %q: %w", pim.ErrInvalid, pim.SanitizeLine(s, 100), err)
	}
	if o.Freq > rrule.DAILY || len(o.Byyearday)+len(o.Byweekno)+len(o.Byhour)+len(o.Byminute)+len(o.Bysecond)+len(o.Byeaster) > 0 {
		return nil, fmt.Errorf("Calendar: %w: macOS does not support the rule %q", pim.ErrInvalid, pim.SanitizeLine(s, 100))
	}
	r := &rule{Frequency: int(rrule.DAILY - o.Freq), Interval: max(o.Interval, 1), MonthDays: o.Bymonthday, Months: o.Bymonth, Positions: o.Bysetpos, Count: o.Count}
	for _, d := range o.Byweekday {
		r.Days = append(r.Days, weekday{Day: (d.Day()+1)%7 + 1, Week: d.N()}) // rrule's Monday is 0
	}
	if !o.Until.IsZero() {
		r.Until = o.Until.Round(time.Second).UnixMilli()
	}
	return r, nil
}
