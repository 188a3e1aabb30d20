package calendar

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type meetIn struct {
	Title     string   `json:"title" jsonschema:"title of the meeting"`
	Minutes   int      `json:"duration_minutes" jsonschema:"length of the meeting in minutes"`
	Attendees []string `json:"attendees,omitempty" jsonschema:"people to invite: addresses, or names in the address book"`
	When      string   `json:"preferred_time,omitempty" jsonschema:"a day and time, or a day alone; default the best free time of the next 5 working days"`
	Send      bool     `json:"send_invites,omitempty" jsonschema:"send the invitations now; default false: they are saved as a draft"`
	Notes     string   `json:"notes,omitempty" jsonschema:"description of the meeting"`
	Place     string   `json:"place,omitempty" jsonschema:"room, address or link"`
	Zones     []string `json:"zones,omitempty" jsonschema:"cities or time zones of the other people, whose working hours must fit too"`
	Overlap   bool     `json:"allow_overlap,omitempty" jsonschema:"schedule it even if someone is busy then"`
	Calendar  string   `json:"calendar,omitempty" jsonschema:"name of the calendar; default the first one"`
	Account   string   `json:"account,omitempty" jsonschema:"name of the account; default the first one"`
}

// meetingOut is the Data of a schedule_meeting result.
type meetingOut struct {
	changedOut
	End       time.Time    `json:"end"`
	Reasons   []string     `json:"reasons,omitempty"`
	Attendees []attendance `json:"attendees,omitempty"`
	Draft     string       `json:"draft,omitempty"` // mailbox with the draft of the invitation
	Invited   []pim.Person `json:"invited,omitempty"`
}

// meetingPlan is a meeting with its time.
type meetingPlan struct {
	Event     createIn     `json:"event"`
	Reasons   []string     `json:"reasons"`
	Attendees []attendance `json:"attendees"`
}

func (d Deps) scheduleMeeting() tools.Tool {
	return tools.New(tools.Def[meetIn]{
		Spec: tools.Spec{
			Name: "schedule_meeting", Category: "calendar", Effects: tools.Write | tools.Send, Timeout: 3 * time.Minute,
			Description: "Schedule a meeting in a time in which the user, and the attendees whose calendars are known, are free, and draft or send the invitation.",
			Keywords:    "schedule plan arrange book set up meeting call appointment with people invite best time",
		},
		Summary: func(in meetIn) string {
			s := fmt.Sprintf("Schedule %q (%d minutes)", textnorm.Ellipsize(in.Title, 120), in.Minutes)
			if in.When != "" {
				s += ", " + textnorm.Ellipsize(in.When, 60)
			}
			if len(in.Attendees) == 0 {
				return s
			}
			return s + map[bool]string{true: ", and invite ", false: ", with a draft of the invitation to "}[in.Send] + textnorm.Ellipsize(strings.Join(in.Attendees, ", "), 200)
		},
		Judge: func(ctx context.Context, in meetIn) tools.CallAssessment {
			now := d.currentTime()
			p, err := d.planMeeting(ctx, in, now)
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			e, exact, err := d.bindEvent(ctx, p.Event, tools.Call{Now: now})
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			if len(e.Guests) == 0 || !in.Send {
				return tools.CallAssessment{Effects: tools.Write, Exact: exact}
			}
			j := tools.CallAssessment{Exact: exact}
			var names []string
			for _, g := range e.Guests {
				j.To, names = append(j.To, g.Address), append(names, tools.WholePerson(g))
			}
			j.Why = "it invites " + strings.Join(names, ", ") + " to " + e.Start.Format("Mon 2 Jan 2006 15:04 MST")
			return j
		},
		Waiting: func(in meetIn) string {
			return fmt.Sprintf("the invitation to %q", textnorm.Ellipsize(in.Title, 60))
		},
		Freeze: func(ctx context.Context, c tools.Call, in meetIn) (any, error) { return d.planMeeting(ctx, in, c.Now) },
		WasSent: func(ctx context.Context, c tools.Call, _ meetIn) (bool, error) {
			var p meetingPlan
			if err := json.Unmarshal(c.Frozen, &p); err != nil {
				return false, nil //nolint:nilerr // unknown
			}
			return d.wasInvitationSent(ctx, c, p.Event)
		},
		Run:  d.runSchedule,
		Undo: d.undoMeeting,
	})
}

// planMeeting chooses the time: the preferred time if everyone is free, or else the best time on the
// preferred day or in the next working days. If the preferred time is taken, the error proposes
// others, because the user named it.
func (d Deps) planMeeting(ctx context.Context, in meetIn, now time.Time) (p meetingPlan, err error) {
	if in.Minutes < 5 || in.Minutes > maxMeeting {
		return p, tools.Errorf(tools.InvalidArguments, "duration_minutes must be 5 to %d", maxMeeting)
	}
	search := freeIn{Minutes: in.Minutes, Attendees: in.Attendees, Zones: in.Zones}
	var at time.Time
	if strings.TrimSpace(in.When) != "" {
		t, clock, err := parseMoment(in.When, time.Time{}, now)
		if err != nil {
			return p, err
		}
		if clock && !t.After(now) {
			return p, tools.Errorf(tools.InvalidArguments, "%s has passed; give a later time", dateparse.Format(t, now))
		}
		if search.Date, search.Days = t.Format(time.DateOnly), 1; clock {
			at = t
		}
		search.Weekends = true // the user named the day
	}
	f, err := d.searchFreeTime(ctx, search, now)
	if err != nil {
		return p, err
	}
	p.Attendees = f.out.Attendees
	p.Event = createIn{Title: in.Title, Minutes: in.Minutes, Place: in.Place, Notes: in.Notes, Guests: in.Attendees, Calendar: in.Calendar, Account: in.Account}
	if at.IsZero() {
		if len(f.out.Proposals) == 0 {
			return p, tools.Quoting(tools.Errorf(tools.Conflict, "nothing was scheduled: %s", f.formatText(now)), provenance.Outside)
		}
		best := f.out.Proposals[0]
		p.Event.Start, p.Reasons = best.Start.Format(time.RFC3339), best.Reasons
		return p, nil
	}
	if taken := f.clashesAt(at); len(taken) > 0 && !in.Overlap {
		text := "no other time on that day is free"
		if len(f.out.Proposals) > 0 {
			var others []string
			for _, o := range f.out.Proposals {
				others = append(others, o.Start.Format("15:04"))
			}
			text = "free on that day: " + strings.Join(others, ", ")
		}
		return p, tools.Quoting(tools.Errorf(tools.Conflict, "nothing was scheduled: %s is taken (%s); %s", dateparse.Format(at, now), strings.Join(taken, ", "), text), provenance.Outside)
	}
	p.Event.Start = at.Format(time.RFC3339)
	return p, nil
}

// clashesAt returns what is in the way of a meeting at a time.
func (s slotSearch) clashesAt(at time.Time) (out []string) {
	for _, b := range s.busy {
		if b.from.Before(at.Add(s.length)) && at.Before(b.to) && len(out) < 3 {
			out = append(out, b.what)
		}
	}
	return out
}

func (d Deps) runSchedule(ctx context.Context, c tools.Call, in meetIn) (tools.Result, error) {
	var p meetingPlan
	var err error
	if len(c.Frozen) > 0 {
		err = json.Unmarshal(c.Frozen, &p)
	} else {
		p, err = d.planMeeting(ctx, in, c.Now)
	}
	if err != nil {
		return tools.Result{}, err
	}
	e, exact, err := d.bindEvent(ctx, p.Event, c)
	if err != nil {
		return tools.Result{}, err
	}
	if exact != c.Exact {
		return tools.Result{}, errMovedSlot()
	}
	all, err := d.writableCalendars(in.Account)
	if err != nil {
		return tools.Result{}, err
	}
	into := all[0]
	draft := len(e.Guests) > 0 && !in.Send
	if draft && d.serverTells(ctx, into) { // this server would invite the guests at once
		p.Event.Guests = nil
		if _, c.Exact, err = d.bindEvent(ctx, p.Event, c); err != nil {
			return tools.Result{}, err
		}
	}
	d.draftsOnly = draft
	res, err := d.writeNewEvent(ctx, c, p.Event)
	if err != nil {
		return res, err
	}
	out := meetingOut{End: e.End, Reasons: p.Reasons, Attendees: p.Attendees}
	out.changedOut, _ = res.Data.(changedOut)
	if len(p.Reasons) > 0 {
		res.Text += " Why this time: " + strings.Join(p.Reasons, "; ") + "."
	}
	for _, a := range p.Attendees {
		if !a.Known {
			res.Text += fmt.Sprintf(" It is unknown whether %s is free then.", a.Name)
		}
	}
	if draft {
		d.draftInvitation(ctx, c, into, e, &res, &out)
	} else if len(e.Guests) > 0 {
		out.Invited = e.Guests
	}
	res.Data = out
	res.Source, res.Origins = provenance.Outside, []provenance.Origin{{Kind: "calendar", Label: into.Name(), Via: "schedule_meeting"}} // the reasons quote events
	return res, nil
}

func errMovedSlot() error {
	return tools.Errorf(tools.Conflict, "the calendars changed, so the best time is now another one than the approved one; nothing was scheduled; try again")
}

// bindEvent plans an event and returns its approval binding.
func (d Deps) bindEvent(ctx context.Context, in createIn, c tools.Call) (pim.NewEvent, string, error) {
	e, err := d.planEvent(ctx, in, c)
	if err != nil {
		return e, "", err
	}
	exact, err := in.approvalBinding(e, c.Now)
	return e, exact, err
}

// meetingUndo holds the data to undo a meeting and the draft of its invitation.
type meetingUndo struct {
	Event json.RawMessage `json:"event,omitempty"`
	Box   string          `json:"box,omitempty"`
	Draft []byte          `json:"draft,omitempty"`
}

// draftInvitation stores the invitation as a draft. A failure leaves the event in place and is
// reported in the result.
func (d Deps) draftInvitation(ctx context.Context, c tools.Call, in pim.Calendars, e pim.NewEvent, res *tools.Result, out *meetingOut) {
	undo := meetingUndo{}
	if res.Undo != nil {
		undo.Event = res.Undo.Data
	}
	said, err := "", error(nil)
	switch box, as := d.invitationSender(in); {
	case box == nil:
		said = " The invitation was not drafted: no account can send email" + as + "."
	case box.From().Address == "":
		said = " The invitation was not drafted: the mailbox does not report its sender address."
	default:
		var r pim.Receipt
		if r, err = d.saveDraft(ctx, c, box, e); err == nil {
			said = fmt.Sprintf(" The invitation to %s is saved in the drafts of %s; nothing was sent.", joinAddresses(e.Guests), box.Name())
			out.Draft, undo.Box, undo.Draft = box.Name(), box.Name(), r.Undo
		} else {
			said = " The invitation was not drafted: " + pim.SanitizeLine(err.Error(), 300)
		}
	}
	res.Text += said
	res.Incomplete = out.Draft == ""
	if res.Undo != nil || len(undo.Draft) > 0 {
		res.Undo = tools.NewUndo("remove the meeting from the calendar", undo)
	}
}

func (d Deps) saveDraft(ctx context.Context, c tools.Call, box pim.Mailer, e pim.NewEvent) (pim.Receipt, error) {
	invite, err := ics.Invitation(ics.Request, e, box.From(), c.Now)
	if err != nil {
		return pim.Receipt{}, err
	}
	l := newInvitation(c, box, e, invite)
	if err := l.Check(); err != nil {
		return pim.Receipt{}, err
	}
	r, err := box.DraftMail(ctx, l)
	if err == nil && r.Outcome == pim.Uncertain {
		err = fmt.Errorf("it is unknown whether the draft was saved: %s", r.Why)
	}
	return r, err
}

// undoMeeting removes the draft and the event. The event is removed even if the draft was sent or
// deleted in the meantime.
func (d Deps) undoMeeting(ctx context.Context, data json.RawMessage) (string, error) {
	var u meetingUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	text := "Removed the meeting from the calendar."
	remove := d.undoChange(text)
	if len(u.Event) == 0 && len(u.Draft) == 0 { // without a draft, the data is that of the event
		return remove(ctx, data)
	}
	if len(u.Event) > 0 {
		said, err := remove(ctx, u.Event)
		if err != nil {
			return said, err
		}
		text = said
	}
	if len(u.Draft) == 0 {
		return text, nil
	}
	for _, m := range d.Mailers() {
		if m.Name() != u.Box {
			continue
		}
		if err := m.TakeBack(ctx, u.Draft); err != nil {
			return text + " The draft of the invitation was not removed: " + pim.SanitizeLine(err.Error(), 200), nil
		}
		return text + " Removed the draft of the invitation.", nil
	}
	return text + " The draft of the invitation was not removed: the mailbox is no longer configured.", nil
}
