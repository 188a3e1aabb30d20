package ics

import (
	"fmt"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"hob/platform/pim"
	"hob/platform/text/sorting"
)

// FreeBusyRequest returns a request for the busy times of people (RFC 5546, 3.3.2).
func FreeBusyRequest(uid string, from pim.Person, people []pim.Person, s Span, now time.Time) []byte {
	n := &node{name: "VFREEBUSY"}
	n.setProp("UID", escapeText(uid))
	n.setProp("DTSTAMP", now.UTC().Format(utcForm))
	n.setProp("DTSTART", s.From.UTC().Format(utcForm))
	n.setProp("DTEND", s.To.UTC().Format(utcForm))
	n.setProp("ORGANIZER", "mailto:"+from.Address)
	for _, p := range people {
		n.lines = append(n.lines, "ATTENDEE:mailto:"+p.Address)
	}
	return calendarOf(Request, n).encodeLines()
}

// BusyTimes returns the busy periods in a response with free/busy data (RFC 5545, 3.6.4) that
// overlap the range, in order. Tentative and unavailable periods count as busy.
func BusyTimes(data []byte, s Span) (out []pim.TimeRange, err error) {
	defer func() {
		if p := recover(); p != nil { // the parser may panic on invalid data
			out, err = nil, fmt.Errorf("ics: read free/busy data: %v", p)
		}
	}()
	if len(data) > maxData {
		return nil, fmt.Errorf("ics: %w: %d bytes", pim.ErrTooLarge, len(data))
	}
	text, _ := normalizeLines(data)
	cal, err := ical.NewDecoder(strings.NewReader(text)).Decode()
	if err != nil {
		return nil, fmt.Errorf("ics: parse free/busy data: %w", err)
	}
	found := false
	for _, c := range cal.Children {
		if c.Name != ical.CompFreeBusy {
			continue
		}
		found = true
		for _, p := range c.Props.Values(ical.PropFreeBusy) {
			if strings.EqualFold(p.Params.Get(ical.ParamFreeBusyType), "FREE") {
				continue
			}
			for v := range strings.SplitSeq(p.Value, ",") {
				r, err := parsePeriod(v)
				if err != nil {
					return nil, err
				}
				if r.From.Before(s.To) && r.To.After(s.From) && len(out) < maxFound {
					out = append(out, r)
				}
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("ics: the response has no free/busy data")
	}
	sorting.StableByFunc(out, func(a, b pim.TimeRange) int { return a.From.Compare(b.From) })
	return out, nil
}

// parsePeriod parses a period in UTC (RFC 5545, 3.3.9): start/end or start/duration.
func parsePeriod(v string) (r pim.TimeRange, err error) {
	a, b, ok := strings.Cut(strings.TrimSpace(v), "/")
	bad := fmt.Errorf("ics: invalid busy period %q", pim.SanitizeLine(v, 60))
	if r.From, err = time.Parse(utcForm, a); err != nil || !ok {
		return r, bad
	}
	if r.To, err = time.Parse(utcForm, b); err == nil && r.To.After(r.From) {
		return r, nil
	}
	d := ical.NewProp(ical.PropDuration)
	d.Value = b
	length, err := d.Duration()
	if err != nil || length <= 0 {
		return r, bad
	}
	r.To = r.From.Add(length)
	return r, nil
}
