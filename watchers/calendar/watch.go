package calendar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/caldav"
	"hob/platform/pim/ics"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/watchers"
)

// horizon limits the future period in which changes are detected. behind is the time for which
// events in progress stay in the cursor after they started.
const (
	horizon = 14 * 24 * time.Hour
	behind  = 24 * time.Hour
)

// Limits of the cursor's contents.
const (
	maxEvents = 300
	maxNotes  = 500 // characters
	maxGuests = 10
)

type watch struct {
	settings
	account pim.Account // without a name if only subscriptions are watched
	feeds   []pim.EventReader
	zone    func() *time.Location
	log     *slog.Logger
	trouble func(context.Context, error)
}

// Every implements watchers.Polled.
func (*watch) Every() time.Duration { return every }

// Group implements watchers.Grouped.
func (w *watch) Group() string { return "caldav:" + w.account.Name }

// cursor is the state between polls.
type cursor struct {
	// To is the end of the range that was read. Zone is the zone that was used.
	To   time.Time `json:"to"`
	Zone string    `json:"zone"`
	// Calendars are the calendars that were read, with their last known state.
	Calendars []seen      `json:"calendars"`
	Events    []pim.Event `json:"events"`

	passed []watchers.SuppressedSignal // events that were read but do not match the conditions
}

// seen is the last known state of a calendar.
type seen struct {
	Path  string `json:"path"`
	Name  string `json:"name"`
	Token string `json:"token,omitempty"`
	// Partial is true if some events could not be read. The calendar is then read again.
	Partial bool `json:"partial,omitempty"`
}

// whenOf returns an event's time in a form that changes if the event is moved but not if the user's
// zone changes.
func whenOf(e pim.Event) string {
	const form = "2006-01-02T15:04:05"
	if e.Floating {
		return e.Start.Format(form) + "/" + e.End.Format(form)
	}
	return e.Start.UTC().Format(form) + "Z/" + e.End.UTC().Format(form) + "Z"
}

func equalEvents(a, b pim.Event) bool {
	return a.UID == b.UID && a.Occurrence == b.Occurrence && a.Calendar == b.Calendar
}

// Poll implements watchers.Polled.
func (w *watch) Poll(ctx context.Context, p watchers.Progress) (watchers.Found, error) {
	now := time.Now()
	var was *cursor
	if p.Cursor != nil {
		if err := json.Unmarshal(p.Cursor, &was); err != nil {
			return watchers.Found{}, fmt.Errorf("calendar: parse progress: %w", err)
		}
	}
	is, err := w.readCalendars(ctx, was, now)
	if err != nil {
		return w.announceOffline(was, p, err)
	}
	var found watchers.Found
	if was != nil {
		found.Signals = w.changedEvents(*was, is, now)
	}
	if w.isEnabled(starts) {
		soon, wake := w.startingSoon(is.Events, p, now)
		found.Signals, found.Wake = append(found.Signals, soon...), wake
	}
	found.Passed = is.passed
	found.Cursor, err = json.Marshal(is)
	return found, err
}

// announceOffline announces known events that start soon, although the server cannot be reached.
func (w *watch) announceOffline(was *cursor, p watchers.Progress, cause error) (f watchers.Found, err error) {
	if was != nil && w.isEnabled(starts) {
		f.Signals, f.Wake = w.startingSoon(was.Events, p, time.Now()) // use the current time, because the failed request may have taken a long time
	}
	return f, pollError(cause, f.Wake)
}

// pollError converts an error of a poll for the manager. A busy server causes a LaterError with the
// retry time of the server, or with wake if wake is earlier. A missing network causes ErrOffline.
func pollError(err error, wake time.Time) error {
	if b, is := errors.AsType[*pim.BusyError](err); is {
		until := b.Until
		if !wake.IsZero() && wake.Before(until) {
			until = wake
		}
		return watchers.Later(until, err)
	}
	_, nameless := errors.AsType[*net.DNSError](err)
	if nameless || errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.ENETDOWN) {
		return fmt.Errorf("%w: %w", watchers.ErrOffline, err)
	}
	return err
}

// readCalendars returns the current events of the calendars, in order. It does not download
// unchanged calendars again.
func (w *watch) readCalendars(ctx context.Context, was *cursor, now time.Time) (is cursor, err error) {
	zone := w.zone()
	// The end of the range advances once an hour, so that an unchanged calendar does not change the
	// cursor at each poll.
	span := ics.Span{From: now.Add(-behind), To: now.Truncate(time.Hour).Add(max(horizon, w.before[0]+24*time.Hour)), Zone: zone}
	is = cursor{To: span.To, Zone: zone.String()}
	if w.account.Name != "" {
		if err := w.readServer(ctx, was, &is, span); err != nil {
			return is, err
		}
	}
	if err := w.readFeeds(ctx, was, &is, span); err != nil {
		return is, err
	}
	sorting.StableByFunc(is.Events, func(a, b pim.Event) int { return a.Start.Compare(b.Start) })
	if len(is.Events) > maxEvents {
		is.To = is.Events[maxEvents].Start
		is.Events = is.Events[:maxEvents]
	}
	return is, nil
}

// feedPath begins the path of a subscription in the cursor.
const feedPath = "feed:"

// readFeeds adds the events of the subscriptions. It returns an error only if nothing can be watched.
func (w *watch) readFeeds(ctx context.Context, was *cursor, is *cursor, span ics.Span) error {
	var failed error
	for _, f := range w.feeds {
		if len(w.calendars) > 0 && !slices.ContainsFunc(w.calendars, func(name string) bool { return textnorm.EqualFolded(name, f.Name()) }) {
			continue
		}
		some, err := f.FindEvents(ctx, span)
		failed = errors.Join(failed, err)
		known := was != nil && slices.ContainsFunc(was.Calendars, func(s seen) bool { return s.Path == feedPath+f.Name() })
		if err != nil && len(some) == 0 && !known {
			continue
		}
		is.Calendars = append(is.Calendars, seen{Path: feedPath + f.Name(), Name: f.Name(), Partial: err != nil})
		for _, e := range some {
			if !slices.ContainsFunc(is.Events, func(o pim.Event) bool { return o.UID == e.UID && whenOf(o) == whenOf(e) }) { // the server may have the same invitation
				w.addEvent(is, e)
			}
		}
		if err != nil && known {
			for _, e := range was.Events {
				if e.Calendar == f.Name() && !slices.ContainsFunc(is.Events, func(o pim.Event) bool { return equalEvents(o, e) }) {
					is.Events = append(is.Events, e)
				}
			}
		}
	}
	if failed != nil && len(is.Calendars) == 0 {
		return failed
	}
	if len(w.feeds) > 0 {
		w.trouble(ctx, failed)
	}
	return nil
}

// addEvent adds an event if it has the requested words.
func (w *watch) addEvent(is *cursor, e pim.Event) {
	if w.matchesEvent(e) {
		is.Events = append(is.Events, shortenEvent(e))
		return
	}
	is.passed = append(is.passed, watchers.SuppressedSignal{
		Rule: watchers.RuleCondition, Key: "other:" + e.UID + ":" + e.Occurrence, Text: e.Title, At: e.Start,
		Why: "it does not contain all of the requested words: " + strings.Join(w.words, ", "),
	})
}

// readServer adds the events of the account's calendars.
func (w *watch) readServer(ctx context.Context, was *cursor, is *cursor, span ics.Span) error {
	c, err := caldav.Open(ctx, w.account)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Calendars(ctx)
	if err != nil {
		return err
	}
	if list, err = w.selectCalendars(list); err != nil {
		return err
	}
	known := was != nil && was.To.Equal(is.To) && was.Zone == is.Zone
	isFeed := func(s seen) bool { return strings.HasPrefix(s.Path, feedPath) }
	var before []seen
	if known {
		before = slices.DeleteFunc(slices.Clone(was.Calendars), isFeed)
		known = len(before) == len(list)
	}
	for i, cal := range list {
		is.Calendars = append(is.Calendars, seen{Path: cal.Path, Name: cal.Name, Token: cal.Token})
		known = known && cal.Token != "" && before[i] == is.Calendars[i]
		for _, f := range w.feeds { // a subscription with the same name has other events
			known = known && f.Name() != cal.Name
		}
	}
	if known {
		is.Events = slices.DeleteFunc(slices.Clone(was.Events), func(e pim.Event) bool {
			return !slices.ContainsFunc(before, func(s seen) bool { return s.Name == e.Calendar })
		})
		return nil
	}
	for i, cal := range list {
		some, err := c.Events(ctx, cal, span)
		part, partial := errors.AsType[*caldav.PartialError](err)
		switch {
		case partial:
			w.log.WarnContext(ctx, "some events not read", "calendar", cal.Name, "err", err)
			is.Calendars[i].Partial = true
			some = append(some, was.unreadEvents(cal.Name, part, some)...)
		case err != nil:
			return err
		}
		for _, e := range some {
			w.addEvent(is, e)
		}
	}
	return nil
}

// unreadEvents returns the known events of a calendar that could not be read and may still exist.
// These events stay unchanged in the cursor.
func (c *cursor) unreadEvents(calendar string, part *caldav.PartialError, is []pim.Event) (out []pim.Event) {
	if c == nil {
		return nil
	}
	for _, e := range c.Events {
		there := func(o pim.Event) bool { return equalEvents(o, e) }
		if e.Calendar == calendar && part.Misses(e.UID) && !slices.ContainsFunc(is, there) {
			out = append(out, e)
		}
	}
	return out
}

// shortenEvent returns the form of an event that the cursor stores.
func shortenEvent(e pim.Event) pim.Event {
	if r := []rune(e.Notes); len(r) > maxNotes {
		e.Notes = string(r[:maxNotes])
	}
	e.Guests = e.Guests[:min(len(e.Guests), maxGuests)]
	return e
}

// selectCalendars returns the configured calendars.
func (w *watch) selectCalendars(all []pim.Calendar) (out []pim.Calendar, err error) {
	if len(w.calendars) == 0 {
		return all, nil
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	for _, want := range w.calendars {
		i := slices.IndexFunc(all, func(c pim.Calendar) bool { return textnorm.EqualFolded(c.Name, want) || c.Name == want })
		if i < 0 && slices.ContainsFunc(w.feeds, func(f pim.EventReader) bool { return textnorm.EqualFolded(f.Name(), want) }) {
			continue
		}
		if i < 0 {
			return nil, fmt.Errorf("calendar: %w: the calendar %q; choose from %s", pim.ErrNoFolder, want, pim.SanitizeLine(strings.Join(names, ", "), 300))
		}
		out = append(out, all[i])
	}
	return out, nil
}
