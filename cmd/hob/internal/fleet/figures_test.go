//go:build unix

package fleet

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestFleet_Figures measures turns on SQLite and with one, two and three instances on PostgreSQL, and how
// long the others need to continue the work of a killed instance. It asserts no time.
func TestFleet_Figures(t *testing.T) {
	if os.Getenv("HOB_TEST_LONG") == "" {
		t.Skip("measures for minutes; HOB_TEST_LONG=1 runs it")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Times in ms as median / 99th percentile. The model answers at once. Turns/s and claims/s: %d messages in %d sessions.\n\n", busyMessages, busySessions)
	fmt.Fprintf(&b, "%-26s %13s %13s %9s %9s %13s %13s\n", "", "turn", "with tool", "turns/s", "claims/s", "claim crosses", "reply crosses")
	for _, c := range []struct {
		name  string
		size  int
		delay time.Duration
	}{
		{"SQLite", 0, 0},
		{"PostgreSQL, 1 instance", 1, 0},
		{"PostgreSQL, 2 instances", 2, 0},
		{"PostgreSQL, 3 instances", 3, 0},
		{"1 ms away, 1 instance", 1, time.Millisecond / 2},
		{"1 ms away, 2 instances", 2, time.Millisecond / 2},
		{"1 ms away, 3 instances", 3, time.Millisecond / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newFleet(t, fleetOptions{size: c.size, seed: 1, delay: c.delay}).measureFleet(t.Context())
			fmt.Fprintf(&b, "%-26s %13s %13s %9.1f %9.1f %13s %13s\n", c.name, formatSpread(m.say), formatSpread(m.job), m.turns, m.claims, formatSpread(m.claimLag), formatSpread(m.replyLag))
		})
	}
	for _, lease := range []time.Duration{3 * time.Second, 15 * time.Second} {
		t.Run("takeover after "+lease.String(), func(t *testing.T) {
			f := newFleet(t, fleetOptions{size: 2, seed: 1, lease: lease})
			var times []time.Duration
			for n := range 5 {
				times = append(times, f.measureTakeover(t.Context(), n))
			}
			fmt.Fprintf(&b, "\nWork of a killed instance taken over, lease %s: %s ms after the kill", lease, formatSpread(times))
		})
	}
	t.Log("\n" + b.String())
}

const (
	quietTurns   = 100
	busyMessages = 600
	busySessions = 60
)

// figures are what one fleet measures.
type figures struct {
	say, job           []time.Duration // from the request until the reply arrives; job has two steps and a tool
	turns, claims      float64         // per second
	claimLag, replyLag []time.Duration // what one instance stored until another one acts on it
}

func (f *fleetFixture) measureFleet(ctx context.Context) (m figures) {
	posted := map[string]string{} // event -> instance that received it
	ask := func(word string, n int) time.Duration {
		x, began := f.instances[n%len(f.instances)], time.Now()
		event := f.sendMessage(ctx, x, "webhook:quiet", fmt.Sprintf("%s s0-%d", word, n))
		posted[event] = x.name
		for f.receiver.Replied(event).IsZero() && ctx.Err() == nil {
			pauseFor(ctx, time.Millisecond)
		}
		return f.receiver.Replied(event).Sub(began)
	}
	ask("job", 0) // the first turn fills caches
	for n := range quietTurns {
		m.say = append(m.say, ask("say", 2*n+1))
		m.job = append(m.job, ask("job", 2*n+2))
	}
	if f.server != nil && len(f.instances) > 1 {
		m.claimLag, m.replyLag = f.measureCrossing(ctx, posted)
	}
	before, began := f.countClaims(ctx), time.Now()
	var last sync.Map
	var senders sync.WaitGroup
	for s := range busySessions {
		senders.Go(func() {
			for n := range busyMessages / busySessions {
				for ctx.Err() == nil { // refused while too much is waiting
					event, err := f.instances[(s+n)%len(f.instances)].Send(ctx, fmt.Sprint("webhook:busy", s), fmt.Sprintf("job s%d-%d", s+1, n))
					if err == nil {
						last.Store(event, true)
						break
					}
					pauseFor(ctx, 50*time.Millisecond)
				}
			}
		})
	}
	senders.Wait()
	var end time.Time
	last.Range(func(event, _ any) bool {
		f.awaitProgress(ctx, "all replies", f.receiver.Count, func() bool { return !f.receiver.Replied(event.(string)).IsZero() })
		if at := f.receiver.Replied(event.(string)); at.After(end) {
			end = at
		}
		return true
	})
	m.turns = busyMessages / end.Sub(began).Seconds()
	m.claims = float64(f.countClaims(ctx)-before) / end.Sub(began).Seconds()
	return m
}

// measureCrossing returns how long it took until an instance claimed what another one had received, and
// until an instance delivered the reply of another one.
func (f *fleetFixture) measureCrossing(ctx context.Context, posted map[string]string) (claimLag, replyLag []time.Duration) {
	names, _, _ := f.listTerms(ctx)
	sender := f.queryRows(ctx, `SELECT i.name FROM leases l JOIN instances i ON i.epoch = l.epoch WHERE l.name LIKE '%webhook%' LIMIT 1`)
	received := map[string]time.Time{}
	for _, r := range f.queryRows(ctx, `SELECT id, received_at FROM inbox WHERE kind = 'message'`) {
		received[r[0].(string)] = time.UnixMilli(r[1].(int64))
	}
	for _, c := range f.listClaims(ctx) {
		switch {
		case posted[c.event] == "":
		case c.state == "claimed" && names[c.actor] != posted[c.event]:
			claimLag = append(claimLag, c.began.Sub(received[c.event]))
		case c.state == "done" && len(sender) > 0 && names[c.actor] != sender[0][0].(string):
			replyLag = append(replyLag, f.receiver.Replied(c.event).Sub(c.committed))
		}
	}
	return claimLag, replyLag
}

// countClaims returns the number of claims so far, or 0 without PostgreSQL.
func (f *fleetFixture) countClaims(ctx context.Context) int64 {
	if f.server == nil {
		return 0
	}
	return f.queryRows(ctx, `SELECT count(*) FROM test_claims WHERE state = 'claimed'`)[0][0].(int64)
}

// measureTakeover kills an instance that works on a turn and returns the time until another one claims it.
func (f *fleetFixture) measureTakeover(ctx context.Context, round int) time.Duration {
	f.setThink(10 * time.Second)
	for n := 0; ctx.Err() == nil; n++ {
		event := f.sendMessage(ctx, f.instances[n%2], fmt.Sprintf("webhook:over%d-%d", round, n), fmt.Sprintf("say s%d-%d", round, n))
		f.awaitProgress(ctx, "the claim", func() int { return 0 }, func() bool { return len(f.listClaimers(ctx, event)) > 0 })
		if f.listClaimers(ctx, event)[0] != "a" {
			continue
		}
		f.instances[0].Kill()
		killed := time.Now()
		f.awaitProgress(ctx, "the takeover", func() int { return 0 }, func() bool { return slices.Contains(f.listClaimers(ctx, event), "b") })
		var at time.Time
		for _, c := range f.listClaims(ctx) {
			if c.event == event && c.state == "claimed" {
				at = c.committed
			}
		}
		f.setThink(0)
		if !f.instances[0].Start("") {
			f.t.Fatal("the instance did not start again")
		}
		return at.Sub(killed)
	}
	return 0
}

// listClaimers returns the names of the instances that claimed an event, in order.
func (f *fleetFixture) listClaimers(ctx context.Context, event string) (names []string) {
	for _, r := range f.queryRows(ctx, `SELECT t.name FROM test_claims c JOIN (SELECT DISTINCT name, epoch FROM test_terms) t ON t.epoch = c.actor
		WHERE c.event = $1 AND c.state = 'claimed' ORDER BY c.seq`, event) {
		names = append(names, r[0].(string))
	}
	return names
}

// formatSpread formats the median and the 99th percentile in milliseconds.
func formatSpread(times []time.Duration) string {
	if len(times) == 0 {
		return "-"
	}
	slices.Sort(times)
	at := func(percent int) int64 { return times[(len(times)-1)*percent/100].Milliseconds() }
	return fmt.Sprintf("%d / %d", at(50), at(99))
}
