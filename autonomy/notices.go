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
	"hob/knowledge/store"
	"hob/platform/when"
)

// digest tells what was held: where all of it was to go, or where notices go when
// that differs.
func (l *Loop) digest(ctx context.Context, ev bus.Event) (result, error) {
	res := result{how: "digest", kind: channels.Notice, digest: true}
	if l.o.Notices == nil {
		return res, errors.New("notices are not held here any more")
	}
	p, one, err := l.o.Notices.Home(ctx, ev.ID)
	if err != nil {
		return res, err
	}
	if !one {
		p.Session = ""
	}
	res.session, res.channel, res.chat, err = l.place(ctx, p.Session)
	return res, err
}

// endDigest reads what a digest tells, in the transaction that ends its event, so
// that it is told once.
func (l *Loop) endDigest(tx *store.Tx, ev bus.Event, res *result) (err error) {
	if !res.digest {
		return nil
	}
	res.Answer, res.Source, err = l.o.Notices.DigestTx(tx, ev.ID)
	res.said = res.Answer != ""
	return err
}

// weigh has a model say how urgent a notice is, where it may. That takes a bounded
// time, and its answer changes nothing but when the notice is told.
func (l *Loop) weigh(ctx context.Context, ev bus.Event, res result) bus.Hint {
	if l.o.Notices == nil || !res.said || res.kind != channels.Notice || res.digest || res.goal != nil {
		return bus.Hint{}
	}
	return l.o.Notices.Weigh(ctx, ev.ID, bus.Out{Provenance: res.Source, Delivery: channels.Delivery{Kind: res.kind, Session: res.session, Channel: res.channel, Chat: res.chat, Text: res.Answer}})
}

// pruneNotices removes what became of notices as old as the traces of ticks.
func (l *Loop) pruneNotices(ctx context.Context) error {
	if l.o.Notices == nil || l.o.KeepTraces <= 0 {
		return nil
	}
	return l.o.Notices.Prune(ctx, time.Now().Add(-l.o.KeepTraces))
}

// willTell reports whether there is a notice of an event, held or told: the bus
// knows of those only that went out under the event's own name.
func (l *Loop) willTell(ctx context.Context, event string) (bool, error) {
	if l.o.Notices == nil {
		return false, nil
	}
	list, err := l.o.Notices.Why(ctx, event)
	return slices.ContainsFunc(list, func(n notify.Notice) bool { return n.Event == event && n.Kind == channels.Notice }), err
}

// nearby is where the owner is told what would go to a conversation: on another
// channel, when he is there now.
func (l *Loop) nearby(ctx context.Context, session, channel, chat string) (string, string, string, error) {
	if l.o.Notices == nil {
		return session, channel, chat, nil
	}
	p, elsewhere, err := l.o.Notices.Nearby(ctx, channel)
	if err != nil || !elsewhere {
		return session, channel, chat, err
	}
	if p.Session != "" {
		session = p.Session
	}
	return session, p.Channel, p.Chat, nil
}

var errNoNotices = errors.New("notices are not held here")

func (l *Loop) cmdQuiet(ctx context.Context, _ bus.Event, args string) (string, error) {
	if l.o.Notices == nil {
		return "", errNoNotices
	}
	switch strings.ToLower(args) {
	case "":
		until, why, on, err := l.o.Notices.Quiet(ctx)
		if err != nil || !on {
			return "It is not quiet: I tell what there is to tell. /quiet 2h changes that.", err
		}
		return fmt.Sprintf("It is quiet until %s (%s). /quiet off ends it.", l.at(until), why), nil
	case "off":
		was, err := l.o.Notices.Unhush(ctx)
		if !was {
			return "It was not quiet.", err
		}
		return "I tell what there is to tell again, and what I held.", err
	}
	until, err := notify.ParseUntil(args, time.Now().In(l.o.Zone()))
	if err != nil {
		return "", err
	}
	if until, err = l.o.Notices.Hush(ctx, until); err != nil {
		return "", err
	}
	return fmt.Sprintf("Quiet until %s. What is critical, what you ask for and what you timed yourself comes all the same.", l.at(until)), nil
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
	return fmt.Sprintf("I tell it again %s: %s", l.at(until), firstLine(n.Text)), nil
}

// at words an instant of today or of another day.
func (l *Loop) at(t time.Time) string {
	return when.Format(t.In(l.o.Zone()), time.Now().In(l.o.Zone()))
}
