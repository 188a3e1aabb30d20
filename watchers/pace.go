package watchers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits of a pace.
const (
	longestEvery = 31 * 24 * time.Hour
	mostPerDay   = 100_000
)

// PollPolicy limits when and how often a watcher works. The zero value selects the defaults of the
// kind and the manager. In a configuration its keys may appear among the kind's own keys; CreateTx
// moves them here.
type PollPolicy struct {
	// Every is the poll interval, such as "30m". It applies only to polled kinds.
	Every string `json:"every,omitempty"`
	// Hours are the active hours in the user's zone: "08:00-18:00", "mon-fri 08:00-18:00",
	// "22:00-06:00". They do not apply to timed kinds. Polled kinds detect earlier events when the
	// hours begin. Signals of event-driven kinds are deferred until then, or dropped with the
	// policy Skip.
	Hours string `json:"active_hours,omitempty"`
	// PerDay limits the firings per calendar day in the user's zone. Signals above the limit are
	// dropped, and the user is notified once a day. It does not apply to timed kinds.
	PerDay int `json:"per_day,omitempty"`
}

// checkedPace is a validated PollPolicy.
type checkedPace struct {
	every  time.Duration
	hours  activeHours
	perDay int
}

func (p PollPolicy) parsePace() (out checkedPace, err error) {
	if p.Every != "" {
		if out.every, err = parseEvery(p.Every); err != nil {
			return checkedPace{}, err
		}
	}
	if out.hours, err = parseHours(p.Hours); err != nil {
		return checkedPace{}, err
	}
	if p.PerDay < 0 || p.PerDay > mostPerDay {
		return checkedPace{}, fmt.Errorf(`"per_day" must be between 1 and %d (0: the default), not %d`, mostPerDay, p.PerDay)
	}
	out.perDay = p.PerDay
	return out, nil
}

func parseEvery(s string) (time.Duration, error) {
	text := strings.TrimPrefix(strings.TrimSpace(strings.ToLower(s)), "every ")
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 31 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > longestEvery {
		return 0, fmt.Errorf(`"every" must be a duration such as "30m", "6h" or "1d", not %q`, s)
	}
	return d, nil
}

// ExtractPace moves the keys of a PollPolicy from the configuration to the spec. Values that are
// already set in the spec take precedence.
func (s *Spec) ExtractPace() error {
	var keys map[string]json.RawMessage
	if json.Unmarshal(s.Config, &keys) != nil || len(keys) == 0 {
		return nil // the kind reports the error
	}
	var p PollPolicy
	found := false
	missed := ""
	for name, to := range map[string]any{"every": &p.Every, "active_hours": &p.Hours, "per_day": &p.PerDay, "missed": &missed} {
		raw, ok := keys[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, to); err != nil {
			return fmt.Errorf(`%w: %q must be %s`, ErrInvalid, name, map[bool]string{true: "a number", false: "a text"}[name == "per_day"])
		}
		delete(keys, name)
		found = true
	}
	if !found {
		return nil
	}
	config, err := json.Marshal(keys)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	s.Config = config
	if s.Missed == "" {
		s.Missed = MisfirePolicy(missed)
	}
	if s.Every == "" {
		s.Every = p.Every
	}
	if s.Hours == "" {
		s.Hours = p.Hours
	}
	if s.PerDay == 0 {
		s.PerDay = p.PerDay
	}
	return nil
}

// checkPaceApplies rejects pace settings that do not apply to the kind of watcher of made.
func (s Spec) checkPaceApplies(made any) error {
	switch made.(type) {
	case Polled:
	case Watcher, MessageWatcher:
		if s.Every != "" {
			return fmt.Errorf("%w: the kind %s receives events and is not polled, so \"every\" does not apply", ErrInvalid, s.Kind)
		}
	default:
		if s.PollPolicy != (PollPolicy{}) {
			return fmt.Errorf("%w: the kind %s has fixed times, so \"every\", \"active_hours\" and \"per_day\" do not apply", ErrInvalid, s.Kind)
		}
	}
	return nil
}

// describePace describes a pace for the user. It returns "" if the pace is empty.
func (p PollPolicy) describePace() string {
	var parts []string
	if p.Every != "" {
		parts = append(parts, "every "+strings.TrimPrefix(p.Every, "every "))
	}
	if p.Hours != "" {
		parts = append(parts, "only "+p.Hours)
	}
	if p.PerDay > 0 {
		parts = append(parts, fmt.Sprintf("at most %d a day", p.PerDay))
	}
	return strings.Join(parts, ", ")
}

// activeHours are the minutes of the week in which a watcher is active.
type activeHours struct {
	set      bool
	days     [7]bool // weekdays (time.Weekday) on which the hours begin
	from, to int     // minutes of the day; to is less than from if the hours include midnight
}

// containsTime reports whether t is within the hours. It uses the wall clock of t's zone.
func (h activeHours) containsTime(t time.Time) bool {
	if !h.set {
		return true
	}
	minute := t.Hour()*60 + t.Minute()
	today, before := h.days[t.Weekday()], h.days[(t.Weekday()+6)%7]
	if h.from < h.to {
		return today && minute >= h.from && minute < h.to
	}
	return today && minute >= h.from || before && minute < h.to
}

// nextOpening returns the next time after t at which the hours begin. It is within the next week.
func (h activeHours) nextOpening(t time.Time) time.Time {
	y, m, d := t.Date()
	for i := range 9 {
		at := time.Date(y, m, d+i, h.from/60, h.from%60, 0, 0, t.Location())
		if h.days[at.Weekday()] && at.After(t) {
			return at
		}
	}
	return t.Add(24 * time.Hour)
}

// parseHours parses "08:00-18:00", "mon-fri 08:00-18:00" or "sat,sun 10:00-12:00"; "" means at all
// times.
func parseHours(s string) (activeHours, error) {
	bad := func() (activeHours, error) {
		return activeHours{}, fmt.Errorf(`"active_hours" must be written like "08:00-18:00" or "mon-fri 08:00-18:00", not %q`, s)
	}
	fields := strings.Fields(strings.ToLower(s))
	if len(fields) == 0 {
		return activeHours{}, nil
	}
	h := activeHours{set: true}
	span := fields[len(fields)-1]
	ok := len(fields) <= 2
	if len(fields) == 2 {
		ok = h.parseWeekdays(fields[0])
	} else {
		h.days = [7]bool{true, true, true, true, true, true, true}
	}
	from, to, cut := strings.Cut(span, "-")
	var ok1, ok2 bool
	h.from, ok1 = minuteOf(from)
	h.to, ok2 = minuteOf(to)
	if !ok || !cut || !ok1 || !ok2 || h.from == h.to || h.from == 24*60 {
		return bad()
	}
	return h, nil
}

func (h *activeHours) parseWeekdays(s string) bool {
	for part := range strings.SplitSeq(s, ",") {
		a, b, ranged := strings.Cut(part, "-")
		from, ok1 := parseWeekday(a)
		to, ok2 := from, true
		if ranged {
			to, ok2 = parseWeekday(b)
		}
		if !ok1 || !ok2 {
			return false
		}
		for d := from; ; d = (d + 1) % 7 {
			if h.days[d] = true; d == to {
				break
			}
		}
	}
	return true
}

func parseWeekday(s string) (time.Weekday, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if len(s) >= 3 && strings.HasPrefix(strings.ToLower(d.String()), s) {
			return d, true
		}
	}
	return 0, false
}

func minuteOf(s string) (int, bool) {
	hh, mm, ok := strings.Cut(s, ":")
	if !ok {
		mm = "00"
	}
	h, err1 := strconv.Atoi(hh)
	m, err2 := strconv.Atoi(mm)
	if err1 != nil || err2 != nil || len(mm) != 2 || h < 0 || m < 0 || m > 59 || h > 24 || h == 24 && m != 0 {
		return 0, false
	}
	return h*60 + m, true
}
