package imapmail

import (
	"testing"
	"time"
)

func TestHasSlept(t *testing.T) {
	now := time.Now()
	for d, want := range map[time.Duration]bool{tickEach: false, 2 * tickEach: false, -time.Hour: false, 5 * time.Minute: true} {
		if got := hasSlept(now, now.Round(0).Add(d)); got != want {
			t.Errorf("after %s: %v", d, got)
		}
	}
}
