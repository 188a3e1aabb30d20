package main

import (
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"hob/platform/host/system"
)

// The time in which the daemon opens the home, up to openWait, does not count against the start
// deadline.
func TestStartDeadline_WaitsWhileHomeIsOpened(t *testing.T) {
	for name, tt := range map[string]struct{ opens, want time.Duration }{
		"already open":    {0, startWait},
		"long opening":    {5 * time.Minute, 5*time.Minute + startWait},
		"endless opening": {time.Hour, openWait + startWait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := system.Paths{Runtime: t.TempDir()}
				if tt.opens > 0 {
					if err := os.WriteFile(openingFile(p), nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				ctx, cancel := (&cli{err: io.Discard}).startDeadline(t.Context(), p)
				defer cancel()
				go func() {
					time.Sleep(tt.opens)
					_ = os.Remove(openingFile(p))
				}()
				<-ctx.Done()
				if took := time.Since(began); took < tt.want-time.Second || took > tt.want+time.Second {
					t.Errorf("the start ended after %s, want %s", took, tt.want)
				}
				time.Sleep(tt.opens) // wait until the goroutine ends
			})
		})
	}
}
