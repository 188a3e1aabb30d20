// Package ics expands iCalendar data (RFC 5545) to the occurrences of its events in a time range,
// with rules, exceptions and moved occurrences, in the zones that the data defines.
//
// The data is untrusted, because anyone can write an invitation. It is cleaned before parsing, so
// that one invalid line does not hide an event. Rules are limited, so that no rule can exhaust the
// CPU.
package ics

import (
	"fmt"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"hob/platform/pim"
	"hob/platform/text/sorting"
)

// Limits of the data of one object.
const (
	maxData  = 2 << 20 // bytes
	maxTitle = 300     // characters
	maxNotes = 2000
	// MaxGuests bounds how many guests of an event are read.
	MaxGuests = 50
	maxEvents = 2000 // components in one object
	maxFound  = 1000 // occurrences
)

// Span is the time range to read.
type Span = pim.TimeRange

// Events returns at most 1,000 occurrences in data that overlap the range, in order. It skips
// events that cannot be parsed. The error contains their number, and the result is valid even with
// an error.
func Events(data []byte, s Span) (out []pim.Event, err error) {
	defer func() {
		if p := recover(); p != nil { // the parser may panic on invalid data
			out, err = nil, fmt.Errorf("ics: read calendar data: %v", p)
		}
	}()
	if len(data) > maxData {
		return nil, fmt.Errorf("ics: %w: %d bytes", pim.ErrTooLarge, len(data))
	}
	text, _ := normalizeLines(data)
	cal, err := ical.NewDecoder(strings.NewReader(text)).Decode()
	if err != nil {
		return nil, fmt.Errorf("ics: parse calendar data: %w", err)
	}
	if s.Zone == nil {
		s.Zone = time.UTC
	}
	x := &expander{Span: s, zones: zonesOf(cal, s.Zone)}
	var bad []error
	for _, set := range x.groupSeries(cal, &bad) {
		found, err := x.expandSeries(set)
		if err != nil {
			bad = append(bad, err)
		}
		out = append(out, found...)
		if len(out) > maxFound {
			break
		}
	}
	sorting.StableByFunc(out, func(a, b pim.Event) int { return a.Start.Compare(b.Start) })
	out = out[:min(len(out), maxFound)]
	if len(bad) > 0 {
		return out, fmt.Errorf("ics: cannot read %d events; first error: %w", len(bad), bad[0])
	}
	return out, nil
}

// series is an event with its exceptions.
type series struct {
	master *component
	others []*component // components with a RECURRENCE-ID
}

type expander struct {
	Span
	zones zones
	spent time.Duration // time spent on rules
}

// groupSeries groups the components of each event, in the order of the data.
func (x *expander) groupSeries(cal *ical.Calendar, bad *[]error) (out []*series) {
	byUID := map[string]*series{}
	for i, c := range cal.Children {
		if c.Name != ical.CompEvent || i >= maxEvents {
			continue
		}
		e, err := x.readComponent(c)
		if err != nil {
			*bad = append(*bad, err)
			continue
		}
		s := byUID[e.UID]
		if s == nil {
			s = &series{}
			byUID[e.UID] = s
			out = append(out, s)
		}
		switch {
		case e.replaces != nil:
			s.others = append(s.others, e)
		case s.master == nil || e.sequence >= s.master.sequence:
			s.master = e
		}
	}
	return out
}

// overlapsRange reports whether an event overlaps the range.
func (x *expander) overlapsRange(start, end time.Time) bool {
	return start.Before(x.To) && (end.After(x.From) || start.Equal(end) && !start.Before(x.From))
}
