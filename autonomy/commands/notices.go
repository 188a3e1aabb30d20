package commands

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/delivery"
	"hob/autonomy/notify"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
)

func (c *Commands) cmdQuiet(ctx context.Context, _ bus.Event, args string) (string, error) {
	if c.o.Notices == nil {
		return "", delivery.ErrNoNotices
	}
	switch strings.ToLower(args) {
	case "":
		until, why, on, err := c.o.Notices.Quiet(ctx)
		if err != nil || !on {
			return "Notifications are on. Mute them with /quiet 2h.", err
		}
		return fmt.Sprintf("Quiet until %s (%s). End it with /quiet off.", c.formatInstant(until), why), nil
	case "off":
		was, err := c.o.Notices.Unmute(ctx)
		if !was {
			return "Notifications were not muted.", err
		}
		return "Notifications are on again. I am sending the deferred ones.", err
	}
	until, err := notify.ParseUntil(args, time.Now().In(c.o.Zone()))
	if err != nil {
		return "", err
	}
	if until, err = c.o.Notices.Mute(ctx, until); err != nil {
		return "", err
	}
	return fmt.Sprintf("Quiet until %s. Critical notifications, answers to you and reminders still arrive.", c.formatInstant(until)), nil
}

func (c *Commands) cmdSnooze(ctx context.Context, ev bus.Event, args string) (string, error) {
	if c.o.Notices == nil {
		return "", delivery.ErrNoNotices
	}
	id, rest, _ := strings.Cut(args, " ")
	if _, err := notify.ParseUntil(args, time.Now().In(c.o.Zone())); err == nil || !strings.Contains(id, "-") { // otherwise the first word is the id of a notice ("n-...") or of a delivery
		id, rest = "", args
	}
	until, err := notify.ParseUntil(rest, time.Now().In(c.o.Zone()))
	if err != nil {
		return "", err
	}
	n, err := c.o.Notices.Snooze(ctx, id, ev.Session, until)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("I will send it again %s: %s", c.formatInstant(until), textnorm.FirstLine(n.Text)), nil
}

// formatInstant formats an instant for the owner, for example "today at 17:00".
func (c *Commands) formatInstant(t time.Time) string {
	return dateparse.Format(t.In(c.o.Zone()), time.Now().In(c.o.Zone()))
}

func (c *Commands) cmdPause(ctx context.Context, _ bus.Event, args string) (string, error) {
	if strings.EqualFold(args, "off") {
		return c.cmdResume(ctx, bus.Event{}, "")
	}
	until, err := c.o.Scheduler.Pause(ctx, args)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Background work is paused %s: events from watchers, schedules, goals and webhooks are held. Reminders still arrive, and I answer your messages.", c.o.Scheduler.PauseText(until)), nil
}

func (c *Commands) cmdResume(ctx context.Context, _ bus.Event, _ string) (string, error) {
	was, err := c.o.Scheduler.Resume(ctx)
	if err != nil {
		return "", err
	}
	if !was {
		return "I was not paused.", nil
	}
	return "Resumed. I am starting the work that was waiting.", nil
}
