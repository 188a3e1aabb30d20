package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/channels"
)

// chatPath validates a chat id before it becomes part of a URL.
func chatPath(chat string) (string, error) {
	if chat == "" || len(chat) > 100 || strings.ContainsFunc(chat, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	}) {
		return "", channels.Errorf(channels.Permanent, "discord: %q is not a chat; use the id of a channel", cut(chat, 40))
	}
	return "/channels/" + chat, nil
}

// Send implements channels.Channel.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	path, err := chatPath(d.Chat)
	if err != nil {
		return channels.Receipt{}, err
	}
	var what cause
	if d.Cause != nil && json.Unmarshal(d.Cause, &what) != nil {
		what = cause{}
	}
	p := post{Content: rendered(d.Markdown()), Nonce: nonce(d.ID), Enforce: true}.fill()
	question := ""
	if d.Kind == channels.Question && c.buttons != nil {
		if question, err = c.buttons.Open(ctx, d); err != nil {
			c.log.Warn("checking whether a question can have buttons failed", "error", err)
			question = ""
		}
		if len(question) > 90 { // "Component": custom_id has at most 100 characters
			question = ""
		}
		if question != "" {
			p.Components = keys(question)
		}
	}
	first, rest := batches(d.Files)
	k := call{what: "send a text", method: http.MethodPost, path: path + "/messages"}
	sent, err := c.place(ctx, k, d, what, p, first)
	if err != nil {
		return channels.Receipt{}, err
	}
	if question != "" {
		c.asked.Add(ctx, question, cmp.Or(sent.Chat, d.Chat), sent.ID)
	}
	for n, files := range rest {
		more := post{Nonce: nonce(filesID(d.ID, n)), Enforce: true}.fill()
		if _, err := c.post(ctx, k, more, files); err != nil {
			return channels.Receipt{}, err
		}
	}
	return channels.Receipt{ID: sent.ID}, nil
}

// filesID returns the id of a further message with files of a delivery.
func filesID(id string, n int) string { return id + "/files/" + strconv.Itoa(n) }

// place sends a text: in place of its draft, as the response to an interaction, or as a new
// message.
func (c *Channel) place(ctx context.Context, k call, d channels.Delivery, what cause, p post, files []channels.Attachment) (message, error) {
	if what.Interaction != "" && what.Token != "" && d.Kind != channels.Send {
		sent, err := c.answer(ctx, what, p, files)
		if err == nil && d.Draft != "" {
			c.withdraw(ctx, k.path, d.Draft)
		}
		if err == nil || !over(err) && time.Now().Before(what.Until) {
			return sent, err
		}
	}
	if what.Private { // only one person in the chat may see the answer
		path, err := c.direct(ctx, what.User)
		if err != nil {
			return message{}, err
		}
		k.path = path + "/messages"
		return c.post(ctx, k, p, files)
	}
	if d.Draft != "" && snowflake(d.Draft) {
		edit := p
		edit.Nonce, edit.Enforce = "", false
		sent, err := c.post(ctx, call{what: "finish a text", method: http.MethodPatch, path: k.path + "/" + d.Draft}, edit, files)
		if !gone(err) {
			return sent, err
		}
	}
	if what.Message != "" && snowflake(what.Message) && d.Kind != channels.Send {
		p.Reference = &answering{Message: what.Message}
	}
	return c.post(ctx, k, p, files)
}

// withdraw deletes a draft whose text was sent elsewhere.
func (c *Channel) withdraw(ctx context.Context, path, draft string) {
	if !snowflake(draft) {
		return
	}
	if err := c.send(ctx, "delete a draft", http.MethodDelete, path+"/"+draft, nil, nil); err != nil {
		c.log.Info("deleting a draft failed", "error", err)
	}
}

// direct returns the direct chat with a user.
func (c *Channel) direct(ctx context.Context, who string) (string, error) {
	var ch named
	if err := c.send(ctx, "open a direct message", http.MethodPost, "/users/@me/channels", map[string]string{"recipient_id": who}, &ch); err != nil {
		return "", err
	}
	return chatPath(ch.ID)
}

// answer responds to an interaction: the first text replaces the typing sign, the others
// follow.
func (c *Channel) answer(ctx context.Context, what cause, p post, files []channels.Attachment) (message, error) {
	p.Nonce, p.Enforce = "", false
	if what.Private {
		p.Flags |= flagEphemeral
	}
	waits, err := c.waits(ctx, what)
	if err != nil {
		return message{}, err
	}
	var sent message
	if waits {
		sent, err = c.original(ctx, what, p, files...)
	} else {
		sent, err = c.followUp(ctx, what, p, files...)
	}
	if err == nil {
		c.mu.Lock()
		if !c.answered[what.Interaction] {
			c.answered[what.Interaction] = true
			c.order = append(c.order, what.Interaction)
		}
		for len(c.order) > 1000 {
			delete(c.answered, c.order[0])
			c.order = c.order[1:]
		}
		c.mu.Unlock()
	}
	return sent, err
}

// waits reports whether an interaction has no answer yet. After a restart it asks Discord
// ("Message Flags": LOADING).
func (c *Channel) waits(ctx context.Context, what cause) (bool, error) {
	c.mu.Lock()
	done := c.answered[what.Interaction]
	c.mu.Unlock()
	if done {
		return false, nil
	}
	var m message
	err := c.do(ctx, call{what: "find an answer", method: http.MethodGet, path: hook(what) + "/messages/@original", public: true}, &m)
	return m.Flags&flagLoading != 0, err
}

func hook(what cause) string {
	return "/webhooks/" + url.PathEscape(what.App) + "/" + url.PathEscape(what.Token)
}

func (c *Channel) original(ctx context.Context, what cause, p post, files ...channels.Attachment) (message, error) {
	return c.post(ctx, call{what: "answer a command", method: http.MethodPatch, path: hook(what) + "/messages/@original", public: true}, p.fill(), files)
}

func (c *Channel) followUp(ctx context.Context, what cause, p post, files ...channels.Attachment) (message, error) {
	return c.post(ctx, call{what: "answer an interaction", method: http.MethodPost, path: hook(what), public: true}, p.fill(), files)
}

// Draft implements channels.Drafter.
func (c *Channel) Draft(ctx context.Context, d channels.Delivery) (string, error) {
	path, err := chatPath(d.Chat)
	if err != nil {
		return "", err
	}
	p := post{Content: rendered(d.Text)}.fill()
	k := call{what: "show a draft", method: http.MethodPatch, path: path + "/messages/" + d.Draft, spare: true}
	if !snowflake(d.Draft) {
		k.method, k.path = http.MethodPost, path+"/messages"
		p.Nonce, p.Enforce = nonce(d.ID), true
		p.Flags |= flagSilent
	}
	sent, err := c.post(ctx, k, p, nil)
	return sent.ID, err
}

// Typing implements channels.Typer.
func (c *Channel) Typing(ctx context.Context, chat string) error {
	path, err := chatPath(chat)
	if err != nil {
		return err
	}
	return c.send(ctx, "show that an answer is coming", http.MethodPost, path+"/typing", nil, nil)
}
