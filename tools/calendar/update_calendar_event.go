package calendar

import (
	"context"
	"fmt"
	"time"

	"hob/platform/phrase"
	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/platform/when"
	"hob/tools"
)

type updateIn struct {
	Event   string  `json:"event" jsonschema:"words of its title"`
	On      string  `json:"on,omitempty" jsonschema:"the day it is on now; default the next one"`
	Series  bool    `json:"series,omitempty" jsonschema:"all occurrences of a repeating event, not this one alone"`
	Title   *string `json:"title,omitempty" jsonschema:"the new title"`
	Start   string  `json:"start,omitempty" jsonschema:"the new start; a time alone stays on its day"`
	End     string  `json:"end,omitempty" jsonschema:"the new end; default as long as before"`
	Place   *string `json:"place,omitempty"`
	Notes   *string `json:"notes,omitempty"`
	Account string  `json:"account,omitempty"`
}

type deleteIn struct {
	Event   string `json:"event" jsonschema:"words of its title"`
	On      string `json:"on,omitempty" jsonschema:"the day it is on; default the next one"`
	Series  bool   `json:"series,omitempty" jsonschema:"all occurrences of a repeating event, not this one alone"`
	Account string `json:"account,omitempty"`
}

func (d Deps) updateEvent() tools.Tool {
	return tools.New(tools.Def[updateIn]{
		Spec: tools.Spec{
			Name: "update_calendar_event", Category: "calendar", Effects: tools.Write | tools.Send, Timeout: 2 * time.Minute,
			Description: "Move or change an event in the owner's calendar: time, title, place, notes; one occurrence or the whole series.",
			Keywords:    "reschedule postpone move shift change edit rename calendar event appointment meeting later earlier",
		},
		Summary: func(in updateIn) string {
			return fmt.Sprintf("Change the event %q in the calendar", phrase.Cut(in.Event, 120))
		},
		Judge: func(ctx context.Context, in updateIn) tools.Judgement {
			return written(d.judge(ctx, in.Event, in.On, in.Account, in.exact))
		},
		Run: func(ctx context.Context, c tools.Call, in updateIn) (tools.Result, error) {
			f, err := d.same(ctx, c, in.Event, in.On, in.Account, in.exact)
			if err != nil {
				return tools.Result{}, err
			}
			change, err := in.planned(f, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			how, box := d.heard(ctx, f)
			r, err := f.in.ChangeEvent(ctx, f.Event, change, in.Series)
			if err := done(r, err); err != nil {
				return tools.Result{}, err
			}
			text := fmt.Sprintf("Changed %q.", phrase.Cut(f.Title, 120))
			if change.Start != nil {
				text = fmt.Sprintf("Moved %q from %s to %s.", phrase.Cut(f.Title, 120), when.Format(f.Start.In(c.Now.Location()), c.Now), when.Format(*change.Start, c.Now))
			}
			if how == nobody {
				text += untold
			}
			text += d.changedFor(ctx, c, f, change, how, box, in.Series)
			res := result("update_calendar_event", f.in, text, r, f.Event)
			res.Undo = undoOf("restore the event", f.in, r, how == nobody || how == byMail)
			return res, nil
		},
		Undo: d.undo("Restored the event."),
	})
}

// planned parses the arguments. A day without a time keeps the event's time; for all-day
// events, the last day is included.
func (in updateIn) planned(f found, now time.Time) (pim.EventChange, error) {
	ch := pim.EventChange{Title: in.Title, Place: in.Place, Notes: in.Notes}
	zone := now.Location()
	start, end := f.Start.In(zone), f.End.In(zone)
	if in.Start != "" {
		t, clock, err := moment(in.Start, start, now)
		if err != nil {
			return ch, err
		}
		if !clock && !f.AllDay {
			t = time.Date(t.Year(), t.Month(), t.Day(), start.Hour(), start.Minute(), start.Second(), 0, zone)
		}
		start, ch.Start = t, &t
	}
	if in.End != "" {
		t, clock, err := moment(in.End, start, now)
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

// exact returns the new time for the approval binding.
func (in updateIn) exact(f found, now time.Time) (out string, err error) {
	ch, err := in.planned(f, now)
	if err != nil {
		return "", err
	}
	told := len(f.guests("")) > 0
	for _, x := range []struct {
		word, words string
		t           *time.Time
	}{{", from ", in.Start, ch.Start}, {", until ", in.End, ch.End}} {
		if x.t == nil {
			continue
		}
		s, err := sure(x.words, *x.t, now, told)
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
			Description: "Take an event out of the owner's calendar: one occurrence or the whole series.",
			Keywords:    "cancel remove delete call off calendar event appointment meeting",
		},
		Summary: func(in deleteIn) string {
			return fmt.Sprintf("Remove the event %q from the calendar", phrase.Cut(in.Event, 120))
		},
		Judge: func(ctx context.Context, in deleteIn) tools.Judgement {
			return written(d.judge(ctx, in.Event, in.On, in.Account, nil))
		},
		Run: func(ctx context.Context, c tools.Call, in deleteIn) (tools.Result, error) {
			f, err := d.same(ctx, c, in.Event, in.On, in.Account, nil)
			if err != nil {
				return tools.Result{}, err
			}
			how, box := d.heard(ctx, f)
			called, err := message(ctx, how, f, ics.Cancel, in.Series || f.Occurrence == "")
			if err != nil {
				return tools.Result{}, err
			}
			r, err := f.in.DeleteEvent(ctx, f.Event, in.Series)
			if err := done(r, err); err != nil {
				return tools.Result{}, err
			}
			what := when.Format(f.Start.In(c.Now.Location()), c.Now)
			if in.Series && f.Occurrence != "" {
				what = "the whole series"
			}
			text := fmt.Sprintf("Removed %q (%s) from the calendar.", phrase.Cut(f.Title, 120), what)
			switch how {
			case nobody:
				text += untold
			case byMail:
				text += d.tell(ctx, c, f, box, "Cancelled", called)
			}
			res := result("delete_calendar_event", f.in, text, r, f.Event)
			res.Undo = undoOf("put the event back into the calendar", f.in, r, how == nobody || how == byMail)
			return res, nil
		},
		Undo: d.undo("Put the event back into the calendar."),
	})
}

// written sets the effect to Write if the assessment found no one to notify.
func written(j tools.Judgement) tools.Judgement {
	if j.Effects == 0 && j.Refused == nil {
		j.Effects = tools.Write
	}
	return j
}

// same finds the event again and refuses a different event or change than the approved one.
func (d Deps) same(ctx context.Context, c tools.Call, words, on, account string, more func(found, time.Time) (string, error)) (found, error) {
	f, err := d.pick(ctx, words, on, account, c.Now)
	if err != nil {
		return f, err
	}
	exact := f.exact()
	if more != nil {
		s, err := more(f, c.Now)
		if err != nil {
			return f, err
		}
		exact += s
	}
	if len(f.guests(d.own(f.in.Name()))) > 0 {
		if how, _ := d.way(ctx, f); how != nobody {
			exact += "; " + string(how)
		}
	}
	if exact != c.Exact {
		err = tools.Errorf(tools.Conflict, "the request now matches a different event, time or list of guests than the approved one; nothing was changed")
	}
	return f, err
}
