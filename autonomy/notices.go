package autonomy

import (
	"context"
	"errors"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/knowledge/store"
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
	if one {
		res.session, res.channel, res.chat = p.Session, p.Channel, p.Chat
		return res, nil
	}
	res.session, res.channel, res.chat, err = l.place(ctx, "")
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
