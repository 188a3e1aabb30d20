package watchers_test

import (
	"testing"
	"testing/synctest"
	"time"

	"hob/watchers"
)

func TestNextWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.travelTo(loadZone(t, "Europe/Berlin"))
		time.Sleep(time.Until(time.Date(2026, 3, 27, 12, 0, 0, 0, h.currentZone()))) // the clocks change on the 29th
		daily := h.createWatcher("cron", `{"cron":"30 2 * * *"}`)
		for _, c := range []struct{ name, kind, config, want string }{
			{"over a change of the clocks", "cron", `{"cron":"30 2 * * *"}`, "tomorrow at 02:30, Sun 29 Mar at 03:00 and Mon 30 Mar at 02:30"},
			{"another zone, by the user's clock", "cron", `{"cron":"0 8 * * *","tz":"America/New_York"}`, "today at 13:00, tomorrow at 13:00 and Sun 29 Mar at 14:00"},
			{"once", "oneshot", `{"at":"2027-01-01T00:00:00+01:00"}`, "Fri 1 Jan 2027 at 00:00"},
			{"leap days", "cron", `{"cron":"0 9 29 2 *"}`, "Tue 29 Feb 2028 at 09:00, Sun 29 Feb 2032 at 09:00 and Fri 29 Feb 2036 at 09:00"},
		} {
			s := h.createWatcher(c.kind, c.config)
			if got := h.m.NextWords(s, time.Now()); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
		daily.State = watchers.Paused
		if got := h.m.NextWords(daily, time.Now()); got != "" {
			t.Errorf("the text for a paused watcher is %s", got)
		}
	})
}
