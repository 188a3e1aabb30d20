package llm

import "testing"

func TestLimit(t *testing.T) {
	for name, tc := range map[string]struct{ asked, own, want int }{
		"nobody says":                 {0, 0, 0},
		"the driver's own":            {0, 8192, 8192},
		"the smaller one is asked":    {100, 8192, 100},
		"the smaller one is its own":  {32_000, 8192, 8192},
		"small enough for any model":  {4096, 0, 4096},
		"more than some models allow": {32_000, 0, 0},
	} {
		if got := (Request{MaxTokens: tc.asked}).Limit(tc.own); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
