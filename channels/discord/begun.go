package discord

import (
	"context"
	"strconv"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/retry"
	"hob/platform/text/sorting"
)

// Limits for finding new conversations that started while Hob was not running.
const (
	searchSize  = 25 // the page size of "Search Guild Messages"
	searchPages = 4
	maxAsking   = 20 // maximum number of people whose direct messages are opened
)

// begunIn receives the first messages that mention Hob in unknown chats of a server, sent while Hob
// was not running ("Search Guild Messages"). The search may be unavailable or forbidden; other
// messages are received without it.
func (c *Channel) begunIn(ctx context.Context, r channels.Receiver, guild, from string) error {
	me, g := c.botAndGuild(guild)
	names := []string{"mentions=" + me.ID}
	for _, role := range g.roles {
		names = append(names, "mentions_role_id="+role)
	}
	var all []message
	for _, name := range names {
		found, err := c.searchMessages(ctx, guild, name+"&min_id="+from)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.log.Info("finding new mentions sent while Hob was off failed", "server", guild, "error", err)
		}
		all = append(all, found...)
	}
	sorting.ByFunc(all, func(a, b message) int {
		if isNewerID(a.ID, b.ID) {
			return 1
		}
		return -1
	})
	before := c.seen.chatsOfGuild(guild)
	for i := range all {
		m := &all[i]
		m.Guild = guild
		if _, known := before[m.Chat]; known || !isSnowflake(m.ID) || !isNewerID(m.ID, from) || !m.mentionsBot(me, g) {
			continue
		}
		if err := c.forwardMessage(ctx, r, m); err != nil {
			return err
		}
	}
	return nil
}

// searchMessages returns the latest messages in a server that match query. If Discord reports
// "Index not yet available", searchMessages retries once after the time that Discord requests, but
// after at most 5 s.
func (c *Channel) searchMessages(ctx context.Context, guild, query string) ([]message, error) {
	var all []message
	waited := false
	for page := 0; page < searchPages; {
		var out struct {
			Messages [][]message `json:"messages"` // one list per hit
			Code     int         `json:"code"`
			Retry    float64     `json:"retry_after"`
		}
		path := "/guilds/" + guild + "/messages/search?sort_by=timestamp&sort_order=desc&limit=" + strconv.Itoa(searchSize) + "&offset=" + strconv.Itoa(page*searchSize) + "&" + query
		if err := c.getJSON(ctx, "search for new mentions", path, &out); err != nil {
			return all, err
		}
		if out.Code != 0 {
			wait := time.Duration(min(max(out.Retry, 0), 5) * float64(time.Second))
			if waited || retry.Sleep(ctx, c.opt.Pause(wait)) != nil {
				return all, channels.Errorf(channels.Temporary, "discord: the search is not ready (%d)", out.Code)
			}
			waited = true
			continue
		}
		for _, hit := range out.Messages {
			all = append(all, hit...)
		}
		if len(out.Messages) == 0 {
			break
		}
		page++
	}
	return all, nil
}

// begunDirect receives the first direct messages that allowed people sent while Hob was not
// running. Discord does not list a bot's direct messages. Opening the chat with a known person
// ("Create DM") reveals them; the person does not notice.
func (c *Channel) begunDirect(ctx context.Context, r channels.Receiver, _, from string) error {
	asked := 0
	for _, who := range c.allow {
		if c.seen.hasDirectChat(who) || asked == maxAsking {
			continue
		}
		asked++
		path, err := c.directChat(ctx, who)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.log.Info("finding new direct messages sent while Hob was off failed", "sender", who, "error", err)
			continue
		}
		chat := strings.TrimPrefix(path, "/channels/")
		if c.seen.isKnownChat(chat) {
			continue
		}
		if err := c.fetchMissed(ctx, r, "", chat, from); err != nil {
			return err
		}
	}
	return nil
}
