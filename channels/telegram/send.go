package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"

	"hob/channels"
	"hob/platform/markup"
)

// progress records which parts of a delivery arrived, so that a retry repeats none.
type progress struct {
	text    bool
	receipt string
	files   int
}

const maxProgress = 100

// Send implements channels.Channel.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	to, err := c.target(ctx, d.Chat)
	if err != nil {
		return channels.Receipt{}, err
	}
	p := c.begun(d.ID)
	if err := c.finish(ctx, &to, d, p); err != nil {
		return channels.Receipt{}, err
	}
	c.mu.Lock()
	delete(c.half, d.ID)
	c.mu.Unlock()
	return channels.Receipt{ID: p.receipt}, nil
}

func (c *Channel) begun(id string) *progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.half[id]
	if !ok {
		if len(c.half) >= maxProgress {
			clear(c.half)
		}
		p = &progress{}
		c.half[id] = p
	}
	return p
}

// finish sends the remaining parts. A short text becomes the caption of a single file.
func (c *Channel) finish(ctx context.Context, to *target, d channels.Delivery, p *progress) error {
	caption := ""
	if len(d.Files) == 1 && d.Draft == "" && !p.text && d.Kind != channels.Question && length(d.Text) <= maxCaption/2 {
		caption = d.Text
		p.text = true
		defer func() { p.text = p.text && p.files > 0 }()
	}
	if !p.text && strings.TrimSpace(d.Text) != "" {
		id, err := c.sendText(ctx, to, d)
		if err != nil {
			return err
		}
		p.text, p.receipt = true, id
	}
	for p.files < len(d.Files) {
		id, err := c.sendFile(ctx, to, d.Files[p.files], caption)
		if err != nil {
			return err
		}
		if p.receipt == "" {
			p.receipt = id
		}
		p.files++
	}
	return nil
}

// target is a chat and an optional topic.
type target struct{ chat, thread string }

func (t target) params() params {
	p := params{"chat_id": t.chat}
	if n, err := strconv.ParseInt(t.thread, 10, 64); err == nil {
		p["message_thread_id"] = n
	}
	return p
}

func (c *Channel) target(ctx context.Context, chat string) (target, error) {
	id, thread, _ := strings.Cut(chat, "/")
	id, err := c.movedTo(ctx, id)
	return target{id, thread}, err
}

// following runs f, and once more with the new id if the group became a supergroup
// (ResponseParameters.migrate_to_chat_id).
func (c *Channel) following(ctx context.Context, to *target, f func() error) error {
	err := f()
	r, ok := errors.AsType[*refusal](err)
	if !ok || r.migrateTo == 0 {
		return err
	}
	if err := c.follow(ctx, to.chat, r.migrateTo); err != nil {
		return err
	}
	to.chat = strconv.FormatInt(r.migrateTo, 10)
	return f()
}

// posted is the message in a method's result.
type posted struct {
	ID int64 `json:"message_id"`
}

func (p posted) id() string { return strconv.FormatInt(p.ID, 10) }

// sendText sends a text, replacing the draft if there is one.
func (c *Channel) sendText(ctx context.Context, to *target, d channels.Delivery) (string, error) {
	question := ""
	if c.buttons != nil && d.Kind == channels.Question {
		var err error
		if question, err = c.buttons.Open(ctx, d); err != nil {
			c.log.Warn("question sent without buttons", "delivery", d.ID, "error", err)
			question = ""
		}
	}
	more := params{"link_preview_options": params{"is_disabled": !d.Previews}}
	if board := keyboard(question); board != nil {
		more["reply_markup"] = board
	} else {
		question = ""
	}
	if d.Draft != "" {
		id, err := c.edit(ctx, to, d.Draft, d.Markdown(), more)
		if err == nil || !gone(err) {
			return c.put(ctx, question, to, id, err)
		}
	}
	var why cause
	if len(d.Cause) > 0 && json.Unmarshal(d.Cause, &why) == nil && why.Group && why.Message != 0 && (why.Chat == 0 || strconv.FormatInt(why.Chat, 10) == to.chat) {
		more["reply_parameters"] = params{"message_id": why.Message, "allow_sending_without_reply": true}
	}
	var m posted
	err := c.following(ctx, to, func() error { return c.say(ctx, "sendMessage", to, d.Markdown(), more, &m) })
	return c.put(ctx, question, to, m.id(), err)
}

// put records a question that was just posted.
func (c *Channel) put(ctx context.Context, question string, to *target, id string, err error) (string, error) {
	if err == nil && question != "" {
		c.asked.Add(ctx, question, to.chat, id)
	}
	return id, err
}

// gone reports whether a message cannot be edited, so that the text must be sent as a new one.
func gone(err error) bool {
	return says(err, "message to edit not found", "message can't be edited", "message_id_invalid")
}

// edit replaces the text of a message.
func (c *Channel) edit(ctx context.Context, to *target, id, text string, more params) (string, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return "", channels.Errorf(channels.Permanent, "telegram: the draft %q is not a message id", id)
	}
	with := params{"message_id": n}
	for k, v := range more {
		with[k] = v
	}
	err = c.following(ctx, to, func() error { return c.say(ctx, "editMessageText", to, text, with, nil) })
	if says(err, "message is not modified") {
		err = nil
	}
	return id, err
}

// say sends a text as HTML, or as plain text if the server cannot parse it or finds it too
// long: tables grow when they are aligned in columns.
func (c *Channel) say(ctx context.Context, method string, to *target, text string, more params, out any) error {
	p := to.params()
	if method == "editMessageText" {
		delete(p, "message_thread_id")
	}
	for k, v := range more {
		p[k] = v
	}
	html := markup.Telegram(text)
	if strings.TrimSpace(html) == "" {
		html = ""
	}
	if html != "" {
		p["text"], p["parse_mode"] = html, "HTML"
		err := c.call(ctx, method, p, out)
		if !says(err, "can't parse entities", "message is too long", "message text is empty") {
			return err
		}
		c.log.Info("telegram rejected the formatting of a text; sending it plain", "error", err)
		delete(p, "parse_mode")
	}
	p["text"] = markup.Plain(text)
	if length(p["text"].(string)) > maxText || strings.TrimSpace(p["text"].(string)) == "" { //nolint:forcetypeassert // set above
		p["text"] = text
	}
	return c.call(ctx, method, p, out)
}

// length returns the length in Telegram's units (UTF-16).
func length(s string) int { return len(utf16.Encode([]rune(s))) }

// Draft implements channels.Drafter. Telegram stores no client id with a message, and a bot
// cannot read its own messages.
func (c *Channel) Draft(ctx context.Context, d channels.Delivery) (string, error) {
	id, text := d.Draft, d.Text
	to, err := c.target(ctx, d.Chat)
	if err != nil {
		return id, err
	}
	more := params{"link_preview_options": params{"is_disabled": true}}
	if id != "" {
		return c.edit(ctx, &to, id, text, more)
	}
	more["disable_notification"] = true
	var m posted
	if err := c.following(ctx, &to, func() error { return c.say(ctx, "sendMessage", &to, text, more, &m) }); err != nil {
		return "", err
	}
	return m.id(), nil
}

// Typing implements channels.Typer. The sign disappears after 5 seconds
// (https://core.telegram.org/bots/api#sendchataction).
func (c *Channel) Typing(ctx context.Context, chat string) error {
	to, err := c.target(ctx, chat)
	if err != nil {
		return err
	}
	p := to.params()
	p["action"] = "typing"
	return c.call(ctx, "sendChatAction", p, nil)
}

// maxPhoto is the largest picture sent as a photo; larger ones become documents.
const maxPhoto = 10 << 20

// sendFile sends one file.
func (c *Channel) sendFile(ctx context.Context, to *target, a channels.Attachment, caption string) (string, error) {
	method, field := "sendDocument", "document"
	if (a.MIME == "image/jpeg" || a.MIME == "image/png") && a.Size <= maxPhoto {
		method, field = "sendPhoto", "photo"
	}
	fields := func() map[string]string {
		f := map[string]string{"chat_id": to.chat}
		if to.thread != "" {
			f["message_thread_id"] = to.thread
		}
		if caption != "" {
			f["caption"], f["parse_mode"] = markup.Telegram(caption), "HTML"
		}
		return f
	}
	var m posted
	send := func() error { return c.form(ctx, method, fields(), field, a, &m) }
	err := c.following(ctx, to, send)
	if method == "sendPhoto" && says(err, "photo_invalid_dimensions", "image_process_failed", "photo_save_file_invalid", "photo_ext_invalid") {
		method, field = "sendDocument", "document"
		err = send()
	}
	if says(err, "can't parse entities", "caption is too long") {
		f := fields()
		delete(f, "parse_mode")
		f["caption"] = caption
		err = c.form(ctx, method, f, field, a, &m)
	}
	return m.id(), err
}
