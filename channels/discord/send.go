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
		return "", channels.Errorf(channels.Permanent, "discord: %q is not a chat; use the id of a channel", truncateAtRune(chat, 40))
	}
	return "/channels/" + chat, nil
}

// Send implements channels.Channel.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	path, err := chatPath(d.Chat)
	if err != nil {
		return channels.Receipt{}, err
	}
	var what replyContext
	if d.Cause != nil && json.Unmarshal(d.Cause, &what) != nil {
		what = replyContext{}
	}
	p := post{Content: renderMarkup(d.Markdown()), Nonce: deliveryNonce(d.ID), Enforce: true}.withDefaults()
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
			p.Components = approvalButtons(question)
		}
	}
	first, rest := batchFiles(d.Files)
	k := apiCall{what: "send a text", method: http.MethodPost, path: path + "/messages"}
	sent, err := c.placeText(ctx, k, d, what, p, first)
	if err != nil {
		return channels.Receipt{}, err
	}
	if question != "" {
		c.asked.Add(ctx, question, cmp.Or(sent.Chat, d.Chat), sent.ID)
	}
	for n, files := range rest {
		more := post{Nonce: deliveryNonce(filesID(d.ID, n)), Enforce: true}.withDefaults()
		if _, err := c.postMessage(ctx, k, more, files); err != nil {
			return channels.Receipt{}, err
		}
	}
	return channels.Receipt{ID: sent.ID}, nil
}

// filesID returns the id of the nth follow-up message with files of a delivery.
func filesID(id string, n int) string { return id + "/files/" + strconv.Itoa(n) }

// placeText sends a message by replacing its draft, as the response to an interaction, or as a new
// message.
func (c *Channel) placeText(ctx context.Context, k apiCall, d channels.Delivery, what replyContext, p post, files []channels.Attachment) (message, error) {
	if what.Interaction != "" && what.Token != "" && d.Kind != channels.Send {
		sent, err := c.answerInteraction(ctx, what, p, files)
		if err == nil && d.Draft != "" {
			c.deleteDraft(ctx, k.path, d.Draft)
		}
		if err == nil || !isInteractionOver(err) && time.Now().Before(what.Until) {
			return sent, err
		}
	}
	if what.Private { // the platform shows the answer to only one person in the chat
		path, err := c.directChat(ctx, what.User)
		if err != nil {
			return message{}, err
		}
		k.path = path + "/messages"
		return c.postMessage(ctx, k, p, files)
	}
	if d.Draft != "" && isSnowflake(d.Draft) {
		edit := p
		edit.Nonce, edit.Enforce = "", false
		sent, err := c.postMessage(ctx, apiCall{what: "finish a text", method: http.MethodPatch, path: k.path + "/" + d.Draft}, edit, files)
		if !isGone(err) {
			return sent, err
		}
	}
	if what.Message != "" && isSnowflake(what.Message) && d.Kind != channels.Send {
		p.Reference = &messageReference{Message: what.Message}
	}
	return c.postMessage(ctx, k, p, files)
}

// deleteDraft deletes a draft whose text was sent elsewhere.
func (c *Channel) deleteDraft(ctx context.Context, path, draft string) {
	if !isSnowflake(draft) {
		return
	}
	if err := c.sendJSON(ctx, "delete a draft", http.MethodDelete, path+"/"+draft, nil, nil); err != nil {
		c.log.Info("deleting a draft failed", "error", err)
	}
}

// directChat returns the direct chat with a user.
func (c *Channel) directChat(ctx context.Context, who string) (string, error) {
	var ch namedChannel
	if err := c.sendJSON(ctx, "open a direct message", http.MethodPost, "/users/@me/channels", map[string]string{"recipient_id": who}, &ch); err != nil {
		return "", err
	}
	return chatPath(ch.ID)
}

// answerInteraction responds to an interaction. The first message replaces the typing indicator;
// further ones are sent separately.
func (c *Channel) answerInteraction(ctx context.Context, what replyContext, p post, files []channels.Attachment) (message, error) {
	p.Nonce, p.Enforce = "", false
	if what.Private {
		p.Flags |= flagEphemeral
	}
	waits, err := c.isAwaitingAnswer(ctx, what)
	if err != nil {
		return message{}, err
	}
	var sent message
	if waits {
		sent, err = c.editOriginal(ctx, what, p, files...)
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

// isAwaitingAnswer reports whether an interaction has no answer yet. After a restart it asks Discord
// ("Message Flags": LOADING).
func (c *Channel) isAwaitingAnswer(ctx context.Context, what replyContext) (bool, error) {
	c.mu.Lock()
	done := c.answered[what.Interaction]
	c.mu.Unlock()
	if done {
		return false, nil
	}
	var m message
	err := c.doRequest(ctx, apiCall{what: "find an answer", method: http.MethodGet, path: interactionWebhookPath(what) + "/messages/@original", public: true}, &m)
	return m.Flags&flagLoading != 0, err
}

func interactionWebhookPath(what replyContext) string {
	return "/webhooks/" + url.PathEscape(what.App) + "/" + url.PathEscape(what.Token)
}

func (c *Channel) editOriginal(ctx context.Context, what replyContext, p post, files ...channels.Attachment) (message, error) {
	return c.postMessage(ctx, apiCall{what: "answer a command", method: http.MethodPatch, path: interactionWebhookPath(what) + "/messages/@original", public: true}, p.withDefaults(), files)
}

func (c *Channel) followUp(ctx context.Context, what replyContext, p post, files ...channels.Attachment) (message, error) {
	return c.postMessage(ctx, apiCall{what: "answer an interaction", method: http.MethodPost, path: interactionWebhookPath(what), public: true}, p.withDefaults(), files)
}

// Draft implements channels.Drafter.
func (c *Channel) Draft(ctx context.Context, d channels.Delivery) (string, error) {
	path, err := chatPath(d.Chat)
	if err != nil {
		return "", err
	}
	p := post{Content: renderMarkup(d.Text)}.withDefaults()
	k := apiCall{what: "show a draft", method: http.MethodPatch, path: path + "/messages/" + d.Draft, spare: true}
	if !isSnowflake(d.Draft) {
		k.method, k.path = http.MethodPost, path+"/messages"
		p.Nonce, p.Enforce = deliveryNonce(d.ID), true
		p.Flags |= flagSilent
	}
	sent, err := c.postMessage(ctx, k, p, nil)
	return sent.ID, err
}

// Typing implements channels.Typer.
func (c *Channel) Typing(ctx context.Context, chat string) error {
	path, err := chatPath(chat)
	if err != nil {
		return err
	}
	return c.sendJSON(ctx, "show that an answer is coming", http.MethodPost, path+"/typing", nil, nil)
}
