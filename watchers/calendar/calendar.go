// Package calendar implements watchers that fire before an event of the user's calendars starts,
// and when an event is changed, moved or canceled.
//
// The kind is polled. The cursor contains the upcoming events of the last poll. Differences between
// the cursor and the current events fire. The watcher requests a poll at the time of the next
// reminder. Thus it reads the calendar just before it fires, and an event that was moved a minute
// ago fires only at its new time.
//
// Without a named account, calendar subscriptions count too. One that cannot be read keeps its last
// known events and is reported as a problem of the watcher.
//
// The UID identifies an event. An occurrence of a recurring event is identified also by its
// original time according to the recurrence rule, which does not change when the occurrence is
// moved.
package calendar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/store"
	setting "hob/platform/text/settings"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/watchers"
)

// Kind is the name of the kind.
const Kind = "calendar"

// Values of Tell.
const (
	starts    = "starts"
	added     = "added"
	changed   = "changed"
	moved     = "moved"
	cancelled = "cancelled"
)

func allNews() []string { return []string{starts, changed, moved, cancelled} }

// Defaults and limits of a configuration.
const (
	usualLead    = 15 * time.Minute
	longestLead  = 7 * 24 * time.Hour
	maxLeads     = 5
	usualMorning = "08:00" // time at which all-day events fire
	every        = 5 * time.Minute
)

// Driver creates calendar watchers.
type Driver struct{}

// New returns the driver.
func New() *Driver { return &Driver{} }

// Describe implements watchers.Driver.
func (*Driver) Describe() watchers.Description {
	return watchers.Description{
		Kind: Kind, Subject: watchers.Meetings, Polled: true,
		Options: "before? (15m), tell? (starts, added, changed, moved, cancelled), words?, account?", Keywords: "calendar event meeting",
		Title: "Calendar", Form: []setting.Setting{
			{Key: "before", Kind: setting.Text, List: true, Optional: true, Title: "Time before the start", Help: `15m, 1h`},
			{Key: "tell", Kind: setting.Text, List: true, Optional: true, Title: "What", Help: `starts, added, changed, moved, cancelled`},
			{Key: "words", Kind: setting.Text, List: true, Optional: true, Title: "Words", Help: `Only events with all of these words.`},
			{Key: "account", Kind: setting.Text, Optional: true, Title: "Account", Help: `An account or a subscription. Required if you have several accounts.`},
		},
	}
}

// Migrations implements watchers.Driver. It returns nil because the manager stores the cursor.
func (*Driver) Migrations() []store.MigrationSet { return nil }

// New implements watchers.Driver.
func (*Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	s, err := parseConfig(spec.Config)
	if err != nil {
		return nil, err
	}
	w := &watch{settings: s, zone: deps.Zone, log: deps.Log, trouble: func(ctx context.Context, err error) {
		if deps.Trouble != nil {
			deps.Trouble(ctx, spec.ID, err)
		}
	}}
	if deps.Feeds != nil && s.account == "" {
		w.feeds = deps.Feeds()
	} else if deps.Feeds != nil { // a subscription by its name
		w.feeds = slices.DeleteFunc(slices.Clone(deps.Feeds()), func(f pim.EventReader) bool { return !textnorm.EqualFolded(f.Name(), s.account) })
		if len(w.feeds) > 0 {
			return w, nil
		}
	}
	w.account, err = deps.Account(s.account, "caldav")
	if err != nil && (len(w.feeds) == 0 || !errors.Is(err, pim.ErrNoAccount)) {
		return nil, fmt.Errorf("calendar: %w", err)
	}
	return w, nil
}

// config is the configuration of a watcher.
type config struct {
	Account   string   `json:"account,omitempty"`   // [accounts.NAME], or a subscription; required if there are several accounts
	Calendars []string `json:"calendars,omitempty"` // names of the calendars and subscriptions; default all
	Tell      []string `json:"tell,omitempty"`      // starts, added, changed, moved, canceled; default all except added
	Before    []string `json:"before,omitempty"`    // time before the start of an event; default 15m
	Words     []string `json:"words,omitempty"`     // words that all must occur in the title, location or notes
	Morning   string   `json:"morning,omitempty"`   // time of day at which an all-day event fires; default 08:00
}

// settings is a validated configuration.
type settings struct {
	account   string
	calendars []string
	tell      []string
	before    []time.Duration // longest first
	words     []string
	morning   time.Duration // since midnight
}

func (s settings) isEnabled(what string) bool { return slices.Contains(s.tell, what) }

func parseConfig(raw json.RawMessage) (settings, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return settings{}, fmt.Errorf("calendar: %w", err)
	}
	s := settings{account: strings.TrimSpace(c.Account), calendars: c.Calendars, words: c.Words, tell: c.Tell}
	for _, w := range c.Tell {
		if !slices.Contains(append(allNews(), added), w) {
			return s, fmt.Errorf("calendar: unknown %q in tell; use %s, %s", w, strings.Join(allNews(), ", "), added)
		}
	}
	if len(s.tell) == 0 {
		s.tell = allNews()
	}
	if len(c.Calendars)+len(c.Words) > 50 {
		return s, fmt.Errorf("calendar: at most 50 calendars and words")
	}
	for _, w := range slices.Concat(c.Calendars, c.Words) {
		if strings.TrimSpace(w) == "" || pim.SanitizeLine(w, 200) != w {
			return s, fmt.Errorf("calendar: calendars and words must be strings of at most 200 characters on one line")
		}
	}
	if len(c.Before) == 0 {
		s.before = []time.Duration{usualLead}
	}
	if len(c.Before) > maxLeads {
		return s, fmt.Errorf("calendar: at most %d times in before", maxLeads)
	}
	for _, b := range c.Before {
		d, err := parseDuration(b)
		if err != nil || d < 0 || d > longestLead {
			return s, fmt.Errorf(`calendar: before must contain times such as "15m", "2h" or "1d", at most 7d, not %q`, b)
		}
		s.before = append(s.before, d)
	}
	sorting.ByFunc(s.before, func(a, b time.Duration) int { return int(b - a) })
	s.before = slices.Compact(s.before)
	if c.Morning == "" {
		c.Morning = usualMorning
	}
	m, err := time.Parse("15:04", c.Morning)
	if err != nil {
		return s, fmt.Errorf(`calendar: morning must be a time of day such as "08:00", not %q`, c.Morning)
	}
	s.morning = time.Duration(m.Hour())*time.Hour + time.Duration(m.Minute())*time.Minute
	return s, nil
}

// parseDuration parses "15m", "2h", "1h30m" and "1d".
func parseDuration(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		d, err := time.ParseDuration(days + "h")
		return d * 24, err
	}
	return time.ParseDuration(s)
}

// DescribeConfig implements watchers.Driver. An example of its result is "events 15 minutes before
// they start, and when they are changed, moved or cancelled".
func (*Driver) DescribeConfig(raw json.RawMessage) string {
	s, err := parseConfig(raw)
	if err != nil {
		return "events (invalid configuration)"
	}
	var when []string
	if s.isEnabled(starts) {
		var leads []string
		for _, b := range s.before {
			leads = append(leads, formatDuration(b))
		}
		when = append(when, strings.Join(leads, " and ")+" before they start")
	}
	var news []string
	for _, n := range []string{added, changed, moved, cancelled} {
		if s.isEnabled(n) {
			news = append(news, n)
		}
	}
	if len(news) > 0 {
		when = append(when, "when they are "+joinWords(news))
	}
	what := "events"
	if len(s.words) > 0 {
		what += " about " + strings.Join(s.words, " and ")
	}
	if len(s.calendars) > 0 {
		what += " in " + joinWords(s.calendars)
	}
	return pim.SanitizeLine(what+" "+strings.Join(when, ", and "), 300)
}

func joinWords(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}

// formatDuration formats a duration for people: "15 minutes", "2 hours".
func formatDuration(d time.Duration) string {
	unit := func(n int64, word string) string {
		if n == 1 {
			return "1 " + word
		}
		return fmt.Sprintf("%d %ss", n, word)
	}
	switch {
	case d >= 24*time.Hour && d%(24*time.Hour) == 0:
		return unit(int64(d/(24*time.Hour)), "day")
	case d >= time.Hour && d%time.Hour == 0:
		return unit(int64(d/time.Hour), "hour")
	case d > 2*time.Hour:
		return unit(int64(d/time.Hour), "hour") + " " + unit(int64(d%time.Hour/time.Minute), "minute")
	}
	return unit(int64(d.Round(time.Minute)/time.Minute), "minute")
}

// matchesEvent reports whether an event meets the conditions of the watcher.
func (s settings) matchesEvent(e pim.Event) bool {
	all := textnorm.Fold(e.Title + "\n" + e.Place + "\n" + e.Notes)
	for _, w := range s.words {
		if !strings.Contains(all, textnorm.Fold(w)) {
			return false
		}
	}
	return true
}
