package simulate

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRunVirtual_TakesNoTimeForAYear(t *testing.T) {
	start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	days := 0
	err := runVirtual(start, func() error {
		if now := time.Now(); !now.Equal(start) {
			t.Errorf("start time is %s", now)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 365 {
				time.Sleep(24 * time.Hour)
				days++
			}
		}()
		time.Sleep(time.Hour)
		waitIdle()
		<-done
		if now := time.Now(); !now.Equal(start.AddDate(1, 0, 0)) {
			t.Errorf("end time is %s", now)
		}
		return errors.New("expected error")
	})
	if days != 365 || err == nil || err.Error() != "expected error" {
		t.Errorf("%d days, %v", days, err)
	}
}

func TestRunVirtual_FailsInADeadlock(t *testing.T) {
	err := runVirtual(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), func() error {
		<-make(chan struct{})
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "cannot advance simulated time") {
		t.Errorf("%v", err)
	}
}
