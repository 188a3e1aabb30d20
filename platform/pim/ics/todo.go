package ics

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"hob/platform/pim"
)

// Todos returns at most 1,000 tasks (VTODO) in data. It skips tasks that cannot be parsed; the
// error contains their number. Dates and times without a zone are interpreted in zone.
func Todos(data []byte, zone *time.Location) (out []pim.Reminder, err error) {
	defer func() {
		if p := recover(); p != nil { // the parser may panic on invalid data
			out, err = nil, fmt.Errorf("ics: read calendar data: %v", p)
		}
	}()
	if len(data) > maxData {
		return nil, fmt.Errorf("ics: %w: %d bytes", pim.ErrTooLarge, len(data))
	}
	if zone == nil {
		zone = time.UTC
	}
	text, _ := normalizeLines(data)
	cal, err := ical.NewDecoder(strings.NewReader(text)).Decode()
	if err != nil {
		return nil, fmt.Errorf("ics: parse calendar data: %w", err)
	}
	x := &expander{Span: Span{Zone: zone}, zones: zonesOf(cal, zone)}
	var bad int
	var first error
	for i, c := range cal.Children {
		if c.Name != ical.CompToDo || i >= maxEvents || len(out) >= maxFound {
			continue
		}
		r, err := x.readTodo(c)
		if err != nil {
			if bad++; first == nil {
				first = err
			}
			continue
		}
		out = append(out, r)
	}
	if bad > 0 {
		return out, fmt.Errorf("ics: cannot read %d tasks; first error: %w", bad, first)
	}
	return out, nil
}

func (x *expander) readTodo(c *ical.Component) (pim.Reminder, error) {
	r := pim.Reminder{
		UID: pim.SanitizeLine(propValue(c, ical.PropUID), maxTitle), Title: pim.SanitizeLine(propText(c, ical.PropSummary), maxTitle),
		Repeat: c.Props.Get(ical.PropRecurrenceRule) != nil,
	}
	if notes := []rune(strings.TrimSpace(pim.SanitizeText(propText(c, ical.PropDescription)))); len(notes) > 0 {
		r.Notes = string(notes[:min(len(notes), maxNotes)])
	}
	switch status := strings.ToUpper(strings.TrimSpace(propValue(c, ical.PropStatus))); status {
	case "COMPLETED", "CANCELLED":
		r.Done = true
	default:
		r.Done = c.Props.Get(ical.PropCompleted) != nil
	}
	if n, err := strconv.Atoi(strings.TrimSpace(propValue(c, ical.PropPriority))); err == nil && n > 0 && n <= 9 {
		r.Priority = n
	}
	due, err := x.dueTime(c)
	if err != nil {
		return r, fmt.Errorf("read the due time of %q: %w", pim.SanitizeLine(r.Title, 60), err)
	}
	if due != nil {
		r.Due, r.AllDay = due.toTime(), due.date
	}
	return r, nil
}

// dueTime returns the due time: DUE, or DTSTART plus DURATION; nil if there is none.
func (x *expander) dueTime(c *ical.Component) (*moment, error) {
	if p := c.Props.Get(ical.PropDue); p != nil {
		list, err := x.parseMoments(p)
		if err != nil || len(list) != 1 {
			return nil, fmt.Errorf("%q is not a time", pim.SanitizeLine(p.Value, 60))
		}
		return &list[0], nil
	}
	start, long := c.Props.Get(ical.PropDateTimeStart), c.Props.Get(ical.PropDuration)
	if start == nil || long == nil {
		return nil, nil //nolint:nilnil // the task has no due time
	}
	list, err := x.parseMoments(start)
	d, derr := long.Duration()
	if err != nil || derr != nil || len(list) != 1 || d < 0 {
		return nil, fmt.Errorf("%q is not a time", pim.SanitizeLine(start.Value, 60))
	}
	m := list[0]
	m.wall = m.wall.Add(d)
	return &m, nil
}

// CheckTodo reports why a task is invalid.
func CheckTodo(r pim.Reminder) error {
	switch {
	case strings.TrimSpace(r.Title) == "":
		return fmt.Errorf("%w: the title is empty", pim.ErrInvalid)
	case len([]rune(r.Title)) > maxTitle || len([]rune(r.Notes)) > 20_000:
		return fmt.Errorf("%w: the text is too long", pim.ErrInvalid)
	case r.Priority < 0 || r.Priority > 9:
		return fmt.Errorf("%w: priority must be 1 (highest) to 9", pim.ErrInvalid)
	}
	return nil
}

// NewTodo returns the data of a new task with an alarm at its due time.
func NewTodo(r pim.Reminder, now time.Time) ([]byte, error) {
	if err := CheckTodo(r); err != nil {
		return nil, err
	}
	n := &node{name: ical.CompToDo}
	n.setProp("UID", escapeText(r.UID))
	stampComponent(n, now)
	n.setProp("CREATED", now.UTC().Format(utcForm))
	n.setProp("SEQUENCE", "0")
	n.setProp("STATUS", "NEEDS-ACTION")
	n.setText("SUMMARY", r.Title)
	n.setText("DESCRIPTION", r.Notes)
	if r.Priority > 0 {
		n.setProp("PRIORITY", strconv.Itoa(r.Priority))
	}
	kids := []*node{n}
	switch {
	case r.Due.IsZero():
	case r.AllDay:
		n.setProp("DUE;VALUE=DATE", r.Due.Format(dayForm))
	default:
		zone := newTimezoneNode(r.Due)
		n.setProp("DUE"+tzidParam(zone), onClock(zone, r.Due))
		if zone != nil {
			kids = []*node{zone, n}
		}
		n.kids = append(n.kids, &node{name: "VALARM", lines: []string{"ACTION:DISPLAY", "DESCRIPTION:" + escapeText(r.Title), "TRIGGER;RELATED=END:PT0S"}})
	}
	return calendarOf("", kids...).encodeLines(), nil
}

// Done returns the data with a task completed. A recurring task moves to its next due time instead;
// repeats is then true.
func Done(data []byte, uid string, zone *time.Location, now time.Time) (out []byte, repeats bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("ics: read calendar data: %v", p)
		}
	}()
	o, err := parseObject(data, ical.CompToDo, uid, zone)
	if err != nil {
		return nil, false, err
	}
	n := o.master
	if n == nil || len(o.others) > 0 {
		return nil, false, fmt.Errorf("ics: %w: occurrences of the series were changed individually; complete the task in the app that created it", pim.ErrInvalid)
	}
	if repeats, err = o.advanceToNext(n, now); err != nil {
		return nil, false, err
	}
	if !repeats {
		n.setProp("STATUS", "COMPLETED")
		n.setProp("PERCENT-COMPLETE", "100")
		n.setProp("COMPLETED", now.UTC().Format(utcForm))
	}
	bumpSequence(n, now)
	return o.root.encodeLines(), repeats, nil
}

// advanceToNext moves a recurring task to its next time. It returns false if there is none.
func (o *object) advanceToNext(n *node, now time.Time) (bool, error) {
	_, rule, recurs := n.findProp("RRULE")
	if !recurs {
		return false, nil
	}
	base := "DUE"
	if _, _, ok := n.findProp("DTSTART"); ok {
		base = "DTSTART"
	}
	from, _, ok := o.propMoment(n, base)
	if !ok {
		return false, fmt.Errorf("ics: %w: the task recurs but has no start or due time", pim.ErrInvalid)
	}
	walls, err := o.x.expandRule(rule, from, from.wall.Add(time.Second), from.wall.AddDate(5, 0, 0))
	if err != nil && len(walls) == 0 {
		return false, fmt.Errorf("ics: %w: the recurrence rule %q: %w", pim.ErrInvalid, pim.SanitizeLine(rule, 100), err)
	}
	// do not repeat missed occurrences; use the first future time
	left := 0
	for left < len(walls)-1 && !(moment{walls[left], from.date, from.zone}).toTime().After(now) {
		left++
	}
	if len(walls) == 0 {
		return false, nil
	}
	by := walls[left].Sub(from.wall)
	for _, name := range []string{"DTSTART", "DUE"} {
		if m, head, ok := o.propMoment(n, name); ok {
			m.wall = m.wall.Add(by)
			n.setProp(head, formatLike(m, m.toTime()))
		}
	}
	return true, o.reduceCount(n, rule, left+1)
}

// reduceCount subtracts past occurrences from the COUNT of a rule.
func (o *object) reduceCount(n *node, rule string, by int) error {
	parts := strings.Split(rule, ";")
	for i, p := range parts {
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "COUNT") {
			continue
		}
		count, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("ics: %w: the recurrence rule %q", pim.ErrInvalid, pim.SanitizeLine(rule, 100))
		}
		parts[i] = "COUNT=" + strconv.Itoa(max(1, count-by))
	}
	n.setProp("RRULE", strings.Join(parts, ";"))
	return nil
}
