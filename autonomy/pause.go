package autonomy

import (
	"context"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/platform/text/dateparse"
)

// wakes is the hour at which a pause "until tomorrow" ends.
const wakes = 7

// Pause stops all background work for the time in text, such as "1h" or "until tomorrow". If text
// is "", the pause lasts until Resume. Pause returns the end of the pause.
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

// PauseText describes how long a pause lasts.
func (l *Loop) PauseText(until time.Time) string {
	if !until.Before(bus.EndlessPause()) {
		return "until you send /resume"
	}
	return "until " + dateparse.Format(until.In(l.o.Zone()), time.Now().In(l.o.Zone()))
}
