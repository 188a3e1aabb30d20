package slack

import (
	"context"
	"io"
)

// Ours reports whether an address is Slack's.
func (c *Channel) Ours(address string) bool { return c.isSlackHost(address) }

// Fetch fetches a file with a token.
func (c *Channel) Fetch(ctx context.Context, token, address string) (io.ReadCloser, error) {
	c.bot = token
	return c.fetchFile(ctx, file{Name: "x", URL: address})
}

// MailScope is an optional scope that the owner may grant.
const MailScope = mailScope

// Scopes returns the scopes of the bot.
func Scopes() []string { return botScopes() }
