package cron

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"hob/watchers"
)

func TestExcept(t *testing.T) {
	vilnius, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		t.Fatal(err)
	}
	off := func(day time.Time) bool { return day.Format(time.DateOnly) == "2026-12-25" }
	deps := watchers.Deps{Zone: func() *time.Location { return vilnius }, DayOff: off}
	from := time.Date(2026, 12, 23, 12, 0, 0, 0, vilnius)
	for _, tc := range []struct{ config, want, words string }{
		{`{"cron":"0 9 * * *","except":["12-24","days off"]}`, "2026-12-26 2026-12-27", "every day at 09:00, except on 24 December and days off"},
		{`{"cron":"0 9 * * *","except":["2026-12-24"]}`, "2026-12-25 2026-12-26", "every day at 09:00, except on 24 December 2026"},
		{`{"cron":"*/5 * * * *","except":["12-24"]}`, "2026-12-23 2026-12-23", "every 5 minutes, except on 24 December"},
		{`{"cron":"0 0 * * *","except":["12-24"],"tz":"UTC"}`, "2026-12-25 2026-12-26", "every day at 00:00, except on 24 December (UTC time)"},
		{`{"interval":"48h","anchor":"2026-12-22T09:00:00+02:00","except":["12-24"]}`, "2026-12-26 2026-12-28", "every other day at 09:00, except on 24 December"},
		{`{"cron":"0 9 24 12 *","except":["12-24"]}`, "", ""},
	} {
		made, err := New().New(watchers.Spec{Config: json.RawMessage(tc.config)}, deps)
		if err != nil {
			t.Fatalf("%s: %v", tc.config, err)
		}
		if _, ok := made.(watchers.ZoneBound); !ok {
			t.Errorf("%s does not follow the user's time zone", tc.config)
		}
		var got []string
		for at := from; len(got) < 2; {
			next, ok := made.(watchers.Timed).Next(at)
			if !ok {
				break
			}
			at = next
			got = append(got, at.Format(time.DateOnly))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v, want %s", tc.config, got, tc.want)
		}
		if words := New().DescribeConfig(json.RawMessage(tc.config)); tc.words != "" && words != tc.words {
			t.Errorf("%s: %s", tc.config, words)
		}
	}
	made, err := New().New(watchers.Spec{Config: json.RawMessage(`{"cron":"0 9 * * *","except":["days off"]}`)}, deps)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := made.(watchers.ExceptionFilter); !ok || s.Spares(from) || !s.Spares(time.Date(2026, 12, 25, 9, 0, 0, 0, vilnius)) {
		t.Error("an occurrence on a day off is not skipped")
	}
	for config, want := range map[string]string{
		`{"cron":"0 9 * * *","except":["24.12."]}`:   `"12-24"`,
		`{"cron":"0 9 * * *","except":["days off"]}`: "autonomy.days_off",
	} {
		if _, err := New().New(watchers.Spec{Config: json.RawMessage(config)}, watchers.Deps{Zone: deps.Zone}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", config, err)
		}
	}
}
