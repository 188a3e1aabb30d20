package calendar

import (
	"context"
	"fmt"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type updateIn struct {
	Event   string  `json:"event" jsonschema:"words of its title"`
	On      string  `json:"on,omitempty" jsonschema:"the current day of the event; default the next one"`
	Series  bool    `json:"series,omitempty" jsonschema:"all occurrences of a repeating event, not this one alone"`
	Title   *string `json:"title,omitempty" jsonschema:"the new title"`
	Start   string  `json:"start,omitempty" jsonschema:"the new start; a time alone keeps the day"`
	End     string  `json:"end,omitempty" jsonschema:"the new end; default the same duration"`
	Place   *string `json:"place,omitempty"`
	Notes   *string `json:"notes,omitempty"`
	Account string  `json:"account,omitempty"`
}

type deleteIn struct {
	Event   string `json:"event" jsonschema:"words of its title"`
	On      string `json:"on,omitempty" jsonschema:"the day of the event; default the next one"`
	Series  bool   `json:"series,omitempty" jsonschema:"all occurrences of a repeating event, not this one alone"`
	Account string `json:"account,omitempty"`
}

func (d Deps) updateEvent() tools.Tool {
	return tools.New(tools.Def[updateIn]{
		Spec: tools.Spec{
			Name: "update_calendar_event", Category: "calendar", Effects: tools.Write | tools.Send, Timeout: 2 * time.Minute,
			Description: "Move or change an event in the user's calendar: time, title, place, notes; one occurrence or the whole series.",
			Keywords:    "reschedule postpone move shift change edit rename calendar event appointment meeting later earlier",
		},
		Summary: func(in updateIn) string {
			return fmt.Sprintf("Change the event %q in the calendar", textnorm.Ellipsize(in.Event, 120))
		},
		Judge: func(ctx context.Context, in updateIn) tools.CallAssessment {
			return defaultToWrite(d.assessChange(ctx, in.Event, in.On, in.Account, in.timesBinding))
		},
		Waiting: func(in updateIn) string {
			return fmt.Sprintf("the change to %q", textnorm.Ellipsize(in.Event, 60))
		},
		Freeze: func(ctx context.Context, c tools.Call, in updateIn) (any, error) {
			f, err := d.findApprovedEvent(ctx, c, in.Event, in.On, in.Account, in.timesBinding)
			if err != nil {
				return nil, err
			}
			change, err := in.parseChange(f, c.Now)
			return d.freezeChange(ctx, c, f, &change, "Changed", in.Series), err
		},
		WasSent: func(ctx context.Context, c tools.Call, _ updateIn) (bool, error) { return d.wasChangeSent(ctx, c) },
		Run: func(ctx context.Context, c tools.Call, in updateIn) (tools.Result, error) {
			f, err := d.findApprovedEvent(ctx, c, in.Event, in.On, in.Account, in.timesBinding)
			if err != nil {
				return tools.Result{}, err
			}
			change, err := in.parseChange(f, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			how, box := d.guestNotificationRoute(ctx, f)
			if err := c.Commit(); err != nil {
				return tools.Result{}, err
			}
			r, err := f.in.ChangeEvent(ctx, f.Event, change, in.Series)
			if err := checkReceipt(r, err); err != nil {
				return tools.Result{}, err
			}
			text := fmt.Sprintf("Changed %q.", textnorm.Ellipsize(f.Title, 120))
			if change.Start != nil {
				text = fmt.Sprintf("Moved %q from %s to %s.", textnorm.Ellipsize(f.Title, 120), dateparse.Format(f.Start.In(c.Now.Location()), c.Now), dateparse.Format(*change.Start, c.Now))
			}
			if how == nobody {
				text += untold
			}
			said, sent := d.changedFor(ctx, c, f, change, how, box, in.Series)
			res := changeResult("update_calendar_event", f.in, text+said, r, f.Event)
			res.Incomplete = !sent
			res.Undo = undoOf("restore the event", f.in, r, how == nobody || how == byMail)
			return res, nil
		},
		Undo: d.undoChange("Restored the event."),
	})
}

// parseChange parses the arguments. A day without a time keeps the event's time. For all-day
// events, the last day is included.
func (in updateIn) parseChange(f foundEvent, now time.Time) (pim.EventChange, error) {
	ch := pim.EventChange{Title: in.Title, Place: in.Place, Notes: in.Notes}
	zone := now.Location()
	start, end := f.Start.In(zone), f.End.In(zone)
	if in.Start != "" {
		t, clock, err := parseMoment(in.Start, start, now)
		if err != nil {
			return ch, err
		}
		if !clock && !f.AllDay {
			t = time.Date(t.Year(), t.Month(), t.Day(), start.Hour(), start.Minute(), start.Second(), 0, zone)
		}
		start, ch.Start = t, &t
	}
	if in.End != "" {
		t, clock, err := parseMoment(in.End, start, now)
		switch {
		case err != nil:
			return ch, err
		case f.AllDay:
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, zone)
		case !clock:
			t = time.Date(t.Year(), t.Month(), t.Day(), end.Hour(), end.Minute(), end.Second(), 0, zone)
		}
		ch.End = &t
	}
	if ch == (pim.EventChange{}) {
		return ch, tools.Errorf(tools.InvalidArguments, "give at least one change")
	}
	return ch, nil
}

// timesBinding returns the new time for the approval binding.
func (in updateIn) timesBinding(f foundEvent, now time.Time) (out string, err error) {
	ch, err := in.parseChange(f, now)
	if err != nil {
		return "", err
	}
	told := len(f.guestAddresses("")) > 0
	for _, x := range []struct {
		word, words string
		t           *time.Time
	}{{", from ", in.Start, ch.Start}, {", until ", in.End, ch.End}} {
		if x.t == nil {
			continue
		}
		s, err := timeBinding(x.words, *x.t, now, told)
		if err != nil {
			return "", err
		}
		out += x.word + s
	}
	return out, nil
}

func (d Deps) deleteEvent() tools.Tool {
	return tools.New(tools.Def[deleteIn]{
		Spec: tools.Spec{
			Name: "delete_calendar_event", Category: "calendar", Effects: tools.Write | tools.Send, Timeout: 2 * time.Minute,
			Description: "Delete an event from the user's calendar: one occurrence or the whole series.",
			Keywords:    "cancel remove delete call off calendar event appointment meeting",
		},
		Summary: func(in deleteIn) string {
			return fmt.Sprintf("Remove the event %q from the calendar", textnorm.Ellipsize(in.Event, 120))
		},
		Judge: func(ctx context.Context, in deleteIn) tools.CallAssessment {
			return defaultToWrite(d.assessChange(ctx, in.Event, in.On, in.Account, nil))
		},
		Waiting: func(in deleteIn) string {
			return fmt.Sprintf("the cancellation of %q", textnorm.Ellipsize(in.Event, 60))
		},
		Freeze: func(ctx context.Context, c tools.Call, in deleteIn) (any, error) {
			f, err := d.findApprovedEvent(ctx, c, in.Event, in.On, in.Account, nil)
			if err != nil {
				return nil, err
			}
			return d.freezeChange(ctx, c, f, nil, "Cancelled", in.Series), nil
		},
		WasSent: func(ctx context.Context, c tools.Call, _ deleteIn) (bool, error) { return d.wasChangeSent(ctx, c) },
		Run: func(ctx context.Context, c tools.Call, in deleteIn) (tools.Result, error) {
			f, err := d.findApprovedEvent(ctx, c, in.Event, in.On, in.Account, nil)
			if err != nil {
				return tools.Result{}, err
			}
			how, box := d.guestNotificationRoute(ctx, f)
			called, err := guestMailText(ctx, how, f, ics.Cancel, in.Series || f.Occurrence == "")
			if err != nil {
				return tools.Result{}, err
			}
			if err := c.Commit(); err != nil {
				return tools.Result{}, err
			}
			r, err := f.in.DeleteEvent(ctx, f.Event, in.Series)
			if err := checkReceipt(r, err); err != nil {
				return tools.Result{}, err
			}
			what := dateparse.Format(f.Start.In(c.Now.Location()), c.Now)
			if in.Series && f.Occurrence != "" {
				what = "the whole series"
			}
			text := fmt.Sprintf("Removed %q (%s) from the calendar.", textnorm.Ellipsize(f.Title, 120), what)
			said, sent := "", true
			switch how {
			case nobody:
				said = untold
			case byMail:
				said, sent = d.notifyGuests(ctx, c, f, box, "Cancelled", called)
			}
			res := changeResult("delete_calendar_event", f.in, text+said, r, f.Event)
			res.Incomplete = !sent
			res.Undo = undoOf("restore the event in the calendar", f.in, r, how == nobody || how == byMail)
			return res, nil
		},
		Undo: d.undoChange("Restored the event in the calendar."),
	})
}

// defaultToWrite sets the effect to Write if the assessment found no one to notify.
func defaultToWrite(j tools.CallAssessment) tools.CallAssessment {
	if j.Effects == 0 && j.Refused == nil {
		j.Effects = tools.Write
	}
	return j
}

// findApprovedEvent finds the event again. It fails if the event or the change differs from the
// approved one.
func (d Deps) findApprovedEvent(ctx context.Context, c tools.Call, words, on, account string, more func(foundEvent, time.Time) (string, error)) (foundEvent, error) {
	f, err := d.findEvent(ctx, words, on, account, c.Now)
	if err != nil {
		return f, err
	}
	exact := f.approvalBinding()
	if more != nil {
		s, err := more(f, c.Now)
		if err != nil {
			return f, err
		}
		exact += s
	}
	if len(f.guestAddresses(d.ownAddress(f.in.Name()))) > 0 {
		if how, _ := d.notificationRoute(ctx, f); how != nobody {
			exact += "; " + string(how)
		}
	}
	if exact != c.Exact {
		err = tools.Errorf(tools.Conflict, "the request now matches a different event, time or list of guests than the approved one; nothing was changed")
	}
	return f, err
}
