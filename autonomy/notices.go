package autonomy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/channels"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
)

// deliverDigest sends the deferred notices: to their common target, or to the default target if they
// differ.
func (l *Loop) deliverDigest(ctx context.Context, ev bus.Event) (result, error) {
	res := result{how: "digest", kind: channels.Notice, digest: true}
	if l.o.Notices == nil {
		return res, errors.New("deferred notices are not configured")
	}
	p, one, err := l.o.Notices.CommonTarget(ctx, ev.ID)
	if err != nil {
		return res, err
	}
	if !one {
		p.Session = ""
	}
	res.session, res.channel, res.chat, err = l.resolveNoticeTarget(ctx, p.Session)
	return res, err
}

// endDigest reads the notices of a digest in the transaction that ends its event, so that each
// is sent once.
func (l *Loop) endDigest(tx *store.Tx, ev bus.Event, res *result) (err error) {
	if !res.digest {
		return nil
	}
	res.Answer, res.Source, err = l.o.Notices.DigestTx(tx, ev.ID)
	res.said = res.Answer != ""
	return err
}

// rateUrgency lets a model rate the urgency of a notice if configured. The call has a time limit and
// only changes when the notice is sent.
func (l *Loop) rateUrgency(ctx context.Context, ev bus.Event, res result) bus.Hint {
	if l.o.Notices == nil || !res.said || res.kind != channels.Notice || res.digest || res.goal != nil {
		return bus.Hint{}
	}
	return l.o.Notices.RateUrgency(ctx, ev.ID, bus.OutboxItem{Provenance: res.Source, Delivery: channels.Delivery{Kind: res.kind, Session: res.session, Channel: res.channel, Chat: res.chat, Text: res.Answer}})
}

// pruneNotices removes outcomes of notices that are as old as the pruned traces of ticks.
func (l *Loop) pruneNotices(ctx context.Context) error {
	if l.o.Notices == nil || l.o.KeepTraces <= 0 {
		return nil
	}
	return l.o.Notices.Prune(ctx, time.Now().Add(-l.o.KeepTraces))
}

// willTell reports whether an event has a notice, deferred or sent. The bus knows only notices
// sent under the event's own id.
func (l *Loop) willTell(ctx context.Context, event string) (bool, error) {
	if l.o.Notices == nil {
		return false, nil
	}
	list, err := l.o.Notices.Why(ctx, event)
	return slices.ContainsFunc(list, func(n notify.Notice) bool { return n.Event == event && n.Kind == channels.Notice }), err
}

// activeTarget returns where to notify the owner instead of a conversation: on another channel, if
// the owner is active there now.
func (l *Loop) activeTarget(ctx context.Context, session, channel, chat string) (string, string, string, error) {
	if l.o.Notices == nil {
		return session, channel, chat, nil
	}
	p, elsewhere, err := l.o.Notices.ActiveChannel(ctx, channel)
	if err != nil || !elsewhere {
		return session, channel, chat, err
	}
	if p.Session != "" {
		session = p.Session
	}
	return session, p.Channel, p.Chat, nil
}

var errNoNotices = errors.New("deferred notices are not configured")

func (l *Loop) cmdQuiet(ctx context.Context, _ bus.Event, args string) (string, error) {
	if l.o.Notices == nil {
		return "", errNoNotices
	}
	switch strings.ToLower(args) {
	case "":
		until, why, on, err := l.o.Notices.Quiet(ctx)
		if err != nil || !on {
			return "Notifications are on. Mute them with /quiet 2h.", err
		}
		return fmt.Sprintf("It is quiet until %s (%s). /quiet off ends it.", l.formatInstant(until), why), nil
	case "off":
		was, err := l.o.Notices.Unmute(ctx)
		if !was {
			return "It was not quiet.", err
		}
		return "Notifications are on again. I am sending the ones I held back.", err
	}
	until, err := notify.ParseUntil(args, time.Now().In(l.o.Zone()))
	if err != nil {
		return "", err
	}
	if until, err = l.o.Notices.Mute(ctx, until); err != nil {
		return "", err
	}
	return fmt.Sprintf("Quiet until %s. Critical notifications, answers to you and reminders still arrive.", l.formatInstant(until)), nil
}

func (l *Loop) cmdSnooze(ctx context.Context, ev bus.Event, args string) (string, error) {
	if l.o.Notices == nil {
		return "", errNoNotices
	}
	id, rest, _ := strings.Cut(args, " ")
	if _, err := notify.ParseUntil(args, time.Now().In(l.o.Zone())); err == nil || !strings.Contains(id, "-") { // else it is of a notice ("n-...") or a delivery
		id, rest = "", args
	}
	until, err := notify.ParseUntil(rest, time.Now().In(l.o.Zone()))
	if err != nil {
		return "", err
	}
	n, err := l.o.Notices.Snooze(ctx, id, ev.Session, until)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("I will send it again %s: %s", l.formatInstant(until), textnorm.FirstLine(n.Text)), nil
}

// formatInstant words an instant of today or of another day.
func (l *Loop) formatInstant(t time.Time) string {
	return dateparse.Format(t.In(l.o.Zone()), time.Now().In(l.o.Zone()))
}
