package explain

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/notify"
	"hob/autonomy/trace"
	"hob/autonomy/usage"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
	"hob/watchers"
)

// fixedModel returns the same model and cost for every event.
type fixedModel struct {
	name  string
	calls int
	cost  *usage.Micros
	err   error
}

func (f fixedModel) Lookup(context.Context, string) (model, reason string, ok bool, err error) {
	return f.name, "it is the default", f.name != "", f.err
}

func (f fixedModel) Of(context.Context, string) (int, *usage.Micros, error) {
	return f.calls, f.cost, nil
}

// openExplainer returns an explainer over an empty store, and the parts to write to.
func openExplainer(t *testing.T, m fixedModel) (*Explainer, *store.Store, *bus.Bus, *guard.Guard) {
	t.Helper()
	sets := []store.MigrationSet{bus.Migrations(), guard.Migrations(), origins.Migrations(), trace.Migrations(), notify.Migrations()}
	s, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), sets, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b := bus.New(s, bus.Options{})
	g, err := guard.New(s, guard.Options{})
	failOnError(t, err)
	failOnError(t, g.InitKeys(t.Context()))
	x, err := New(Options{Store: s, Bus: b, Guard: g, Models: m, Costs: m, Zone: func() *time.Location { return time.UTC }})
	failOnError(t, err)
	return x, s, b, g
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNew_RejectsMissingOptions(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("New accepts empty options")
	}
}

func TestParseQuestion(t *testing.T) {
	for text, want := range map[string]tools.ExplainRequest{
		"":                    {},
		"e-1":                 {About: "e-1"},
		"tick last":           {Kind: WhyTick, About: "last"},
		"silence":             {Kind: WhySilence},
		" silence my mail ":   {Kind: WhySilence, About: "my mail"},
		"event  e-1":          {Kind: WhyEvent, About: "e-1"},
		"notification last":   {Kind: WhyNotification, About: "last"},
		"silences of my mail": {About: "silences of my mail"},
	} {
		if got := ParseQuestion(text); got != want {
			t.Errorf("ParseQuestion(%q) = %+v, want %+v", text, got, want)
		}
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 3, 4, 15, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, about, words string
		since              time.Time
	}{
		{"one day by default", "my mail", "my mail", now.AddDate(0, 0, -1)},
		{"a duration", "my mail since 2h", "my mail", now.Add(-2 * time.Hour)},
		{"a time of today", "since 14:00", "", now.Add(-time.Hour)},
		{"a time that is past means today, otherwise yesterday", "since 16:00", "", now.Add(-23 * time.Hour)},
		{"a day", "the feed since yesterday", "the feed", time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)},
		{"RFC 3339", "since 2026-03-01T10:00:00Z", "", time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)},
	} {
		words, since, err := parseSince(c.about, now)
		if err != nil || words != c.words || !since.Equal(c.since) {
			t.Errorf("%s: parseSince(%q) = %q, %s, %v; want %q, %s", c.name, c.about, words, since, err, c.words, c.since)
		}
	}
	if _, _, err := parseSince("mail since blue", now); !errors.Is(err, ErrUnclear) {
		t.Errorf("parseSince with an unreadable time = %v, want ErrUnclear", err)
	}
}

func TestExplain_SaysThatNothingHappened(t *testing.T) {
	x, _, _, _ := openExplainer(t, fixedModel{})
	for question, want := range map[string]string{
		"": nothingYet, "last": nothingYet, "notification": "I have not sent you a notification yet.",
		"tick":            "No tick has had an input yet: nothing has arrived and nothing was due.",
		"silence my mail": "Nothing was held back since",
	} {
		got, err := x.Explain(t.Context(), ParseQuestion(question))
		failOnError(t, err)
		if !strings.Contains(got.Text(time.UTC), want) {
			t.Errorf("why %s: %q, want %q", question, got.Text(time.UTC), want)
		}
	}
	for _, question := range []string{"e-1", "tick e-1"} {
		if _, err := x.Explain(t.Context(), ParseQuestion(question)); !errors.Is(err, bus.ErrNotFound) {
			t.Errorf("why %s: %v", question, err)
		}
	}
	if _, err := x.Explain(t.Context(), tools.ExplainRequest{Kind: "fate"}); !errors.Is(err, ErrUnclear) {
		t.Errorf("Explain of an unknown kind = %v, want ErrUnclear", err)
	}
}

func TestExplainEvent_ShowsModelAndCost(t *testing.T) {
	cost := usage.Micros(2500)
	for _, c := range []struct {
		name  string
		model fixedModel
		want  string
	}{
		{"no model", fixedModel{}, ""},
		{"a priced model", fixedModel{name: "m", calls: 2, cost: &cost}, "The model m was chosen: it is the default. Model calls: 2; they cost " + cost.String()},
		{"a model without a price", fixedModel{name: "m", calls: 1}, "Model calls: 1; its cost is unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, s, b, _ := openExplainer(t, c.model)
			acc, err := b.Inbox.Put(t.Context(), bus.Event{Kind: bus.Message, Source: "web", Session: "s", Text: "hello", Provenance: provenance.Owner})
			failOnError(t, err)
			failOnError(t, s.Write(t.Context(), func(tx *store.Tx) error {
				return trace.WriteTurnTx(tx, acc.Event, "s", trace.Turn{How: "turn", Model: "m", Rounds: 2, StartedAt: time.Now(), EndedAt: time.Now()})
			}))
			w, err := x.ExplainEvent(t.Context(), acc.Event, "")
			failOnError(t, err)
			text := w.Text(time.UTC)
			if (w.Spent != nil) != (c.want != "") || !strings.Contains(text, c.want) || !strings.Contains(text, ", answered by m in 2 rounds.") {
				t.Errorf("%+v\n%s", w.Spent, text)
			}
		})
	}
	broken := errors.New("broken")
	x, _, b, _ := openExplainer(t, fixedModel{err: broken})
	acc, err := b.Inbox.Put(t.Context(), bus.Event{Kind: bus.Message, Source: "web", Session: "s", Text: "hello"})
	failOnError(t, err)
	if _, err := x.ExplainEvent(t.Context(), acc.Event, ""); !errors.Is(err, broken) {
		t.Errorf("ExplainEvent with a failing model lookup = %v, want its error", err)
	}
}

// An explanation that quotes untrusted text must be marked as untrusted, because a model reads it.
func TestSource_TaintsQuotedText(t *testing.T) {
	outside := bus.Event{Provenance: provenance.Outside}
	for name, c := range map[string]struct {
		x    Explanation
		want bool
	}{
		"the user's own message":    {Why{Event: bus.Event{Provenance: provenance.Owner}}, false},
		"a message of a guest":      {Why{Event: outside}, true},
		"a result from outside":     {Why{Calls: []bus.Entry{{Source: provenance.Outside}}}, true},
		"origins":                   {Why{Origins: []provenance.Origin{{Kind: "page"}}}, true},
		"a tick with such an event": {Tick{Events: []Why{{Event: outside}}}, true},
		"an empty tick":             {Tick{}, false},
		"an empty silence":          {SilenceReport{}, false},
		"a suppressed signal":       {SilenceReport{Passed: []watchers.SuppressedSignal{{}}}, true},
		"a denied call":             {SilenceReport{Denied: []guard.Record{{}}}, true},
		"a watcher of a guest":      {SilenceReport{Watchers: []watchers.Silence{{Watcher: watchers.Spec{Provenance: provenance.Outside}}}}, true},
		"a watcher that quotes":     {SilenceReport{Watchers: []watchers.Silence{{Watcher: watchers.Spec{Provenance: provenance.Owner}, Holds: []watchers.Hold{{Error: "404"}}}}}, true},
		"a watcher with a rule":     {SilenceReport{Watchers: []watchers.Silence{{Watcher: watchers.Spec{Provenance: provenance.Owner}, Holds: []watchers.Hold{{Rule: watchers.RuleHours}}}}}, false},
	} {
		if got := c.x.Source().Tainted(); got != c.want {
			t.Errorf("%s: tainted %v, want %v", name, got, c.want)
		}
	}
}

func TestAuditLine_NamesCallApprovalAndOrigins(t *testing.T) {
	x, s, b, g := openExplainer(t, fixedModel{})
	failOnError(t, s.Write(t.Context(), func(tx *store.Tx) error {
		if err := b.Ledger.RecordTx(tx, bus.Entry{Call: "c1", Event: "e1", Session: "s", Tool: "send_text", Args: []byte(`{}`), State: bus.CallDone, Result: "Sent it.\nIt has two lines.", Source: provenance.Tool}); err != nil {
			return err
		}
		return g.AuditTx(tx, guard.Record{Actor: "hob", Action: "call", Event: "e1", Session: "s", Origin: "web", Tool: "send_text", Call: "c1", Effects: tools.Send.String(), Verdict: "allow", Rule: "send", Tainted: true, Outcome: "done"})
	}))
	l, err := x.AuditLine(t.Context(), 1)
	failOnError(t, err)
	for _, want := range []string{"who        hob, through web", "call of send_text (send): done", "Sent it.\n", "allow by send", "untrusted text", "e1 in s"} {
		if !strings.Contains(l.Text, want) {
			t.Errorf("the line does not contain %q:\n%s", want, l.Text)
		}
	}
	for _, seq := range []int64{-1, 0, 2} {
		if _, err := x.AuditLine(t.Context(), seq); !errors.Is(err, bus.ErrNotFound) {
			t.Errorf("line %d: %v", seq, err)
		}
	}
}
