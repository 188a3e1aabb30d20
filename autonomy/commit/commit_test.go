package commit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/delivery"
	"hob/autonomy/guard"
	"hob/autonomy/intake"
	"hob/autonomy/llm"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/session"
	"hob/autonomy/trace"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// commitFixture holds a Committer over a real database. It also implements UsageBook, whose write is the
// last one before the traces, and Tasks.
type commitFixture struct {
	t         *testing.T
	store     *store.Store
	bus       *bus.Bus
	sessions  *session.Sessions
	committer *commit.Committer

	failUsage error // the error of FlushTx
	tidied    int
	tasks     []agents.TaskOutcome
	abandoned int
}

func (p *commitFixture) FlushTx(*store.Tx) error { return p.failUsage }

func (p *commitFixture) TidyLater(bus.Event) { p.tidied++ }

func (p *commitFixture) EndTx(_ *store.Tx, _ bus.Event, e agents.TaskOutcome) error {
	p.tasks = append(p.tasks, e)
	return nil
}

func (p *commitFixture) Abandon(context.Context, string) error {
	p.abandoned++
	return nil
}

func (p *commitFixture) NotifyTx(*store.Tx, intake.Notice) error { return nil }

func openFixture(t *testing.T) *commitFixture {
	t.Helper()
	s, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{
		bus.Migrations(), guard.Migrations(), session.Migrations(), goals.Migrations(), notify.Migrations(), trace.Migrations(),
	}, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	p := &commitFixture{t: t, store: s, bus: bus.New(s, bus.Options{}), sessions: session.New(s)}
	zone := func() *time.Location { return time.UTC }
	g, err := guard.New(s, guard.Options{})
	failOnError(t, err)
	d, err := delivery.New(delivery.Options{Bus: p.bus, Sessions: p.sessions, Zone: zone})
	failOnError(t, err)
	p.committer, err = commit.New(commit.Options{
		Store: s, Bus: p.bus, Guard: g, Sessions: p.sessions, Delivery: d, Notices: p, Maintenance: p, Tasks: p, Usage: p, Zone: zone, Log: slog.New(slog.DiscardHandler),
	})
	failOnError(t, err)
	return p
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// claimEvent puts an event into the inbox and claims it.
func (p *commitFixture) claimEvent(e bus.Event) commit.Claim {
	p.t.Helper()
	_, err := p.bus.Inbox.Put(p.t.Context(), e)
	failOnError(p.t, err)
	list, _, err := p.bus.Inbox.Claim(p.t.Context(), 5)
	failOnError(p.t, err)
	if len(list) != 1 {
		p.t.Fatalf("claimed %d events, want 1", len(list))
	}
	return commit.Claim{Event: list[0], Tick: "tick", Since: time.Now()}
}

// messageEvent returns a message event from the owner on a chat platform.
func messageEvent(text string) bus.Event {
	return bus.Event{Kind: bus.Message, Source: "telegram", Session: "telegram:7", Lane: "telegram:7", Channel: "telegram", Chat: "7", Text: text, Provenance: provenance.Owner}
}

// replyOutcome returns the outcome of a turn that answered a message.
func replyOutcome(ev bus.Event, answer string) commit.Outcome {
	res := commit.NewReply(ev, "turn")
	res.Answer, res.Source = answer, provenance.Hob
	res.Messages = []llm.Message{
		{Role: llm.User, Parts: []llm.Part{{Text: ev.Text, Source: provenance.Owner}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Text: answer, Source: provenance.Hob}}},
	}
	return res
}

// describeState describes what a person or a restarted process would find: the state of the event, the
// texts that channels send for it, and the number of messages in the conversation.
func (p *commitFixture) describeState(event string) string {
	p.t.Helper()
	ev, err := p.bus.Inbox.Event(p.t.Context(), event)
	failOnError(p.t, err)
	list, err := p.bus.Outbox.EventDeliveries(p.t.Context(), event)
	failOnError(p.t, err)
	texts := []string{}
	for _, d := range list {
		texts = append(texts, string(d.Kind)+": "+d.Text)
	}
	log, err := p.sessions.Messages(p.t.Context(), ev.Session, 0, 100)
	failOnError(p.t, err)
	turns := 0
	failOnError(p.t, p.store.Read().QueryRowContext(p.t.Context(), `SELECT count(*) FROM turns WHERE event = ?`, event).Scan(&turns))
	return fmt.Sprintf("%s, texts %q, %d messages, %d traces", ev.State, texts, len(log), turns)
}

// TestCommit_EndsTurnWithItsReplyInOneTransaction: after a crash, an event has its complete outcome
// or none of it, so that no answer is lost and none is sent twice.
func TestCommit_EndsTurnWithItsReplyInOneTransaction(t *testing.T) {
	p := openFixture(t)
	c := p.claimEvent(messageEvent("hello"))
	ended, cancel := p.bus.Inbox.EventClosed(c.Event.ID)
	defer cancel()

	p.failUsage = errors.New("disk error")
	if err := p.committer.Commit(t.Context(), c, replyOutcome(c.Event, "Hi.")); !errors.Is(err, p.failUsage) {
		t.Fatalf("Commit = %v, want the error of the last write", err)
	}
	if got, want := p.describeState(c.Event.ID), `claimed, texts [], 0 messages, 0 traces`; got != want {
		t.Errorf("after a failed commit: %s, want %s", got, want)
	}
	select {
	case <-ended:
		t.Error("a waiting client was notified of an event that has not ended")
	default:
	}
	if p.tidied != 0 {
		t.Error("the conversation of an event that has not ended was queued for maintenance")
	}

	p.failUsage = nil
	failOnError(t, p.committer.Commit(t.Context(), c, replyOutcome(c.Event, "Hi.")))
	if got, want := p.describeState(c.Event.ID), `done, texts ["reply: Hi."], 2 messages, 1 traces`; got != want {
		t.Errorf("after the commit: %s, want %s", got, want)
	}
	<-ended
	if p.tidied != 1 {
		t.Errorf("queued for maintenance %d times, want once", p.tidied)
	}
}

// TestCommit_RejectsLateFinish: a turn whose event was ended or released in the meantime, such as
// after a restart, must not answer a second time.
func TestCommit_RejectsLateFinish(t *testing.T) {
	for _, tc := range []struct {
		name      string
		meanwhile func(p *commitFixture, ev bus.Event) error
		want      string
	}{
		{"after the answer", func(p *commitFixture, ev bus.Event) error {
			return p.committer.Commit(t.Context(), commit.Claim{Event: ev}, replyOutcome(ev, "First."))
		}, `done, texts ["reply: First."], 2 messages, 1 traces`},
		{"after a restart returned the event", func(p *commitFixture, _ bus.Event) error {
			_, err := p.bus.Inbox.Recover(t.Context())
			return err
		}, `pending, texts [], 0 messages, 0 traces`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := openFixture(t)
			c := p.claimEvent(messageEvent("hello"))
			failOnError(t, tc.meanwhile(p, c.Event))
			if err := p.committer.Commit(t.Context(), c, replyOutcome(c.Event, "Late.")); err == nil {
				t.Error("Commit accepted an event that it no longer holds")
			}
			if got := p.describeState(c.Event.ID); got != tc.want {
				t.Errorf("after the late commit: %s, want %s", got, tc.want)
			}
		})
	}
}

// TestCommit_OutlivesItsContext: the end of a turn is stored even if its context was canceled, for
// example during shutdown.
func TestCommit_OutlivesItsContext(t *testing.T) {
	p := openFixture(t)
	c := p.claimEvent(messageEvent("hello"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failOnError(t, p.committer.Commit(ctx, c, replyOutcome(c.Event, "Hi.")))
	if got, want := p.describeState(c.Event.ID), `done, texts ["reply: Hi."], 2 messages, 1 traces`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFail(t *testing.T) {
	busy := &llm.Error{Kind: llm.Unavailable, Provider: "p", Message: "the server is busy"}
	denied := &llm.Error{Kind: llm.Unauthorized, Provider: "p", Message: "the key is wrong"}
	watcher := bus.Event{Kind: bus.Watcher, Source: "watcher:w", Session: "main", Text: "A file appeared", Provenance: provenance.Hob, Payload: []byte(`{"watcher":"w","mode":"do","action":"file it"}`)}
	for _, tc := range []struct {
		name     string
		event    bus.Event
		attempts int // 0: the first
		cause    error
		want     string // the beginning of the state
	}{
		{"a waiting person gets the error immediately", messageEvent("hello"), 0, busy, `done, texts ["reply: Sorry, that did not work: `},
		{"an unattended event is retried", watcher, 0, busy, `pending, texts []`},
		{"an unattended event ends with one notice after the last retry", watcher, bus.MaxAttempts, busy, `dead, texts ["notice: I stopped retrying: A file appeared. Reason: `},
		{"an error that no retry can fix ends it immediately", watcher, 0, denied, `dead, texts ["notice: I stopped retrying`},
		{"a full disk leaves it for the next start", messageEvent("hello"), 0, store.ErrFull, `claimed, texts []`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := openFixture(t)
			c := p.claimEvent(tc.event)
			if tc.attempts > 0 {
				c.Event.Attempts = tc.attempts
			}
			err := p.committer.Fail(t.Context(), c, commit.Outcome{}, tc.cause)
			if errors.Is(tc.cause, store.ErrFull) != errors.Is(err, store.ErrFull) || err != nil && !errors.Is(err, store.ErrFull) {
				t.Errorf("Fail = %v", err)
			}
			if got := p.describeState(c.Event.ID); len(got) < len(tc.want) || got[:len(tc.want)] != tc.want {
				t.Errorf("%s, want %s...", got, tc.want)
			}
			if want := map[bool]int{false: 1}[errors.Is(tc.cause, store.ErrFull)]; p.abandoned != want {
				t.Errorf("ended the delegated tasks %d times, want %d", p.abandoned, want)
			}
		})
	}
}

// TestFail_RetriesLaterEachTime: the delay grows with each retry, so that Hob does not flood an
// overloaded server.
func TestFail_RetriesLaterEachTime(t *testing.T) {
	p := openFixture(t)
	c := p.claimEvent(bus.Event{Kind: bus.Watcher, Source: "watcher:w", Session: "main", Text: "A file appeared", Provenance: provenance.Hob, Payload: []byte(`{"watcher":"w"}`)})
	for attempt := 1; attempt < bus.MaxAttempts; attempt++ {
		c.Event.Attempts = attempt
		failOnError(t, p.store.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE inbox SET state = 'claimed' WHERE id = ?`, c.Event.ID)
			return err
		}))
		failOnError(t, p.committer.Fail(t.Context(), c, commit.Outcome{}, errors.New("no connection")))
		ev, err := p.bus.Inbox.Event(t.Context(), c.Event.ID)
		failOnError(t, err)
		if wait, want := time.Until(ev.NotBefore).Round(time.Minute), time.Duration(attempt)*time.Minute; wait != want {
			t.Errorf("attempt %d: waits %s, want %s", attempt, wait, want)
		}
	}
}

// TestGiveUp_ReportsToWhoWaits: a delegated task fails for its agent, a message is answered where it
// was written, and everything else becomes a notice.
func TestGiveUp_ReportsToWhoWaits(t *testing.T) {
	p := openFixture(t)
	c := p.claimEvent(bus.Event{Kind: bus.Task, Source: agents.Source, Session: "task:1", Text: "look it up", Provenance: provenance.Hob, Payload: []byte(`{}`)})
	if !agents.IsTaskEvent(c.Event) {
		t.Fatal("the event is not a delegated task")
	}
	failOnError(t, p.committer.GiveUp(t.Context(), c.Event, "no connection"))
	if len(p.tasks) != 1 || p.tasks[0].State != agents.Failed || p.tasks[0].Answer != "no connection" {
		t.Errorf("the task ended with %+v, want a failure with its reason", p.tasks)
	}
	if got, want := p.describeState(c.Event.ID), `dead, texts [], 0 messages, 0 traces`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c = p.claimEvent(messageEvent("hello"))
	failOnError(t, p.committer.GiveUp(t.Context(), c.Event, "no connection"))
	list, err := p.bus.Outbox.EventDeliveries(t.Context(), c.Event.ID)
	failOnError(t, err)
	if len(list) != 1 || list[0].Kind != channels.Reply || list[0].Channel != "telegram" || list[0].Chat != "7" {
		t.Errorf("sent %+v, want one reply in the chat of the message", list)
	}
}
