package email

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/dkimcheck"
)

// quiet is how long lookups of a domain pause after a failure.
const quiet = 10 * time.Second

// keyAttempt identifies an attempt to verify an email.
type keyAttempt uint8

const (
	firstTry keyAttempt = iota
	nextTry
	lastTry // do not defer the email any longer
)

// collectSignatures returns the signatures, with their keys, that may prove an email for which the
// mail host reports no result. It returns none if the sender would be rejected anyway, because a
// DNS lookup reveals to the signer that the email was read.
func (h *receiver) collectSignatures(ctx context.Context, l *parsedMail, in channels.Inbound, n keyAttempt) ([]dkimcheck.Signature, dkimcheck.TXTResolver, error) {
	door, ok := h.to.(channels.SenderFilter)
	if !ok || l.from == "" {
		return nil, nil, nil
	}
	in.Sender, in.Forwarded = l.from, false
	if yes, err := door.AdmitsSender(ctx, in); err != nil || !yes {
		return nil, nil, err
	}
	list, why := h.c.usableSignatures(l, time.Now())
	switch {
	case trustedVerdict(l.fields, h.c.trusted, l.from) == disowned:
		list, why = nil, h.c.trusted+" did not verify the sender"
	case l.Size > h.c.most && len(list) > 0:
		list, why = nil, "it is too large to verify"
	}
	if len(list) == 0 {
		h.noteUnproven(why)
		return nil, nil, nil
	}
	keys, err := h.lookupKeys(ctx, l, list, n)
	return list, keys, err
}

// lookupKeys looks up the keys of signatures before the complete email is read. dkimcheck.ErrLater means that
// a lookup failed and the email should be deferred; on the first try, lookupKeys returns it only if
// no other signature can be checked.
func (h *receiver) lookupKeys(ctx context.Context, l *parsedMail, list []dkimcheck.Signature, n keyAttempt) (dkimcheck.TXTResolver, error) {
	domain := addressDomain(l.from)
	if n != lastTry && time.Now().Before(h.mute[domain]) {
		return nil, dkimcheck.ErrLater
	}
	keys := dnsCache{h.c.network, map[string]dnsAnswer{}}
	found := 0
	var failed error
	for _, s := range list {
		_, err := keys.LookupTXT(ctx, s.KeyName())
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case dkimcheck.IsTemporary(err):
			failed = err
		case err == nil:
			found++
		}
	}
	if failed == nil {
		return keys, nil
	}
	if len(h.mute) >= maxLater {
		clear(h.mute)
	}
	h.mute[domain] = time.Now().Add(min(quiet, h.c.pause))
	h.c.log.InfoContext(ctx, "looking up the keys of an email's signature failed", "uid", l.UID, "err", pim.SanitizeLine(failed.Error(), 300))
	if n == nextTry || n == firstTry && found == 0 {
		return nil, fmt.Errorf("%w: %w", dkimcheck.ErrLater, failed)
	}
	return keys, nil
}

// noteUnproven records why an email's claimed sender is not verified.
func (h *receiver) noteUnproven(why string) {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.c.doubt = why
}

// proveSender records in l whether the signatures prove the sender. dkimcheck.ErrLater means that the result
// is not known yet.
func (h *receiver) proveSender(ctx context.Context, l *parsedMail, raw []byte, list []dkimcheck.Signature, keys dkimcheck.TXTResolver, n keyAttempt) error {
	by, why, err := verifySignatures(ctx, keys, raw, list, func(k dkimcheck.KeyID) error { return h.st.checkKeyTrust(k, time.Now()) })
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case by == "" && errors.Is(err, dkimcheck.ErrLater):
		if why = err.Error(); n != lastTry {
			return err
		}
	}
	l.proved = by
	h.noteUnproven(pim.SanitizeLine(why, 200))
	return nil
}

// receiveOrDefer receives a new message or defers it.
func (h *receiver) receiveOrDefer(ctx context.Context, uid uint32) error {
	n := firstTry
	if len(h.st.Later) >= maxLater {
		n = lastTry
	}
	err := h.receiveMail(ctx, uid, n)
	if errors.Is(err, dkimcheck.ErrLater) {
		now := time.Now()
		h.st.Later = append(h.st.Later, deferredMail{uid, now.UnixMilli(), now.Add(h.c.pause).UnixMilli()})
		h.noteCounts()
		return nil
	}
	return err
}

// retryDeferred retries the deferred messages that are due.
func (h *receiver) retryDeferred(ctx context.Context) error {
	for _, x := range slices.Clone(h.st.Later) {
		now := time.Now()
		if x.Next > now.UnixMilli() {
			continue
		}
		waited := now.Sub(time.UnixMilli(x.Since))
		n := nextTry
		if waited >= waitFor {
			n = lastTry
		}
		err := h.receiveMail(ctx, x.UID, n)
		i := slices.IndexFunc(h.st.Later, func(y deferredMail) bool { return y.UID == x.UID })
		switch {
		case errors.Is(err, dkimcheck.ErrLater):
			h.st.Later[i].Next = now.Add(min(max(waited, h.c.pause), lastPause)).UnixMilli()
		case err != nil:
			return err
		default:
			h.st.Later = slices.Delete(h.st.Later, i, i+1)
		}
		if err := h.c.saveState(ctx, h.st); err != nil {
			return err
		}
		h.noteCounts()
	}
	return nil
}

// noteCounts updates the numbers of deferred messages and bounces.
func (h *receiver) noteCounts() {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.c.waiting, h.c.back = len(h.st.Later), h.st.Back
}

// nextRetry returns a channel that is signaled when the first deferred message is due, unless stop
// is called first.
func (h *receiver) nextRetry() (wake <-chan struct{}, stop func()) {
	if len(h.st.Later) == 0 {
		return nil, func() {}
	}
	next := slices.MinFunc(h.st.Later, func(a, b deferredMail) int { return int(a.Next - b.Next) })
	c := make(chan struct{}, 1)
	t := time.AfterFunc(max(time.Until(time.UnixMilli(next.Next)), 0), func() { c <- struct{}{} })
	return c, func() { t.Stop() }
}
