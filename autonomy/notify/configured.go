package notify

import (
	"strings"
	"time"

	"hob/autonomy/config"
	"hob/platform/host/system"
)

// OptionsOf converts the [notify] section to options of a Notifier. It does not set the other parts
// that a Notifier needs.
func OptionsOf(c config.Notify) (o Options, err error) {
	for _, q := range c.Quiet {
		if q.Start == "" && q.End == "" {
			continue
		}
		w, err := quietWindow(q)
		if err != nil {
			return o, err
		}
		o.Quiet = append(o.Quiet, w)
	}
	o.Channel, o.Fallback, o.Unreachable, o.Recent = c.Channel, c.Fallback, c.Unreachable.Duration, c.Presence.Duration
	o.SameWithin, o.PerHour = c.SameWithin.Duration, c.PerHour
	for _, at := range []string{c.Morning, c.Evening} {
		if at == "" {
			continue
		}
		clock, err := ParseClock(at)
		if err != nil {
			return o, err
		}
		o.Digests = append(o.Digests, clock)
	}
	for _, r := range c.Rules {
		u, err := ParseUrgency(r.Urgency)
		if err != nil {
			return o, err
		}
		o.Rules = append(o.Rules, Rule{
			Causes: r.Causes, People: r.People, Words: r.Words, Channels: r.Channels, Watchers: r.Watchers, Within: r.Within.Duration, Urgency: u,
		})
	}
	return o, nil
}

// quietWindow converts one window in notify.quiet_hours.
func quietWindow(q config.QuietWindow) (QuietWindow, error) {
	var err error
	var out QuietWindow
	if out.Start, err = ParseClock(q.Start); err != nil {
		return out, err
	}
	if out.End, err = ParseClock(q.End); err != nil {
		return out, err
	}
	for day := time.Sunday; day <= time.Saturday; day++ {
		for _, name := range q.Days {
			if strings.HasPrefix(strings.ToLower(day.String()), name) {
				out.Days = append(out.Days, day)
			}
		}
	}
	if q.Zone != "" {
		if out.Zone, err = system.Zone(q.Zone); err != nil {
			return out, err
		}
	}
	return out, nil
}
