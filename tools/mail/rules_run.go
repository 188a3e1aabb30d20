package mail

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// maxCatchUp is the number of newest messages that are checked after a long time.
const maxCatchUp = 1000

// Run applies the rules to arriving messages until ctx ends. It connects only to the accounts that
// have rules: the server announces new messages on the connection. After a failure it connects
// again, and continues with the messages that arrived in the meantime. During a pause it changes no
// message; it applies the rules to them afterwards. Without pause, there are no pauses.
func (r *Rules) Run(ctx context.Context, pause PauseState) error {
	for ctx.Err() == nil {
		rules, err := queryRules(r.opt.Store.Reader(ctx))
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		running, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for _, a := range r.opt.Accounts() {
			if own := rulesOf(rules, a.Name); len(own) > 0 {
				wg.Go(func() { r.followAccount(running, a, own, pause) })
			}
		}
		select {
		case <-ctx.Done():
		case <-r.changed:
		}
		cancel()
		wg.Wait()
	}
	return nil
}

// rulesOf returns the rules for an account.
func rulesOf(rules []mailRule, account string) []mailRule {
	return slices.DeleteFunc(slices.Clone(rules), func(x mailRule) bool { return x.Account != "" && !strings.EqualFold(x.Account, account) })
}

// followAccount applies the rules to one account. It retries after failures.
func (r *Rules) followAccount(ctx context.Context, a pim.Account, rules []mailRule, pause PauseState) {
	pauses := retry.Backoff{First: 5 * time.Second, Max: 15 * time.Minute, Jitter: 0.5}
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		err := r.followInbox(ctx, a, rules, pause)
		if ctx.Err() != nil {
			return
		}
		if failures++; time.Since(began) > time.Hour {
			failures = 1
		}
		r.opt.Log.Warn("email rules interrupted", "account", a.Name, "err", err)
		if retry.Sleep(ctx, pauses.Delay(failures)) != nil {
			return
		}
	}
}

func (r *Rules) followInbox(ctx context.Context, a pim.Account, rules []mailRule, pause PauseState) error {
	if err := waitForPause(ctx, pause); err != nil {
		return err
	}
	c, err := imapmail.Open(ctx, a)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() //nolint:contextcheck // signing out has a separate time limit
	state, err := c.Enter(ctx, inbox)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := r.catchUp(ctx, c, a, state, rules); err != nil {
			return err
		}
		if err := c.Wait(ctx, nil); err != nil {
			return err
		}
		if err := waitForPause(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// waitForPause returns when no pause is on. A pause may end early, so it looks again every 15 s.
func waitForPause(ctx context.Context, pause PauseState) error {
	for pause != nil {
		until, on, err := pause(ctx)
		if err != nil || !on {
			return err
		}
		if err := retry.Sleep(ctx, min(time.Until(until), 15*time.Second)); err != nil {
			return err
		}
	}
	return nil
}

// catchUp applies the rules to the messages that arrived since the last time.
func (r *Rules) catchUp(ctx context.Context, c *imapmail.Conn, a pim.Account, state imapmail.State, rules []mailRule) error {
	at, err := r.loadCursor(ctx, a.Name)
	if err != nil {
		return err
	}
	var uids []uint32
	if at.validity != state.Validity {
		at = inboxCursor{state.Validity, max(state.Next, 1)}
		if uids, err = c.Since(ctx, rules[0].CreatedAt); err != nil { // the oldest rule
			return err
		}
	} else if uids, err = c.After(ctx, at.next); err != nil || len(uids) == 0 {
		return err
	}
	uids = uids[max(0, len(uids)-maxCatchUp):]
	for page := range slices.Chunk(uids, imapmail.Page) {
		mails, err := readNewest(ctx, c, page, len(page))
		if err != nil {
			return err
		}
		slices.Reverse(mails)
		for _, m := range mails {
			if err := r.applyRules(ctx, c, a, m, rules); err != nil {
				return err
			}
		}
		at.next = max(at.next, page[len(page)-1]+1)
		if err := r.opt.Store.Write(ctx, func(tx *store.Tx) error { return saveCursor(tx, a.Name, at) }); err != nil {
			return err
		}
	}
	return r.opt.Store.Write(ctx, func(tx *store.Tx) error { return saveCursor(tx, a.Name, at) })
}

// applyRules applies all matching rules to a message, in the order of their creation. A move is
// the last one, because the message then has a new place.
func (r *Rules) applyRules(ctx context.Context, c *imapmail.Conn, a pim.Account, m pim.Message, rules []mailRule) error {
	var fit []mailRule
	for _, x := range rules {
		if x.isMatch(m) {
			fit = append(fit, x)
		}
	}
	sorting.StableByFunc(fit, func(x, y mailRule) int {
		return map[bool]int{true: 1}[x.Action == actMove] - map[bool]int{true: 1}[y.Action == actMove]
	})
	mail := mailDigest(m)
	for _, x := range fit {
		if used, err := r.wasUsed(ctx, x.ID, mail); err != nil || used {
			if err != nil {
				return err
			}
			continue
		}
		place, err := applyRule(ctx, c, a, m, x)
		if err != nil && (errors.Is(err, pim.ErrNoFolder) || errors.Is(err, pim.ErrRefused) || errors.Is(err, errors.ErrUnsupported)) {
			if err := r.recordError(ctx, x, err); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		label := textnorm.Ellipsize(senderLabel(m)+": "+subjectLine(m, 200), 300)
		err = r.opt.Store.Write(ctx, func(tx *store.Tx) error {
			return recordUse(tx, x.ID, ruleUse{At: time.Now(), Email: label, ID: place, mail: mail})
		})
		if err != nil {
			return err
		}
		r.opt.Log.Info("email rule applied", "rule", x.ID, "action", x.Action, "account", a.Name)
		if x.Action == actMove {
			return nil // a message can be moved only once
		}
	}
	return nil
}

// applyRule changes one message. place is its id after a move, if it is known.
func applyRule(ctx context.Context, c *imapmail.Conn, a pim.Account, m pim.Message, x mailRule) (place string, err error) {
	switch x.Action {
	case actRead:
		return "", c.See(ctx, m.UID)
	case actFlag:
		return "", c.Flag(ctx, m.UID)
	}
	folder, err := c.For(ctx, x.Folder)
	if err != nil {
		return "", err
	}
	to, err := c.Move(ctx, m.UID, folder)
	return to.Ref(a.Name), err
}

// recordError stores why a rule cannot be applied. The message stays in the inbox.
func (r *Rules) recordError(ctx context.Context, x mailRule, cause error) error {
	r.opt.Log.Warn("email rule cannot be applied", "rule", x.ID, "err", cause)
	return r.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE mail_rules SET error = ? WHERE id = ?`, pim.SanitizeLine(cause.Error(), 300), x.ID)
		return err
	})
}
