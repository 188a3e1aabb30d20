package ics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"hob/platform/pim"
)

// object is the data of one event that is being changed.
type object struct {
	root   *node
	master *node
	others []*node // components with a RECURRENCE-ID
	x      *expander
}

func parseEvent(data []byte, uid string, zone *time.Location) (*object, error) {
	return parseObject(data, ical.CompEvent, uid, zone)
}

// parseObject reads the components of one kind and name; "" matches any.
func parseObject(data []byte, kind, uid string, zone *time.Location) (o *object, err error) {
	defer func() {
		if p := recover(); p != nil {
			o, err = nil, fmt.Errorf("ics: read calendar data: %v", p)
		}
	}()
	root, err := parseTree(data)
	if err != nil {
		return nil, err
	}
	cal, err := ical.NewDecoder(strings.NewReader(string(root.encodeLines()))).Decode()
	if err != nil {
		return nil, fmt.Errorf("ics: parse calendar data: %w", err)
	}
	o = &object{root: root, x: &expander{Span: Span{Zone: zone}, zones: zonesOf(cal, zone)}}
	for _, k := range root.kids {
		if _, id, _ := k.findProp("UID"); k.name != kind || uid != "" && pim.SanitizeLine(id, maxTitle) != uid {
			continue
		}
		if _, _, other := k.findProp("RECURRENCE-ID"); other {
			o.others = append(o.others, k)
		} else {
			o.master = k
		}
	}
	if o.master == nil && len(o.others) == 0 {
		return nil, fmt.Errorf("ics: %w: the item is not in the calendar data", pim.ErrNotFound)
	}
	return o, nil
}

// RuleOf returns the recurrence rule of an event, or "" if it has none or cannot be read.
func RuleOf(data []byte, uid string, zone *time.Location) string {
	o, err := parseEvent(data, uid, zone)
	if err != nil || o.master == nil {
		return ""
	}
	_, rule, _ := o.master.findProp("RRULE")
	return strings.TrimSpace(rule)
}

// propMoment parses the first value of a line.
func (o *object) propMoment(n *node, name string) (m moment, head string, ok bool) {
	head, value, ok := n.findProp(name)
	if !ok {
		return m, "", false
	}
	list := o.momentsOf(head, value)
	if len(list) == 0 {
		return m, "", false
	}
	return list[0], head, true
}

func (o *object) momentsOf(head, value string) []moment {
	p := &ical.Prop{Name: "DTSTART", Params: ical.Params{}, Value: value}
	if id := tzidOf(head); id != "" {
		p.Params.Set("TZID", id)
	}
	list, err := o.x.parseMoments(p)
	if err != nil {
		return nil
	}
	return list
}

// formatLike formats an instant in the same form as m.
func formatLike(m moment, at time.Time) string {
	switch {
	case m.date:
		return at.Format(dayForm)
	case m.zone.loc == time.UTC && !m.zone.floating:
		return at.UTC().Format(utcForm)
	}
	return m.zone.toWall(at).Format(wallForm)
}

// headOf returns a property name with the parameters of another property.
func headOf(name, like string) string {
	_, params, has := strings.Cut(like, ";")
	if !has {
		return name
	}
	return name + ";" + params
}

// Changed applies a change to the data of an event: to all occurrences if whole is set, otherwise
// to the occurrence e.
func Changed(data []byte, e pim.Event, c pim.EventChange, whole bool, zone *time.Location, now time.Time) ([]byte, error) {
	o, err := parseEvent(data, e.UID, zone)
	if err != nil {
		return nil, err
	}
	n := o.master
	if e.Occurrence != "" && !whole {
		if n, err = o.findOrAddOccurrence(e); err != nil {
			return nil, err
		}
	}
	if n == nil {
		return nil, fmt.Errorf("ics: %w: the data contains single occurrences only; change one occurrence", pim.ErrInvalid)
	}
	for name, text := range map[string]*string{"SUMMARY": c.Title, "LOCATION": c.Place, "DESCRIPTION": c.Notes} {
		if text != nil {
			n.setText(name, *text)
		}
	}
	if c.Start != nil || c.End != nil {
		if err := o.moveComponent(n, e, c, whole && e.Occurrence != ""); err != nil {
			return nil, err
		}
	}
	bumpSequence(n, now)
	return o.root.encodeLines(), nil
}

// bumpSequence marks a component as a newer version (RFC 5545, 3.8.7.4).
func bumpSequence(n *node, now time.Time) {
	_, seq, _ := n.findProp("SEQUENCE")
	v, _ := strconv.Atoi(strings.TrimSpace(seq))
	n.setProp("SEQUENCE", strconv.Itoa(v+1))
	stampComponent(n, now)
}

// findOrAddOccurrence returns the component of one occurrence. If there is none, it derives one
// from the series.
func (o *object) findOrAddOccurrence(e pim.Event) (*node, error) {
	for _, k := range o.others {
		if m, _, ok := o.propMoment(k, "RECURRENCE-ID"); ok && m.recurrenceKey() == e.Occurrence {
			return k, nil
		}
	}
	if o.master == nil {
		return nil, fmt.Errorf("ics: %w: the series does not have this occurrence", pim.ErrNotFound)
	}
	start, head, ok := o.propMoment(o.master, "DTSTART")
	at, err := o.occurrenceTime(start, e.Occurrence)
	if !ok || err != nil {
		return nil, fmt.Errorf("ics: %w: the series does not have this occurrence", pim.ErrNotFound)
	}
	n := o.master.deepCopy()
	n.removeProps("RRULE", "RDATE", "EXDATE", "EXRULE")
	end, endHead, ends := o.propMoment(o.master, "DTEND")
	n.setProp(head, formatLike(start, at))
	if ends {
		n.setProp(endHead, formatLike(end, o.shiftedEnd(start, end, at)))
	}
	n.setProp(headOf("RECURRENCE-ID", head), formatLike(start, at))
	// insert it after the series, where parsers expect it
	o.root.kids = slices.Insert(o.root.kids, slices.Index(o.root.kids, o.master)+1, n)
	return n, nil
}

// occurrenceTime parses name, the recurrence key of an occurrence, and returns its time.
func (o *object) occurrenceTime(start moment, name string) (time.Time, error) {
	if start.date {
		return time.Parse(dayForm, name)
	}
	return time.Parse(utcForm, name)
}

// shiftedEnd returns the end of an occurrence that is moved to another start.
func (o *object) shiftedEnd(start, end moment, at time.Time) time.Time {
	if start.date {
		return at.Add(end.wall.Sub(start.wall))
	}
	return at.Add(end.toTime().Sub(start.toTime()))
}

// moveComponent changes the times of a component. For a series, it moves the start and the
// exceptions by the same wall-clock difference as the occurrence.
func (o *object) moveComponent(n *node, e pim.Event, c pim.EventChange, series bool) error {
	start, head, ok := o.propMoment(n, "DTSTART")
	if !ok {
		return fmt.Errorf("ics: %w: the event has no start", pim.ErrInvalid)
	}
	from, length := e.Start, e.End.Sub(e.Start)
	if c.Start != nil {
		from = *c.Start
	}
	to := from.Add(length)
	if c.End != nil {
		to = *c.End
	}
	if start.date { // for an all-day event only the date counts
		from, to = truncateDay(from), truncateDay(to)
		if c.End == nil {
			to = from.AddDate(0, 0, max(1, int((length+12*time.Hour)/(24*time.Hour))))
		}
	}
	if !to.After(from) {
		return fmt.Errorf("ics: %w: the end must be after the start", pim.ErrInvalid)
	}
	lasts := to.Sub(from)
	if series {
		was := e.Start
		if start.date {
			was = truncateDay(was)
		}
		shift := start.zone.toWall(from).Sub(start.zone.toWall(was))
		if start.date {
			shift = from.Sub(was)
		}
		if shift != 0 {
			if truncateDay(start.zone.toWall(from)) != truncateDay(start.zone.toWall(was)) || start.date {
				return fmt.Errorf("ics: %w: a whole series can only be moved to another time on the same day; move one occurrence or create a new series", pim.ErrInvalid)
			}
			o.shiftRecurrenceIDs(shift)
		}
		moved, _, _ := o.propMoment(n, "DTSTART")
		from = moved.toTime()
		to = from.Add(lasts)
	}
	n.setProp(head, formatLike(start, from))
	n.removeProps("DURATION")
	n.setProp(headOf("DTEND", head), formatLike(start, to))
	return nil
}

func truncateDay(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// shiftRecurrenceIDs moves the local times that identify the occurrences of a series.
func (o *object) shiftRecurrenceIDs(by time.Duration) {
	move := func(n *node, names ...string) {
		for i, l := range n.lines {
			name := nameOf(l)
			if !slices.Contains(names, name) {
				continue
			}
			at := valueAt(l)
			var out []string
			for _, m := range o.momentsOf(l[:at], l[at+1:]) {
				if !m.date {
					m.wall = m.wall.Add(by)
				}
				out = append(out, formatLike(m, m.toTime()))
			}
			if len(out) > 0 {
				n.lines[i] = l[:at] + ":" + strings.Join(out, ",")
			}
		}
	}
	move(o.master, "DTSTART", "EXDATE", "RDATE")
	for i, l := range o.master.lines { // move UNTIL too, so that the last occurrence is not lost
		if before, rest, ok := strings.Cut(strings.ToUpper(l), "UNTIL="); ok && nameOf(l) == "RRULE" {
			until, tail, more := strings.Cut(rest, ";")
			form := wallForm
			if strings.HasSuffix(until, "Z") {
				form = utcForm
			}
			t, err := time.Parse(form, until)
			if err != nil {
				continue
			}
			if before += "UNTIL=" + t.Add(by).Format(form); more {
				before += ";" + tail
			}
			o.master.lines[i] = before
		}
	}
	for _, k := range o.others {
		move(k, "RECURRENCE-ID")
	}
}

// Without removes one occurrence from the data of a series.
func Without(data []byte, e pim.Event, zone *time.Location, now time.Time) ([]byte, error) {
	o, err := parseEvent(data, e.UID, zone)
	if err != nil {
		return nil, err
	}
	if e.Occurrence == "" || o.master == nil {
		return nil, fmt.Errorf("ics: %w: not an occurrence of a series", pim.ErrInvalid)
	}
	start, head, ok := o.propMoment(o.master, "DTSTART")
	at, err := o.occurrenceTime(start, e.Occurrence)
	if !ok || err != nil {
		return nil, fmt.Errorf("ics: %w: the series does not have this occurrence", pim.ErrNotFound)
	}
	o.root.kids = slices.DeleteFunc(o.root.kids, func(k *node) bool {
		if !slices.Contains(o.others, k) {
			return false
		}
		m, _, ok := o.propMoment(k, "RECURRENCE-ID")
		return ok && m.recurrenceKey() == e.Occurrence
	})
	o.master.lines = append(o.master.lines, headOf("EXDATE", head)+":"+formatLike(start, at))
	bumpSequence(o.master, now)
	return o.root.encodeLines(), nil
}
