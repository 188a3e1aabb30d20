package discord

import (
	"cmp"
	"encoding/json"
	"time"

	"hob/channels"
)

// resumableSession returns the session for the next connection to resume.
func (c *Channel) resumableSession() session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// forgetSession drops the session, so that the next connection starts a new one.
func (c *Channel) forgetSession() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = session{}
}

// forgetResumeURL keeps the session but drops its URL.
func (c *Channel) forgetResumeURL() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session.url = ""
}

// noteSequence records the last handled event, so that a resumed session does not repeat it.
func (c *Channel) noteSequence(seq int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session.id != "" {
		c.session.seq = seq
	}
}

// untilIdentify returns the wait before the next sign-in, and counts that sign-in.
func (c *Channel) untilIdentify() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := max(0, time.Until(c.identify.Add(identifyEvery)))
	c.identify = time.Now().Add(wait)
	return wait
}

// signedIn handles the event READY.
func (c *Channel) signedIn(data json.RawMessage) error {
	var r struct {
		User    user   `json:"user"`
		Session string `json:"session_id"`
		URL     string `json:"resume_gateway_url"`
	}
	if json.Unmarshal(data, &r) != nil || r.User.ID == "" || r.Session == "" {
		return channels.Errorf(channels.Temporary, "discord: the gateway did not return the bot's user")
	}
	if _, err := c.gatewayURL(r.URL); err != nil {
		r.URL = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.me, c.session, c.since = r.User, session{id: r.Session, url: r.URL}, time.Now()
	c.guilds = map[string]*guild{}
	return nil
}

// markConnected records that the session is connected.
func (c *Channel) markConnected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Now()
}

// markDisconnected records that there is no connection.
func (c *Channel) markDisconnected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Time{}
}

// namedChannel is a channel or thread with its name.
type namedChannel struct {
	ID    string `json:"id"`
	Guild string `json:"guild_id"`
	Name  string `json:"name"`
}

// addGuild handles GUILD_CREATE and returns the server's id. Of the bot's roles, only a mention of
// the role that Discord created for the bot (role tags) is addressed to the bot. Other people may
// also have the other roles.
func (c *Channel) addGuild(data json.RawMessage) string {
	var g struct {
		ID       string         `json:"id"`
		Name     string         `json:"name"`
		Channels []namedChannel `json:"channels"`
		Threads  []namedChannel `json:"threads"`
		Roles    []struct {
			ID   string `json:"id"`
			Tags *struct {
				Bot string `json:"bot_id"`
			} `json:"tags"`
		} `json:"roles"`
		Unavailable bool `json:"unavailable"`
	}
	if json.Unmarshal(data, &g) != nil || g.ID == "" || g.Unavailable {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := &guild{name: g.Name, channels: map[string]string{}}
	for _, ch := range append(g.Channels, g.Threads...) {
		known.channels[ch.ID] = ch.Name
	}
	for _, r := range g.Roles {
		if r.Tags != nil && r.Tags.Bot != "" && r.Tags.Bot == c.me.ID {
			known.roles = append(known.roles, r.ID)
		}
	}
	c.guilds[g.ID] = known
	return g.ID
}

// removeGuild handles the event GUILD_DELETE.
func (c *Channel) removeGuild(data json.RawMessage) {
	var g namedChannel
	if json.Unmarshal(data, &g) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.guilds, g.ID)
}

// maxNames is the maximum number of known channel and thread names per server.
const maxNames = 5000

// renameChannel stores the name of a channel or thread.
func (c *Channel) renameChannel(data json.RawMessage) {
	var ch namedChannel
	if json.Unmarshal(data, &ch) != nil || ch.ID == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.guilds[ch.Guild]; g != nil && len(g.channels) < maxNames {
		g.channels[ch.ID] = cmp.Or(ch.Name, g.channels[ch.ID])
	}
}
