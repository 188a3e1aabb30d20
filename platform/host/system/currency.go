package system

import (
	"bufio"
	"cmp"
	"os"
	"strings"

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
)

// zoneTable lists the country of each zone (zone.tab of tzdata: country code, coordinates, zone and
// comments, separated by tabs).
const zoneTable = "/usr/share/zoneinfo/zone.tab"

// Currency returns the ISO 4217 code of the user's currency. This is the currency of the country in
// LC_ALL, LC_MONETARY, LANG or the region of Windows, or else of the country of the IANA zone. It returns "" if the
// currency is unknown.
func Currency(getenv func(string) string, zone string) string {
	country, ok := localeCountry(cmp.Or(getenv("LC_ALL"), getenv("LC_MONETARY"), getenv("LANG"), systemLocale()))
	if !ok {
		country, ok = zoneCountry(zoneTable, zone)
	}
	if !ok {
		return ""
	}
	unit, ok := currency.FromRegion(country)
	if !ok {
		return ""
	}
	return unit.String()
}

// Country returns the ISO 3166 code of the user's country. This is the country in LC_ALL,
// LC_TELEPHONE or LANG, or else the country of the IANA zone. It returns "" if the country is
// unknown.
func Country(getenv func(string) string, zone string) string {
	country, ok := localeCountry(cmp.Or(getenv("LC_ALL"), getenv("LC_TELEPHONE"), getenv("LANG"), systemLocale()))
	if !ok {
		country, ok = zoneCountry(zoneTable, zone)
	}
	if !ok {
		return ""
	}
	return country.String()
}

// localeCountry returns the country of a POSIX locale such as "de_AT.UTF-8@euro". A locale that
// contains only a language has no country.
func localeCountry(locale string) (language.Region, bool) {
	locale, _, _ = strings.Cut(locale, ".")
	locale, _, _ = strings.Cut(locale, "@")
	i := strings.LastIndex(locale, "_") // "zh_Hans_CN" has a script
	if i < 0 {
		return language.Region{}, false
	}
	country := locale[i+1:]
	r, err := language.ParseRegion(country)
	return r, err == nil && r.IsCountry()
}

func zoneCountry(table, zone string) (language.Region, bool) {
	f, err := os.Open(table)
	if err != nil || zone == "" {
		return language.Region{}, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if col := strings.Split(lines.Text(), "\t"); len(col) >= 3 && col[2] == zone {
			r, err := language.ParseRegion(col[0])
			return r, err == nil
		}
	}
	return language.Region{}, false
}
