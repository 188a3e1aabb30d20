package graph

import (
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// Phone reads a telephone number into E.164 (ITU-T). A number without a country
// is read as one of the region.
func Phone(s, region string) (string, bool) {
	s = strings.TrimSpace(s)
	if len(s) < 5 || len(s) > 40 || strings.Count(s, "") == 0 || !strings.ContainsAny(s, "0123456789") {
		return "", false
	}
	n, err := phonenumbers.Parse(s, region)
	if err != nil || !phonenumbers.IsValidNumber(n) {
		return "", false
	}
	return phonenumbers.Format(n, phonenumbers.E164), true
}
