package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"hob/platform/pim"
	"hob/platform/pim/dkimcheck"
	"hob/platform/pim/imapmail"
	"hob/platform/provenance"
	"hob/platform/text/mime"
	"hob/tools"
)

// Limits of the check of a newsletter's signature.
const (
	signedMax     = 4 << 20 // bytes of the email
	maxSignatures = 5
)

// checkSignature returns nil if the newest email of a newsletter has a valid DKIM signature that
// covers its request to unsubscribe, as RFC 8058 requires (section 4). Without it, anyone who
// writes to the user could choose the address of the request.
func (d Deps) checkSignature(ctx context.Context, n newsletter) error {
	accounts, err := d.accountsNamed(n.Account)
	if err != nil {
		return err
	}
	why := "the email no longer exists"
	_, err = signedIn(ctx, accounts[0], func(ctx context.Context, c *imapmail.Conn, _ pim.Account) ([]pim.Message, error) {
		if _, err := c.Select(ctx, inbox); err != nil {
			return nil, err
		}
		m, raw, ok, err := c.Raw(ctx, n.uid, 0, signedMax)
		switch {
		case err != nil || !ok:
			return nil, err
		case m.Size > int64(len(raw)):
			why = "the email is too large to check"
			return nil, nil
		}
		why, err = d.findUnsignedPart(ctx, n, m, raw)
		return nil, err
	})
	switch {
	case errors.Is(err, dkimcheck.ErrLater):
		return &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: fmt.Sprintf("the signature of the emails of %s cannot be checked now: %v", n.From, err), Remedy: "try again later"}
	case err != nil:
		return tools.ClassifyPIM(err)
	case why != "":
		return &tools.Error{
			Code: tools.Unsupported, Message: fmt.Sprintf("the request of %s to unsubscribe is not proven by a signature (RFC 8058): %s", n.From, why),
			Remedy: "open the page yourself, or create a rule for these emails with create_email_rule",
		}
	}
	return nil
}

// findUnsignedPart returns why no signature of an email covers its request to unsubscribe, or "" if
// one does.
func (d Deps) findUnsignedPart(ctx context.Context, n newsletter, m pim.Message, raw []byte) (string, error) {
	head, _ := mime.Divide(raw)
	fields, sound := mime.ReadFields(head)
	imapmail.Head(raw, &m)
	if _, address := unsubscribeWay(m); address != n.Address || !sound {
		return "its header is ambiguous", nil
	}
	why, index := "the email has no DKIM signature", -1
	var failed error
	for _, f := range fields {
		if f.Name != "dkim-signature" {
			continue
		}
		if index++; index == maxSignatures {
			break
		}
		s, not := dkimcheck.Parse(f.Value, m.Received)
		for _, name := range []string{"from", "list-unsubscribe", "list-unsubscribe-post"} {
			if not == "" && !(s.Lists(name) && s.Covers(fields, name)) {
				not = "its DKIM signature does not cover " + name
			}
		}
		if not == "" {
			var err error
			s.Index = index
			if _, not, err = s.Verify(ctx, d.Network, raw); not == "" && err == nil {
				return "", nil
			} else if err != nil {
				failed = err
			}
		}
		why = cmp.Or(not, why)
	}
	return why, failed
}
