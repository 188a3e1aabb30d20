package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A schedule "except holidays" omits the days in the owner's calendar, and is rejected with a
// remedy if there is no calendar.
func TestDaysOff(t *testing.T) {
	const wish = "remind me every day at 8:30 except holidays to stand up"
	h := openDaemon(t, "")
	if got := h.askHob(wish); !strings.Contains(got, "autonomy.days_off") {
		t.Error(got)
	}
	h.stop()
	path := filepath.Join(h.home, "holidays.ics")
	tomorrow := time.Now().UTC().AddDate(0, 0, 1)
	failOnError(t, os.WriteFile(path, fmt.Appendf(nil, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Founders\r\nDTSTART;VALUE=DATE:%s\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		tomorrow.Format("20060102")), 0o600))
	h = openDaemon(t, fmt.Sprintf("[autonomy]\ndays_off = [%q]\n", path))
	got := h.askHob(wish)
	if !strings.Contains(got, "except on days off") || strings.Contains(got, "tomorrow at 08:30") {
		t.Error(got)
	}
}
