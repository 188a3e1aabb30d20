package calendar

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/watchers"
)

// subscription is a fake calendar subscription.
type subscription struct {
	events []pim.Event
	err    error
}

func (*subscription) Name() string { return "Club" }

func (s *subscription) FindEvents(context.Context, pim.TimeRange) ([]pim.Event, error) {
	return s.events, s.err
}

// TestEvents_OfSubscriptions checks that subscriptions are watched without an account, that one that
// fails keeps its events, and that its failure is reported.
func TestEvents_OfSubscriptions(t *testing.T) {
	feed := &subscription{err: errors.New("HTTP status 500")}
	var trouble error
	made, err := New().New(watchers.Spec{ID: "w1", Config: []byte(`{"tell":["starts","added","cancelled"]}`)}, watchers.Deps{
		Zone: func() *time.Location { return time.UTC }, Feeds: func() []pim.EventReader { return []pim.EventReader{feed} },
		Account: func(string, string) (pim.Account, error) { return pim.Account{}, pim.ErrNoAccount },
		Trouble: func(_ context.Context, _ string, err error) { trouble = err },
	})
	if err != nil {
		t.Fatal(err)
	}
	event := func(uid string, in time.Duration) pim.Event {
		at := time.Now().Add(in).UTC()
		return pim.Event{UID: uid, Title: uid, Start: at, End: at.Add(time.Hour), Calendar: "Club"}
	}
	match, party, soon := event("Match", 48*time.Hour), event("Party", 72*time.Hour), event("Training", 10*time.Minute)
	var p watchers.Progress
	for _, step := range []struct {
		name   string
		events []pim.Event
		err    error
		want   []string
		fails  bool
	}{
		{"nothing can be read", nil, errors.New("HTTP status 500"), nil, true},
		{"the first copy", []pim.Event{match}, nil, nil, false},
		{"a new event", []pim.Event{match, party}, nil, []string{"New in your calendar: Party"}, false},
		{"a failure", nil, errors.New("HTTP status 500"), nil, false},
		{"an event less", []pim.Event{party}, nil, []string{"Match was canceled"}, false},
		{"an event that starts", []pim.Event{party, soon}, nil, []string{"New in your calendar: Training", "Training starts in 10 minutes"}, false},
	} {
		feed.events, feed.err = step.events, step.err
		found, err := made.(watchers.Polled).Poll(t.Context(), p)
		if (err != nil) != step.fails {
			t.Fatalf("%s: %v", step.name, err)
		}
		if !step.fails {
			p.Cursor = found.Cursor
			if !errors.Is(trouble, step.err) {
				t.Errorf("%s: reported problem %v", step.name, trouble)
			}
		}
		var got []string
		for _, s := range found.Signals {
			got = append(got, s.Text)
		}
		if !slices.EqualFunc(got, step.want, strings.HasPrefix) {
			t.Errorf("%s: signals %q, want %q", step.name, got, step.want)
		}
	}
}
