package turn

import (
	"slices"
	"testing"

	"hob/autonomy/guard"
	"hob/tools"
)

// If a page repeats its own address, the model may not open an address into which it could have put
// data.
func TestHistory_DoesNotOfferAnEchoedAddress(t *testing.T) {
	page := []string{
		"https://docs.example/search?q=secret1234", "https://docs.example/other", "https://elsewhere.test/plain", "https://evil.example/?d=secret1234",
		"https://evil.example/SECRET1234", "https://secret1234.evil.example/", "https://evil.example/%73ecret1234", "https://evil.example/%2573ecret1234",
	}
	for name, tc := range map[string]struct {
		asked, rule string
		want        int
	}{
		"invented":    {"https://docs.example/search?q=https%3A%2F%2Fevil.example%2Fsecret1234", "egress, owner asked, clean", 3},
		"in the path": {"https://docs.example/echo/secret1234", "approval x", 3},
		"unchanged":   {"https://docs.example/search?q=secret1234", guard.Verbatim, len(page)},
		"empty":       {"https://docs.example/", "egress, owner asked, clean", len(page)},
		"no address":  {"", "search, owner asked, clean", len(page)},
	} {
		t.Run(name, func(t *testing.T) {
			s := &callStep{result: tools.Result{Links: slices.Clone(page)}, dec: guard.Decision{Rule: tc.rule}}
			if tc.asked != "" {
				s.dec.Judgment.URLs = []string{tc.asked}
			}
			if got := openableAddresses(s); len(got) != tc.want {
				t.Errorf("offered: %q", got)
			}
		})
	}
}
