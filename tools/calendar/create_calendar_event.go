package calendar

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type createIn struct {
	Title    string   `json:"title"`
	Start    string   `json:"start" jsonschema:"in words or RFC 3339; a day alone means the whole day"`
	End      string   `json:"end,omitempty"`
	Minutes  int      `json:"minutes,omitempty" jsonschema:"duration, instead of end (default 60)"`
	Place    string   `json:"place,omitempty"`
	Notes    string   `json:"notes,omitempty"`
	Repeat   string   `json:"repeat,omitempty" jsonschema:"daily, weekly, monthly, yearly, or an RRULE"`
	Alarm    int      `json:"alarm,omitempty" jsonschema:"minutes before it at which the user's devices alert"`
	Guests   []string `json:"guests,omitempty" jsonschema:"people to invite: addresses, or names in the address book"`
	Calendar string   `json:"calendar,omitempty"`
	Account  string   `json:"account,omitempty"`
}

func (d Deps) createEvent() tools.Tool {
	return tools.New(tools.Def[createIn]{
		Spec: tools.Spec{
			Name: "create_calendar_event", Category: "calendar", Effects: tools.Write | tools.Send, Timeout: 2 * time.Minute,
			Description: "Add an event to the user's calendar, once or recurring, and invite people to it.",
			Keywords:    "add new calendar event appointment meeting schedule book plan put enter invite invitation lunch date",
		},
		Summary: func(in createIn) string {
			s := fmt.Sprintf("Add %q to the calendar, %s", textnorm.Ellipsize(in.Title, 120), textnorm.Ellipsize(in.Start, 60))
			if len(in.Guests) > 0 {
				s += ", and invite " + strings.Join(in.Guests, ", ")
			}
			return s
		},
		Judge: func(ctx context.Context, in createIn) tools.CallAssessment {
			e, err := d.planEvent(ctx, in, tools.Call{Now: d.currentTime()})
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			exact, err := in.approvalBinding(e, d.currentTime())
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			if len(e.Guests) == 0 {
				return tools.CallAssessment{Effects: tools.Write, Exact: exact}
			}
			j := tools.CallAssessment{Exact: exact}
			var names []string
			for _, g := range e.Guests {
				j.To, names = append(j.To, g.Address), append(names, tools.WholePerson(g))
			}
			j.Why = "it invites " + strings.Join(names, ", ")
			return j
		},
		Waiting: func(in createIn) string {
			return fmt.Sprintf("the invitation to %q", textnorm.Ellipsize(in.Title, 60))
		},
		Run:     d.writeNewEvent,
		WasSent: d.wasInvitationSent,
		Undo:    d.undoChange("Removed the event from the calendar."),
	})
}

// guestsOf resolves a list of addresses and names to people.
func (d Deps) guestsOf(ctx context.Context, list []string) (out []pim.Person, err error) {
	if len(list) > pim.MaxRecipients {
		return nil, tools.Errorf(tools.InvalidArguments, "at most %d people can be invited", pim.MaxRecipients)
	}
	for _, s := range list {
		p, err := tools.PersonIn(ctx, s, d.People)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(o pim.Person) bool { return o.Address == p.Address }) {
			out = append(out, p)
		}
	}
	return out, nil
}

// planEvent converts the arguments to an event and resolves the guests.
func (d Deps) planEvent(ctx context.Context, in createIn, c tools.Call) (pim.NewEvent, error) {
	e, err := in.parseEvent(c)
	if err != nil {
		return e, err
	}
	if e.Guests, err = d.guestsOf(ctx, in.Guests); err == nil {
		err = tools.ClassifyPIM(ics.CheckEvent(e))
	}
	return e, err
}

// parseEvent converts the arguments to an event without guests.
func (in createIn) parseEvent(c tools.Call) (e pim.NewEvent, err error) {
	sum := sha256.Sum256([]byte("event " + c.ID))
	e = pim.NewEvent{UID: hex.EncodeToString(sum[:16]) + "@hob", Title: strings.TrimSpace(in.Title), Place: strings.TrimSpace(in.Place), Notes: in.Notes}
	start, clock, err := parseMoment(in.Start, time.Time{}, c.Now)
	if err != nil {
		return e, err
	}
	e.Start, e.AllDay = start, !clock
	if e.AllDay {
		e.Start = time.Date(start.Year(), start.Month(), start.Day(), 0, 0, 0, 0, c.Now.Location())
		e.End = e.Start.AddDate(0, 0, 1)
	} else {
		e.End = start.Add(time.Duration(cmp.Or(max(in.Minutes, 0), 60)) * time.Minute)
	}
	if strings.TrimSpace(in.End) != "" {
		end, clock, err := parseMoment(in.End, e.Start, c.Now)
		switch {
		case err != nil:
			return e, err
		case e.AllDay: // the last day is included
			e.End = time.Date(end.Year(), end.Month(), end.Day()+1, 0, 0, 0, 0, c.Now.Location())
		case clock:
			e.End = end
		default:
			return e, tools.Errorf(tools.InvalidArguments, "the end time is missing; give the time at which the event ends on that day")
		}
	}
	if in.Alarm > 0 {
		e.Alarm = &pim.Alarm{Before: time.Duration(min(in.Alarm, 40_000)) * time.Minute}
	}
	switch r := strings.ToUpper(strings.TrimSpace(in.Repeat)); r {
	case "":
	case "DAILY", "WEEKLY", "MONTHLY", "YEARLY":
		e.Rule = "FREQ=" + r
	default:
		e.Rule = strings.TrimPrefix(r, "RRULE:")
	}
	return e, nil
}

// approvalBinding returns the approval binding, which contains the times and the guests.
func (in createIn) approvalBinding(e pim.NewEvent, now time.Time) (string, error) {
	s, err := in.timesBinding(e, now)
	for i, g := range e.Guests {
		s += map[bool]string{true: ", with ", false: ", "}[i == 0] + tools.WholePerson(g)
	}
	return s, err
}

func (in createIn) timesBinding(e pim.NewEvent, now time.Time) (string, error) {
	from, err := timeBinding(in.Start, e.Start, now, len(e.Guests) > 0)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(in.End) == "" {
		return from + ", for " + e.End.Sub(e.Start).String(), nil
	}
	to, err := timeBinding(in.End, e.End, now, len(e.Guests) > 0)
	return from + " to " + to, err
}

func (d Deps) writeNewEvent(ctx context.Context, c tools.Call, in createIn) (tools.Result, error) {
	e, err := d.planEvent(ctx, in, c)
	if err != nil {
		return tools.Result{}, err
	}
	exact, err := in.approvalBinding(e, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	if exact != c.Exact {
		return tools.Result{}, tools.Errorf(tools.Conflict, "the request now refers to a different time or other people than the approved one; no event was created")
	}
	all, err := d.writableCalendars(in.Account)
	if err != nil {
		return tools.Result{}, err
	}
	if err := c.Commit(); err != nil {
		return tools.Result{}, err
	}
	r, err := all[0].CreateEvent(ctx, strings.TrimSpace(in.Calendar), e)
	if err := checkReceipt(r, err); err != nil {
		return tools.Result{}, err
	}
	into := all[0].Name()
	if isPlainName(r.Why) || r.Why != "" && strings.EqualFold(r.Why, strings.TrimSpace(in.Calendar)) {
		into = r.Why
	}
	text := fmt.Sprintf("Added %q to the calendar %s: %s", textnorm.Ellipsize(e.Title, 120), into, dateparse.Format(e.Start, c.Now))
	if e.AllDay {
		text = fmt.Sprintf("Added %q to the calendar %s: %s, all day", textnorm.Ellipsize(e.Title, 120), into, dateparse.FormatDay(e.Start, c.Now))
	} else {
		text += " to " + e.End.Format("15:04")
	}
	res := tools.Result{
		Source: provenance.Tool,
		Text:   text + ".", Data: changedOut{Outcome: r.Outcome, Event: r.ID, Title: e.Title, Start: e.Start},
		Undo: undoOf("remove the event from the calendar", all[0], r, len(e.Guests) > 0 && !d.draftsOnly && !d.serverTells(ctx, all[0])),
	}
	if len(e.Guests) > 0 && !d.draftsOnly {
		said, sent, err := d.sendInvitations(ctx, c, all[0], e)
		res.Text += " " + said
		res.Incomplete = !sent
		if err != nil { // the source is untrusted, because the error may quote a server
			res.Text += ": " + pim.SanitizeLine(err.Error(), 300)
			res.Source, res.Origins = provenance.Outside, []provenance.Origin{{Kind: "calendar", Label: all[0].Name(), Via: "create_calendar_event"}}
		}
	}
	return res, nil
}

// isPlainName reports whether a name has at most two words. The person who shares a calendar
// chooses its name, which may contain any text.
func isPlainName(name string) bool {
	odd := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != ' ' }
	return name != "" && len(name) <= 24 && len(strings.Fields(name)) <= 2 && !strings.ContainsFunc(name, odd)
}

// invitationSender returns the mailbox that sends the invitations to the events of a calendar, or
// nil if there is none. as is a phrase for messages that names the required sender address.
func (d Deps) invitationSender(in pim.Calendars) (box pim.Mailer, as string) {
	box = d.mailerOf(d.ownAddress(in.Name()))
	switch own := d.ownAddress(in.Name()); {
	case own != "": // the event names own as its organizer; the guests' calendars do not trust later changes from another address
		as = " as " + own
	case d.Mailers != nil:
		for _, m := range d.Mailers() {
			if box == nil || m.Name() == in.Name() {
				box = m
			}
		}
	}
	return box, as
}

// sendInvitations sends the invitations if the server does not, and describes the outcome. sent is
// true if nothing failed.
func (d Deps) sendInvitations(ctx context.Context, c tools.Call, in pim.Calendars, e pim.NewEvent) (text string, sent bool, err error) {
	s, ok := in.(pim.Scheduling)
	if !ok {
		return "The guests were not invited by email; the calendar service may invite them.", true, nil
	}
	switch is, err := s.Schedules(ctx); {
	case err != nil:
		return "It is unknown whether the server invites the guests; Hob sent no invitation", false, err
	case is:
		return "The server invites the guests.", true, nil
	}
	box, as := d.invitationSender(in)
	if box == nil || box.From().Address == "" {
		return "The guests were not notified: no account can send email" + as + ".", false, nil
	}
	invite, err := ics.Invitation("REQUEST", e, box.From(), c.Now)
	if err != nil {
		return "The guests were not notified", false, err
	}
	r, err := box.SendMail(ctx, newInvitation(c, box, e, invite))
	switch {
	case err != nil:
		return "The guests were not notified", false, err
	case r.Outcome == pim.Uncertain:
		return "It is unknown whether the invitations were sent; Hob did not send them again.", false, nil
	}
	return "The invitations were sent by email.", true, nil
}

// newInvitation returns the email with an invitation.
func newInvitation(c tools.Call, box pim.Mailer, e pim.NewEvent, invite string) pim.OutgoingMail {
	text := fmt.Sprintf("%s\n%s\n%s\n\n%s", e.Title, e.Start.Format("Monday, 2 January 2006, 15:04 MST"), e.Place, e.Notes)
	return pim.OutgoingMail{
		ID: invitationID(c, box.From().Address), To: e.Guests, Subject: "Invitation: " + textnorm.Ellipsize(e.Title, 200), Text: strings.TrimSpace(text), Date: c.Now, Invite: invite,
	}
}
