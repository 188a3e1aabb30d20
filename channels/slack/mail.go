package slack

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"hob/channels"
)

// mailScope allows Hob to look up members by email address, and to read the addresses of all
// members. An app has it only if its owner added it.
const mailScope = "users:read.email"

// isMail reports whether s looks like a member's email address.
func isMail(s string) bool {
	name, host, ok := strings.Cut(s, "@")
	return ok && name != "" && host != "" && len(s) <= 254 && !strings.ContainsAny(s, " ,;<>\"") && !strings.Contains(host, "@") && channels.SenderID(s) != ""
}

// resolveMembers resolves the email addresses in allow to member ids. Addresses without a member
// are ignored; nobody describes them, for the channel status.
func (c *Channel) resolveMembers(ctx context.Context, me identity) (in []string, nobody string, err error) {
	for _, mail := range c.mails {
		id, err := c.memberByMail(ctx, me, mail)
		switch {
		case err != nil && channels.ClassOf(err) == channels.Permanent: // the owner still has access
			nobody += "; the address " + mail + " in allow matches no member: " + err.Error()
		case err != nil:
			return nil, "", fmt.Errorf("slack: look up an address in allow: %w", err)
		case id == "":
			nobody += "; no member has the address " + mail + " in allow"
		default:
			in = append(in, id)
		}
	}
	return in, nobody, nil
}

// admitMembers updates the allowed members. If the addresses cannot be resolved, no member is
// allowed by address.
func (c *Channel) admitMembers(ctx context.Context, me identity) (nobody string, err error) {
	in, nobody, err := c.resolveMembers(ctx, me)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.admitted = in
	return nobody, err
}

// memberByMail returns the id of the member of Hob's workspace with this email address, or "" if
// there is none. Members of other workspaces must be listed by id, because other people control
// their addresses (docs.slack.dev/reference/methods/users.lookupByEmail,
// docs.slack.dev/reference/objects/user-object).
func (c *Channel) memberByMail(ctx context.Context, me identity, mail string) (string, error) {
	var out struct {
		User struct {
			ID       string `json:"id"`
			Team     string `json:"team_id"`
			Deleted  bool   `json:"deleted"`
			Bot      bool   `json:"is_bot"`
			Stranger bool   `json:"is_stranger"`
			Profile  struct {
				Email string `json:"email"`
			} `json:"profile"`
		} `json:"user"`
	}
	err := c.retryRateLimited(ctx, func() error {
		_, err := c.callAPI(ctx, c.bot, "users.lookupByEmail", url.Values{"email": {mail}}, &out)
		return err
	})
	u := out.User
	switch {
	case errorCode(err) == "users_not_found":
		return "", nil
	case err != nil:
		return "", err
	case u.Deleted || u.Bot || u.Stranger || u.Team != me.Team || !isUser(u.ID) || channels.SenderID(u.Profile.Email) != mail:
		return "", nil
	}
	return u.ID, nil
}
