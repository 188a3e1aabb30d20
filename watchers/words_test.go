package watchers

import (
	"errors"
	"testing"
	"time"

	"hob/platform/text/dateparse"
)

func TestDescribe(t *testing.T) {
	now := time.Date(2026, 3, 11, 14, 30, 0, 0, time.FixedZone("CET", 3600)) // a Wednesday
	tests := []struct{ name, at, every, kind, config string }{
		{"instant", "in 20 minutes", "", KindOneshot, `{"at":"2026-03-11T14:50:00+01:00"}`},
		{"day without a time", "tomorrow", "", KindOneshot, `{"at":"2026-03-12T09:00:00+01:00"}`},
		{"rfc 3339", "2026-03-11T16:00:00Z", "", KindOneshot, `{"at":"2026-03-11T17:00:00+01:00"}`},
		{"weekdays", "", "every weekday at 8:30", KindCron, `{"cron":"30 8 * * 1-5"}`},
		{"without every", "", "weekday at 8:30", KindCron, `{"cron":"30 8 * * 1-5"}`},
		{"cron", "", "0 18 * * *", KindCron, `{"cron":"0 18 * * *"}`},
		{"a moment given as every", "", "tomorrow at 9", KindOneshot, `{"at":"2026-03-12T09:00:00+01:00"}`},
		{"a recurrence given as at", "every weekday at 8:30", "", KindCron, `{"cron":"30 8 * * 1-5"}`},
		{"first Monday", "", "first Monday of the month", KindCron, `{"cron":"0 9 * * 1#1"}`},
		{"every other Tuesday", "", "every other Tuesday at 7", KindCron, `{"anchor":"2026-03-17T07:00:00+01:00","interval":"336h0m0s"}`},
		{"two times a day", "", "day at 9 and 17:30", KindCron, `{"cron":"0 9 * * *; 30 17 * * *"}`},
		{"with exceptions", "", "weekdays at 8:30 except holidays", KindCron, `{"cron":"30 8 * * 1-5","except":["days off"]}`},
		{"with unknown exceptions", "", "weekdays at 8:30 except when it rains", "", ""},
		{"two contradictory times", "tomorrow in two hours", "", "", ""},
		{"neither", "", "", "", ""},
		{"both", "tomorrow", "day", "", ""},
		{"over", "2026-03-11T10:00:00Z", "", "", ""},
		{"today without a time, after nine", "today", "", "", ""},
		{"not a time", "soon enough", "", "", ""},
		{"not a recurrence", "", "blue moon", "", ""},
		{"not a cron line", "", "61 * * * *", "", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			kind, config, err := ParseSchedule(tc.at, tc.every, now)
			if (err == nil) != (tc.kind != "") || kind != tc.kind || string(config) != tc.config {
				t.Errorf("%s %s, %v; want %s %s", kind, config, err, tc.kind, tc.config)
			}
			if err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("%v does not wrap ErrInvalid", err)
			}
		})
	}
	late := now.AddDate(0, 0, 18) // the 29th, which February does not have
	for _, every := range []string{"every month", "monthly", "month at 9", "every year"} {
		if _, _, err := ParseSchedule("", every, late); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q on the 29th: %v, want ErrInvalid", every, err)
		}
	}
	for _, every := range []string{"every month on the 1st", "@monthly", "every year on 3 May", "last day of the month", "every week"} {
		if _, _, err := ParseSchedule("", every, late); err != nil {
			t.Errorf("%q on the 29th: %v", every, err)
		}
	}
	_, _, err := ParseSchedule("03/04/2027", "", now)
	if _, ok := errors.AsType[*dateparse.AmbiguousError](err); !ok {
		t.Errorf("two readings: %v", err)
	}
}
