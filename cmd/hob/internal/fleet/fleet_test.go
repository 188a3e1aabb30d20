//go:build unix

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hob/platform/failpoint/daemontest"
)

// failpoints are where an instance kills itself, with the largest number of hits before.
var failpoints = []struct {
	name string
	upTo int
}{
	{"store.commit.before", 60},
	{"store.commit.after", 60},
	{"loop.claimed", 8},
	{"model.call.before", 6},
	{"model.call.after", 6},
	{"tool.call.before", 4},
	{"tool.call.after", 4},
	{"channel.send.before", 6},
	{"channel.send.after", 6},
}

// faults are the kinds of faults. A run has each of them before it has one twice.
var faults = []string{"kill", "suspend", "cut off", "database", "clock"}

// load is what was sent to the fleet.
type load struct {
	mu      sync.Mutex
	events  map[string]string // "SESSION-N" -> event
	refused map[string]int    // by reason
}

// TestFleet_AnswersEverythingOnceUnderFaults runs three instances under random faults.
// HOB_FLEET_MESSAGES, HOB_FLEET_SESSIONS, HOB_FLEET_FAULTS and HOB_FLEET_SEED choose the run.
func TestFleet_AnswersEverythingOnceUnderFaults(t *testing.T) {
	messages, sessions, count := envNumber("HOB_FLEET_MESSAGES", 60), envNumber("HOB_FLEET_SESSIONS", 6), envNumber("HOB_FLEET_FAULTS", 4)
	seed := envNumber("HOB_FLEET_SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("HOB_FLEET_SEED=%d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	defer cancel()
	f := newFleet(t, fleetOptions{size: 3, seed: uint64(seed), networks: true})
	f.setThink(150 * time.Millisecond)
	l := &load{events: map[string]string{}, refused: map[string]int{}}
	per := max(1, messages/sessions)
	gates := make([]chan struct{}, sessions)
	var senders sync.WaitGroup
	for s := range sessions {
		gates[s] = make(chan struct{}, per)
		senders.Go(func() { f.sendMessages(ctx, l, fmt.Sprint("s", s), gates[s]) })
	}
	began, sent := time.Now(), 0
	injected := map[string]int{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("faults:\n%s", strings.Join(f.log, "\n"))
		}
	})
	var plan []string
	for n := range count {
		for ; sent < (n+1)*per/count; sent++ { // so that each fault hits a fleet that works
			for _, g := range gates {
				g <- struct{}{}
			}
		}
		if len(plan) == 0 {
			plan = slices.Clone(faults)
			f.rnd.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
		}
		injected[plan[0]]++
		f.injectFault(ctx, plan[0])
		plan = plan[1:]
		f.restartDead()
		if t.Failed() {
			break
		}
	}
	for _, g := range gates {
		close(g)
	}
	senders.Wait()
	for _, x := range f.instances {
		x.Kill() // those that stand at a failpoint must not end later
		if !x.Start("") {
			t.Fatalf("instance %s did not start", x.name)
		}
	}
	f.awaitProgress(ctx, "all replies", f.receiver.Count, func() bool {
		return !slices.ContainsFunc(l.listEvents(), func(e string) bool { return f.receiver.Replied(e).IsZero() })
	})
	took := time.Since(began)
	f.verifyReplies(ctx, l)
	unknown := f.verifyEffects(l)
	late := f.dropLateSteps(ctx)
	f.verifySteps()
	claimed := f.verifyHistory(ctx, l.events)
	_, _, terms := f.listTerms(ctx)
	t.Logf("%d messages in %d sessions, %d faults %v in %s; %d lost leases, %d claims, %d requests to the model (%d of them late), %d effects with unknown outcome, %d copies that the receiver dropped, refused %v",
		len(l.events), sessions, count, injected, took.Round(time.Second), len(terms), claimed, len(f.steps)+late, late, unknown, f.receiver.Copied, l.refused)
}

func (l *load) listEvents() (events []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		events = append(events, e)
	}
	return events
}

// sendMessages sends a message of a session for each value of gate, to any instance that accepts it.
func (f *fleetFixture) sendMessages(ctx context.Context, l *load, session string, gate <-chan struct{}) {
	n := 0
	for range gate {
		pauseFor(ctx, time.Duration(f.randomBelow(400))*time.Millisecond)
		for ctx.Err() == nil {
			x := f.instances[f.randomBelow(len(f.instances))]
			event, err := x.Send(ctx, "webhook:"+session, fmt.Sprintf("job %s-%d", session, n))
			if err == nil {
				l.mu.Lock()
				l.events[fmt.Sprintf("%s-%d", session, n)] = event
				l.mu.Unlock()
				break
			}
			why := "no answer"
			if s, ok := errors.AsType[*daemontest.StatusError](err); ok {
				if why = fmt.Sprint(s.Code); s.Code != http.StatusServiceUnavailable {
					f.t.Errorf("message %s-%d refused by %s: %v", session, n, x.name, err)
				}
			}
			l.mu.Lock()
			l.refused[why]++
			l.mu.Unlock()
			pauseFor(ctx, 50*time.Millisecond)
		}
		n++
	}
}

// injectFault injects one fault and removes it.
func (f *fleetFixture) injectFault(ctx context.Context, kind string) {
	pauseFor(ctx, time.Duration(100+f.randomBelow(700))*time.Millisecond)
	x := f.instances[f.randomBelow(len(f.instances))]
	began := time.Now()
	switch kind {
	case "kill":
		x.Kill()
		if f.randomBelow(2) == 0 {
			f.awaitEnd(ctx, x)
		}
		x.Launch(f.pickFailpoint())
	case "suspend":
		x.Signal(syscall.SIGSTOP)
		f.awaitEnd(ctx, x)
		x.pauses = append(x.pauses, suspension{began, time.Now()})
		x.Signal(syscall.SIGCONT)
	case "cut off":
		f.cutOff(ctx, x)
	case "database":
		failOnError(f.t, f.server.Stop("QUIT"))
		pauseFor(ctx, time.Duration(f.randomBelow(1500))*time.Millisecond)
		failOnError(f.t, f.server.Start(ctx))
	case "clock":
		if !canShiftClock {
			break
		}
		f.failUnlessEnded(x, shiftClock(x.PID(), time.Duration(2*f.randomBelow(2)-1)*time.Hour))
		f.awaitProgress(ctx, "the refusal of "+x.name+" to work with a wrong clock", func() int { return 0 }, func() bool {
			return x.hasEnded() || x.Status() == http.StatusServiceUnavailable
		})
		pauseFor(ctx, time.Duration(f.randomBelow(int(2*leaseTime.Milliseconds())))*time.Millisecond)
		f.failUnlessEnded(x, shiftClock(x.PID(), 0))
	}
	f.log = append(f.log, fmt.Sprintf("%s %s %s, %s", began.Format("15:04:05.000"), kind, x.name, time.Since(began).Round(time.Millisecond)))
}

// hasEnded reports whether an instance has reached its failpoint.
func (x *instance) hasEnded() bool {
	select {
	case <-x.Exited():
		return true
	default:
		return false
	}
}

// failUnlessEnded fails the test with an error, unless the reason is that the instance has reached its failpoint.
func (f *fleetFixture) failUnlessEnded(x *instance, err error) {
	f.t.Helper()
	if err == nil {
		return
	}
	select {
	case <-x.Exited(): // the process may be gone before its end is noticed
	case <-time.After(10 * time.Second):
		f.t.Fatal(err)
	}
}

// cutOff separates an instance from the database until another one has ended its membership.
func (f *fleetFixture) cutOff(ctx context.Context, x *instance) {
	switch {
	case x.net != nil:
		failOnError(f.t, x.net.setCable(false))
		f.awaitEnd(ctx, x)
		failOnError(f.t, x.net.setCable(true))
		return
	case f.randomBelow(2) == 0:
		x.proxy.refuseConns()
	default:
		x.proxy.holdBytes()
	}
	f.awaitEnd(ctx, x)
	x.proxy.restoreBytes()
}

// pickFailpoint returns a failpoint for the next start of an instance, or "".
func (f *fleetFixture) pickFailpoint() string {
	if f.randomBelow(2) == 0 {
		return ""
	}
	p := failpoints[f.randomBelow(len(failpoints))]
	return fmt.Sprintf("%s:%d", p.name, 1+f.randomBelow(p.upTo))
}

// awaitEnd waits until another instance ended the membership that x has now.
func (f *fleetFixture) awaitEnd(ctx context.Context, x *instance) {
	epoch := f.queryRows(ctx, `SELECT epoch FROM instances WHERE name = $1`, x.name)[0][0].(int64)
	f.awaitProgress(ctx, "the end of the lease of "+x.name, func() int { return 0 }, func() bool {
		r := f.queryRows(ctx, `SELECT ended, epoch FROM instances WHERE name = $1`, x.name)[0]
		return r[0].(int64) == 1 || r[1].(int64) != epoch
	})
}

// restartDead starts the instances that ended at a failpoint again, and waits until all are ready.
func (f *fleetFixture) restartDead() {
	for _, x := range f.instances {
		for !x.AwaitReady() {
			if code := x.ExitCode(); code != -1 { // -1: killed by a signal
				f.t.Errorf("instance %s ended by itself with exit code %d", x.name, code)
			}
			x.Launch("")
		}
	}
}

// verifyReplies checks that each message has one reply, in the order of its session.
func (f *fleetFixture) verifyReplies(ctx context.Context, l *load) {
	t := f.t
	f.awaitProgress(ctx, "the end of all deliveries", func() int { return 0 }, func() bool {
		return f.queryRows(ctx, `SELECT count(*) FROM outbox WHERE state <> 'sent'`)[0][0].(int64) == 0
	})
	replies := map[string][]daemontest.Delivery{}
	for _, d := range f.receiver.All() {
		if d.Kind == "reply" {
			replies[d.Event] = append(replies[d.Event], d)
		}
	}
	for key, event := range l.events {
		if r := replies[event]; len(r) != 1 || !strings.HasPrefix(r[0].Text, "answer to "+key+":") {
			t.Errorf("message %s (%s) has the replies %+v, want one answer", key, event, r)
		}
	}
	if len(f.receiver.Clashes) > 0 {
		t.Errorf("keys used for two different texts: %v", f.receiver.Clashes)
	}
	for what, query := range map[string]string{
		"messages are not done":                 `SELECT count(*) FROM inbox WHERE kind = 'message' AND state <> 'done'`,
		"events have two replies in the outbox": `SELECT count(*) FROM (SELECT event FROM outbox WHERE kind = 'reply' GROUP BY event HAVING count(*) > 1) x`,
		"replies are out of order": `SELECT count(*) FROM (SELECT i.seq < lag(i.seq) OVER (PARTITION BY o.session ORDER BY o.seq) AS bad
			FROM outbox o JOIN inbox i ON i.id = o.event WHERE o.kind = 'reply') x WHERE bad`,
	} {
		if n := f.queryRows(ctx, query)[0][0].(int64); n != 0 {
			t.Errorf("%d %s, want none", n, what)
		}
	}
	if n := f.queryRows(ctx, `SELECT count(*) FROM inbox WHERE kind = 'message'`)[0][0].(int64); n != int64(len(l.events)) {
		t.Errorf("%d messages in the database, want %d", n, len(l.events))
	}
}

// verifyEffects checks the files that the tools wrote: each at most once, and exactly once unless the
// answer says that the outcome is unknown.
func (f *fleetFixture) verifyEffects(l *load) (unknown int) {
	text := map[string]string{}
	for _, d := range f.receiver.All() {
		text[d.Event] = d.Text
	}
	for key, event := range l.events {
		b, err := os.ReadFile(filepath.Join(f.documents, key+".log"))
		if err != nil && !os.IsNotExist(err) {
			f.t.Error(err)
		}
		n, reported := strings.Count(string(b), "done"), strings.Contains(text[event], "outcome_unknown")
		if reported {
			unknown++
		}
		if n > 1 || n == 0 && !reported {
			f.t.Errorf("the effect of %s happened %d times; answer: %s", key, n, text[event])
		}
	}
	return unknown
}

// dropLateSteps removes the requests that an instance was about to send when it was suspended, and sent
// after it was resumed, before it joined again. No check of the lease can be so close to the request
// that this cannot happen. The answers are not used, as the claims show.
func (f *fleetFixture) dropLateSteps(ctx context.Context) (late int) {
	names, joined, ended := f.listTerms(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.steps)
	for _, x := range f.instances {
		for _, p := range x.pauses {
			for epoch, end := range ended {
				if names[epoch] != x.name || end.Before(p.began) || end.After(p.ended) {
					continue
				}
				back := end.Add(time.Hour)
				for e, at := range joined {
					if names[e] == x.name && at.After(end) && at.Before(back) {
						back = at
					}
				}
				f.steps = slices.DeleteFunc(f.steps, func(s step) bool { return s.instance == x.name && s.began.After(end) && s.began.Before(back) })
			}
		}
	}
	return before - len(f.steps)
}

// verifySteps checks that no two requests to the model were open for a session at once, and that no
// message was taken up again after a later one.
func (f *fleetFixture) verifySteps() {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortFunc(f.steps, func(a, b step) int { return a.began.Compare(b.began) })
	last := map[string]step{}
	for _, s := range f.steps {
		if p, ok := last[s.session]; ok && (s.n < p.n || s.began.Before(p.ended)) {
			f.t.Errorf("session %s: %s asked about message %d at %s, %s about message %d from %s to %s", s.session, s.instance, s.n,
				s.began.Format(time.StampMicro), p.instance, p.n, p.began.Format(time.StampMicro), p.ended.Format(time.StampMicro))
		}
		last[s.session] = s
	}
}
