package calendar

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// busyTime is a time at which the user or another person is busy.
type busyTime struct {
	from, to time.Time
	what     string // title of the event, or the person; untrusted
}

// timeSlot is a free period, or a proposed time in it.
type timeSlot struct{ from, to time.Time }

func (s timeSlot) slotLength() time.Duration { return s.to.Sub(s.from) }

// slotSearch describes a search for free time. All its times are instants; days and hours are those
// of loc.
type slotSearch struct {
	loc          *time.Location
	from, to     time.Time     // from is not before now
	length       time.Duration // of the meeting
	buffer       time.Duration // free time before and after other events
	begins, ends time.Duration // working hours, since midnight
	weekends     bool
	zones        []namedZone // zones of other people
	busy         []busyTime
	allDay       map[string]string // day -> all-day events, which do not make the day busy
}

// namedZone is a zone with the name that the user gave it.
type namedZone struct {
	name string
	loc  *time.Location
}

// openWindows returns the times within the working hours of everyone, in order.
func (s slotSearch) openWindows() []timeSlot {
	out := s.workingHours(s.loc)
	for _, z := range s.zones {
		out = intersectSlots(out, s.workingHours(z.loc))
	}
	return out
}

// workingHours returns the working hours in a zone, limited to the search range. Midnight is
// computed for each day, because days with a clock change have 23 or 25 hours.
func (s slotSearch) workingHours(loc *time.Location) (out []timeSlot) {
	first := s.from.In(loc).AddDate(0, 0, -1)
	for i := 0; ; i++ {
		day := time.Date(first.Year(), first.Month(), first.Day()+i, 0, 0, 0, 0, loc)
		if day.After(s.to) {
			return out
		}
		if wd := day.Weekday(); !s.weekends && (wd == time.Saturday || wd == time.Sunday) {
			continue
		}
		w := timeSlot{clockOn(day, s.begins), clockOn(day, s.ends)}
		if w.from.Before(s.from) {
			w.from = s.from
		}
		if w.to.After(s.to) {
			w.to = s.to
		}
		if w.from.Before(w.to) {
			out = append(out, w)
		}
	}
}

// clockOn returns the instant at which the clock shows a time since midnight on a day.
func clockOn(day time.Time, since time.Duration) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), 0, int(since/time.Minute), 0, 0, day.Location())
}

func intersectSlots(a, b []timeSlot) (out []timeSlot) {
	for _, x := range a {
		for _, y := range b {
			w := timeSlot{laterOf(x.from, y.from), earlierOf(x.to, y.to)}
			if w.from.Before(w.to) {
				out = append(out, w)
			}
		}
	}
	return out
}

// freeGaps returns the free periods that are long enough, in order.
func (s slotSearch) freeGaps() (out []timeSlot) {
	sorting.StableByFunc(s.busy, func(a, b busyTime) int { return a.from.Compare(b.from) })
	for _, w := range s.openWindows() {
		at := w.from
		for _, b := range s.busy {
			from, to := b.from.Add(-s.buffer), b.to.Add(s.buffer)
			if !from.Before(w.to) || !to.After(at) {
				continue
			}
			if g := (timeSlot{at, from}); g.slotLength() >= s.length {
				out = append(out, g)
			}
			at = laterOf(at, to)
		}
		if g := (timeSlot{at, w.to}); g.slotLength() >= s.length {
			out = append(out, g)
		}
	}
	return out
}

// proposal is a proposed time for a meeting.
type proposal struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Score   int       `json:"score"` // 0 to 100
	Reasons []string  `json:"reasons"`
}

// slotStep is the interval of proposed start times.
const slotStep = 15 * time.Minute

// maxProposals is the maximum number of proposals.
const maxProposals = 5

// rankProposals returns the best times, best first. They do not overlap, and no more than 2 are on one
// day, so that the user has a choice of days.
func (s slotSearch) rankProposals(gaps []timeSlot) (out []proposal) {
	var all []proposal
	for _, g := range gaps {
		first := g.from.Truncate(slotStep)
		if first.Before(g.from) {
			first = first.Add(slotStep)
		}
		if first.Add(s.length).After(g.to) { // too short for a round start
			all = append(all, s.rateSlot(g, g.from))
		}
		for at := first; !at.Add(s.length).After(g.to); at = at.Add(slotStep) {
			all = append(all, s.rateSlot(g, at))
		}
	}
	sorting.StableByFunc(all, func(a, b proposal) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), a.Start.Compare(b.Start))
	})
	perDay := map[string]int{}
	for _, p := range all {
		day := p.Start.In(s.loc).Format(time.DateOnly)
		if perDay[day] >= 2 || overlapsAny(p, out) {
			continue
		}
		perDay[day]++
		if out = append(out, p); len(out) == maxProposals {
			break
		}
	}
	return out
}

func overlapsAny(p proposal, list []proposal) bool {
	for _, o := range list {
		if p.Start.Before(o.End) && o.Start.Before(p.End) {
			return true
		}
	}
	return false
}

// rateSlot rates the start of a meeting in a gap. Early days and times next to other events are better,
// because they leave longer free periods. Lunch time, short remainders and the edges of other
// people's days are worse.
func (s slotSearch) rateSlot(g timeSlot, at time.Time) proposal {
	p := proposal{Start: at.In(s.loc), End: at.Add(s.length).In(s.loc), Score: 80}
	say := func(points int, format string, args ...any) {
		p.Score += points
		p.Reasons = append(p.Reasons, fmt.Sprintf(format, args...))
	}
	days := int(clockOn(p.Start, 0).Sub(clockOn(s.from.In(s.loc), 0)).Hours()+12) / 24
	p.Score -= min(3*days, 30)
	before, after := p.Start.Sub(g.from), g.to.Sub(p.End)
	switch {
	case before < slotStep && after < slotStep:
		say(15, "fills the gap")
	case before < slotStep && s.eventAt(g.from, true) != "":
		say(10, "right after %s", s.eventAt(g.from, true))
	case after < slotStep && s.eventAt(g.to, false) != "":
		say(8, "right before %s", s.eventAt(g.to, false))
	case before >= shortGap && after >= shortGap:
		say(-6, "splits a free period of %s", spellMinutes(g.slotLength()))
	case before >= slotStep && before < shortGap, after >= slotStep && after < shortGap:
		say(-8, "leaves less than %s next to it", spellMinutes(shortGap))
	}
	if p.Start.Before(clockOn(p.Start, 13*time.Hour)) && p.End.After(clockOn(p.Start, 12*time.Hour)) {
		say(-10, "over lunch time")
	}
	if title := s.allDay[p.Start.Format(time.DateOnly)]; title != "" {
		say(-12, "all day: %s", title)
	}
	for _, z := range s.zones {
		there := p.Start.In(z.loc)
		points := 0
		if there.Hour() < 9 || p.End.In(z.loc).After(clockOn(there, 17*time.Hour)) {
			points = -8
		}
		say(points, "%s in %s", there.Format("Mon 15:04"), z.name)
	}
	if p.Start.Minute()%30 != 0 {
		p.Score -= 3
	}
	p.Score = max(0, min(100, p.Score))
	return p
}

// eventAt returns the title of the event that ends (or begins) at the edge of a gap, or "".
func (s slotSearch) eventAt(edge time.Time, ends bool) string {
	for _, b := range s.busy {
		if ends && b.to.Add(s.buffer).Equal(edge) || !ends && b.from.Add(-s.buffer).Equal(edge) {
			return b.what
		}
	}
	return ""
}

// spellMinutes formats a duration: "45 minutes", "1 h 30 min".
func spellMinutes(d time.Duration) string {
	m := int(d.Minutes())
	switch {
	case m < 60:
		return fmt.Sprintf("%d minutes", m)
	case m%60 == 0:
		return fmt.Sprintf("%d h", m/60)
	}
	return fmt.Sprintf("%d h %d min", m/60, m%60)
}

// addEvents adds events to the search. It returns a warning for each event whose time is doubtful.
func (s *slotSearch) addEvents(events []pim.Event) (warnings []string) {
	for _, e := range events {
		title := textnorm.Ellipsize(cmp.Or(e.Title, "an event without a title"), 60)
		switch {
		case e.AllDay && !e.Open:
			for day := e.Start.In(s.loc); day.Before(e.End) && len(s.allDay) < maxEvents; day = day.AddDate(0, 0, 1) {
				d := day.Format(time.DateOnly)
				s.allDay[d] = strings.TrimPrefix(s.allDay[d]+", "+title, ", ")
			}
		case e.Doubt != "" && !e.Open:
			warnings = append(warnings, fmt.Sprintf("%q: %s", title, e.Doubt))
			for _, at := range e.Readings {
				s.busy = append(s.busy, busyTime{at, at.Add(max(e.End.Sub(e.Start), slotStep)), title})
			}
		}
		if isBusy(e) {
			s.busy = append(s.busy, busyTime{e.Start, e.End, title})
		}
	}
	return warnings
}
