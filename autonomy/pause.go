package autonomy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
)

// wakes is the hour at which "until tomorrow" ends.
const wakes = 7

// Pause stops all background work for the time in text ("1h", "until tomorrow"; "" means until
// Resume). It returns the end of the pause.
func (l *Loop) Pause(ctx context.Context, text string) (until time.Time, err error) {
	now := time.Now().In(l.o.Zone())
	switch strings.TrimSpace(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "until ")) {
	case "":
		until = bus.EndlessPause()
	case "tomorrow":
		y, m, d := now.Date()
		until = time.Date(y, m, d+1, wakes, 0, 0, 0, now.Location())
	default:
		if until, err = notify.ParseUntil(text, now); err != nil {
			return until, err
		}
	}
	return until, l.o.Bus.Pause.Start(ctx, until)
}

// Resume ends a pause. It returns false if there was none.
func (l *Loop) Resume(ctx context.Context) (was bool, err error) {
	if _, was, err = l.o.Bus.Pause.Current(ctx); err != nil {
		return false, err
	}
	return was, l.o.Bus.Pause.End(ctx)
}

// PauseText describes the duration of a pause.
func (l *Loop) PauseText(until time.Time) string {
	if !until.Before(bus.EndlessPause()) {
		return "until you say /resume"
	}
	return "until " + l.formatInstant(until)
}

func (l *Loop) cmdPause(ctx context.Context, _ bus.Event, args string) (string, error) {
	if strings.EqualFold(args, "off") {
		return l.cmdResume(ctx, bus.Event{}, "")
	}
	until, err := l.Pause(ctx, args)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("I do nothing by myself %s: what watchers, schedules, goals and webhooks bring waits. Your reminders come, and I answer what you write.", l.PauseText(until)), nil
}

func (l *Loop) cmdResume(ctx context.Context, _ bus.Event, _ string) (string, error) {
	was, err := l.Resume(ctx)
	if err != nil {
		return "", err
	}
	if !was {
		return "I was not paused.", nil
	}
	return "Resumed. Waiting work starts now.", nil
}
