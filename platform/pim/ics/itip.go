package ics

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
)

// The methods of messages about an event (RFC 5546, 3.2).
const (
	Request = "REQUEST"
	Cancel  = "CANCEL"
	reply   = "REPLY"
)

// Message returns an event as a message to its guests: an invitation (Request) or a cancellation
// (Cancel) of the whole series or of the occurrence e.
func Message(method string, data []byte, e pim.Event, whole bool, zone *time.Location, now time.Time) (string, error) {
	o, err := parseEvent(data, e.UID, zone)
	if err != nil {
		return "", err
	}
	list, err := o.selectComponents(e, whole)
	if err != nil {
		return "", err
	}
	kids := o.timezoneNodes()
	for _, n := range list {
		n = n.deepCopy()
		n.kids = nil // everyone sets their own alarms
		if method == Cancel {
			n.setProp("STATUS", "CANCELLED")
			bumpSequence(n, now)
		} else {
			n.setProp("DTSTAMP", now.UTC().Format(utcForm))
		}
		kids = append(kids, n)
	}
	return string(calendarOf(method, kids...).encodeLines()), nil
}

// selectComponents selects the components of an event: all of them, or only those of one
// occurrence.
func (o *object) selectComponents(e pim.Event, whole bool) ([]*node, error) {
	if e.Occurrence != "" && !whole {
		n, err := o.findOrAddOccurrence(e)
		return []*node{n}, err
	}
	if o.master == nil {
		return o.others, nil
	}
	return append([]*node{o.master}, o.others...), nil
}

func (o *object) timezoneNodes() (out []*node) {
	for _, k := range o.root.kids {
		if k.name == "VTIMEZONE" {
			out = append(out, k)
		}
	}
	return out
}

// Answered returns the data of an event with a guest's answer, and that answer as
// a message to the organizer (RFC 5546, 3.2.3).
func Answered(data []byte, e pim.Event, guest pim.Person, a pim.Answer, comment string, whole bool, zone *time.Location, now time.Time) (after []byte, message string, err error) {
	o, err := parseEvent(data, e.UID, zone)
	if err != nil {
		return nil, "", err
	}
	list, err := o.selectComponents(e, whole)
	if err != nil {
		return nil, "", err
	}
	kids := o.timezoneNodes()
	for _, n := range list {
		head, ok := n.setPartStat(guest.Address, a)
		if !ok {
			return nil, "", fmt.Errorf("ics: %w: %s is not invited", pim.ErrInvalid, guest.Address)
		}
		n.setProp("LAST-MODIFIED", now.UTC().Format(utcForm)) // only the organizer may change the version
		r := &node{name: "VEVENT"}
		for _, l := range n.lines {
			if slices.Contains([]string{"UID", "SEQUENCE", "ORGANIZER", "DTSTART", "DTEND", "DURATION", "RECURRENCE-ID", "SUMMARY"}, nameOf(l)) {
				r.lines = append(r.lines, l)
			}
		}
		if _, _, has := r.findProp("ORGANIZER"); !has {
			return nil, "", fmt.Errorf("ics: %w: the event has no organizer", pim.ErrInvalid)
		}
		r.setProp("DTSTAMP", now.UTC().Format(utcForm))
		r.lines = append(r.lines, head+":mailto:"+guest.Address)
		r.setText("COMMENT", comment)
		kids = append(kids, r)
	}
	return o.root.encodeLines(), string(calendarOf(reply, kids...).encodeLines()), nil
}

// setPartStat sets the reply of a guest, and returns the name and the parameters of the guest's
// line.
func (n *node) setPartStat(address string, a pim.Answer) (head string, ok bool) {
	for i, l := range n.lines {
		at := valueAt(l)
		if nameOf(l) != "ATTENDEE" || at < 0 {
			continue
		}
		value := strings.TrimSpace(l[at+1:])
		if len(value) < 7 || !strings.EqualFold(value[:7], "mailto:") || !strings.EqualFold(strings.TrimSpace(value[7:]), address) {
			continue
		}
		head = "ATTENDEE"
		for rest, more := cutFirst(l[:at]); more; {
			var p string
			p, rest, more = cutOutside(rest, ';')
			if key, _, _ := strings.Cut(p, "="); !strings.EqualFold(key, "PARTSTAT") && !strings.EqualFold(key, "RSVP") {
				head += ";" + p
			}
		}
		head += ";PARTSTAT=" + string(a)
		n.lines[i] = head + ":" + value
		return head, true
	}
	return "", false
}

// cutFirst returns the part of a line that follows its name.
func cutFirst(s string) (rest string, more bool) {
	_, rest, more = cutOutside(s, ';')
	return rest, more
}
