package calendar

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/tools"
)

// subscription is a fake calendar subscription.
type subscription struct {
	err  error
	busy bool
}

func (subscription) Name() string { return "Ferry" }

func (s subscription) FindEvents(_ context.Context, r pim.TimeRange) ([]pim.Event, error) {
	at := time.Date(2026, 11, 10, 10, 0, 0, 0, r.Zone) // the day of now
	return []pim.Event{{UID: "f", Title: "Ferry festival", Start: at, End: at.Add(time.Hour), Open: !s.busy, Calendar: "Ferry"}}, s.err
}

// Subscriptions are read in addition to the accounts, and also without an account.
func TestSubscriptions(t *testing.T) {
	d := Deps{Accounts: func() []pim.Account { return nil }, Feeds: func() []pim.EventReader { return []pim.EventReader{subscription{}} }}
	run := func(x tools.Tool, args string) string {
		t.Helper()
		r, err := x.Call(t.Context(), tools.Call{Args: json.RawMessage(args), Now: tuesdayMorning(t)})
		if err != nil {
			t.Fatal(err)
		}
		return r.Text
	}
	if text := run(d.readCalendar(), `{}`); text != "Today:\n- 10:00-11:00 Ferry festival" {
		t.Errorf("%q", text)
	}
	if text := run(d.findFreeTime(), `{"days_ahead":1}`); !strings.Contains(text, "today: 09:00-17:00") {
		t.Errorf("%q", text)
	}
	d.Feeds = func() []pim.EventReader { return []pim.EventReader{subscription{busy: true}} }
	if text := run(d.readCalendar(), `{"at":"today at 10:30"}`); !strings.Contains(text, "Ferry festival") || strings.Contains(text, "are free") {
		t.Errorf("%q", text)
	}
	if text := run(d.findFreeTime(), `{"days_ahead":1}`); !strings.Contains(text, "today: 09:00-10:00, 11:00-17:00") {
		t.Errorf("%q", text)
	}
	d.Feeds = func() []pim.EventReader {
		return []pim.EventReader{subscription{err: errors.New("calendar subscription Ferry: HTTP status 500")}}
	}
	if text := run(d.readCalendar(), `{}`); !strings.Contains(text, "Ferry festival") || !strings.Contains(text, "Some sources could not be read: calendar subscription Ferry: HTTP status 500") {
		t.Errorf("%q", text)
	}
}
