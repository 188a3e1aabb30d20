// Package calendar provides tools for the calendars of the owner's accounts. read_calendar lists
// events, returns the next event, or says whether a time is free. Brief is the calendar section of
// a briefing. create_calendar_event, update_calendar_event, delete_calendar_event and
// answer_invitation change calendars. find_free_time and schedule_meeting search several calendars,
// and the free/busy data of other people, for a time. Calls that notify other people count as Send, and every
// change can be undone. If the calendar server does not notify guests, Hob sends them an email
// (iMIP, RFC 6047).
//
// Text from calendars is untrusted, because anyone can write an invitation.
package calendar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/caldav"
	"hob/platform/pim/ics"
	"hob/platform/provenance"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// usualWait is the default time limit for the servers of an account.
const usualWait = 8 * time.Second

// maxEvents is the maximum number of events that are read from all calendars together.
const maxEvents = 5000

// Deps are the dependencies of the tools.
type Deps struct {
	// Accounts returns the owner's accounts with calendars.
	Accounts func() []pim.Account
	// Apps returns the calendars of local programs, which are read in addition to the accounts. It
	// may be nil.
	Apps func() []pim.Calendars
	// Feeds returns the calendar subscriptions, which are read in addition to the accounts. It may
	// be nil.
	Feeds func() []pim.EventReader
	// Calendars returns the writable calendars. If it is nil, the tools that write are omitted.
	Calendars func() []pim.Calendars
	// Mailers returns the mailboxes for invitations that the calendar server does not send itself.
	// If it is nil, no invitations are sent by email.
	Mailers func() []pim.Mailer
	// People searches the owner's address books for a name. It is nil if there are none.
	People func(ctx context.Context, words string) ([]pim.Contact, error)
	// Now returns the current time in the owner's zone. The default uses the zone of the process.
	Now func() time.Time
	// Wait is the time limit for the servers of an account (default 8 s). The result names the
	// servers that exceed it.
	Wait time.Duration
	// draftsOnly is set while an event with guests is created whose invitation is only drafted.
	draftsOnly bool
}

func (d Deps) readTimeout() time.Duration { return cmp.Or(d.Wait, usualWait) }

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	list := []tools.Tool{d.readCalendar(), d.findFreeTime()}
	if d.Calendars != nil {
		list = append(list, d.createEvent(), d.updateEvent(), d.deleteEvent(), d.answerInvitation(), d.scheduleMeeting())
	}
	return list
}

// readEvents returns the events of all calendars of the accounts, sorted and without canceled
// events. It returns events even with an error, which names the sources that could not be read. The
// events are nil if no calendar could be read.
func (d Deps) readEvents(ctx context.Context, accounts []pim.Account, s ics.Span) ([]pim.Event, error) {
	var apps []pim.Calendars
	if len(accounts) == 0 { // no account is configured, because accountsNamed rejects an unknown name
		apps = d.calendarApps()
	}
	var feeds []pim.EventReader
	if len(accounts) >= len(d.Accounts()) { // the user did not select an account
		feeds = d.calendarFeeds()
	}
	found := make([][]pim.Event, len(accounts)+len(apps)+len(feeds))
	failed := make([]error, len(found))
	var wg sync.WaitGroup
	for i, a := range accounts {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, d.readTimeout())
			defer cancel()
			if found[i], failed[i] = readAccount(ctx, a, s); errors.Is(ctx.Err(), context.DeadlineExceeded) {
				failed[i] = a.Errorf("no response within %s", d.readTimeout())
			}
		})
	}
	for i, c := range apps {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, appWait)
			defer cancel()
			found[len(accounts)+i], failed[len(accounts)+i] = c.FindEvents(ctx, s)
		})
	}
	for i, f := range feeds {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, d.readTimeout())
			defer cancel()
			found[len(accounts)+len(apps)+i], failed[len(accounts)+len(apps)+i] = f.FindEvents(ctx, s)
		})
	}
	wg.Wait()
	if len(found) > 0 && !slices.Contains(failed, nil) && len(slices.Concat(found...)) == 0 {
		return nil, tools.JoinSourceErrors(failed)
	}
	all, cut := limitEvents(inOrder(slices.Concat(found...)), maxEvents)
	if cut != nil {
		cut.From = cut.From.In(s.Zone)
		failed = append(failed, cut)
	}
	return all, tools.JoinSourceErrors(failed)
}

// appWait is the time limit for a local program. The limit is long because macOS may first ask the
// owner for a permission.
const appWait = 50 * time.Second

func (d Deps) calendarApps() []pim.Calendars {
	if d.Apps == nil {
		return nil
	}
	return d.Apps()
}

func (d Deps) calendarFeeds() []pim.EventReader {
	if d.Feeds == nil {
		return nil
	}
	return d.Feeds()
}

// isEmpty reports whether the user has no calendars at all.
func (d Deps) isEmpty() bool {
	return len(d.Accounts())+len(d.calendarApps())+len(d.calendarFeeds()) == 0
}

func readAccount(ctx context.Context, a pim.Account, s ics.Span) (out []pim.Event, err error) {
	c, err := caldav.Open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	list, err := c.Calendars(ctx)
	if err != nil {
		return nil, err
	}
	var bad error
	for _, cal := range list {
		some, err := c.Events(ctx, cal, s)
		if _, partial := errors.AsType[*caldav.PartialError](err); partial {
			bad = a.Errorf("some events of %s cannot be read", pim.SanitizeLine(cal.Name, 60))
		} else if err != nil {
			return out, err
		}
		out = append(out, some...)
	}
	return out, bad
}

// inOrder sorts events and drops canceled events. It also drops duplicates, which occur if several
// calendars contain the same invitation.
func inOrder(all []pim.Event) []pim.Event {
	type same struct {
		uid, title string
		start      int64
	}
	seen := map[same]bool{}
	out := []pim.Event{}
	for _, e := range all {
		k := same{e.UID, e.Title, e.Start.Unix()}
		if e.Cancelled || seen[k] {
			continue
		}
		seen[k] = true
		out = append(out, e)
	}
	sorting.StableByFunc(out, func(a, b pim.Event) int {
		if a.AllDay != b.AllDay && a.Start.Equal(b.Start) {
			if a.AllDay {
				return -1
			}
			return 1
		}
		return a.Start.Compare(b.Start)
	})
	return out
}

// accountsNamed returns the named account, or all accounts if name is "".
func (d Deps) accountsNamed(name string) ([]pim.Account, error) {
	all := d.Accounts()
	if len(all) == 0 && !d.isEmpty() {
		return nil, nil
	}
	if len(all) == 0 {
		return nil, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "no account has calendars", Remedy: "add one with: hob account add"}
	}
	if name = strings.TrimSpace(name); name == "" {
		return all, nil
	}
	var names []string
	for _, a := range all {
		if strings.EqualFold(a.Name, name) {
			return []pim.Account{a}, nil
		}
		names = append(names, a.Name)
	}
	return nil, tools.Errorf(tools.NotFound, "no account %q has calendars; accounts with calendars: %s", tools.Clean(textnorm.Ellipsize(name, 60)), tools.Clean(strings.Join(names, ", ")))
}

// eventLabel formats an event as one line, without its time.
func eventLabel(e pim.Event) string {
	s := textnorm.Ellipsize(e.Title, 120)
	if s == "" {
		s = "an event without a title"
	}
	if e.Place != "" {
		s += " (" + textnorm.Ellipsize(e.Place, 80) + ")"
	}
	return s
}

// isBusy reports whether an event counts as busy time.
func isBusy(e pim.Event) bool { return !e.AllDay && !e.Open && e.End.After(e.Start) }

// clashingEvents returns the names of the busy events that overlap e.
func clashingEvents(e pim.Event, all []pim.Event) (out []string) {
	for _, o := range all {
		if isBusy(e) && isBusy(o) && (o.UID != e.UID || o.Occurrence != e.Occurrence) && o.Start.Before(e.End) && e.Start.Before(o.End) {
			out = append(out, textnorm.Ellipsize(o.Title, 60))
		}
	}
	return out[:min(len(out), 3)]
}

// shortGap is the shortest free time that is reported.
const shortGap = 30 * time.Minute

// freeTimes returns the free periods between the busy events in [from, to).
func freeTimes(all []pim.Event, from, to time.Time) (out [][2]time.Time) {
	var end time.Time
	for _, e := range all {
		if !isBusy(e) || !e.Start.Before(to) || !e.End.After(from) {
			continue
		}
		if !end.IsZero() && e.Start.Sub(end) >= shortGap {
			out = append(out, [2]time.Time{end, e.Start})
		}
		if e.End.After(end) {
			end = e.End
		}
	}
	return out
}

// Brief is the calendar section of a briefing.
type Brief struct{ Deps }

// BriefTitle implements tools.BriefSource.
func (Brief) BriefTitle() string { return "Calendar" }

// most is the maximum number of events in a briefing.
const most = 20

// Brief implements tools.BriefSource.
func (b Brief) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	accounts := b.Accounts()
	if b.isEmpty() {
		return nil, nil
	}
	loc := from.Location()
	events, err := b.readEvents(ctx, accounts, ics.Span{From: from, To: to, Zone: loc})
	var out []tools.BriefItem
	told, _ := limitEvents(events, most)
	for _, e := range told {
		item := tools.BriefItem{Text: eventLabel(e), Source: provenance.Outside}
		end := e.End.In(loc)
		switch {
		case e.AllDay:
			item.Text = "all day: " + item.Text
		case e.Start.Before(from):
			item.Text += ", since the previous day"
		default:
			item.At = e.Start.In(loc)
		}
		if !e.AllDay && e.End.After(e.Start) && e.End.Before(to) {
			item.Text += ", until " + end.Format("15:04")
		}
		if with := clashingEvents(e, events); len(with) > 0 {
			item.Text += "; overlaps " + strings.Join(with, ", ")
		}
		out = append(out, item)
	}
	if n := len(events) - len(told); n > 0 {
		out = append(out, tools.BriefItem{Text: fmt.Sprintf("and %d more", n), Source: provenance.Tool})
	}
	if free := freeTimes(events, from, to); len(free) > 0 {
		out = append(out, tools.BriefItem{Text: "free in between: " + formatFreeTimes(free, loc), Source: provenance.Tool})
	}
	return out, err
}

func formatFreeTimes(free [][2]time.Time, loc *time.Location) string {
	var out []string
	for _, g := range free {
		out = append(out, g[0].In(loc).Format("15:04")+" to "+g[1].In(loc).Format("15:04"))
	}
	return strings.Join(out, ", ")
}

// WeekBrief is the section for the events of several days in the weekly review.
type WeekBrief struct{ Deps }

// BriefTitle implements tools.BriefSource.
func (WeekBrief) BriefTitle() string { return "Calendar" }

// mostOfWeek is the maximum number of events in a weekly review.
const mostOfWeek = 60

// Brief implements tools.BriefSource. It returns the events that have not ended at from.
func (b WeekBrief) Brief(ctx context.Context, from, to time.Time) (out []tools.BriefItem, err error) {
	accounts := b.Accounts()
	if b.isEmpty() {
		return nil, nil
	}
	loc := from.Location()
	events, err := b.readEvents(ctx, accounts, ics.Span{From: from, To: to, Zone: loc})
	told, _ := limitEvents(events, mostOfWeek)
	for _, e := range told {
		item := tools.BriefItem{At: e.Start.In(loc), Text: eventLabel(e), Source: provenance.Outside}
		switch {
		case e.AllDay:
			item.At, item.Text = time.Time{}, e.Start.In(loc).Format("Mon 2 Jan")+", all day: "+item.Text
		case e.End.After(e.Start):
			item.Text += ", until " + formatUntil(e, loc)
		}
		if with := clashingEvents(e, events); len(with) > 0 {
			item.Text += "; overlaps " + strings.Join(with, ", ")
		}
		out = append(out, item)
	}
	if n := len(events) - len(told); n > 0 {
		out = append(out, tools.BriefItem{Text: fmt.Sprintf("and %d more", n), Source: provenance.Tool})
	}
	return out, err
}

// formatUntil formats the end of an event, with its day if the event ends on another day.
func formatUntil(e pim.Event, loc *time.Location) string {
	start, end := e.Start.In(loc), e.End.In(loc)
	if start.Format(time.DateOnly) != end.Format(time.DateOnly) {
		return end.Format("Mon 2 Jan 15:04")
	}
	return end.Format("15:04")
}
