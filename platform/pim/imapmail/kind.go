package imapmail

import (
	"context"

	"hob/platform/pim"
)

// Kind is the account kind of mailboxes.
type Kind struct{}

// Describe implements pim.AccountKind.
func (Kind) Describe() pim.AccountDescription {
	return pim.MailKind(pim.IMAP, "imaps", "imap", pim.AccountDescription{
		Label: "mail", Flag: "IMAP server for incoming mail", Essential: true,
		Question: "Server for incoming mail (IMAP), such as imap.example.org",
		Help:     `Your mail and calendars at a provider (docs/accounts.md). The mail server, such as "imap.example.org" or "imap.example.org:993". Empty: Hob reads no mail.`,
	})
}

// Test implements pim.AccountKind. It opens the inbox without changing it.
func (Kind) Test(ctx context.Context, a pim.Account) (string, error) {
	m, err := Open(ctx, a)
	if err != nil {
		return "", err
	}
	defer func() { _ = m.Close() }() //nolint:contextcheck // signing out has a time of its own
	if _, err := m.Select(ctx, "INBOX"); err != nil {
		return "", err
	}
	if m.Pushes() {
		return "mail can be read; new mail is detected immediately", nil
	}
	return "mail can be read and is polled every minute (the server has no push)", nil
}
