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

// MailScope is what it may do besides, where its owner wants that.
const MailScope = mailScope

// Scopes is what the bot may do.
func Scopes() []string { return botScopes() }
