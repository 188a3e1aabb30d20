package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/delivery"
	"hob/autonomy/dispatch"
	"hob/autonomy/guard"
	"hob/autonomy/intake"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/session"
	"hob/autonomy/trace"
	"hob/autonomy/turn"
	"hob/autonomy/turn/modelrouter"
	"hob/autonomy/turn/prompt"
	"hob/autonomy/undo"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
)

// dispatchFixture holds a Dispatcher over a real database, with a scripted model. It also implements Commands
// and Turns.
type dispatchFixture struct {
	t          *testing.T
	store      *store.Store
	bus        *bus.Bus
	guard      *guard.Guard
	model      *llmtest.Scripted
	dispatcher *dispatch.Dispatcher
	committer  *commit.Committer

	running chan struct{} // closed when the running turn of the session ends; nil without one
	mu      sync.Mutex    // guards offered
	offered []bus.Event
	spendAt time.Time // when the budget allows unattended turns again; zero: now
}

// Run implements dispatch.Commands.
func (*dispatchFixture) Run(_ context.Context, ev bus.Event) (commit.Outcome, error) {
	res := commit.NewReply(ev, "command")
	res.Answer, res.Source = "ran "+ev.Text, provenance.Hob
	return res, nil
}

func (*dispatchFixture) WasCancelled(string) bool                { return false }
func (*dispatchFixture) Hold(string) turn.Hold                   { return nil }
func (*dispatchFixture) TidyLater(bus.Event)                     {}
func (*dispatchFixture) IsFree() bool                            { return false }
func (*dispatchFixture) FlushTx(*store.Tx) error                 { return nil }
func (*dispatchFixture) Pushes(string) bool                      { return true }
func (*dispatchFixture) NotifyTx(*store.Tx, intake.Notice) error { return nil }

func (*dispatchFixture) IsOffline(context.Context, string) bool { return false }

// OfferSteering implements dispatch.Turns.
func (p *dispatchFixture) OfferSteering(ev bus.Event) <-chan struct{} {
	if p.running == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offered = append(p.offered, ev)
	return p.running
}

// TakeSteering implements dispatch.Turns.
func (p *dispatchFixture) TakeSteering(string) []bus.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.offered
	p.offered = nil
	return out
}

// CanSpend implements dispatch.Budget.
func (p *dispatchFixture) CanSpend(now time.Time) (bool, time.Time) {
	return !p.spendAt.After(now), p.spendAt
}

// Choose implements turn.Models.
func (p *dispatchFixture) Choose(context.Context, modelrouter.TurnInfo) (modelrouter.Choice, error) {
	return modelrouter.Choice{Model: p.model}, nil
}

func openFixture(t *testing.T, answers ...llmtest.Answer) *dispatchFixture {
	t.Helper()
	s, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{
		bus.Migrations(), guard.Migrations(), session.Migrations(), origins.Migrations(), modelrouter.Migrations(), goals.Migrations(), notify.Migrations(), trace.Migrations(),
	}, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	p := &dispatchFixture{t: t, store: s, bus: bus.New(s, bus.Options{}), model: llmtest.NewScripted(llmtest.Options{}, answers...)}
	zone, log := func() *time.Location { return time.UTC }, slog.New(slog.DiscardHandler)
	p.guard, err = guard.New(s, guard.Options{})
	failOnError(t, err)
	failOnError(t, p.guard.InitKeys(t.Context()))
	sessions := session.New(s)
	catalog, err := tools.NewCatalog()
	failOnError(t, err)
	pr, err := prompt.New(prompt.Options{})
	failOnError(t, err)
	runner, err := turn.New(turn.Options{Store: s, Bus: p.bus, Guard: p.guard, Sessions: sessions, Catalog: catalog, Prompt: pr, Models: p, Zone: zone})
	failOnError(t, err)
	un, err := undo.New(undo.Options{Store: s, Bus: p.bus, Guard: p.guard, Catalog: catalog})
	failOnError(t, err)
	d, err := delivery.New(delivery.Options{Bus: p.bus, Sessions: sessions, Zone: zone})
	failOnError(t, err)
	p.dispatcher, err = dispatch.New(dispatch.Options{
		Store: s, Bus: p.bus, Guard: p.guard, Sessions: sessions, Runner: runner, Undo: un, Delivery: d, Commands: p, Turns: p, Models: p, Budget: p, Zone: zone, Log: log,
	})
	failOnError(t, err)
	p.committer, err = commit.New(commit.Options{Store: s, Bus: p.bus, Guard: p.guard, Sessions: sessions, Delivery: d, Notices: p, Maintenance: p, Zone: zone, Log: log})
	failOnError(t, err)
	return p
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *dispatchFixture) putEvent(e bus.Event) string {
	p.t.Helper()
	acc, err := p.bus.Inbox.Put(p.t.Context(), e)
	failOnError(p.t, err)
	return acc.Event
}

func (p *dispatchFixture) claimEvents() []bus.Event {
	p.t.Helper()
	list, _, err := p.bus.Inbox.Claim(p.t.Context(), 5)
	failOnError(p.t, err)
	return list
}

// claimOnly claims the due event and fails the test if there is not exactly one.
func (p *dispatchFixture) claimOnly() bus.Event {
	p.t.Helper()
	list := p.claimEvents()
	if len(list) != 1 {
		p.t.Fatalf("claimed %d events, want 1", len(list))
	}
	return list[0]
}

func messageEvent(session, text string) bus.Event {
	return bus.Event{Kind: bus.Message, Source: "telegram", Session: session, Lane: session, Channel: "telegram", Chat: "7", Text: text, Provenance: provenance.Owner}
}

func watcherEvent(mode, action string) bus.Event {
	return bus.Event{
		Kind: bus.Watcher, Source: "watcher:w", Session: "watch:w", Lane: "watch:w", Text: "invoice.pdf appeared", Provenance: provenance.Hob,
		Payload: fmt.Appendf(nil, `{"watcher":"w","mode":%q,"action":%q,"report":"main","signal":"invoice.pdf appeared","made":"owner"}`, mode, action),
	}
}

// TestAnswer_UsesModelOnlyForTurns: commands, notices and reminders cost nothing and need no model.
func TestAnswer_UsesModelOnlyForTurns(t *testing.T) {
	command := messageEvent("home", "/status")
	command.Lane = bus.CommandLane("home")
	notice := bus.Event{Kind: bus.System, Source: "hob", Session: "main", Lane: "main", Text: "The disk is full.", Provenance: provenance.Hob, Payload: []byte(`{"report":"main"}`)}
	for _, tc := range []struct {
		name              string
		event             bus.Event
		how, text, target string
		calls             int
	}{
		{"a message", messageEvent("home", "hello"), "turn", "Hi.", "home", 1},
		{"a command", command, "command", "ran /status", "home", 0},
		{"the command to begin a new conversation", messageEvent("home", "/new"), "command", "ran /new", "home", 0},
		{"a watcher that notifies", watcherEvent("notify", ""), "notice", "invoice.pdf appeared", "main", 0},
		{"a reminder", watcherEvent("remind", "stretch"), "notice", "Reminder: stretch", "main", 0},
		{"a watcher that acts", watcherEvent("do", "file it"), "turn", "Hi.", "main", 1},
		{"a notice of Hob", notice, "notice", "The disk is full.", "main", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := openFixture(t, llmtest.Answer{Text: "Hi.", Times: -1})
			p.putEvent(tc.event)
			res, err := p.dispatcher.Answer(t.Context(), p.claimOnly())
			failOnError(t, err)
			if res.How != tc.how || res.Answer != tc.text || res.Session != tc.target || !res.Send {
				t.Errorf("Answer = %s %q for %s (send %v), want %s %q for %s", res.How, res.Answer, res.Session, res.Send, tc.how, tc.text, tc.target)
			}
			if got := len(p.model.Asked()); got != tc.calls {
				t.Errorf("%d model calls, want %d", got, tc.calls)
			}
		})
	}
}

// TestAnswer_PostponesUnattendedWorkWithoutBudget: an exhausted budget postpones unattended turns
// without counting an attempt, and never affects the owner's messages.
func TestAnswer_PostponesUnattendedWorkWithoutBudget(t *testing.T) {
	p := openFixture(t, llmtest.Answer{Text: "Hi.", Times: -1})
	p.spendAt = time.Now().Add(time.Hour).Truncate(time.Millisecond)
	p.putEvent(watcherEvent("do", "file it"))
	ev := p.claimOnly()
	res, err := p.dispatcher.Answer(t.Context(), ev)
	failOnError(t, err)
	now, err := p.bus.Inbox.Event(t.Context(), ev.ID)
	failOnError(t, err)
	if !res.Suspended || now.State != bus.Pending || !now.NotBefore.Equal(p.spendAt) || now.Attempts >= ev.Attempts+1 || len(p.model.Asked()) != 0 {
		t.Errorf("suspended %v, %s until %s after %d attempts and %d model calls; want it to wait until %s", res.Suspended, now.State, now.NotBefore, now.Attempts, len(p.model.Asked()), p.spendAt)
	}
	p.putEvent(watcherEvent("notify", "")) // needs no model
	p.putEvent(messageEvent("home", "hello"))
	for _, ev := range p.claimEvents() {
		if res, err := p.dispatcher.Answer(t.Context(), ev); err != nil || res.Suspended {
			t.Errorf("%s: suspended %v, %v", ev.Kind, res.Suspended, err)
		}
	}
}

// TestAnswer_RejectsUnknownKind: an event of a newer version is an error, not a lost event.
func TestAnswer_RejectsUnknownKind(t *testing.T) {
	p := openFixture(t)
	if _, err := p.dispatcher.Answer(t.Context(), bus.Event{ID: "1", Kind: "postcard"}); err == nil || !strings.Contains(err.Error(), "postcard") {
		t.Errorf("Answer = %v, want an error that names the kind", err)
	}
}

// steeringEvent returns the event of a text for the running turn of a conversation.
func (p *dispatchFixture) steeringEvent(text string) bus.Event {
	e := messageEvent("home", "/steer "+text)
	e.Lane = "home\x1fsteer\x1f1" // as intake chooses
	p.putEvent(e)
	return p.claimOnly()
}

// TestAnswer_SteersRunningTurn: the turn reads the text at its next step, and that step ends the event
// with its reply, so that the text is neither lost nor answered twice.
func TestAnswer_SteersRunningTurn(t *testing.T) {
	p := openFixture(t, llmtest.Answer{Match: "only the first page", Text: "Page 1 says hello."})
	p.putEvent(messageEvent("home", "read it"))
	running := p.claimOnly()
	text := p.steeringEvent("only the first page")
	p.offered = []bus.Event{text}
	res, err := p.dispatcher.Answer(t.Context(), running)
	failOnError(t, err)
	if res.Answer != "Page 1 says hello." {
		t.Errorf("the turn answers %q, as if it had not read the text", res.Answer)
	}
	ev, err := p.bus.Inbox.Event(t.Context(), text.ID)
	failOnError(t, err)
	list, err := p.bus.Outbox.EventDeliveries(t.Context(), text.ID)
	failOnError(t, err)
	if ev.State != bus.Done || len(list) != 1 || list[0].Kind != channels.Reply {
		t.Errorf("the event of the text is %s with %d deliveries, want it done with one reply", ev.State, len(list))
	}
}

// TestAnswer_QueuesSteeringThatComesTooLate: the turn ended before its next step.
func TestAnswer_QueuesSteeringThatComesTooLate(t *testing.T) {
	p := openFixture(t)
	p.running = make(chan struct{})
	close(p.running)
	ev := p.steeringEvent("only the first page")
	_, err := p.dispatcher.Answer(t.Context(), ev)
	failOnError(t, err)
	now, err := p.bus.Inbox.Event(t.Context(), ev.ID)
	failOnError(t, err)
	if now.State != bus.Pending || now.Lane != "home" {
		t.Errorf("the text is %s in the lane %q, want it to be the next message", now.State, now.Lane)
	}
}

// TestAnswer_QueuesSteeringWithoutTurn: text for a turn that has ended becomes an ordinary message.
func TestAnswer_QueuesSteeringWithoutTurn(t *testing.T) {
	p := openFixture(t, llmtest.Answer{Match: "only the first page", Text: "As you wish."})
	ev := p.steeringEvent("only the first page")
	res, err := p.dispatcher.Answer(t.Context(), ev)
	failOnError(t, err)
	if !res.Suspended {
		t.Errorf("the event ended with %+v", res)
	}
	again := p.claimOnly()
	if again.ID != ev.ID || again.Lane != "home" {
		t.Fatalf("claimed %s in the lane %q, want the same event as an ordinary message", again.ID, again.Lane)
	}
	if res, err = p.dispatcher.Answer(t.Context(), again); err != nil || res.Answer != "As you wish." {
		t.Errorf("Answer = %q, %v", res.Answer, err)
	}
}

// TestLanes_KeepOrderOfSessionWhileOthersRun: messages of a conversation are answered one after the
// other; another conversation does not wait for them.
func TestLanes_KeepOrderOfSessionWhileOthersRun(t *testing.T) {
	hold := make(chan struct{})
	p := openFixture(t)
	p.model = llmtest.NewScripted(llmtest.Options{Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		last := r.Messages[len(r.Messages)-1]
		text := last.Parts[len(last.Parts)-1].Text
		if strings.Contains(text, "slow") {
			<-hold
		}
		return llmtest.Answer{Text: "answer to " + text}, true
	}})
	first, second := p.putEvent(messageEvent("a", "slow one")), p.putEvent(messageEvent("a", "next one"))
	other := p.putEvent(messageEvent("b", "quick one"))

	finish := func(ev bus.Event) error {
		res, err := p.dispatcher.Answer(t.Context(), ev)
		return errors.Join(err, p.committer.Commit(t.Context(), commit.Claim{Event: ev, Since: time.Now()}, res))
	}
	claimed := p.claimEvents()
	if got := eventIDs(claimed); !slices.Equal(got, []string{first, other}) {
		t.Fatalf("claimed %v, want the first event of each conversation", got)
	}
	slow := make(chan error, 1)
	go func() { slow <- finish(claimed[0]) }()
	failOnError(t, finish(claimed[1])) // while the first conversation is busy
	if got := eventIDs(p.claimEvents()); len(got) != 0 {
		t.Errorf("claimed %v while their conversation is busy", got)
	}
	close(hold)
	failOnError(t, <-slow)
	next := p.claimEvents()
	if got := eventIDs(next); !slices.Equal(got, []string{second}) {
		t.Fatalf("claimed %v, want the next message of the conversation", got)
	}
	failOnError(t, finish(next[0]))
	for _, id := range []string{first, second, other} {
		list, err := p.bus.Outbox.EventDeliveries(t.Context(), id)
		failOnError(t, err)
		if len(list) != 1 || list[0].Kind != channels.Reply {
			t.Errorf("event %s has %d deliveries, want one reply", id, len(list))
		}
	}
}

func eventIDs(list []bus.Event) (out []string) {
	for _, e := range list {
		out = append(out, e.ID)
	}
	return out
}
