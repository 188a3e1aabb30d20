package turn

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgressReporter(t *testing.T) {
	tests := []struct {
		name string
		run  func(p *progressReporter, end, cancel func())
		want []string
	}{
		{"a short call", func(_ *progressReporter, end, _ func()) { end() }, nil},
		{"silent for 50 s", func(_ *progressReporter, end, _ func()) {
			time.Sleep(50 * time.Second)
			end()
		}, []string{"15s", "30s", "45s"}},
		{"canceled while running", func(_ *progressReporter, end, cancel func()) {
			time.Sleep(20 * time.Second)
			cancel()
			time.Sleep(time.Minute) // the tool ignores the cancellation
			end()
		}, []string{"15s"}},
		{"with reports", func(p *progressReporter, end, _ func()) {
			p.reportProgress(0.1, "first")
			p.reportProgress(0.2, "too soon")
			time.Sleep(2 * time.Second)
			p.reportProgress(0.5, "half")
			p.reportProgress(7, "")
			time.Sleep(14 * time.Second)
			end()
			p.reportProgress(1, "too late")
		}, []string{"0s 10% first", "2s 50% half", "15s 100%"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				p, end := newPulse(ctx, "call_1", "crawl", func(typ string, d map[string]any) {
					if typ == "tool_start" {
						return
					}
					s := fmt.Sprintf("%ds", d["seconds"])
					if d["percent"] != nil {
						s += fmt.Sprintf(" %d%%", d["percent"])
					}
					if d["note"] != nil {
						s += fmt.Sprintf(" %s", d["note"])
					}
					got = append(got, s)
				})
				tc.run(p, end, func() { cancel(); synctest.Wait() })
				time.Sleep(time.Minute)
				synctest.Wait()
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Error(d)
				}
			})
		})
	}
}
