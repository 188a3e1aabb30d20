package watchers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/when"
)

// Kinds that fire at a time. Their drivers are in packages of these names.
const (
	KindCron    = "cron"
	KindOneshot = "oneshot"
)

// morning is the hour of a day that was given without a time.
const morning = 9

// InWords returns the kind and the configuration of a watcher that fires once (at: "tomorrow at
// 9", RFC 3339) or repeatedly (every: "weekday at 8:30", a cron line). Exactly one of them must
// be set. A day without a time means 9:00. Errors wrap ErrInvalid, and *when.AmbiguousError if
// the text has two readings.
func InWords(at, every string, now time.Time) (kind string, config json.RawMessage, err error) {
	at, every = strings.TrimSpace(at), strings.TrimSpace(every)
	if (at == "") == (every == "") {
		return "", nil, fmt.Errorf(`%w: give exactly one of "at" and "every"`, ErrInvalid)
	}
	if every != "" {
		kind, config, err = recurring(every, now)
		if at = every; err == nil || !isMoment(at, now) { // "every: tomorrow at 9" is a single time
			return kind, config, err
		}
	}
	t, err := moment(at, now)
	if err != nil {
		if kind, config, rerr := recurring(at, now); rerr == nil && errors.Is(err, when.ErrNotUnderstood) { // "at: every day at 9"
			return kind, config, nil
		}
		return "", nil, err
	}
	config, err = json.Marshal(map[string]string{"at": t.Format(time.RFC3339Nano)})
	return KindOneshot, config, err
}

// isMoment reports whether words name one time of day on one day.
func isMoment(words string, now time.Time) bool {
	m, err := when.Parse(words, now)
	return err == nil && m.HasClock
}

func recurring(every string, now time.Time) (string, json.RawMessage, error) {
	e, err := when.ParseEvery(every, now)
	if errors.Is(err, when.ErrNotUnderstood) && !strings.HasPrefix(strings.ToLower(every), "every") {
		if again, aerr := when.ParseEvery("every "+every, now); aerr == nil {
			e, err = again, nil
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	fields := map[string]any{"cron": e.Cron}
	if e.Cron == "" {
		fields = map[string]any{"interval": e.Interval.String()}
		if !e.Anchor.IsZero() {
			fields["anchor"] = e.Anchor.Format("2006-01-02T15:04:05-07:00") // never with Z, which is an instant
		}
	}
	if e.Except != "" {
		fields["except"] = strings.Split(e.Except, ", ")
	}
	config, err := json.Marshal(fields)
	return KindCron, config, err
}

func moment(at string, now time.Time) (time.Time, error) {
	m, err := when.Parse(at, now)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	t := m.Time
	if !m.HasClock {
		t = time.Date(t.Year(), t.Month(), t.Day(), morning, 0, 0, 0, t.Location())
	}
	if !t.After(now.Add(-justPassed)) {
		return time.Time{}, fmt.Errorf("%w: %s has passed; name a later time", ErrInvalid, when.Format(t, now))
	}
	return t, nil
}
