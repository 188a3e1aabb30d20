// Package oneshot implements watchers that fire once at a given instant, for reminders and delayed
// tasks. The manager owns the clock and stores firings; this package only returns the time.
package oneshot

import (
	"encoding/json"
	"fmt"
	"time"

	"hob/platform/store"
	"hob/watchers"
)

// Kind is the name of the kind.
const Kind = "oneshot"

// config is the configuration of a watcher.
type config struct {
	At string `json:"at"` // RFC 3339 with an offset
}

// Driver creates oneshot watchers.
type Driver struct{}

// New returns the driver.
func New() *Driver { return &Driver{} }

// Describe implements watchers.Driver.
func (*Driver) Describe() watchers.Description {
	return watchers.Description{Kind: Kind, Timed: true}
}

// Migrations implements watchers.Driver.
func (*Driver) Migrations() []store.MigrationSet { return nil }

// DescribeConfig implements watchers.Driver. It uses the offset of the configured time.
func (d *Driver) DescribeConfig(raw json.RawMessage) string { return d.DescribeConfigIn(raw, nil) }

// DescribeConfigIn implements watchers.ZoneDescriber.
func (*Driver) DescribeConfigIn(raw json.RawMessage, loc *time.Location) string {
	at, err := parseConfig(raw)
	if err != nil {
		return "once, at an unreadable time"
	}
	if loc != nil {
		at = at.In(loc)
	}
	return at.Format("once on Mon 2 Jan 2006 at 15:04")
}

// New implements watchers.Driver.
func (*Driver) New(spec watchers.Spec, _ watchers.Deps) (any, error) {
	at, err := parseConfig(spec.Config)
	if err != nil {
		return nil, err
	}
	return once{at}, nil
}

func parseConfig(raw json.RawMessage) (time.Time, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return time.Time{}, fmt.Errorf("oneshot: %w", err)
	}
	at, err := time.Parse(time.RFC3339, c.At)
	if err != nil {
		return time.Time{}, fmt.Errorf(`oneshot: "at" must be a time such as "2026-05-04T15:00:00+03:00", not %q`, c.At)
	}
	// RFC 3339 supports years up to 9999, in any zone
	if at.Year() < 1970 || at.Year() > 9998 {
		return time.Time{}, fmt.Errorf("oneshot: year %d is out of range", at.Year())
	}
	return at.Truncate(time.Millisecond), nil
}

type once struct{ at time.Time }

// Next implements watchers.Timed.
func (o once) Next(t time.Time) (time.Time, bool) {
	if !o.at.After(t) {
		return time.Time{}, false
	}
	return o.at, true
}
