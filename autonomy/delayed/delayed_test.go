package delayed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/intake"
	"hob/platform/pim"
	"hob/platform/pim/smtpmail"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is a Sender over a real store. Each test defines what its tool does.
type fixture struct {
	*Sender
	t *testing.T

	mu      sync.Mutex
	send    func(ctx context.Context, c tools.Call) (tools.Result, error)
	sent    []string // the frozen texts of the calls
	was     bool     // what WasSent returns
	wasErr  error
	notices []string
}

type letter struct {
	Text string `json:"text"`
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t}
	db, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{bus.Migrations(), guard.Migrations()}, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	g, err := guard.New(db, guard.Options{})
	failOnError(t, err)
	failOnError(t, g.InitKeys(t.Context()))
	send := tools.New(tools.Def[letter]{
		Spec:    tools.Spec{Name: "send_letter", Category: "test", Description: "Send a letter.", Effects: tools.Send},
		Waiting: func(letter) string { return "the letter" },
		WasSent: func(context.Context, tools.Call, letter) (bool, error) { return f.was, f.wasErr },
		Run: func(ctx context.Context, c tools.Call, _ letter) (tools.Result, error) {
			f.mu.Lock()
			f.sent = append(f.sent, string(c.Frozen))
			do := f.send
			f.mu.Unlock()
			return do(ctx, c)
		},
	})
	f.Sender, err = New(Options{
		Store: db, Bus: bus.New(db, bus.Options{}), Guard: g, Zone: func() *time.Location { return time.UTC },
		Tool: func(name string) (tools.Tool, bool) { return send, name == "send_letter" },
		Notify: func(_ *store.Tx, n intake.Notice) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.notices = append(f.notices, n.Text)
			return nil
		},
	})
	failOnError(t, err)
	f.send = func(_ context.Context, c tools.Call) (tools.Result, error) {
		return tools.Result{Source: provenance.Tool, Text: "Sent."}, c.Commit()
	}
	return f
}

// delayCall stores a call that is due, as the engine does.
func (f *fixture) delayCall(call, tool string) {
	f.t.Helper()
	now := time.Now()
	failOnError(f.t, f.o.Store.Write(f.t.Context(), func(tx *store.Tx) error {
		err := f.o.Bus.Ledger.RecordTx(tx, bus.Entry{Call: call, Event: "e", Session: "s", Tool: tool, Args: json.RawMessage(`{}`), Effects: "send", State: bus.CallDone, Result: "waits", Source: provenance.Tool, StartedAt: now})
		if err != nil {
			return err
		}
		return f.o.Bus.Scheduled.AddTx(tx, bus.ScheduledSend{Call: call, Event: "e", Session: "s", Report: "s", Tool: tool, Effects: "send", Args: json.RawMessage(`{"text":"x"}`), Frozen: json.RawMessage(`"frozen"`), What: "the letter", Provenance: provenance.Tool, Zone: "UTC", At: now, CreatedAt: now})
	}))
}

// runUntil runs the sender until is returns true for the row of a call.
func (f *fixture) runUntil(call string, is func(s bus.ScheduledSend) bool) (bus.ScheduledSend, bus.Entry) {
	f.t.Helper()
	ctx, stop := context.WithCancel(f.t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	var s bus.ScheduledSend
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(time.Millisecond) {
		var err error
		s, err = f.o.Bus.Scheduled.Get(f.o.Store.Reader(f.t.Context()), call)
		failOnError(f.t, err)
		if is(s) {
			break
		}
		if time.Now().After(deadline) {
			f.t.Errorf("the call stays %s", s.State)
			break
		}
	}
	stop()
	failOnError(f.t, <-done)
	e, err := f.o.Bus.Ledger.Call(f.t.Context(), call)
	failOnError(f.t, err)
	return s, e
}

func hasEnded(s bus.ScheduledSend) bool { return !s.EndedAt.IsZero() }

func TestSender_RecordsOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		tool    string
		send    func(ctx context.Context, c tools.Call) (tools.Result, error)
		state   bus.SendState
		ledger  bus.CallState
		notice  string
		outcome string // in the audit log
	}{
		"sent": {"send_letter", nil, bus.SendSent, bus.CallDone, "", "done"},
		"sent in part": {"send_letter", func(_ context.Context, c tools.Call) (tools.Result, error) {
			return tools.Result{Source: provenance.Tool, Text: "Sent. But one did not get it.", Incomplete: true}, c.Commit()
		}, bus.SendSent, bus.CallDone, "Sent. But one did not get it.", "done"},
		"refused": {"send_letter", func(context.Context, tools.Call) (tools.Result, error) {
			return tools.Result{}, tools.Errorf(tools.Conflict, "the recipients have changed")
		}, bus.SendFailed, bus.CallFailed, "The letter was not sent: the recipients have changed. See: hob why c1", "conflict"},
		"unknown": {"send_letter", func(_ context.Context, c tools.Call) (tools.Result, error) {
			return tools.Result{}, errorOr(c.Commit(), tools.Errorf(tools.OutcomeUnknown, "the server hung up"))
		}, bus.SendUnknown, bus.CallUnknown, "Outcome unknown: the letter may have been sent. The server hung up. See: hob why c1", "outcome_unknown"},
		"a panic before the commit": {"send_letter", func(context.Context, tools.Call) (tools.Result, error) { panic("boom") }, bus.SendFailed, bus.CallFailed, "The letter was not sent: panic: boom. See: hob why c1", "failed"},
		"a panic after the commit": {"send_letter", func(_ context.Context, c tools.Call) (tools.Result, error) {
			_ = c.Commit()
			panic("boom")
		}, bus.SendUnknown, bus.CallUnknown, "Outcome unknown: the letter may have been sent. Send_letter crashed while it was running. See: hob why c1", "outcome_unknown"},
		"no tool": {"gone", nil, bus.SendFailed, bus.CallFailed, "The letter was not sent: the tool gone no longer exists. See: hob why c1", "unsupported"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if tc.send != nil {
				f.send = tc.send
			}
			f.delayCall("c1", tc.tool)
			s, e := f.runUntil("c1", hasEnded)
			if s.State != tc.state || e.State != tc.ledger || strings.Join(f.notices, "|") != tc.notice {
				t.Errorf("%s, ledger %s, notices %q", s.State, e.State, f.notices)
			}
			list, err := f.o.Guard.Audit(t.Context(), "e", 0, 10)
			if err != nil || len(list) != 1 || list[0].Action != "send" || list[0].Outcome != tc.outcome {
				t.Errorf("the audit log: %+v, %v", list, err)
			}
			if tc.tool == "send_letter" && (len(f.sent) != 1 || f.sent[0] != `"frozen"`) {
				t.Errorf("sent %q", f.sent)
			}
		})
	}
}

func errorOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func TestSender_TriesAgainWhileOffline(t *testing.T) {
	f := newFixture(t)
	online := f.send
	f.send = func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{}, tools.Errorf(tools.Failed, "account work: %w", &net.DNSError{Err: "no such host", Name: "smtp.example.org", IsNotFound: true})
	}
	f.delayCall("c1", "send_letter")
	for n := 1; n <= warnAfter; n++ {
		s, _ := f.runUntil("c1", func(s bus.ScheduledSend) bool { return s.State == bus.SendWaiting && s.Attempts == n })
		if !s.At.After(time.Now()) || s.Error == "" {
			t.Errorf("runUntil = %+v", s)
		}
		f.dueNow()
	}
	if len(f.notices) != 1 || !strings.HasPrefix(f.notices[0], "The letter has not been sent yet: account work: lookup smtp.example.org") || !strings.Contains(f.notices[0], "to cancel: hob undo c1") {
		t.Errorf("%q", f.notices)
	}
	f.send = online
	if s, e := f.runUntil("c1", hasEnded); s.State != bus.SendSent || e.State != bus.CallDone || len(f.notices) != 1 {
		t.Errorf("%+v %q", s, f.notices)
	}
}

// Before the commit nothing was sent, so only permanent errors end the call.
func TestSender_RetriesBeforeTheCommit(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		state bus.SendState
	}{
		"the server hangs up":     {fmt.Errorf("smtp greeting: %w", io.EOF), bus.SendWaiting},
		"the server is busy":      {fmt.Errorf("sign in: %w: 454 try later", smtpmail.ErrLater), bus.SendWaiting},
		"any other error":         {errors.New("protocol error"), bus.SendWaiting},
		"the password is wrong":   {pim.ErrSignIn, bus.SendFailed},
		"the server refuses":      {pim.ErrRefused, bus.SendFailed},
		"an argument is invalid":  {pim.ErrInvalid, bus.SendFailed},
		"the event has changed":   {pim.ErrChanged, bus.SendFailed},
		"the event was not found": {pim.ErrNotFound, bus.SendFailed},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.send = func(context.Context, tools.Call) (tools.Result, error) {
				return tools.Result{}, tools.ClassifyPIM(tc.err)
			}
			f.delayCall("c1", "send_letter")
			if s, _ := f.runUntil("c1", func(s bus.ScheduledSend) bool { return s.Attempts == 1 && s.State != bus.SendSending }); s.State != tc.state {
				t.Errorf("runUntil = %+v", s)
			}
		})
	}
}

func TestSender_GivesUp(t *testing.T) {
	f := newFixture(t)
	f.send = func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{}, tools.Errorf(tools.TimedOut, "no answer")
	}
	f.delayCall("c1", "send_letter")
	failOnError(t, f.o.Store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE scheduled_sends SET attempts = ?`, maxAttempts-1)
		return err
	}))
	if s, _ := f.runUntil("c1", hasEnded); s.State != bus.SendFailed || len(f.notices) != 1 {
		t.Errorf("%+v %q", s, f.notices)
	}
}

// dueNow makes the next attempt due immediately.
func (f *fixture) dueNow() {
	f.t.Helper()
	failOnError(f.t, f.o.Store.Write(f.t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE scheduled_sends SET at = ?`, time.Now().UnixMilli())
		return err
	}))
}

func TestSender_CancelStopsASendBeforeItsCommit(t *testing.T) {
	f := newFixture(t)
	f.send = func(_ context.Context, c tools.Call) (tools.Result, error) {
		err := f.o.Store.Write(t.Context(), func(tx *store.Tx) error {
			_, err := f.o.Bus.Scheduled.CancelTx(tx, "c1", "the user says so")
			return err
		})
		return tools.Result{Source: provenance.Tool, Text: "Sent."}, errorOr(err, c.Commit())
	}
	f.delayCall("c1", "send_letter")
	if s, e := f.runUntil("c1", hasEnded); s.State != bus.SendCancelled || e.Result != "waits" || len(f.notices) != 0 {
		t.Errorf("%+v %+v %q", s, e, f.notices)
	}
}

// A shutdown interrupts a call that has not reached anyone, and waits for a committed call.
func TestSender_Shutdown(t *testing.T) {
	f := newFixture(t)
	f.send = func(ctx context.Context, _ tools.Call) (tools.Result, error) {
		<-ctx.Done()
		return tools.Result{}, tools.Errorf(tools.Cancelled, "stopped")
	}
	f.delayCall("c1", "send_letter")
	f.runUntil("c1", func(bus.ScheduledSend) bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.sent) == 1 })
	f.send = func(ctx context.Context, c tools.Call) (tools.Result, error) {
		err := c.Commit()
		select {
		case <-ctx.Done():
			t.Error("a committed call was stopped")
		case <-time.After(50 * time.Millisecond):
		}
		return tools.Result{Source: provenance.Tool, Text: "Sent."}, err
	}
	f.runUntil("c1", func(s bus.ScheduledSend) bool { return s.State == bus.SendCommitted })
	if s, _ := f.runUntil("c1", hasEnded); s.State != bus.SendSent || len(f.sent) != 2 {
		t.Errorf("%+v, %d runs", s, len(f.sent))
	}
}

func TestSender_InterruptedAfterTheCommit(t *testing.T) {
	for was, want := range map[bool]bus.SendState{true: bus.SendSent, false: bus.SendUnknown} {
		f := newFixture(t)
		f.was = was
		f.delayCall("c1", "send_letter")
		_, err := f.o.Bus.Scheduled.Claim(t.Context(), 1)
		failOnError(t, err)
		failOnError(t, f.o.Bus.Scheduled.Commit(t.Context(), "c1")) // and then the process was killed
		s, _ := f.runUntil("c1", hasEnded)
		if s.State != want || len(f.sent) != 0 || len(f.notices) == 0 != was {
			t.Errorf("%+v, sent %d times, notices %q", s, len(f.sent), f.notices)
		}
	}
}

func TestSender_InterruptedAfterTheAcceptance(t *testing.T) {
	f := newFixture(t)
	f.delayCall("c1", "send_letter")
	_, err := f.o.Bus.Scheduled.Claim(t.Context(), 1)
	failOnError(t, err)
	failOnError(t, f.o.Bus.Scheduled.Commit(t.Context(), "c1"))
	failOnError(t, f.o.Bus.Scheduled.Accept(t.Context(), "c1")) // and then the process was killed
	if s, e := f.runUntil("c1", hasEnded); s.State != bus.SendSent || e.State != bus.CallDone || len(f.sent) != 0 || len(f.notices) != 0 {
		t.Errorf("%+v, sent %d times, notices %q", s, len(f.sent), f.notices)
	}
}

// An error after the acceptance, such as a failure to save the copy of a sent email, does not make
// the outcome unknown.
func TestSender_ReportsAFailureAfterTheAcceptance(t *testing.T) {
	f := newFixture(t)
	f.send = func(_ context.Context, c tools.Call) (tools.Result, error) {
		err := c.Commit()
		c.Accepted()
		return tools.Result{}, errorOr(err, errors.New("no copy was saved"))
	}
	f.delayCall("c1", "send_letter")
	if s, e := f.runUntil("c1", hasEnded); s.State != bus.SendSent || e.State != bus.CallDone || strings.Join(f.notices, "|") != "The letter was sent, but then an error occurred: no copy was saved." {
		t.Errorf("%+v, notices %q", s, f.notices)
	}
}

// Only one call at a time is transferred. The next call waits until the first one was accepted, but
// not until it has ended.
func TestSender_TransfersOneCallAtATime(t *testing.T) {
	f := newFixture(t)
	steps, goOn := make(chan string), make(chan struct{})
	f.send = func(_ context.Context, c tools.Call) (tools.Result, error) {
		err := c.Reserve()
		steps <- "transfer"
		<-goOn
		err = errorOr(err, c.Commit())
		c.Accepted()
		steps <- "accepted"
		<-goOn // the copy
		return tools.Result{Source: provenance.Tool, Text: "Sent."}, err
	}
	f.delayCall("c1", "send_letter")
	f.delayCall("c2", "send_letter")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	next := func(want string) {
		t.Helper()
		select {
		case got := <-steps:
			if got != want {
				t.Errorf("step %q, want %q", got, want)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("%s: the second call did not run", want)
		}
	}
	next("transfer")
	select {
	case got := <-steps:
		t.Errorf("step %q of the second call during the transfer of the first", got)
	case <-time.After(100 * time.Millisecond):
	}
	goOn <- struct{}{}
	next("accepted")
	next("transfer") // while the first call saves its copy
	states := map[bus.SendState]int{}
	for _, call := range []string{"c1", "c2"} {
		s, err := f.o.Bus.Scheduled.Get(f.o.Store.Reader(t.Context()), call)
		failOnError(t, err)
		states[s.State]++
	}
	if states[bus.SendAccepted] != 1 || states[bus.SendSending] != 1 {
		t.Errorf("%v", states)
	}
	close(goOn)
	next("accepted")
	stop()
	failOnError(t, <-done)
}

// A call that was delayed before the snapshot may have been sent after it, so a released call first
// checks whether it was sent.
func TestSender_ReleasedCallChecksWhetherItWasSent(t *testing.T) {
	for _, was := range []bool{true, false} {
		f, ctx := newFixture(t), t.Context()
		f.was, f.wasErr = was, errors.New("no connection")
		f.delayCall("c1", "send_letter")
		time.Sleep(2 * time.Millisecond) // the time of the restore is stored in milliseconds
		failOnError(t, f.o.Store.Write(ctx, func(tx *store.Tx) error {
			if err := bus.StartHoldTx(tx, "old"); err != nil {
				return err
			}
			_, err := f.o.Bus.Hold.DecideTx(tx, bus.AllHeld, true)
			return err
		}))
		s, _ := f.runUntil("c1", func(s bus.ScheduledSend) bool { return s.Error != "" })
		if s.State != bus.SendWaiting || len(f.sent) != 0 || !strings.Contains(s.Error, "no connection") {
			t.Fatalf("without an answer of the platform: %s %q, sent %q", s.State, s.Error, f.sent)
		}
		f.wasErr = nil
		failOnError(t, f.o.Store.Write(ctx, func(tx *store.Tx) error { _, err := tx.Exec(`UPDATE scheduled_sends SET at = 0`); return err }))
		s, e := f.runUntil("c1", hasEnded)
		if want := map[bool]int{true: 0, false: 1}[was]; s.State != bus.SendSent || len(f.sent) != want || was != strings.Contains(e.Result, "before the restore") {
			t.Errorf("the platform reports sent = %v: %s, %q, calls %q", was, s.State, e.Result, f.sent)
		}
	}
}

// A released call that was carried out only in part is reported instead of repeated.
func TestSender_ReportsReleasedCallThatWasPartlySent(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	f.wasErr = tools.Errorf(tools.OutcomeUnknown, "the calendar contains the change")
	f.delayCall("c1", "send_letter")
	time.Sleep(2 * time.Millisecond) // the time of the restore is stored in milliseconds
	failOnError(t, f.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := bus.StartHoldTx(tx, "old"); err != nil {
			return err
		}
		_, err := f.o.Bus.Hold.DecideTx(tx, bus.AllHeld, true)
		return err
	}))
	s, e := f.runUntil("c1", hasEnded)
	if s.State != bus.SendUnknown || len(f.sent) != 0 || !strings.Contains(e.Result, "the calendar contains the change") {
		t.Errorf("%s, %q, calls %q", s.State, e.Result, f.sent)
	}
}
