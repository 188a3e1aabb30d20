package system

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCurrency(t *testing.T) {
	table := filepath.Join(t.TempDir(), "zone.tab")
	if err := os.WriteFile(table, []byte("#comment\nGB\t+513030-0000731\tEurope/London\nJP\t+353916+1394441\tAsia/Tokyo\thome\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ locale, zone, country string }{
		{"de_AT.UTF-8", "", "AT"},
		{"en_US.UTF-8@x", "Asia/Tokyo", "US"},
		{"C.UTF-8", "Asia/Tokyo", "JP"},
		{"", "Europe/London", "GB"},
		{"en", "Mars/Phobos", ""},
		{"xx_??", "", ""},
	} {
		r, ok := localeCountry(tc.locale)
		if !ok {
			r, ok = zoneCountry(table, tc.zone)
		}
		if got := r.String(); ok != (tc.country != "") || ok && got != tc.country {
			t.Errorf("%+v: %s, %v", tc, got, ok)
		}
	}
	for locale, want := range map[string]string{"de_AT.UTF-8": "EUR", "en_US": "USD", "ja_JP.UTF-8": "JPY", "pl_PL": "PLN", "en_ZZ": ""} {
		env := func(k string) string { return map[string]string{"LANG": locale}[k] }
		if got := Currency(env, ""); got != want {
			t.Errorf("%s: %q, want %q", locale, got, want)
		}
	}
}
