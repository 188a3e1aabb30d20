package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/autonomy/config"
	"hob/platform/pim/pimtest"
)

func TestAccounts(t *testing.T) {
	e := healthyEnv(t)
	one := func(t *testing.T, text string) Check {
		t.Helper()
		got := checkAccounts(t.Context(), withConfig(t, e, "[accounts.work]\n"+text))
		if len(got) != 1 || got[0].Name != "account work" {
			t.Fatalf("checkAccounts = %+v", got)
		}
		return got[0]
	}
	t.Run("half of one", func(t *testing.T) {
		for text, want := range map[string]string{
			"address = \"a@example.org\"\npassword = \"x\"": "no server",
			"imap = \"imap.example.org\"\npassword = \"x\"": "no user name",
			"imap = \"imap.example.org\"\nuser = \"a\"":     "no password",
		} {
			if c := one(t, text); c.State != Fail || !strings.Contains(c.Cause, want) || c.Remedy == "" {
				t.Errorf("%s: %+v", text, c)
			}
		}
	})
	t.Run("no listener at the address", func(t *testing.T) {
		c := one(t, "imap = \"127.0.0.1:1\"\naddress = \"a@example.org\"\npassword = \"hunter2\"")
		if c.State != Fail || !strings.Contains(c.Cause, "refused") || strings.Contains(c.Cause, "hunter2") {
			t.Errorf("%+v", c)
		}
	})
	t.Run("radicale", func(t *testing.T) {
		r := pimtest.StartRadicale(t)
		r.Make("Work")
		text := fmt.Sprintf("caldav = %q\nuser = \"tester\"\npassword = ", r.URL)
		if c := one(t, text+`"secret"`); c.State != OK || c.Cause != "calendars: Work" {
			t.Errorf("%+v", c)
		}
		if c := one(t, text+`"hunter2"`); c.State != Fail || !strings.Contains(c.Cause, "sign-in") {
			t.Errorf("%+v", c)
		}
	})
	t.Run("dovecot", func(t *testing.T) {
		d := pimtest.StartDovecot(t, "")
		text := fmt.Sprintf("imap = %q\nca = %q\naddress = \"tester@test.local\"\npassword = ", d.IMAPS, d.CA)
		if c := one(t, text+`"secret"`); c.State != OK || !strings.Contains(c.Cause, "immediately") {
			t.Errorf("%+v", c)
		}
		if c := one(t, text+`"hunter2"`); c.State != Fail || !strings.Contains(c.Cause, "sign-in") || !strings.Contains(c.Remedy, "app password") || strings.Contains(c.Cause, "hunter2") {
			t.Errorf("%+v", c)
		}
	})
}

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
		{"all is well", []string{soon, old}, OK, "1 day off in the future"},
		{"missing", []string{filepath.Join(dir, "gone.ics"), soon}, Warn, "gone.ics"},
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
