// Package cron implements watchers that fire repeatedly: at wall-clock times in the user's zone
// given by a five-field cron expression, or at a fixed interval of real time. The manager owns the
// clock, stores firings and handles missed times. This package only computes the next time.
//
// robfig/cron parses the expression. Its Next method skips or repeats times when the clocks change,
// but Next in this package does not; see schedule.
package cron

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // schedules contain zone names, but Windows and small containers have no zone database

	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/watchers"
)

// Kind is the name of the kind.
const Kind = "cron"

// shortest is the smallest interval between two runs.
const shortest = time.Second

// config is the configuration of a watcher. Exactly one of Cron and Interval is set.
type config struct {
	Cron     string `json:"cron,omitempty"`     // five fields, or a descriptor such as @daily
	Interval string `json:"interval,omitempty"` // a duration such as "90m"
	Anchor   string `json:"anchor,omitempty"`   // RFC 3339; first time of an interval (default: one interval after creation)
	TZ       string `json:"tz,omitempty"`       // IANA zone of the cron expression (default: the user's current zone)
	// Except lists days on which the watcher does not fire: "12-24" for each year, "2026-12-24" for
	// one year, or dateparse.DaysOff.
	Except []string `json:"except,omitempty"`
}

// Driver creates cron watchers.
type Driver struct{}

// New returns the driver.
func New() *Driver { return &Driver{} }

// Describe implements watchers.Driver.
func (*Driver) Describe() watchers.Description {
	return watchers.Description{Kind: Kind, Timed: true}
}

// Migrations implements watchers.Driver.
func (*Driver) Migrations() []store.MigrationSet { return nil }

// DescribeConfig implements watchers.Driver.
func (d *Driver) DescribeConfig(raw json.RawMessage) string { return d.DescribeConfigIn(raw, nil) }

// DescribeConfigIn implements watchers.ZoneDescriber.
func (*Driver) DescribeConfigIn(raw json.RawMessage, loc *time.Location) string {
	p, err := parseConfig(raw, time.Time{})
	if err != nil {
		return "at unreadable times"
	}
	if loc != nil && !p.every.Anchor.IsZero() {
		p.every.Anchor = anchorIn(p.every.Anchor, loc)
	}
	text := dateparse.DescribeEvery(p.every)
	if p.zone != nil {
		text += " (" + p.zone.String() + " time)"
	}
	return text
}

// New implements watchers.Driver.
func (*Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	p, err := parseConfig(spec.Config, spec.CreatedAt)
	if err != nil {
		return nil, err
	}
	zone := deps.Zone
	if p.zone != nil {
		zone = func() *time.Location { return p.zone }
	}
	var made zonedSchedule = interval{every: p.every, zone: zone}
	if p.lines != nil {
		made = schedules{lines: p.lines, zone: zone, fixed: p.zone != nil}
	}
	if len(p.except) == 0 {
		return made, nil
	}
	if slices.Contains(p.except, dateparse.DaysOff) && deps.DayOff == nil {
		return nil, errNoDaysOff
	}
	return exceptionSchedule{made, p.except, zone, deps.DayOff}, nil
}

// parsed is a validated configuration.
type parsed struct {
	every dateparse.Every
	lines []*fields      // empty for an interval
	zone  *time.Location // nil for the user's zone

	except []string
}

func parseConfig(raw json.RawMessage, created time.Time) (parsed, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return parsed{}, fmt.Errorf("cron: %w", err)
	}
	if err := checkExcept(c.Except); err != nil {
		return parsed{}, err
	}
	except := strings.Join(c.Except, ", ")
	p := parsed{every: dateparse.Every{Cron: c.Cron, Except: except}, except: c.Except}
	d, isInterval, err := c.parseInterval()
	switch {
	case err != nil:
		return parsed{}, err
	case (c.Cron == "") == (c.Interval == ""):
		return parsed{}, errors.New(`cron: give either "cron" (such as "0 8 * * 1-5") or "interval" (such as "90m")`)
	case isInterval:
		p.every = dateparse.Every{Interval: d, Anchor: created, Except: except}
		if c.TZ != "" {
			return parsed{}, errors.New(`cron: "tz" does not apply to an interval; it uses the user's zone`)
		}
		return p, c.parseAnchor(&p.every.Anchor)
	case c.Anchor != "":
		return parsed{}, errors.New(`cron: "anchor" applies only to "interval"`)
	}
	if p.lines, p.every.Cron, err = parseText(c.Cron); err != nil {
		return parsed{}, err
	}
	if c.TZ != "" {
		if p.zone, err = time.LoadLocation(c.TZ); err != nil || c.TZ == "Local" {
			return parsed{}, fmt.Errorf(`cron: unknown zone %q; it must be a name such as "Europe/Vilnius"`, c.TZ)
		}
	}
	return p, nil
}

// parseInterval parses Interval, or the equivalent "@every 90m" in Cron.
func (c config) parseInterval() (time.Duration, bool, error) {
	text := c.Interval
	if rest, ok := cutEvery(c.Cron); ok {
		text = rest
	}
	if text == "" {
		return 0, false, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf(`cron: the interval %q is not a duration such as "90m" or "24h"`, text)
	case d < shortest:
		return 0, false, fmt.Errorf("cron: the interval %s is shorter than the minimum, %s", text, shortest)
	}
	return d.Truncate(time.Millisecond), true, nil
}

func (c config) parseAnchor(to *time.Time) error {
	if c.Anchor == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, c.Anchor)
	if err != nil || at.Year() < 1970 || at.Year() > 9998 {
		return fmt.Errorf(`cron: the anchor %q is not a time such as "2026-05-04T15:00:00+03:00"`, c.Anchor)
	}
	*to = at.Truncate(time.Millisecond)
	return nil
}

// interval fires at its anchor and after each further interval. It measures real time. Intervals of
// whole days use calendar days instead, so that "every other day at 9" stays at 9 when the clocks
// change.
type interval struct {
	every dateparse.Every
	zone  func() *time.Location
}

// Next implements watchers.Timed.
func (i interval) Next(t time.Time) (time.Time, bool) {
	anchor, every := i.every.Anchor, i.every.Interval
	if every%(24*time.Hour) == 0 {
		next := dateparse.Every{Interval: every, Anchor: anchorIn(anchor, i.zone())}.Next(t)
		return next, !next.IsZero() && next.Year() <= lastYear
	}
	if anchor.After(t) {
		return anchor, true
	}
	// use milliseconds, because a Duration is limited to 292 years
	from, step := anchor.UnixMilli(), every.Milliseconds()
	next := time.UnixMilli(from + ((t.UnixMilli()-from)/step+1)*step).In(i.zone())
	return next, next.Year() <= lastYear
}

// Carry implements watchers.ZoneBound. Intervals of whole days keep their time of day.
func (i interval) Carry(at time.Time, from, to *time.Location) (time.Time, bool) {
	if i.every.Interval%(24*time.Hour) != 0 || !isWallTime(i.every.Anchor) {
		return time.Time{}, false
	}
	return anchorIn(at.In(from), to), true
}

// isWallTime reports whether an anchor is a wall-clock time of the user instead of an instant in
// UTC.
func isWallTime(anchor time.Time) bool { return anchor.Location() != time.UTC }

// anchorIn converts an anchor to the user's current zone and keeps its wall-clock time. It returns
// an anchor in UTC, which is an instant, unchanged.
func anchorIn(anchor time.Time, loc *time.Location) time.Time {
	if !isWallTime(anchor) {
		return anchor.In(loc)
	}
	y, m, d := anchor.Date()
	first, _ := wallInstants(time.Date(y, m, d, anchor.Hour(), anchor.Minute(), 0, 0, time.UTC), loc, false)
	return first.Add(time.Duration(anchor.Second())*time.Second + time.Duration(anchor.Nanosecond()))
}
