package watchers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

// Kinds that fire at set times. Their drivers are in packages with the same names.
const (
	KindCron    = "cron"
	KindOneshot = "oneshot"
)

// morning is the default hour for a day without a time.
const morning = 9

// ParseSchedule returns the kind and the configuration of a watcher that fires once (at: "tomorrow
// at 9", RFC 3339) or repeatedly (every: "weekday at 8:30", a cron line). Exactly one of at and
// every must be set. A day without a time means 9:00. Errors wrap ErrInvalid. If the text has two
// readings, they also wrap *dateparse.AmbiguousError.
func ParseSchedule(at, every string, now time.Time) (kind string, config json.RawMessage, err error) {
	at, every = strings.TrimSpace(at), strings.TrimSpace(every)
	if (at == "") == (every == "") {
		return "", nil, fmt.Errorf(`%w: give exactly one of "at" and "every"`, ErrInvalid)
	}
	if every != "" {
		kind, config, err = parseRecurring(every, now)
		if at = every; err == nil || !isMoment(at, now) { // "every: tomorrow at 9" is a single time
			return kind, config, err
		}
	}
	t, err := parseMoment(at, now)
	if err != nil {
		if kind, config, rerr := parseRecurring(at, now); rerr == nil && errors.Is(err, dateparse.ErrNotUnderstood) { // "at: every day at 9"
			return kind, config, nil
		}
		return "", nil, err
	}
	config, err = json.Marshal(map[string]string{"at": t.Format(time.RFC3339Nano)})
	return KindOneshot, config, err
}

// isMoment reports whether words describe one time of day on one day.
func isMoment(words string, now time.Time) bool {
	m, err := dateparse.Parse(words, now)
	return err == nil && m.HasClock
}

func parseRecurring(every string, now time.Time) (string, json.RawMessage, error) {
	e, err := dateparse.ParseEvery(every, now)
	if errors.Is(err, dateparse.ErrNotUnderstood) && !strings.HasPrefix(strings.ToLower(every), "every") {
		if again, aerr := dateparse.ParseEvery("every "+every, now); aerr == nil {
			e, err, every = again, nil, "every "+every
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if now.Day() > 28 && isTodaysDay(every, now) {
		return "", nil, fmt.Errorf("%w: %q names no day, and not every month has a day %d; name a day, for example \"every month on the 1st\"", ErrInvalid, every, now.Day())
	}
	fields := map[string]any{"cron": e.Cron}
	if e.Cron == "" {
		fields = map[string]any{"interval": e.Interval.String()}
		if !e.Anchor.IsZero() {
			fields["anchor"] = e.Anchor.Format("2006-01-02T15:04:05-07:00") // write an offset, never Z: an anchor that ends in Z is read as a fixed instant and does not follow the user's zone
		}
	}
	if e.Except != "" {
		fields["except"] = strings.Split(e.Except, ", ")
	}
	config, err := json.Marshal(fields)
	return KindCron, config, err
}

// isTodaysDay reports whether a recurrence by months or years names no day, so that today's day of the month
// would count.
func isTodaysDay(every string, now time.Time) bool {
	onDay := func(day int) string {
		e, err := dateparse.ParseEvery(every, time.Date(now.Year(), now.Month(), day, now.Hour(), now.Minute(), 0, 0, now.Location()))
		f := strings.Fields(e.Cron)
		if err != nil || len(f) != 5 {
			return ""
		}
		return f[2]
	}
	return onDay(3) != onDay(17)
}

func parseMoment(at string, now time.Time) (time.Time, error) {
	m, err := dateparse.Parse(at, now)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	t := m.Time
	if !m.HasClock {
		t = time.Date(t.Year(), t.Month(), t.Day(), morning, 0, 0, 0, t.Location())
	}
	if !t.After(now.Add(-justPassed)) {
		return time.Time{}, fmt.Errorf("%w: %s has passed; name a later time", ErrInvalid, dateparse.Format(t, now))
	}
	return t, nil
}
