package discord

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/channels"
)

// slashCommand is a slash command registered with Discord: a command of Hob, or "ask".
type slashCommand struct{ name, about, arg string }

func slashCommands() []slashCommand {
	return []slashCommand{
		{"ask", "Ask me a question or give me a task", "text"},
		{"status", "Show what I am doing", ""},
		{"stop", "Stop the current task here", ""},
		{"new", "Start a new conversation", ""},
		{"approve", "Approve my request", "what"},
		{"deny", "Deny my request", "what"},
		{"undo", "Undo my last action", "what"},
		{"why", "Explain why I did or said something", "what"},
		{"quiet", "Defer notifications that are not critical", "how_long"},
		{"pause", "Pause background work", "how_long"},
		{"resume", "End the pause", ""},
		{"model", "Show or choose the model used here", "name"},
		{"help", "Show all commands", ""},
	}
}

// commandsBody returns the body of "Bulk Overwrite Global Application Commands": for servers of
// the bot and for direct messages.
func commandsBody() []byte {
	type option struct {
		Type     int    `json:"type"` // 3 means text
		Name     string `json:"name"`
		About    string `json:"description"`
		Required bool   `json:"required"`
		Max      int    `json:"max_length"`
	}
	type command struct {
		Name     string   `json:"name"`
		Type     int      `json:"type"` // 1: typed with a slash
		About    string   `json:"description"`
		Options  []option `json:"options,omitempty"`
		Contexts []int    `json:"contexts"`          // 0: servers, 1: direct messages
		Installs []int    `json:"integration_types"` // 0: in a server
	}
	var out []command
	for _, s := range slashCommands() {
		c := command{Name: s.name, Type: 1, About: s.about, Contexts: []int{0, 1}, Installs: []int{0}}
		if s.arg != "" {
			c.Options = []option{{3, s.arg, strings.ReplaceAll(s.arg, "_", " "), s.name == "ask", 4000}}
		}
		out = append(out, c)
	}
	raw, _ := json.Marshal(out) // strings and numbers always encode
	return raw
}

// registerCommands registers the commands on first use and when they change.
func (c *Channel) registerCommands(ctx context.Context) error {
	const key = "commands"
	keep := c.seen.keep
	if keep == nil {
		return nil
	}
	body := commandsBody()
	me, _ := c.botAndGuild("")
	sum := sha256.Sum256(append(body, me.ID...))
	digest := []byte(hex.EncodeToString(sum[:8]))
	if had, err := keep.Get(ctx, key); err != nil || bytes.Equal(had, digest) {
		return err
	}
	var app struct {
		ID string `json:"id"`
	}
	if err := c.getJSON(ctx, "get the application", "/applications/@me", &app); err != nil {
		return err
	}
	err := c.doRequest(ctx, apiCall{
		what: "register the commands", method: http.MethodPut, path: "/applications/" + url.PathEscape(app.ID) + "/commands",
		mime: "application/json", body: body,
	}, nil)
	if err != nil {
		return err
	}
	return keep.Set(ctx, key, digest)
}

// commandInbound converts a slash command to an inbound message.
func (c *Channel) commandInbound(i *interaction, what replyContext) (channels.Inbound, bool) {
	text := ""
	for _, o := range i.Data.Options {
		text = strings.TrimSpace(text + " " + fmt.Sprint(o.Value))
	}
	if i.Data.Name != "ask" {
		text = strings.TrimSpace("/" + i.Data.Name + " " + text)
	}
	if text == "" {
		return channels.Inbound{}, false
	}
	_, g := c.botAndGuild(i.Guild)
	in := channels.Inbound{
		Channel: Name, Chat: i.Chat, Group: i.Guild != "", Server: i.Guild, Sender: i.actingUser().ID, SenderName: i.displayName(),
		Mentioned: true, Text: text, Key: i.ID, At: time.Now().UTC(),
	}
	if name := g.channels[i.Chat]; name != "" {
		in.ChatName = "#" + name
	}
	in.Payload, _ = json.Marshal(what) // strings and times can be marshalled
	return in, true
}
