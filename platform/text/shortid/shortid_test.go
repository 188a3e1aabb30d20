package shortid

import (
	"regexp"
	"testing"
)

func TestNew(t *testing.T) {
	want := regexp.MustCompile(`^t[0-9a-hjkmnp-tv-z]{9}$`)
	seen := map[string]bool{}
	for range 1000 {
		id := New("t")
		if !want.MatchString(id) {
			t.Fatalf("New(t) = %q", id)
		}
		if seen[id] {
			t.Fatalf("New(t) returned %q twice", id)
		}
		seen[id] = true
	}
}
