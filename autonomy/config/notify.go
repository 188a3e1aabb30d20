package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/host/system"
)

// Notify is the [notify] section.
type Notify struct {
	Channel     string   `toml:"channel"`     // "origin" or the name of a channel
	Fallback    []string `toml:"fallback"`    // channels to use if the first one cannot deliver
	Unreachable Duration `toml:"unreachable"` // how long a message waits before the next channel is tried
	Presence    Duration `toml:"presence"`    // how long the owner counts as present on the channel of the last message; 0 means off
	// Talking is how long the owner counts as present in the chat of the last message, even
	// while using the computer. AtMachine is the idle time after which the owner no longer
	// counts as present at this machine.
	Talking      Duration `toml:"talking"`
	AtMachine    Duration `toml:"at_machine"`
	QueueNotices bool     `toml:"queue_notices"`
	// SameWithin is the minimum interval between equal notices.
	SameWithin Duration `toml:"same_within"`
	PerHour    int      `toml:"per_hour"` // maximum number of notices per hour that are not urgent; 0 means no limit
	Morning    string   `toml:"morning"`  // "08:00"; "" means no morning digest
	Evening    string   `toml:"evening"`
	// Urgency selects how to rate a notice that no rule matches: "rules" (the defaults) or "model".
	Urgency     string   `toml:"urgency"`
	UrgencyWait Duration `toml:"urgency_wait"`
	// Hours is one section or a list of sections. Quiet is the parsed form.
	Hours QuietHours   `toml:"quiet_hours"`
	Rules []NotifyRule `toml:"rules"`

	Quiet []QuietWindow `toml:"-"`
}

// QuietHours is the value of notify.quiet_hours: one section or several.
type QuietHours any

// quietList is the schema of QuietHours.
type quietList []QuietWindow

// QuietWindow is one weekly window of quiet hours.
type QuietWindow struct {
	Start string   `toml:"start"` // for example "22:30"
	End   string   `toml:"end"`   // "07:30"; on the next day if not after the start; at most "24:00"
	Days  []string `toml:"days"`  // weekdays on which the window begins, "mon" to "sun"; empty means every day
	Zone  string   `toml:"zone"`  // an IANA time zone; "" means the owner's
}

// NotifyRule is one [[notify.rules]] entry: the urgency of a notice. All fields that are set must
// match. The first matching rule applies.
type NotifyRule struct {
	Causes   []string `toml:"causes"`
	People   []string `toml:"people"`
	Words    []string `toml:"words"`
	Channels []string `toml:"channels"`
	Watchers []string `toml:"watchers"`
	Within   Duration `toml:"within"`
	Urgency  string   `toml:"urgency"`
}

// weekdayNames returns the abbreviated names of the weekdays.
func weekdayNames() []string { return []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"} }

// notifyCauses returns the names of the causes of notices. Package notify determines the cause of a
// notice.
func notifyCauses() []string {
	return []string{"reminder", "schedule", "watcher", "webhook", "goal", "task", "guest", "plan", "trouble", "hob"}
}

// DescribeSetup returns the present values of what users set up first: "quiet hours" and "mail accounts".
func (c *Config) DescribeSetup() map[string]string {
	out := map[string]string{"quiet hours": "off", "mail accounts": "none"}
	switch list := c.Notify.Quiet; {
	case len(list) > 1:
		out["quiet hours"] = "several windows"
	case len(list) == 1 && list[0].Start != "":
		out["quiet hours"] = list[0].Start + " to " + list[0].End
	}
	var names []string
	for _, a := range c.Accounts {
		names = append(names, cmp.Or(a.Address, a.Name))
	}
	if len(names) > 0 {
		out["mail accounts"] = strings.Join(names, ", ")
	}
	return out
}

// parseQuietHours parses quiet_hours. Values of a wrong type were already reported.
func (n *Notify) parseQuietHours() {
	n.Quiet = nil
	list, ok := n.Hours.([]any)
	if !ok {
		list = []any{n.Hours}
	}
	for _, v := range list {
		t, ok := v.(map[string]any)
		if !ok {
			continue
		}
		var q QuietWindow
		q.Start, _ = t["start"].(string)
		q.End, _ = t["end"].(string)
		q.Zone, _ = t["zone"].(string)
		days, _ := t["days"].([]any)
		for _, d := range days {
			s, _ := d.(string)
			q.Days = append(q.Days, strings.ToLower(s))
		}
		n.Quiet = append(n.Quiet, q)
	}
}

// checkNotify checks [notify] except the names of channels, because some exist without a section:
// cmd/hob/internal/channel checks them.
func (k *checker) checkNotify() {
	n := k.c.Notify
	for _, name := range n.Fallback {
		k.requireValid("notify.fallback", name != "origin" && name != "auto", `%q is not a channel; list channels by name`, name)
	}
	k.requireValid("notify.unreachable", n.Unreachable.Duration >= time.Minute && n.Unreachable.Duration <= 24*time.Hour, `must be between "1m" and "24h"`)
	k.requireValid("notify.presence", n.Presence.Duration >= 0 && n.Presence.Duration <= 24*time.Hour, `must be between "0s" (off) and "24h"`)
	k.requireValid("notify.talking", n.Talking.Duration >= 0 && n.Talking.Duration <= 24*time.Hour, `must be between "0s" (off) and "24h"`)
	k.requireValid("notify.at_machine", n.AtMachine.Duration >= time.Second && n.AtMachine.Duration <= 24*time.Hour, `must be between "1s" and "24h"`)
	k.requireValid("notify.same_within", n.SameWithin.Duration >= time.Second && n.SameWithin.Duration <= 168*time.Hour, `must be between "1s" and "168h"`)
	k.requireBetween("notify.per_hour", n.PerHour, 0, 10_000)
	k.requireValid("notify.morning", n.Morning == "" || isTimeOfDay(n.Morning), `must be a time of day such as "08:00", or empty`)
	k.requireValid("notify.evening", n.Evening == "" || isTimeOfDay(n.Evening), `must be a time of day such as "18:00", or empty`)
	k.oneOf("notify.urgency", n.Urgency, "rules", "model")
	k.requireValid("notify.urgency_wait", n.UrgencyWait.Duration >= time.Second && n.UrgencyWait.Duration <= time.Minute, `must be between "1s" and "1m"`)
	for i, q := range k.c.Notify.Quiet {
		k.quietHours(i, q)
	}
	for i, r := range k.c.Notify.Rules {
		k.notifyRule(i, r)
	}
}

func (k *checker) quietHours(i int, q QuietWindow) {
	bad := func(key, format string, args ...any) {
		k.errs = append(k.errs, k.c.nthErrorf("notify.quiet_hours", i, key, format, args...))
	}
	if q.Start == "" && q.End == "" && len(q.Days) == 0 && q.Zone == "" {
		return // an empty window disables quiet hours
	}
	if !isTimeOfDay(q.Start) {
		bad("start", `must be a time of day such as "22:30"`)
	}
	if !isTimeOfDay(q.End) && q.End != "24:00" {
		bad("end", `must be a time of day such as "07:30", or "24:00"`)
	}
	if q.Start == q.End && isTimeOfDay(q.Start) {
		bad("end", `start and end are the same; for whole days write start = "00:00" and end = "24:00"`)
	}
	for _, d := range q.Days {
		if !slices.Contains(weekdayNames(), d) {
			bad("days", "%q is not a day; the days are %s", d, strings.Join(weekdayNames(), ", "))
		}
	}
	if q.Zone != "" {
		if _, err := system.Zone(q.Zone); err != nil {
			bad("zone", "%s", strings.TrimPrefix(err.Error(), fmt.Sprintf("%q is ", q.Zone)))
		}
	}
}

// isTimeOfDay reports whether s is a time of day.
func isTimeOfDay(s string) bool {
	_, err := time.Parse("15:04", s)
	return err == nil && len(s) == len("07:00")
}

func (k *checker) notifyRule(i int, r NotifyRule) {
	bad := func(key, format string, args ...any) {
		k.errs = append(k.errs, k.c.nthErrorf("notify.rules", i, key, format, args...))
	}
	if !slices.Contains([]string{"low", "normal", "high", "critical"}, r.Urgency) {
		bad("urgency", "must be one of low, normal, high, critical")
	}
	if len(r.Causes)+len(r.People)+len(r.Words)+len(r.Channels)+len(r.Watchers) == 0 && r.Within.Duration == 0 {
		bad("", "the rule has no condition; set causes, people, words, channels, watchers or within")
	}
	for _, c := range r.Causes {
		if !slices.Contains(notifyCauses(), c) {
			bad("causes", "unknown cause %q; use one of %s", c, strings.Join(notifyCauses(), ", "))
		}
	}
	for key, list := range map[string][]string{"people": r.People, "words": r.Words, "channels": r.Channels, "watchers": r.Watchers} {
		for _, s := range list {
			if !oneLine(s) || utf8.RuneCountInString(s) > 200 {
				bad(key, "%q must be a single, nonempty line of at most 200 characters", s)
			}
		}
	}
	if r.Within.Duration < 0 {
		bad("within", "must not be negative")
	}
}
