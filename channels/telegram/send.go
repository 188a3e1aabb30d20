package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"

	"hob/channels"
	"hob/platform/text/markup"
)

// sendProgress records which parts of a delivery arrived, so that a retry does not repeat them.
type sendProgress struct {
	text    bool
	receipt string
	files   int
}

const maxProgress = 100

// Send implements channels.Channel.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	to, err := c.resolveTarget(ctx, d.Chat)
	if err != nil {
		return channels.Receipt{}, err
	}
	p := c.progressFor(d.ID)
	if err := c.sendRemaining(ctx, &to, d, p); err != nil {
		return channels.Receipt{}, err
	}
	c.mu.Lock()
	delete(c.half, d.ID)
	c.mu.Unlock()
	return channels.Receipt{ID: p.receipt}, nil
}

func (c *Channel) progressFor(id string) *sendProgress {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.half[id]
	if !ok {
		if len(c.half) >= maxProgress {
			clear(c.half)
		}
		p = &sendProgress{}
		c.half[id] = p
	}
	return p
}

// sendRemaining sends the remaining parts. A short text becomes the caption of a single file.
func (c *Channel) sendRemaining(ctx context.Context, to *target, d channels.Delivery, p *sendProgress) error {
	caption := ""
	if len(d.Files) == 1 && d.Draft == "" && !p.text && d.Kind != channels.Question && utf16Length(d.Text) <= maxCaption/2 {
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

func (t target) targetParams() params {
	p := params{"chat_id": t.chat}
	if n, err := strconv.ParseInt(t.thread, 10, 64); err == nil {
		p["message_thread_id"] = n
	}
	return p
}

func (c *Channel) resolveTarget(ctx context.Context, chat string) (target, error) {
	id, thread, _ := strings.Cut(chat, "/")
	id, err := c.movedTo(ctx, id)
	return target{id, thread}, err
}

// retryMigrated runs f. If the group became a supergroup, it runs f again with the new id
// (ResponseParameters.migrate_to_chat_id).
func (c *Channel) retryMigrated(ctx context.Context, to *target, f func() error) error {
	err := f()
	r, ok := errors.AsType[*refusal](err)
	if !ok || r.migrateTo == 0 {
		return err
	}
	if err := c.recordMigration(ctx, to.chat, r.migrateTo); err != nil {
		return err
	}
	to.chat = strconv.FormatInt(r.migrateTo, 10)
	return f()
}

// sentMessage is the message in a method's result.
type sentMessage struct {
	ID int64 `json:"message_id"`
}

func (p sentMessage) messageID() string { return strconv.FormatInt(p.ID, 10) }

// sendText sends a message and replaces the draft if there is one.
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
	if board := approvalKeyboard(question); board != nil {
		more["reply_markup"] = board
	} else {
		question = ""
	}
	if d.Draft != "" {
		id, err := c.editText(ctx, to, d.Draft, d.Markdown(), more)
		if err == nil || !isUneditable(err) {
			return c.noteQuestionPosted(ctx, question, to, id, err)
		}
	}
	var why replyContext
	if len(d.Cause) > 0 && json.Unmarshal(d.Cause, &why) == nil && why.Group && why.Message != 0 && (why.Chat == 0 || strconv.FormatInt(why.Chat, 10) == to.chat) {
		more["reply_parameters"] = params{"message_id": why.Message, "allow_sending_without_reply": true}
	}
	var m sentMessage
	err := c.retryMigrated(ctx, to, func() error { return c.sendFormatted(ctx, "sendMessage", to, d.Markdown(), more, &m) })
	return c.noteQuestionPosted(ctx, question, to, m.messageID(), err)
}

// noteQuestionPosted records a question that was just posted.
func (c *Channel) noteQuestionPosted(ctx context.Context, question string, to *target, id string, err error) (string, error) {
	if err == nil && question != "" {
		c.asked.Add(ctx, question, to.chat, id)
	}
	return id, err
}

// isUneditable reports whether a message cannot be edited, so that the text must be sent as a new
// message.
func isUneditable(err error) bool {
	return hasRefusalText(err, "message to edit not found", "message can't be edited", "message_id_invalid")
}

// editText replaces the text of a message.
func (c *Channel) editText(ctx context.Context, to *target, id, text string, more params) (string, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return "", channels.Errorf(channels.Permanent, "telegram: the draft %q is not a message id", id)
	}
	with := params{"message_id": n}
	for k, v := range more {
		with[k] = v
	}
	err = c.retryMigrated(ctx, to, func() error { return c.sendFormatted(ctx, "editMessageText", to, text, with, nil) })
	if hasRefusalText(err, "message is not modified") {
		err = nil
	}
	return id, err
}

// sendFormatted sends text as HTML. It sends plain text if the server cannot parse the HTML or
// considers it too long: tables grow when their columns are aligned.
func (c *Channel) sendFormatted(ctx context.Context, method string, to *target, text string, more params, out any) error {
	p := to.targetParams()
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
		err := c.callMethod(ctx, method, p, out)
		if !hasRefusalText(err, "can't parse entities", "message is too long", "message text is empty") {
			return err
		}
		c.log.Info("telegram rejected the formatting of a message; sending it as plain text", "error", err)
		delete(p, "parse_mode")
	}
	p["text"] = markup.Plain(text)
	if utf16Length(p["text"].(string)) > maxText || strings.TrimSpace(p["text"].(string)) == "" { //nolint:forcetypeassert // set above
		p["text"] = text
	}
	return c.callMethod(ctx, method, p, out)
}

// utf16Length returns the length in Telegram's units (UTF-16).
func utf16Length(s string) int { return len(utf16.Encode([]rune(s))) }

// Draft implements channels.Drafter. A draft cannot be found after a crash, because Telegram stores
// no client id with a message and a bot cannot read its own messages.
func (c *Channel) Draft(ctx context.Context, d channels.Delivery) (string, error) {
	id, text := d.Draft, d.Text
	to, err := c.resolveTarget(ctx, d.Chat)
	if err != nil {
		return id, err
	}
	more := params{"link_preview_options": params{"is_disabled": true}}
	if id != "" {
		return c.editText(ctx, &to, id, text, more)
	}
	more["disable_notification"] = true
	var m sentMessage
	if err := c.retryMigrated(ctx, &to, func() error { return c.sendFormatted(ctx, "sendMessage", &to, text, more, &m) }); err != nil {
		return "", err
	}
	return m.messageID(), nil
}

// Typing implements channels.Typer. The typing indicator disappears after 5 s
// (https://core.telegram.org/bots/api#sendchataction).
func (c *Channel) Typing(ctx context.Context, chat string) error {
	to, err := c.resolveTarget(ctx, chat)
	if err != nil {
		return err
	}
	p := to.targetParams()
	p["action"] = "typing"
	return c.callMethod(ctx, "sendChatAction", p, nil)
}

// maxPhoto is the maximum size in bytes of a picture sent as a photo. Larger pictures are sent as
// documents.
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
	var m sentMessage
	send := func() error { return c.sendForm(ctx, method, fields(), field, a, &m) }
	err := c.retryMigrated(ctx, to, send)
	if method == "sendPhoto" && hasRefusalText(err, "photo_invalid_dimensions", "image_process_failed", "photo_save_file_invalid", "photo_ext_invalid") {
		method, field = "sendDocument", "document"
		err = send()
	}
	if hasRefusalText(err, "can't parse entities", "caption is too long") {
		f := fields()
		delete(f, "parse_mode")
		f["caption"] = caption
		err = c.sendForm(ctx, method, f, field, a, &m)
	}
	return m.messageID(), err
}
