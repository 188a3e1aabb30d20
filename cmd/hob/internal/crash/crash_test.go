//go:build unix

package crash

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// failpoints lists the failpoints at which the daemon can be killed (see hob/platform/failpoint).
// upTo is the maximum number of hits before the kill.
var failpoints = []struct {
	name string
	upTo int
}{
	{"store.commit.before", 30},
	{"store.commit.after", 30},
	{"loop.claimed", 12},
	{"model.call.before", 6},
	{"model.call.after", 6},
	{"tool.call.before", 3},
	{"tool.call.after", 3},
	{"channel.send.before", 6},
	{"channel.send.after", 6},
}

// TestKilledAtAnyInstant checks promise 1 of the architecture: nothing is lost and nothing is done
// twice. HOB_CRASH_KILLS (default 12) and HOB_CRASH_SEED choose the run; HOB_CRASH_REPORT names a
// file for the report.
func TestKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	kills := envNumber("HOB_CRASH_KILLS", 12)
	seed := envNumber("HOB_CRASH_SEED", 1)
	w := newFixture(t, uint64(seed))
	w.addConfig("[watchers]\nper_day = 100000\n") // on a slow machine many files are created between two kills
	began := time.Now()
	if !w.startDaemon("") {
		t.Fatal("the daemon did not start")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	watch := w.sendMessage(ctx, "watch 0")
	tick := w.sendMessage(ctx, "tick 0")
	w.waitUntil(ctx, "the watcher and the schedule", func() bool { return w.isDone(ctx, watch) && w.isDone(ctx, tick) })

	in := &inputs{}
	feeding, stop := context.WithCancel(ctx)
	var feeders sync.WaitGroup
	feeders.Go(func() { in.sendMessages(feeding, ctx, w, "job", 25*time.Millisecond) })
	feeders.Go(func() { in.sendMessages(feeding, ctx, w, "ring", 160*time.Millisecond) })
	feeders.Go(func() { in.writeFiles(feeding, w, 90*time.Millisecond) })
	for n := range kills {
		w.killOnce(n)
	}
	w.daemonUp()
	stop()
	feeders.Wait()
	w.verifyDeliveries(ctx, in)
	w.Stop()
	w.writeReport(in, kills, seed, time.Since(began))
}

func envNumber(env string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil && n > 0 {
		return n
	}
	return def
}

// killOnce starts the daemon and kills it: in two of three cases at a failpoint, otherwise at a
// random instant.
func (w *daemonFixture) killOnce(n int) {
	w.Kill()
	if n%3 == 2 {
		w.startDaemon("")
		time.Sleep(time.Duration(w.rnd.IntN(350)) * time.Millisecond)
		w.Kill()
		w.random++
		return
	}
	p := failpoints[w.rnd.IntN(len(failpoints))]
	w.startDaemon(fmt.Sprintf("%s:%d", p.name, 1+w.rnd.IntN(p.upTo)))
	select {
	case <-w.Exited():
		w.points[p.name]++
	case <-time.After(1500 * time.Millisecond):
		w.Kill()
		w.random++
	}
}

func (w *daemonFixture) daemonUp() {
	w.Kill()
	if !w.startDaemon("") {
		w.t.Fatal("the daemon did not start again")
	}
}

// mostOpen limits the inputs that wait for their deliveries. Hundreds of kills on a slow machine
// take minutes; without a limit, more inputs would arrive than Hob can answer in the end.
const mostOpen = 300

// inputs lists the inputs that were sent and acknowledged.
type inputs struct {
	mu    sync.Mutex
	jobs  map[int]string // number -> event
	rings map[int]string
	pdfs  []string
}

// countMissing returns the number of expected deliveries that have not arrived.
func (in *inputs) countMissing(w *daemonFixture) int {
	in.mu.Lock()
	want := len(in.jobs) + 2*len(in.rings) + len(in.pdfs)
	in.mu.Unlock()
	return want - w.receiver.Count()
}

func (in *inputs) sendMessages(feeding, ctx context.Context, w *daemonFixture, word string, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-feeding.Done():
			return
		case <-tick.C:
		}
		if in.countMissing(w) > mostOpen {
			n--
			continue
		}
		event := w.sendMessage(ctx, fmt.Sprintf("%s %d", word, n))
		in.mu.Lock()
		if word == "job" {
			in.jobs = addEvent(in.jobs, n, event)
		} else {
			in.rings = addEvent(in.rings, n, event)
		}
		in.mu.Unlock()
	}
}

func addEvent(m map[int]string, n int, event string) map[int]string {
	if m == nil {
		m = map[int]string{}
	}
	m[n] = event
	return m
}

func (in *inputs) writeFiles(feeding context.Context, w *daemonFixture, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-feeding.Done():
			return
		case <-tick.C:
		}
		if in.countMissing(w) > mostOpen {
			n--
			continue
		}
		name := fmt.Sprintf("paper-%05d.pdf", n)
		if err := os.WriteFile(filepath.Join(w.drop, name), []byte("%PDF-1.4 "+name), 0o600); err != nil {
			w.t.Error(err)
			return
		}
		in.mu.Lock()
		in.pdfs = append(in.pdfs, name)
		in.mu.Unlock()
	}
}

// isDone asks the inbox whether an event is finished.
func (w *daemonFixture) isDone(ctx context.Context, event string) bool {
	var s struct{ State string }
	return w.Call(ctx, http.MethodGet, "/api/v1/inbox/"+event, nil, &s) == nil && s.State == "done"
}

// waitUntil waits until ok returns true, and fails the test after a minute.
func (w *daemonFixture) waitUntil(ctx context.Context, what string, ok func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			w.t.Errorf("waited in vain for %s", what)
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// verifyDeliveries waits until everything has arrived, then a little longer for messages that must not
// arrive, and checks the numbers.
func (w *daemonFixture) verifyDeliveries(ctx context.Context, in *inputs) {
	t := w.t
	ticks := w.countMinutes(ctx)
	want := len(in.jobs) + 2*len(in.rings) + len(in.pdfs) + 2 + ticks // two more replies: the watcher's and the schedule's
	w.waitUntil(ctx, "all deliveries", func() bool { return len(w.receiver.All()) >= want })
	if t.Failed() {
		w.explainOpen(ctx)
	}
	w.waitUntil(ctx, "a quiet part of a minute", func() bool { return time.Now().Second() > 1 && time.Now().Second() < 55 })
	time.Sleep(2 * time.Second)
	if more := w.countMinutes(ctx); more != ticks { // a new minute has begun
		want, ticks = want+more-ticks, more
	}
	replies, notices := map[string]int{}, map[string]int{}
	answer := map[string]string{}
	for _, d := range w.receiver.All() {
		switch d.Kind {
		case "reply":
			replies[d.Event]++
			answer[d.Event] = d.Text
		default:
			notices[d.Text]++
		}
	}
	lost, doubled := 0, 0
	count := func(what string, n int) {
		switch {
		case n == 0:
			lost++
			t.Errorf("lost: %s", what)
		case n > 1:
			doubled++
			t.Errorf("%d times: %s", n, what)
		}
	}
	for n, e := range in.jobs {
		count(fmt.Sprintf("the answer to job %d (%s)", n, e), replies[e])
	}
	for n, e := range in.rings {
		count(fmt.Sprintf("the answer to ring %d", n), replies[e])
		count(fmt.Sprintf("the reminder %d (%s)", n, answer[e]), countMatching(notices, fmt.Sprintf("ring %d", n)))
	}
	if got := countMatching(notices, "every minute"); got != ticks {
		t.Errorf("the minute schedule sent %d notices, want %d", got, ticks)
	}
	for _, name := range in.pdfs {
		count("the notice about "+name, countMatching(notices, name))
	}
	if len(w.receiver.Clashes) > 0 {
		t.Errorf("keys used for two different texts: %v", w.receiver.Clashes)
	}
	if got := len(w.receiver.All()); got != want {
		t.Errorf("%d deliveries, want %d", got, want)
	}
	w.verifyEffects(ctx, in, answer)
}

// countMinutes returns the number of minutes that have begun since the every-minute schedule was created.
func (w *daemonFixture) countMinutes(ctx context.Context) int {
	var list []struct {
		Action    string
		CreatedAt time.Time `json:"created_at"`
	}
	failOnError(w.t, w.Call(ctx, http.MethodGet, "/api/v1/reminders?limit=100000", nil, &list))
	for _, r := range list {
		if r.Action == "every minute" {
			return int(time.Now().Unix()/60 - r.CreatedAt.Unix()/60)
		}
	}
	w.t.Error("the minute schedule is missing")
	return 0
}

// explainOpen logs the daemon's explanation of the oldest open event, and of texts that were not
// delivered.
func (w *daemonFixture) explainOpen(ctx context.Context) {
	var open []struct{ ID, State, Text string }
	if err := w.Call(ctx, http.MethodGet, "/api/v1/inbox?limit=100000", nil, &open); err != nil {
		w.t.Log(err)
	}
	for _, e := range slices.Backward(open) {
		if e.State != "done" {
			var why struct{ Text string }
			w.t.Logf("%s %s %q: %v", e.ID, e.State, e.Text, w.Call(ctx, http.MethodGet, "/api/v1/why?id="+e.ID, nil, &why))
			w.t.Log(why.Text)
			break
		}
	}
	for _, state := range []string{"queued", "sending", "failed", "dead"} {
		var out []struct{ ID, Text, Error string }
		err := w.Call(ctx, http.MethodGet, "/api/v1/deliveries?limit=5&state="+state, nil, &out)
		w.t.Logf("deliveries %s: %+v %v", state, out, err)
	}
}

func countMatching(notices map[string]int, word string) (n int) {
	for text, k := range notices {
		if i := strings.Index(text, word); i >= 0 && !startsDigit(text[i+len(word):]) {
			n += k
		}
	}
	return n
}

func startsDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// verifyEffects checks the file and the tasks: each job ran at most once, and exactly once unless
// the owner was notified that its outcome is unknown.
func (w *daemonFixture) verifyEffects(ctx context.Context, in *inputs, answer map[string]string) {
	t := w.t
	b, err := os.ReadFile(w.effectsLog)
	failOnError(t, err)
	lines := map[string]int{}
	for l := range strings.Lines(string(b)) {
		lines[strings.TrimSpace(l)]++
	}
	var tasks []struct{ Title string }
	failOnError(t, w.Call(ctx, http.MethodGet, "/api/v1/tasks?all=1&limit=100000", nil, &tasks))
	titles := map[string]int{}
	for _, x := range tasks {
		titles[x.Title]++
	}
	for n, e := range in.jobs {
		job := fmt.Sprintf("job %d", n)
		if titles[job] != 1 {
			t.Errorf("%s is a task %d times", job, titles[job])
		}
		unknown := strings.Contains(answer[e], "outcome_unknown")
		if lines[job] > 1 || lines[job] == 0 && !unknown {
			t.Errorf("%s was written %d times; answer: %s", job, lines[job], answer[e])
		}
	}
}

// writeReport writes the content of docs/crash.md.
func (w *daemonFixture) writeReport(in *inputs, kills, seed int, took time.Duration) {
	var b strings.Builder
	fmt.Fprintf(&b, "| what | count |\n|---|---:|\n")
	row := func(what string, n int) { fmt.Fprintf(&b, "| %s | %d |\n", what, n) }
	row("kills (SIGKILL)", kills)
	row("of them at random instants", w.random)
	for _, p := range slices.Sorted(mapKeys(w.points)) {
		row("of them at `"+p+"`", w.points[p])
	}
	row("messages acknowledged", len(in.jobs)+len(in.rings)+2)
	row("file events", len(in.pdfs))
	row("reminders", len(in.rings))
	row("deliveries that reached the receiver", len(w.receiver.All()))
	row("copies the receiver dropped by their key", w.receiver.Copied)
	w.t.Logf("seed %d, %s\n%s", seed, took.Round(time.Second), b.String())
	if path := os.Getenv("HOB_CRASH_REPORT"); path != "" && !w.t.Failed() {
		failOnError(w.t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
