package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hob/channels"
)

// Find implements channels.DeliveryFinder. Discord drops a second message with the same nonce only
// for "the past few minutes" ("Create Message": enforce_nonce). After that, Find searches the last
// messages of the chat. A message without a nonce matches if Hob sent it, its text is the same, and
// it is not older than the delivery.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	path, err := chatPath(d.Chat)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	var what replyContext
	if d.Cause != nil && json.Unmarshal(d.Cause, &what) == nil && what.Interaction != "" && what.Token != "" {
		var m message
		err := c.doRequest(ctx, apiCall{what: "find an answer", method: http.MethodGet, path: interactionWebhookPath(what) + "/messages/@original", public: true}, &m)
		if err == nil && m.ID != "" && m.Flags&flagLoading == 0 && m.Content == renderMarkup(d.Text) {
			return channels.Receipt{ID: m.ID}, true, nil
		}
	}
	me, err := c.botUser(ctx)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	var page []message
	if err := c.getJSON(ctx, "find a text", path+"/messages?limit="+strconv.Itoa(pageSize), &page); err != nil {
		if isGone(err) || isForbidden(err) { // Send reports this error
			return channels.Receipt{}, false, nil
		}
		return channels.Receipt{}, false, err
	}
	at, found := c.findInPage(page, me, d)
	return channels.Receipt{ID: at}, found, nil
}

// findInPage searches a page of messages for a delivery: the message with its text, and the
// follow-up messages with its files.
func (c *Channel) findInPage(page []message, me user, d channels.Delivery) (id string, found bool) {
	_, rest := batchFiles(d.Files)
	missing := map[string]bool{}
	for n := range rest {
		missing[deliveryNonce(filesID(d.ID, n))] = true
	}
	text := renderMarkup(d.Text)
	for _, m := range page {
		if m.Author.ID != me.ID {
			continue
		}
		had := strings.Trim(string(m.Nonce), `"`)
		delete(missing, had)
		switch {
		case had == deliveryNonce(d.ID):
			id = m.ID
		case m.Content != text, text == "": // this is a different message
		case d.Draft != "" && m.ID == d.Draft, (had == "" || had == "null") && !m.sentAt().Before(d.CreatedAt.Add(-time.Second)):
			id = m.ID
			clear(missing) // if this message lost its nonce, the messages with its files did too
		}
	}
	return id, id != "" && len(missing) == 0
}

// botUser returns the bot's user object.
func (c *Channel) botUser(ctx context.Context) (user, error) {
	if me, _ := c.botAndGuild(""); me.ID != "" {
		return me, nil
	}
	var me user
	if err := c.getJSON(ctx, "sign in", "/users/@me", &me); err != nil {
		return user{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.me = me
	return me, nil
}
