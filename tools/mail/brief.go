package mail

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of a briefing.
const (
	lookedAt = 100                // maximum number of unread messages that are checked per account, newest first
	asOld    = 7 * 24 * time.Hour // maximum age of an unread message in a briefing
	named    = 8                  // maximum number of listed messages per account
)

// Brief is the email section of a briefing: the unread messages that matter, and the number of
// other unread messages. It shows only the sender and the subject of a message.
type Brief struct{ Deps }

// BriefTitle implements tools.BriefSource.
func (Brief) BriefTitle() string { return "Mail" }

// Brief implements tools.BriefSource. Unread messages matter only today, so a briefing for another
// day has no email section.
func (b Brief) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	accounts := b.Accounts()
	if now := time.Now(); len(accounts) == 0 || now.Before(from) || !now.Before(to) {
		return nil, nil
	}
	why, err := b.importanceReason(ctx)
	if err != nil {
		return nil, err
	}
	return queryAccounts(ctx, accounts, cmp.Or(b.Wait, briefWait), func(ctx context.Context, c *imapmail.Conn, a pim.Account) ([]tools.BriefItem, error) {
		return unreadItems(ctx, c, a, why, from)
	})
}

func unreadItems(ctx context.Context, c *imapmail.Conn, a pim.Account, why func(pim.Message) string, day time.Time) ([]tools.BriefItem, error) {
	if _, err := c.Select(ctx, inbox); err != nil {
		return nil, err
	}
	all, err := c.Find(ctx, imapmail.Query{Unseen: true})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	mails, err := readNewest(ctx, c, all, lookedAt)
	if err != nil {
		return nil, err
	}
	var out []tools.BriefItem
	matter := 0
	for _, m := range mails {
		reason := why(m)
		if reason == "" || m.Received.Before(day.Add(-asOld)) {
			continue
		}
		if matter++; matter <= named {
			out = append(out, tools.BriefItem{Text: fmt.Sprintf("%s: %s (%s)", senderLabel(m), subjectLine(m, 100), textnorm.Ellipsize(reason, 60)), Source: provenance.Outside})
		}
	}
	count := fmt.Sprintf("%s: %d unread", a.Name, len(all))
	switch {
	case len(all) > lookedAt:
		count += fmt.Sprintf(", and of the newest %d of them %s", lookedAt, map[bool]string{true: fmt.Sprintf("%d matter", matter), false: "none matters"}[matter > 0])
	case matter > 0:
		count += fmt.Sprintf(", of which %d matter", matter)
	}
	return append(out, tools.BriefItem{Text: count, Source: provenance.Tool, Beside: true}), nil
}
