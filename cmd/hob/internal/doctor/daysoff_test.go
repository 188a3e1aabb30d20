package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/autonomy/config"
)

func TestDaysOff(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	on := func(day time.Time) string {
		return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:" + day.Format("20060102") + "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	}
	soon, old, none := file("soon.ics", on(time.Now().AddDate(0, 0, 3))), file("old.ics", on(time.Now().AddDate(0, 0, -3))), file("none.ics", "hello")
	for _, tc := range []struct {
		name  string
		files []string
		state State // "" = no finding
		want  string
	}{
		{"none", nil, "", ""},
		{"all is well", []string{soon, old}, OK, "1 day off ahead"},
		{"not there", []string{filepath.Join(dir, "gone.ics"), soon}, Warn, "gone.ics"},
		{"no calendar", []string{none}, Warn, "none.ics"},
		{"all is over", []string{old}, Warn, "no future days off"},
	} {
		got := checkDaysOff(t.Context(), Env{Config: &config.Config{Autonomy: config.Autonomy{DaysOff: tc.files}}})
		if tc.state == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0].State != tc.state || !strings.Contains(got[0].Cause, tc.want) {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}
