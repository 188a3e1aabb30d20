package email

import (
	"context"
	"errors"
	"slices"
	"time"

	"hob/channels"
	"hob/platform/pim"
)

// quiet is how long nothing is looked up of a domain of which that has just failed.
const quiet = 10 * time.Second

// signed are the signatures by which a mail of which the host of this mailbox says
// nothing may be proved. There are none where it does not matter who wrote it: a lookup
// tells who signed it that it was read.
func (h *hearer) signed(ctx context.Context, l *letter, in channels.Inbound) ([]proof, error) {
	door, ok := h.to.(channels.Doorkeeper)
	if !ok || l.from == "" {
		return nil, nil
	}
	in.Sender, in.Forwarded = l.from, false
	if yes, err := door.Admits(ctx, in); err != nil || !yes {
		return nil, err
	}
	list, why := h.c.signatures(l, time.Now())
	switch {
	case judged(l.fields, h.c.trusted, l.from) == disowned:
		list, why = nil, h.c.trusted+" says that it is not"
	case l.Size > h.c.most && len(list) > 0:
		list, why = nil, "it is too large to be checked"
	}
	if len(list) == 0 {
		h.doubt(why)
	}
	return list, nil
}

// doubt notes why a mail does not come from who wrote it as it says.
func (h *hearer) doubt(why string) {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.c.doubt = why
}

// prove notes in a mail whether its signatures prove who wrote it. errLater: that cannot
// be said now; last: then it is said that they do not.
func (h *hearer) prove(ctx context.Context, l *letter, raw []byte, list []proof, last bool) error {
	domain := after(l.from)
	if !last && time.Now().Before(h.mute[domain]) {
		return errLater
	}
	by, why, err := prove(ctx, h.c.network, raw, list, func(k keyID) error { return h.st.trusts(k, time.Now()) })
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case by != "":
	case errors.Is(err, errNewKey):
		if why = err.Error(); !last {
			return err
		}
	case errors.Is(err, errLater):
		if len(h.mute) >= maxLater {
			clear(h.mute)
		}
		h.mute[domain] = time.Now().Add(min(quiet, h.c.pause))
		h.c.log.InfoContext(ctx, "who wrote a mail cannot be looked up", "uid", l.UID, "err", pim.Line(err.Error(), 300))
		if !last {
			return err
		}
		why = err.Error()
	}
	l.proved = by
	h.doubt(pim.Line(why, 200))
	return nil
}

// new hears a mail that was not looked at, or lets it wait.
func (h *hearer) new(ctx context.Context, uid uint32) error {
	full := len(h.st.Later) >= maxLater
	err := h.mail(ctx, uid, full)
	if errors.Is(err, errLater) {
		now := time.Now()
		h.st.Later = append(h.st.Later, later{uid, now.UnixMilli(), now.Add(h.c.pause).UnixMilli()})
		h.counts()
		return nil
	}
	return err
}

// again hears the mails that wait and whose time has come.
func (h *hearer) again(ctx context.Context) error {
	for _, x := range slices.Clone(h.st.Later) {
		now := time.Now()
		if x.Next > now.UnixMilli() {
			continue
		}
		waited := now.Sub(time.UnixMilli(x.Since))
		err := h.mail(ctx, x.UID, waited >= waitFor)
		i := slices.IndexFunc(h.st.Later, func(y later) bool { return y.UID == x.UID })
		switch {
		case errors.Is(err, errLater):
			h.st.Later[i].Next = now.Add(min(max(waited, h.c.pause), lastPause)).UnixMilli()
		case err != nil:
			return err
		default:
			h.st.Later = slices.Delete(h.st.Later, i, i+1)
		}
		if err := h.c.save(ctx, h.st); err != nil {
			return err
		}
		h.counts()
	}
	return nil
}

// counts notes how many mails wait, and what came back.
func (h *hearer) counts() {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.c.waiting, h.c.back = len(h.st.Later), h.st.Back
}

// alarm is signalled when the first of the mails that wait is to be looked at again,
// unless it is stopped before.
func (h *hearer) alarm() (wake <-chan struct{}, stop func()) {
	if len(h.st.Later) == 0 {
		return nil, func() {}
	}
	next := slices.MinFunc(h.st.Later, func(a, b later) int { return int(a.Next - b.Next) })
	c := make(chan struct{}, 1)
	t := time.AfterFunc(max(time.Until(time.UnixMilli(next.Next)), 0), func() { c <- struct{}{} })
	return c, func() { t.Stop() }
}
