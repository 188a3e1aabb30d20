package agent

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPulse(t *testing.T) {
	tests := []struct {
		name string
		run  func(p *pulse, end, cancel func())
		want []string
	}{
		{"a short call", func(_ *pulse, end, _ func()) { end() }, nil},
		{"silent for 50 s", func(_ *pulse, end, _ func()) {
			time.Sleep(50 * time.Second)
			end()
		}, []string{"15s", "30s", "45s"}},
		{"cancelled while it runs", func(_ *pulse, end, cancel func()) {
			time.Sleep(20 * time.Second)
			cancel()
			time.Sleep(time.Minute) // it does not listen
			end()
		}, []string{"15s"}},
		{"it reports", func(p *pulse, end, _ func()) {
			p.report(0.1, "first")
			p.report(0.2, "too soon")
			time.Sleep(2 * time.Second)
			p.report(0.5, "half")
			p.report(7, "")
			time.Sleep(14 * time.Second)
			end()
			p.report(1, "too late")
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
