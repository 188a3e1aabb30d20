package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/channels"
)

// message is a message in events and histories (docs.slack.dev/reference/events/message).
type message struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	Hidden   bool   `json:"hidden"`
	Channel  string `json:"channel"`
	Kind     string `json:"channel_type"` // "" in app_mention events and in histories
	User     string `json:"user"`
	Bot      string `json:"bot_id"`
	Text     string `json:"text"`
	TS       string `json:"ts"`
	ThreadTS string `json:"thread_ts"`
	Parent   string `json:"parent_user_id"` // author of the thread's first message
	Replies  int    `json:"reply_count"`
	// Team, UserTeam and SourceTeam contain the author's workspace. Which one is set depends on the
	// event.
	Team        string            `json:"team"`
	UserTeam    string            `json:"user_team"`
	SourceTeam  string            `json:"source_team"`
	Files       []file            `json:"files"`
	Attachments []attachment      `json:"attachments"`
	Blocks      []json.RawMessage `json:"blocks"`
	Metadata    metadata          `json:"metadata"`
}

// metadata identifies the delivery to which a message from Hob belongs
// (docs.slack.dev/messaging/message-metadata).
type metadata struct {
	Type    string `json:"event_type"`
	Payload struct {
		ID string `json:"id"`
	} `json:"event_payload"`
}

// attachment is a forwarded message or a preview.
type attachment struct {
	Text     string `json:"text"`
	Fallback string `json:"fallback"`
	Author   string `json:"author_name"`
	Share    bool   `json:"is_share"`
	Unfurl   bool   `json:"is_msg_unfurl"`
}

// parseEvent parses the payload of an events_api envelope.
func parseEvent(raw json.RawMessage) (message, bool) {
	var p struct {
		Team  string  `json:"team_id"`
		Event message `json:"event"`
	}
	if json.Unmarshal(raw, &p) != nil || p.Event.Type != "message" && p.Event.Type != "app_mention" {
		return message{}, false
	}
	if p.Event.Team == "" {
		p.Event.Team = p.Team
	}
	return p.Event, true
}

// command is a slash command.
type command struct {
	Team    string `json:"team_id"`
	Channel string `json:"channel_id"`
	User    string `json:"user_id"`
	Text    string `json:"text"`
	Trigger string `json:"trigger_id"`
}

func parseCommand(raw json.RawMessage) (command, bool) {
	var cmd command
	err := json.Unmarshal(raw, &cmd)
	return cmd, err == nil && isID(cmd.Team) && isID(cmd.User) && cmd.Trigger != "" && len(cmd.Trigger) <= 200
}

// ts0 returns the time of a Slack timestamp.
func ts0(s string) time.Time {
	sec, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(sec, 10, 64)
	if err != nil {
		return time.Time{}
	}
	micro, err := strconv.ParseInt((frac + "000000")[:6], 10, 64)
	if err != nil {
		micro = 0
	}
	return time.Unix(n, micro*1000).UTC()
}

// isUserMessage reports whether a person wrote the message. It excludes messages from Hob and bots,
// edits, and join and leave events (docs.slack.dev/reference/events/message#subtypes).
func (m *message) isUserMessage(me string) bool {
	switch m.Subtype {
	case "", "file_share", "thread_broadcast", "me_message":
	default:
		return false
	}
	if m.ThreadTS != "" && !isTS(m.ThreadTS) {
		return false
	}
	return !m.Hidden && m.Bot == "" && m.User != me && isID(m.User) && isID(m.Channel) && isTS(m.TS)
}

// toInbound converts a message. It returns false if no person wrote it.
func (c *Channel) toInbound(ctx context.Context, m message) (channels.Inbound, bool) {
	me := c.ownIdentity()
	if !m.isUserMessage(me.User) {
		return channels.Inbound{}, false
	}
	text, mentioned := plainText(m.Text, me.User, c.knownName)
	group := !strings.HasPrefix(m.Channel, "D")
	in := channels.Inbound{
		Channel: Name, Chat: m.Channel, Group: group, Server: me.Team, Text: text, Key: m.Channel + "/" + m.TS, At: ts0(m.TS),
		Sender: firstID(me.Team, m.UserTeam, m.SourceTeam, m.Team) + "/" + m.User, SenderName: c.memberName(ctx, m.User),
		// A reply in a thread that Hob started is addressed to Hob.
		Mentioned: !group || mentioned || m.ThreadTS != "" && m.Parent == me.User,
	}
	switch {
	case m.ThreadTS != "":
		in.Chat += "/" + m.ThreadTS
	case group:
		in.Chat += "/" + m.TS
	}
	if m.ThreadTS != "" && m.Parent == me.User {
		in.ReplyTo, in.Threaded = []string{m.ThreadTS}, true
	}
	if group {
		in.ChatName = c.channelName(ctx, m.Channel)
	}
	for _, a := range m.Attachments {
		if said, _ := plainText(a.Text, "", c.knownName); said != "" && (a.Share || a.Unfurl) {
			in.Outside = append(in.Outside, strings.TrimSpace(a.Author+": "+said))
		}
	}
	for _, f := range m.Files {
		in.Files = append(in.Files, c.toFile(f))
	}
	return in, in.Text != "" || len(in.Files) > 0 || len(in.Outside) > 0 || mentioned
}

// firstID returns the first valid id, or the argument otherwise if there is none.
func firstID(otherwise string, ids ...string) string {
	for _, id := range ids {
		if isID(id) {
			return id
		}
	}
	return otherwise
}

func (c *Channel) ownIdentity() identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.me
}

const (
	maxNames = 2000
	nameWait = time.Second // Slack is waiting for the acknowledgement
)

// knownName returns a cached name.
func (c *Channel) knownName(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.names[id]
}

// resolveName returns a name and caches it. It returns "" if Slack does not provide one.
func (c *Channel) resolveName(ctx context.Context, id string, ask func(context.Context) (string, error)) string {
	if name := c.knownName(id); name != "" {
		return name
	}
	ctx, cancel := context.WithTimeout(ctx, nameWait)
	defer cancel()
	name, err := ask(ctx)
	if err != nil {
		c.log.Debug("looking up a name failed", "error", err)
		if channels.ClassOf(err) != channels.Permanent && errorCode(err) != "missing_scope" {
			return ""
		}
		name = id // the name will never be available
	}
	if r := []rune(strings.TrimSpace(name)); len(r) > 80 {
		name = string(r[:80])
	}
	c.rememberName(id, name)
	return name
}

func (c *Channel) rememberName(id, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.names) >= maxNames {
		clear(c.names)
	}
	c.names[id] = name
}

// memberName returns the display name of a member.
func (c *Channel) memberName(ctx context.Context, user string) string {
	return c.resolveName(ctx, user, func(ctx context.Context) (string, error) {
		var out struct {
			User struct {
				Name    string `json:"name"`
				Profile struct {
					Display string `json:"display_name"`
					Real    string `json:"real_name"`
				} `json:"profile"`
			} `json:"user"`
		}
		_, err := c.callAPI(ctx, c.bot, "users.info", url.Values{"user": {user}}, &out)
		for _, n := range []string{out.User.Profile.Display, out.User.Profile.Real, out.User.Name} {
			if n != "" {
				return n, err
			}
		}
		return "", err
	})
}

// channelName returns the name of a channel.
func (c *Channel) channelName(ctx context.Context, channel string) string {
	name := c.resolveName(ctx, channel, func(ctx context.Context) (string, error) {
		var out struct {
			Channel struct {
				Name string `json:"name"`
			} `json:"channel"`
		}
		_, err := c.callAPI(ctx, c.bot, "conversations.info", url.Values{"channel": {channel}}, &out)
		return out.Channel.Name, err
	})
	if name == channel {
		return ""
	}
	return name
}

// directChat returns the direct chat with a member. It never changes.
func (c *Channel) directChat(ctx context.Context, user string) (string, error) {
	const key = ">" // prefix of the cache key; it is not valid in any reference
	if chat := c.knownName(key + user); chat != "" {
		return chat, nil
	}
	var out struct {
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := c.callAPI(ctx, c.bot, "conversations.open", url.Values{"users": {user}}, &out); err != nil {
		return "", err
	}
	if !isID(out.Channel.ID) {
		return "", errors.New("slack: conversations.open returned no channel")
	}
	c.rememberName(key+user, out.Channel.ID)
	return out.Channel.ID, nil
}
