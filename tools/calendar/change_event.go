package calendar

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// lookAhead is the number of future days in which an event to change is searched for.
const lookAhead = 92

// changedOut is the Data of the tools that change calendars.
type changedOut struct {
	Outcome pim.Outcome `json:"outcome"`
	Event   string      `json:"event"`
	Title   string      `json:"title"`
	Start   time.Time   `json:"start"`
}

// undoData holds the data needed to undo a calendar change.
type undoData struct {
	Account string `json:"account"`
	Undo    []byte `json:"undo"`
	Untold  bool   `json:"untold,omitempty"` // the event has guests, but Hob did not notify them
}

// untold is appended to a result if the guests were not notified of the change.
const untold = " Its guests were not notified."

func undoOf(label string, c pim.Calendars, r pim.Receipt, nobodyTells bool) *tools.Undo {
	if len(r.Undo) == 0 {
		return nil
	}
	return tools.NewUndo(label, undoData{c.Name(), r.Undo, nobodyTells})
}

func (d Deps) undoChange(done string) func(context.Context, json.RawMessage) (string, error) {
	return func(ctx context.Context, data json.RawMessage) (string, error) {
		var u undoData
		if err := json.Unmarshal(data, &u); err != nil {
			return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
		}
		all, err := d.writableCalendars(u.Account)
		if err == nil {
			err = tools.ClassifyPIM(all[0].TakeBack(ctx, u.Undo))
		}
		if u.Untold {
			return done + untold, err
		}
		return done, err
	}
}

// writableCalendars returns the named calendars, or all if name is "". It returns at least one
// calendar or an error.
func (d Deps) writableCalendars(name string) ([]pim.Calendars, error) {
	all := d.Calendars()
	if len(all) == 0 {
		return nil, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "no account has calendars", Remedy: "add one with: hob account add"}
	}
	if name = strings.TrimSpace(name); name == "" {
		return all, nil
	}
	i := slices.IndexFunc(all, func(c pim.Calendars) bool { return strings.EqualFold(c.Name(), name) })
	if i < 0 {
		return nil, tools.Errorf(tools.NotFound, "no account %q has calendars", tools.Clean(textnorm.Ellipsize(name, 60)))
	}
	return all[i : i+1], nil
}

// checkReceipt turns an uncertain outcome of a change into an error.
func checkReceipt(r pim.Receipt, err error) error {
	if err != nil {
		return tools.ClassifyPIM(err)
	}
	if r.Outcome == pim.Uncertain {
		return tools.Quoting(tools.Errorf(tools.OutcomeUnknown, "the outcome of the calendar change is unknown (%s), and Hob did not repeat it; check the calendar before you retry", r.Why), provenance.Outside)
	}
	return nil
}

// foundEvent is an event and its calendar.
type foundEvent struct {
	pim.Event
	in pim.Calendars
}

// findEvent finds an event by words in its title, location or guests. It returns the next matching
// event, or the matching event on a given day. If several events match, the error lists them.
func (d Deps) findEvent(ctx context.Context, words, on, account string, now time.Time) (foundEvent, error) {
	want := textnorm.FoldedWords(words)
	if len(want) == 0 {
		return foundEvent{}, tools.Errorf(tools.InvalidArguments, "name the event: words of its title")
	}
	all, err := d.writableCalendars(account)
	if err != nil {
		return foundEvent{}, err
	}
	s := pim.TimeRange{From: now.Add(-12 * time.Hour), To: now.AddDate(0, 0, lookAhead), Zone: now.Location()}
	if strings.TrimSpace(on) != "" {
		m, err := dateparse.Parse(on, now)
		if err != nil {
			return foundEvent{}, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
		}
		t := m.Time.In(now.Location())
		s.From = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, now.Location())
		s.To = s.From.AddDate(0, 0, 1)
	}
	var fit []foundEvent
	var failed []error
	for _, c := range all {
		list, err := c.FindEvents(ctx, s)
		failed = append(failed, err)
		for _, e := range list {
			if e.Cancelled || e.Ref == "" || !isQueryMatch(e, want) {
				continue
			}
			i := slices.IndexFunc(fit, func(f foundEvent) bool { return f.UID == e.UID })
			switch {
			case i < 0:
				fit = append(fit, foundEvent{e, c})
			case strings.TrimSpace(on) == "" && !fit[i].End.After(now) && e.Start.After(fit[i].Start): // the match so far is over, so use a later occurrence in its series
				fit[i] = foundEvent{e, c}
			}
		}
	}
	switch err := errors.Join(failed...); {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) == 0 && err != nil:
		return foundEvent{}, tools.ClassifyPIM(err)
	case len(fit) == 0:
		return foundEvent{}, tools.Errorf(tools.NotFound, "no event in the calendars %[2]s matches %[1]q", tools.Clean(textnorm.Ellipsize(words, 80)), tools.Clean(map[bool]string{true: "for that day", false: fmt.Sprintf("for the next %d days", lookAhead)}[on != ""]))
	}
	var b strings.Builder
	for _, f := range fit[:min(len(fit), 8)] {
		fmt.Fprintf(&b, "\n- %s, %s", eventLabel(f.Event), dateparse.Format(f.Start.In(now.Location()), now))
	}
	return foundEvent{}, tools.Quoting(tools.Errorf(tools.InvalidArguments, "%d events match %q; give more words of the title, or the day. Matching events:%s", len(fit), tools.Clean(textnorm.Ellipsize(words, 80)), b.String()), provenance.Outside)
}

// guestAddresses returns the addresses of the people, other than the owner, who may be notified of
// a change.
func (f foundEvent) guestAddresses(own string) (out []string) {
	for _, g := range append([]pim.Person{f.Organizer}, f.Guests...) {
		if g.Address != "" && !strings.EqualFold(g.Address, own) && !slices.Contains(out, g.Address) {
			out = append(out, g.Address)
		}
	}
	return out
}

// approvalBinding returns the approval binding, which contains the event in its current state with
// its guests.
func (f foundEvent) approvalBinding() string {
	with := f.guestAddresses("")
	slices.Sort(with)
	sum := sha256.Sum256([]byte(strings.Join(append([]string{f.Ref, f.Occurrence}, with...), "\x00")))
	return fmt.Sprintf("%s, %s (%s)", eventLabel(f.Event), f.Start.Format("Mon 2 Jan 2006 15:04"), hex.EncodeToString(sum[:6]))
}

// assessChange determines which people a change reaches. more returns additional text for the
// approval binding; it may be nil.
func (d Deps) assessChange(ctx context.Context, words, on, account string, more func(f foundEvent, now time.Time) (string, error)) tools.CallAssessment {
	f, err := d.findEvent(ctx, words, on, account, d.currentTime())
	if err != nil {
		return tools.CallAssessment{Refused: err}
	}
	j := tools.CallAssessment{Exact: f.approvalBinding()}
	if more != nil {
		s, err := more(f, d.currentTime())
		if err != nil {
			return tools.CallAssessment{Refused: err}
		}
		j.Exact += s
	}
	if to := f.guestAddresses(d.ownAddress(f.in.Name())); len(to) > 0 {
		how, _ := d.notificationRoute(ctx, f)
		if how == nobody {
			return j
		}
		j.Exact += "; " + string(how)
		j.Effects, j.To, j.Why = tools.Write|tools.Send, to, "its guests may be notified: "+strings.Join(to, ", ")
		if len(f.Guests) >= ics.MaxGuests {
			j.Why += ", and guests beyond the first " + strconv.Itoa(ics.MaxGuests)
		}
	}
	return j
}

func (d Deps) currentTime() time.Time {
	if d.Now != nil {
		return d.Now()
	}
	return time.Now()
}

// ownAddress returns the owner's address in an account.
func (d Deps) ownAddress(account string) string {
	for _, a := range d.Accounts() {
		if a.Name == account {
			return a.Address
		}
	}
	return ""
}

var clockAlone = lazyregexp.New(`(?i)^\s*(at\s+)?(\d{1,2}([:.]\d{2})?\s*(am|pm|h|o'clock)?|noon|midnight)\s*$`)

// parseMoment parses a time. A time without a date is on the day of ref, unless ref is zero. clock
// reports whether words contain a time of day.
func parseMoment(words string, ref, now time.Time) (t time.Time, clock bool, err error) {
	base := now
	if !ref.IsZero() && clockAlone.MatchString(words) {
		base = time.Date(ref.Year(), ref.Month(), ref.Day(), 0, 0, 0, 0, now.Location())
	}
	m, err := dateparse.Parse(words, base)
	if err != nil {
		return t, false, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	return m.Time.In(now.Location()), m.HasClock, nil
}

// timeBinding returns the approval binding of a time. The binding is t or, if the words are
// relative to now, the quoted words, because the meaning of such words changes every minute. If
// people will be notified of the time (told is true), relative words are an error, because the
// guests must receive exactly the approved time.
func timeBinding(words string, t, now time.Time, told bool) (string, error) {
	a, err := dateparse.Parse(words, now)
	b, later := dateparse.Parse(words, now.Add(time.Minute))
	switch {
	case err != nil || later != nil || a.Time.Equal(b.Time):
		return t.Format("Mon 2 Jan 2006 15:04 MST"), nil
	case told:
		return "", tools.Errorf(tools.InvalidArguments, "%q is relative to now, and the guests will be notified of the time; give the day and the time (%s)", tools.Clean(textnorm.Ellipsize(words, 60)), tools.Clean(t.Format("2006-01-02 15:04")))
	}
	return strconv.Quote(words), nil
}

func changeResult(tool string, c pim.Calendars, text string, r pim.Receipt, e pim.Event) tools.Result {
	return tools.Result{
		Text: text, Data: changedOut{Outcome: r.Outcome, Event: r.ID, Title: e.Title, Start: e.Start},
		Source: provenance.Outside, Origins: []provenance.Origin{{Kind: "calendar", Label: c.Name(), Via: tool}},
	}
}
