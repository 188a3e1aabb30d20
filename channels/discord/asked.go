package discord

import (
	"context"
	"net/http"

	"hob/channels"
)

// bare removes the buttons of a question.
func (c *Channel) bare(ctx context.Context, s channels.Standing) error {
	path, err := chatPath(s.Chat)
	if err != nil {
		return err
	}
	return c.send(ctx, "remove buttons", http.MethodPatch, path+"/messages/"+s.Message, map[string]any{"components": []row{}}, nil)
}
