package smtpmail

import (
	"context"

	"hob/platform/pim"
)

// Kind is the account kind of servers for outgoing mail.
type Kind struct{}

// Describe implements pim.AccountKind.
func (Kind) Describe() pim.AccountDescription {
	return pim.MailKind(pim.SMTP, "submissions", "submission", pim.AccountDescription{
		Label: "outgoing mail", Flag: "SMTP server for outgoing mail", Question: "Server for outgoing mail (SMTP)",
		Help: `The server for outgoing mail, such as "smtp.example.org:587".`,
	})
}

// Test implements pim.AccountKind. It sends nothing.
func (Kind) Test(ctx context.Context, a pim.Account) (string, error) {
	return "mail can be sent", SignIn(ctx, a)
}
