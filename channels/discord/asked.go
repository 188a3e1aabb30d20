package discord

import (
	"context"
	"net/http"

	"hob/channels"
)

// removeButtons removes the buttons of a question.
func (c *Channel) removeButtons(ctx context.Context, s channels.PostedQuestion) error {
	path, err := chatPath(s.Chat)
	if err != nil {
		return err
	}
	return c.sendJSON(ctx, "remove buttons", http.MethodPatch, path+"/messages/"+s.Message, map[string]any{"components": []row{}}, nil)
}
