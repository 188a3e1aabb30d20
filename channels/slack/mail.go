package slack

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"hob/channels"
)

// mailScope lets Hob find members by their addresses, and read those of all. An app has
// it only where its owner has added it.
const mailScope = "users:read.email"

// isMail reports whether s may be the address of a member.
func isMail(s string) bool {
	name, host, ok := strings.Cut(s, "@")
	return ok && name != "" && host != "" && len(s) <= 254 && !strings.ContainsAny(s, " ,;<>\"") && !strings.Contains(host, "@") && channels.SenderID(s) != ""
}

// members finds out who has the addresses in allow. One that no member has lets nobody in;
// nobody says which these are, for the owner.
func (c *Channel) members(ctx context.Context, me identity) (in []string, nobody string, err error) {
	for _, mail := range c.mails {
		id, err := c.member(ctx, me, mail)
		switch {
		case err != nil && channels.ClassOf(err) == channels.Permanent: // the owner is heard all the same
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

// admit lets those in who have the addresses in allow now. When that cannot be known,
// nobody who has one is.
func (c *Channel) admit(ctx context.Context, me identity) (nobody string, err error) {
	in, nobody, err := c.members(ctx, me)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.admitted = in
	return nobody, err
}

// member is the id of who has an address in Hob's own workspace; "": nobody. Whoever is
// there from elsewhere is named by the id alone: what address he has there others decide
// (docs.slack.dev/reference/methods/users.lookupByEmail, docs.slack.dev/reference/objects/user-object).
func (c *Channel) member(ctx context.Context, me identity, mail string) (string, error) {
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
	err := c.patiently(ctx, func() error {
		_, err := c.call(ctx, c.bot, "users.lookupByEmail", url.Values{"email": {mail}}, &out)
		return err
	})
	u := out.User
	switch {
	case code(err) == "users_not_found":
		return "", nil
	case err != nil:
		return "", err
	case u.Deleted || u.Bot || u.Stranger || u.Team != me.Team || !isUser(u.ID) || channels.SenderID(u.Profile.Email) != mail:
		return "", nil
	}
	return u.ID, nil
}
