package watchers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fixedInterval is a Timed with a fixed interval.
type fixedInterval struct {
	step  time.Duration
	until time.Time
}

func (e fixedInterval) Next(t time.Time) (time.Time, bool) {
	n := t.Truncate(e.step).Add(e.step)
	return n, e.until.IsZero() || !n.After(e.until)
}

func hoursAfter(h float64) time.Time {
	return time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC).Add(time.Duration(h * float64(time.Hour)))
}

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		name    string
		policy  MisfirePolicy
		next    time.Time
		now     time.Time
		until   time.Time
		run     []time.Time
		folded  int
		drops   int
		skipped []time.Time
		after   time.Time
	}{
		{name: "on time", policy: RunOnce, next: hoursAfter(8), now: hoursAfter(8), run: []time.Time{hoursAfter(8)}, after: hoursAfter(9)},
		{name: "a few seconds late is on time", policy: Skip, next: hoursAfter(8), now: hoursAfter(8.01), run: []time.Time{hoursAfter(8)}, after: hoursAfter(9)},
		{name: "one missed, run", policy: RunOnce, next: hoursAfter(8), now: hoursAfter(8.5), run: []time.Time{hoursAfter(8)}, after: hoursAfter(9)},
		{name: "several missed, one run", policy: RunOnce, next: hoursAfter(8), now: hoursAfter(12.5), run: []time.Time{hoursAfter(12)}, folded: 4, after: hoursAfter(13)},
		{name: "missed and now due, one run", policy: RunOnce, next: hoursAfter(8), now: hoursAfter(12), run: []time.Time{hoursAfter(12)}, folded: 4, after: hoursAfter(13)},
		{name: "one missed, skipped", policy: Skip, next: hoursAfter(8), now: hoursAfter(8.5), drops: 1, skipped: []time.Time{hoursAfter(8), hoursAfter(8)}, after: hoursAfter(9)},
		{name: "several skipped", policy: Skip, next: hoursAfter(8), now: hoursAfter(12.5), drops: 5, skipped: []time.Time{hoursAfter(8), hoursAfter(12)}, after: hoursAfter(13)},
		{name: "skipped, except the one that is due now", policy: Skip, next: hoursAfter(8), now: hoursAfter(12), run: []time.Time{hoursAfter(12)}, drops: 4, skipped: []time.Time{hoursAfter(8), hoursAfter(11)}, after: hoursAfter(13)},
		{name: "each missed one, oldest first", policy: RunAll, next: hoursAfter(8), now: hoursAfter(10.5), run: []time.Time{hoursAfter(8), hoursAfter(9), hoursAfter(10)}, after: hoursAfter(11)},
		{name: "the last one", policy: RunOnce, next: hoursAfter(8), now: hoursAfter(10.5), until: hoursAfter(9), run: []time.Time{hoursAfter(9)}, folded: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := planBatch(fixedInterval{time.Hour, c.until}, c.policy, c.next, c.now)
			got := fmt.Sprint(b.run, b.folded, b.drops, b.skipped, b.next)
			want := fmt.Sprint(c.run, c.folded, c.drops, c.skipped, c.after)
			if got != want {
				t.Errorf("run, folded, drops, skipped, next:\ngot  %s\nwant %s", got, want)
			}
		})
	}
}

func TestPlan_IsBounded(t *testing.T) {
	now := hoursAfter(0)
	for _, years := range []int{1, 30} {
		b := planBatch(fixedInterval{step: time.Minute}, RunAll, now.AddDate(-years, 0, 0), now)
		if len(b.run) != maxRunAll || !b.run[0].Equal(now.Add(-99*time.Minute)) || !b.last.Equal(now) || !b.next.Equal(now.Add(time.Minute)) {
			t.Errorf("%d years: runs %d from %s to %s, next %s", years, len(b.run), b.run[0], b.last, b.next)
		}
		if b.drops < maxCount || !b.skipped[1].Equal(now.Add(-100*time.Minute)) {
			t.Errorf("%d years: %d dropped, last %s", years, b.drops, b.skipped[1])
		}
		text := b.batchSignals("x", Spec{}, now, time.UTC)[0].Text
		if !strings.Contains(text, "more than 10000 times") {
			t.Errorf("text %q", text)
		}
	}
}

func TestSignalTexts(t *testing.T) {
	loc := time.FixedZone("EEST", 3*3600)
	s := Spec{ID: "w1", Provenance: "outside"}
	for _, c := range []struct {
		name    string
		b       dueBatch
		now     time.Time
		text    string
		key     string
		late    time.Duration
		payload string
	}{
		{
			"on time",
			dueBatch{run: []time.Time{hoursAfter(8)}},
			hoursAfter(8), "stretch", "w1@2026-05-04T08:00:00Z", 0,
			`{"due":"2026-05-04T11:00:00+03:00","late_seconds":0,"missed":0}`,
		},
		{
			"late today",
			dueBatch{run: []time.Time{hoursAfter(8)}},
			hoursAfter(9.5), "stretch (ran late, was due at 11:00)", "w1@2026-05-04T08:00:00Z",
			90 * time.Minute, `{"due":"2026-05-04T11:00:00+03:00","late_seconds":5400,"missed":0}`,
		},
		{
			"late since Friday",
			dueBatch{run: []time.Time{hoursAfter(8 - 72)}, folded: 2},
			hoursAfter(9),
			"stretch (one late run for 3 missed times; the last was due on Fri 1 May at 11:00)", "w1@2026-05-01T08:00:00Z",
			73 * time.Hour, `{"due":"2026-05-01T11:00:00+03:00","late_seconds":262800,"missed":2}`,
		},
		{
			"due now after missed ones",
			dueBatch{run: []time.Time{hoursAfter(8)}, folded: 2},
			hoursAfter(8),
			"stretch (also replaces 2 earlier times that were missed)", "w1@2026-05-04T08:00:00Z", 0,
			`{"due":"2026-05-04T11:00:00+03:00","late_seconds":0,"missed":2}`,
		},
		{
			"skipped once",
			dueBatch{drops: 1, skipped: []time.Time{hoursAfter(8), hoursAfter(8)}},
			hoursAfter(9), "Skipped: stretch (was due at 11:00)",
			"w1@2026-05-04T08:00:00Z/skipped", 0, `{"first":"2026-05-04T11:00:00+03:00","last":"2026-05-04T11:00:00+03:00","skipped":1}`,
		},
		{
			"skipped often",
			dueBatch{drops: 3, skipped: []time.Time{hoursAfter(-9000), hoursAfter(8)}},
			hoursAfter(9),
			"Skipped 3 times: stretch (due from Thu 24 Apr 2025 at 03:00 to today at 11:00)",
			"w1@2026-05-04T08:00:00Z/skipped", 0, `{"first":"2025-04-24T03:00:00+03:00","last":"2026-05-04T11:00:00+03:00","skipped":3}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.b.batchSignals("stretch", s, c.now, loc)[0]
			want := Signal{Key: c.key, Text: c.text, Note: got.Note, Late: c.late, Payload: json.RawMessage(c.payload), Source: "outside", Skipped: c.b.drops, At: got.At}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if got.Skipped == 0 && (got.Note == "") != (got.Text == "stretch") || !strings.Contains(got.Text, got.Note) {
				t.Errorf("note %q of %q", got.Note, got.Text)
			}
		})
	}
}

// The user gets one line, regardless of the number of missed occurrences.
func TestSignalTexts_ManyMissedAreOneLine(t *testing.T) {
	now := hoursAfter(300)
	for policy, want := range map[MisfirePolicy]string{
		RunOnce: "pills (also replaces 299 earlier times that were missed)",
		Skip:    "Skipped 299 times: pills (due from Mon 4 May at 01:00 to today at 11:00)",
	} {
		b := planBatch(fixedInterval{step: time.Hour}, policy, hoursAfter(1), now)
		got := b.batchSignals("pills", Spec{ID: "w"}, now, time.UTC)
		if got[0].Text != want || len(got) > 2 || len(got) == 2 && got[1].Text != "pills" {
			t.Errorf("%s: batchSignals = %+v", policy, got)
		}
	}
}

// TestClock_Jumps lets the wall clock run, jump forward and jump back, with restarts at random
// times. Each occurrence must be handled exactly once, after the wall clock has passed it.
func TestClock_Jumps(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		timed := fixedInterval{step: time.Hour}
		now := hoursAfter(0.5)
		tm := &timer{spec: Spec{ID: "w"}, timed: timed, next: hoursAfter(1)}
		c := newClock()
		c.setTimer(tm)
		handled := map[time.Time]bool{}
		for range 300 {
			switch rng.IntN(10) {
			case 0: // set back, but by less than wrongClock
				now = now.Add(-time.Duration(rng.Int64N(int64(20 * time.Hour))))
				if least := tm.last.Add(-wrongClock); now.Before(least) {
					now = least
				}
				c.rebaseTimers(now)
			case 1: // suspended
				now = now.Add(time.Duration(rng.Int64N(int64(30 * time.Hour))))
			case 2: // restarted: only the stored state remains
				tm = &timer{spec: tm.spec, timed: timed, next: tm.next, last: tm.last}
				c = newClock()
				c.setTimer(tm)
				c.rebaseTimers(now)
			default:
				now = now.Add(time.Duration(rng.Int64N(int64(20 * time.Minute))))
			}
			for due := c.firstDue(now); due != nil; due = c.firstDue(now) {
				b := planBatch(due.timed, RunAll, due.next, now)
				for _, at := range b.run {
					if handled[at] || at.After(now) {
						t.Fatalf("seed %d: %s handled again at %s", seed, at, now)
					}
					handled[at] = true
				}
				due.next, due.last = b.next, b.last
				c.fixTimer(due)
			}
			if !tm.next.After(now) || tm.next.Sub(tm.last) > time.Hour && !tm.last.IsZero() {
				t.Fatalf("seed %d: at %s the next is %s, the last was %s", seed, now, tm.next, tm.last)
			}
			if w := c.sleepTime(now); w < 0 || w > longestSleep {
				t.Fatalf("seed %d: waits %s", seed, w)
			}
		}
	}
}

func TestClock_WasWrong(t *testing.T) {
	// The clock showed 2030 temporarily: the occurrences that were handled at that time must not
	// silence the schedule until 2030.
	c := newClock()
	wrong := hoursAfter(8).AddDate(4, 0, 0)
	tm := &timer{spec: Spec{ID: "w"}, timed: fixedInterval{step: 24 * time.Hour}, next: wrong.Add(24 * time.Hour), last: wrong}
	c.setTimer(tm)
	if changed := c.rebaseTimers(hoursAfter(9)); len(changed) != 1 || !tm.next.Equal(hoursAfter(24)) {
		t.Errorf("next = %s", tm.next)
	}
}

func TestClock_Order(t *testing.T) {
	c := newClock()
	if c.sleepTime(hoursAfter(0)) != -1 || c.firstDue(hoursAfter(0)) != nil {
		t.Error("a clock without timers reports a time")
	}
	for _, h := range []float64{3, 1, 2} {
		c.setTimer(&timer{spec: Spec{ID: fmt.Sprint(h)}, timed: fixedInterval{step: time.Hour}, next: hoursAfter(h)})
	}
	c.setTimer(&timer{spec: Spec{ID: "2"}, timed: fixedInterval{step: time.Hour}, next: hoursAfter(5)}) // replaces the timer
	c.byID["1"].retry = hoursAfter(4)                                                                   // retry after a failure
	c.fixTimer(c.byID["1"])
	var got []string
	for t := c.firstDue(hoursAfter(10)); t != nil; t = c.firstDue(hoursAfter(10)) {
		got = append(got, t.spec.ID)
		c.removeTimer(t.spec.ID)
	}
	if d := cmp.Diff([]string{"3", "1", "2"}, got); d != "" {
		t.Error(d)
	}
}

func TestKindOf(t *testing.T) {
	a := fmt.Errorf("watch: %w", &os.PathError{Op: "open", Path: "/a", Err: syscall.EACCES})
	b := &os.PathError{Op: "stat", Path: "/b", Err: syscall.EACCES}
	if errorKind(a) != errorKind(b) {
		t.Errorf("%q and %q are two kinds", errorKind(a), errorKind(b))
	}
	if errorKind(errors.New("x")) == errorKind(fmt.Errorf("y: %w", errors.New("z"))) {
		t.Error("different errors have the same kind")
	}
}

func TestDecode(t *testing.T) {
	var v struct {
		Path  string   `json:"path"`
		Many  []string `json:"many,omitempty"`
		Below bool     `json:"below,omitempty"`
	}
	for in, want := range map[string]string{
		``:                "",
		`{"path":"x"}`:    "",
		`{"pth":"x"}`:     `configuration: unknown field "pth"; the allowed keys are path, many, below`,
		`{"path":7}`:      `configuration: "path" must be text, not number`,
		`{"many":"x"}`:    `configuration: "many" must be a list, not string`,
		`{"below":"x"}`:   `configuration: "below" must be true or false, not string`,
		`{"path":"x"} {}`: "configuration: must be one JSON object with nothing after it",
		`{"path":`:        "configuration: unexpected EOF; the allowed keys are path, many, below",
	} {
		err := Decode(json.RawMessage(in), &v)
		if (want == "") != (err == nil) || (err != nil && err.Error() != want) {
			t.Errorf("Decode(%s) = %v, want %q", in, err, want)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	for b.Loop() {
		planBatch(fixedInterval{step: time.Hour}, RunOnce, hoursAfter(0), hoursAfter(24*30))
	}
}
