package discord

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/net/safehttp"
)

// The Discord API objects, with the fields that Hob uses.
type (
	user struct {
		ID       string `json:"id"`
		Username string `json:"username"`
		Global   string `json:"global_name"`
		Bot      bool   `json:"bot"`
		System   bool   `json:"system"`
	}
	attachment struct {
		Name string `json:"filename"`
		MIME string `json:"content_type"`
		Size int64  `json:"size"`
		URL  string `json:"url"`
	}
	reference struct {
		Type    int    `json:"type"` // 1 means forwarded
		Message string `json:"message_id"`
	}
	snapshot struct {
		Message struct {
			Content     string       `json:"content"`
			Attachments []attachment `json:"attachments"`
		} `json:"message"`
	}
	message struct {
		ID      string `json:"id"`
		Type    int    `json:"type"`
		Chat    string `json:"channel_id"`
		Guild   string `json:"guild_id"`
		Author  user   `json:"author"`
		Webhook string `json:"webhook_id"`
		Member  *struct {
			Nick string `json:"nick"`
		} `json:"member"`
		Content     string          `json:"content"`
		Timestamp   string          `json:"timestamp"`
		Mentions    []user          `json:"mentions"`
		Roles       []string        `json:"mention_roles"`
		Attachments []attachment    `json:"attachments"`
		Reference   *reference      `json:"message_reference"`
		Referenced  *message        `json:"referenced_message"`
		Snapshots   []snapshot      `json:"message_snapshots"`
		Nonce       json.RawMessage `json:"nonce"` // a number or a string
		Flags       int             `json:"flags"`
	}
)

// The kinds of messages that people write ("Message Types").
const (
	kindPlain = 0
	kindReply = 19
)

// Limits of one message.
const (
	maxQuoted    = 8000
	maxSnapshots = 10
)

// guild holds the known data of a server.
type guild struct {
	name     string
	channels map[string]string // names of channels, including threads
	roles    []string          // roles created for the bot
}

// replyContext is stored with each message and returned with the answers to it.
type replyContext struct {
	Message string `json:"m,omitempty"` // the message to reply to in a server
	// For an interaction: its id, application, token and user, the time until which it can be
	// answered, and whether others see the answer.
	Interaction string    `json:"i,omitempty"`
	App         string    `json:"a,omitempty"`
	Token       string    `json:"t,omitempty"`
	User        string    `json:"u,omitempty"`
	Until       time.Time `json:"e,omitzero"`
	Private     bool      `json:"p,omitempty"`
}

// toInbound converts a message. It returns false if the message is not text written by a person.
func (c *Channel) toInbound(m *message) (channels.Inbound, bool) {
	me, g := c.botAndGuild(m.Guild)
	if m.Author.ID == "" || m.Author.ID == me.ID || m.Author.Bot || m.Author.System || m.Webhook != "" || !isSnowflake(m.ID) || m.Chat == "" {
		return channels.Inbound{}, false
	}
	if m.Type != kindPlain && m.Type != kindReply {
		return channels.Inbound{}, false
	}
	in := channels.Inbound{
		Channel: Name, Chat: m.Chat, Group: m.Guild != "", Server: m.Guild, ChatName: g.channels[m.Chat],
		Sender: m.Author.ID, SenderName: m.authorName(), Key: m.ID, At: m.sentAt(),
		Mentioned: m.mentionsBot(me, g), Text: m.readableText(me, g),
	}
	if in.ChatName != "" {
		in.ChatName = "#" + in.ChatName
	}
	files := m.Attachments
	if m.Reference != nil && m.Reference.Type == 1 {
		in.Forwarded = true
		var parts []string
		for _, s := range m.Snapshots[:min(len(m.Snapshots), maxSnapshots)] {
			parts = append(parts, s.Message.Content)
			files = append(files, s.Message.Attachments...)
		}
		in.Text = strings.TrimSpace(strings.Join(append(parts, in.Text), "\n"))
	} else if m.Reference != nil {
		in.ReplyTo = []string{m.Reference.Message}
	}
	if q := m.Referenced; !in.Forwarded && q != nil && q.Author.ID != me.ID && strings.TrimSpace(q.Content) != "" {
		in.Outside = []string{"In answer to " + cmp.Or(q.Author.Username, "somebody") + ":\n" + truncateAtRune(q.Content, maxQuoted)}
	}
	for _, a := range files {
		in.Files = append(in.Files, c.toFile(a))
	}
	if in.Text == "" && len(in.Files) == 0 && !in.Forwarded {
		return channels.Inbound{}, false // a sticker, or text hidden from the bot
	}
	what := replyContext{}
	if in.Group {
		what.Message = m.ID
	}
	in.Payload, _ = json.Marshal(what) // strings and times can be marshalled
	return in, true
}

// botAndGuild returns the bot's user object and the known data of a server.
func (c *Channel) botAndGuild(id string) (user, guild) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.guilds[id]; g != nil {
		return c.me, guild{name: g.name, channels: map[string]string{}, roles: slices.Clone(g.roles)}.cloneWithNames(g.channels)
	}
	return c.me, guild{}
}

// cloneWithNames copies names to the channel names of g and returns g. It copies them because the
// caller's map changes under the lock.
func (g guild) cloneWithNames(names map[string]string) guild {
	for k, v := range names {
		g.channels[k] = v
	}
	return g
}

func (m *message) authorName() string {
	nick := ""
	if m.Member != nil {
		nick = m.Member.Nick
	}
	return cmp.Or(nick, m.Author.Global, m.Author.Username)
}

func (m *message) sentAt() time.Time {
	t, err := time.Parse(time.RFC3339, m.Timestamp)
	if err != nil {
		return time.Now().UTC()
	}
	return t.UTC()
}

// mentionsBot reports whether a message is addressed to the bot: it mentions the bot or one of the
// bot's roles, or replies to the bot.
func (m *message) mentionsBot(me user, g guild) bool {
	if me.ID == "" {
		return false
	}
	return slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == me.ID }) ||
		slices.ContainsFunc(m.Roles, func(r string) bool { return slices.Contains(g.roles, r) }) ||
		m.Referenced != nil && m.Referenced.Author.ID == me.ID
}

// readableText returns the text for reading: without the mention of the bot, and with names instead
// of ids ("Message Formatting").
func (m *message) readableText(me user, g guild) string {
	names := map[string]string{}
	for _, u := range m.Mentions {
		names["@"+u.ID] = "@" + u.Username
		names["@!"+u.ID] = "@" + u.Username
	}
	for id, name := range g.channels {
		names["#"+id] = "#" + name
	}
	for _, r := range g.roles {
		names["@&"+r] = ""
	}
	if me.ID != "" {
		names["@"+me.ID], names["@!"+me.ID] = "", ""
	}
	var out strings.Builder
	rest := m.Content
	for {
		before, after, found := strings.Cut(rest, "<")
		out.WriteString(before)
		if !found {
			break
		}
		inner, tail, closed := strings.Cut(after, ">")
		name, known := names[inner]
		switch {
		case closed && known && name == "":
			tail = strings.TrimPrefix(tail, " ")
		case closed && known:
			out.WriteString(name)
		case closed && emojiName(inner) != "":
			out.WriteString(emojiName(inner))
		default:
			out.WriteByte('<')
			tail = after
		}
		rest = tail
	}
	return strings.TrimSpace(out.String())
}

// emojiName returns the name from the markup of a server's custom emoji: ":name:id", "a:name:id".
func emojiName(s string) string {
	parts := strings.Split(strings.TrimPrefix(s, "a"), ":")
	if len(parts) != 3 || parts[0] != "" || parts[1] == "" || len(parts[1]) > 32 || !isSnowflake(parts[2]) {
		return ""
	}
	return ":" + parts[1] + ":"
}

// toFile converts an attachment. The file is fetched only from Discord's own hosts.
func (c *Channel) toFile(a attachment) channels.File {
	return channels.File{Name: a.Name, MIME: a.MIME, Size: max(a.Size, 0), Open: func(ctx context.Context) (io.ReadCloser, error) {
		u, err := url.Parse(a.URL)
		if err != nil || u.User != nil || !slices.Contains(c.opt.Files, strings.ToLower(u.Hostname())) || u.Scheme != "https" && !strings.HasPrefix(c.opt.API, "http://") {
			return nil, channels.Errorf(channels.Permanent, "discord: the file is not on a Discord host")
		}
		resp, err := c.network.Fetch(ctx, safehttp.Request{URL: a.URL, MaxBody: a.Size + 1<<20, Timeout: channels.TransferTimeout(a.Size)})
		if err != nil {
			return nil, channels.Unanswered("discord: fetch a file", err)
		}
		if !slices.Contains(c.opt.Files, strings.ToLower(resp.URL.Hostname())) {
			return nil, channels.Errorf(channels.Permanent, "discord: the file is not on a Discord host")
		}
		if resp.Status != 200 {
			return nil, channels.Errorf(channels.Temporary, "discord: fetch a file: %w", &failure{status: resp.Status})
		}
		return io.NopCloser(bytes.NewReader(resp.Body)), nil
	}}
}

// truncateAtRune returns s unchanged if it has at most n characters. Otherwise it returns the first
// n characters and "...".
func truncateAtRune(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "..."
	}
	return s
}

// forwardMessage forwards one message. It never retries a message that was rejected because of its
// sender, or because it is not addressed to Hob.
func (c *Channel) forwardMessage(ctx context.Context, r channels.Receiver, m *message) error {
	in, ok := c.toInbound(m)
	if !ok {
		return nil
	}
	_, err := r.Receive(ctx, in)
	if err != nil && !errors.Is(err, channels.ErrStranger) {
		return err
	}
	if c.caught[m.Guild] { // the position is stored with the next message
		if err := c.seen.markRead(ctx, guildMarkKey(m.Guild), readPosition{Guild: m.Guild, Last: m.ID}, false); err != nil {
			return err
		}
	}
	at := readPosition{Guild: m.Guild, Last: m.ID}
	if !in.Group {
		at.User = m.Author.ID
	}
	if !in.Group || in.Mentioned || c.seen.isKnownChat(m.Chat) {
		return c.seen.markRead(ctx, m.Chat, at, err == nil && (!in.Group || in.Mentioned))
	}
	return nil
}
