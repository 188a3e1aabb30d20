package discord

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"hob/channels"
	"hob/platform/markup"
)

// post is the body of "Create Message" and "Edit Message".
type post struct {
	Content    string     `json:"content"`
	Nonce      string     `json:"nonce,omitempty"`
	Enforce    bool       `json:"enforce_nonce,omitempty"`
	Flags      int        `json:"flags"`
	Mentions   mentions   `json:"allowed_mentions"`
	Components []row      `json:"components"`
	Reference  *answering `json:"message_reference,omitempty"`
	// Files are those that the message has in the end: an edit that does not list one
	// takes it away ("Edit Message").
	Files []attached `json:"attachments,omitempty"`
}

// attached is a file that comes along as files[ID].
type attached struct {
	ID   int    `json:"id"`
	Name string `json:"filename"`
}

// mentions, with an empty list, lets a text ring nobody ("Allowed Mentions Object").
type mentions struct {
	Parse   []string `json:"parse"`
	Replied bool     `json:"replied_user"`
}

type answering struct {
	Message string `json:"message_id"`
	Must    bool   `json:"fail_if_not_exists"`
}

type (
	row struct {
		Type  int   `json:"type"` // 1
		Parts []key `json:"components"`
	}
	key struct {
		Type  int    `json:"type"`  // 2: a button
		Style int    `json:"style"` // 3: green, 4: red
		Label string `json:"label"`
		ID    string `json:"custom_id"`
	}
)

// nonce is what a delivery is known by: of at most 25 characters.
func nonce(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:12])
}

// fill completes what each text has in common.
func (p post) fill() post {
	p.Flags |= flagNoEmbeds
	p.Mentions.Parse = []string{}
	if p.Components == nil {
		p.Components = []row{}
	}
	return p
}

// rendered is the text in Discord's own markup; as it is, when that were too long, or
// nothing at all.
func rendered(text string) string {
	if s := markup.Discord(text); length(s) <= maxText && strings.TrimSpace(s) != "" {
		return s
	}
	return text
}

func length(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// chatPath checks a chat before it becomes part of an address.
func chatPath(chat string) (string, error) {
	if chat == "" || len(chat) > 100 || strings.ContainsFunc(chat, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	}) {
		return "", channels.Errorf(channels.Permanent, "discord: %q is no chat of Discord's; a chat is the id of a channel", cut(chat, 40))
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
	p := post{Content: rendered(d.Text), Nonce: nonce(d.ID), Enforce: true}.fill()
	question := ""
	if d.Kind == channels.Question && c.buttons != nil {
		if question, err = c.buttons.Open(ctx, d); err != nil {
			c.log.Warn("whether a question can have buttons is not known", "error", err)
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
		c.asked.add(ctx, open{Question: question, Chat: cmp.Or(sent.Chat, d.Chat), Message: sent.ID, At: time.Now().UTC().Round(0)})
	}
	for n, files := range rest {
		more := post{Nonce: nonce(filesID(d.ID, n)), Enforce: true}.fill()
		if _, err := c.post(ctx, k, more, files); err != nil {
			return channels.Receipt{}, err
		}
	}
	return channels.Receipt{ID: sent.ID}, nil
}

// filesID is what a further message with files of a delivery is known by.
func filesID(id string, n int) string { return id + "/files/" + strconv.Itoa(n) }

// place puts a text where it belongs: in the place of its draft, as the answer to an
// interaction, or at the end of the chat.
func (c *Channel) place(ctx context.Context, k call, d channels.Delivery, what cause, p post, files []channels.Attachment) (message, error) {
	if what.Interaction != "" && what.Token != "" && d.Kind != channels.Send {
		sent, err := c.answer(ctx, what, p, files)
		if err == nil && d.Draft != "" {
			c.withdraw(ctx, k.path, d.Draft)
		}
		if err == nil || !gone(err) && time.Now().Before(what.Until) {
			return sent, err
		}
	}
	if what.Private { // its answer is for one, in a chat of many
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

// withdraw takes a draft away whose text stands elsewhere.
func (c *Channel) withdraw(ctx context.Context, path, draft string) {
	if !snowflake(draft) {
		return
	}
	if err := c.send(ctx, "take a draft away", http.MethodDelete, path+"/"+draft, nil, nil); err != nil {
		c.log.Info("a draft stays", "error", err)
	}
}

// direct is the chat of two with somebody.
func (c *Channel) direct(ctx context.Context, who string) (string, error) {
	var ch named
	if err := c.send(ctx, "open a direct message", http.MethodPost, "/users/@me/channels", map[string]string{"recipient_id": who}, &ch); err != nil {
		return "", err
	}
	return chatPath(ch.ID)
}

// answer answers an interaction: the first text takes the place of the sign that one is
// coming, the others follow.
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

// waits reports whether an interaction has no answer yet. After a restart Discord knows
// ("Message Flags": LOADING).
func (c *Channel) waits(ctx context.Context, what cause) (bool, error) {
	c.mu.Lock()
	done := c.answered[what.Interaction]
	c.mu.Unlock()
	if done {
		return false, nil
	}
	var m message
	err := c.do(ctx, call{what: "look for an answer", method: http.MethodGet, path: hook(what) + "/messages/@original", public: true}, &m)
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

// keys are the buttons under a question.
func keys(question string) []row {
	return []row{{1, []key{{2, 3, "Approve", buttonYes + question}, {2, 4, "Deny", buttonNo + question}}}}
}

// batches divides files by how many one message holds.
func batches(files []channels.Attachment) (first []channels.Attachment, rest [][]channels.Attachment) {
	const most = maxFile // of one request, which has half a minute
	var all [][]channels.Attachment
	var now []channels.Attachment
	size := int64(0)
	for _, f := range files {
		if len(now) > 0 && (len(now) == maxFiles || size+f.Size > most) {
			all, now, size = append(all, now), nil, 0
		}
		now, size = append(now, f), size+f.Size
	}
	if all = append(all, now); len(all) == 1 {
		return now, nil
	}
	return all[0], all[1:]
}

// post sends a message, with its files as "Uploading Files" says.
func (c *Channel) post(ctx context.Context, k call, p post, files []channels.Attachment) (message, error) {
	for n, f := range files {
		p.Files = append(p.Files, attached{n, f.Name})
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return message{}, channels.Errorf(channels.Permanent, "discord: %s: %w", k.what, err)
	}
	k.mime, k.body = "application/json", raw
	if len(files) > 0 {
		if k.mime, k.body, err = form(raw, files); err != nil {
			return message{}, channels.Errorf(channels.Permanent, "discord: %s: %w", k.what, err)
		}
	}
	var sent message
	err = c.do(ctx, k, &sent)
	if e, ok := errors.AsType[*channels.Error](err); ok && k.method == http.MethodPatch {
		e.MaybeSent = false // the same again does no harm
	}
	return sent, err
}

func form(raw []byte, files []channels.Attachment) (kind string, body []byte, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("payload_json", string(raw)); err != nil {
		return "", nil, err
	}
	for n, f := range files {
		if f.Size > maxFile {
			return "", nil, fmt.Errorf("the file %q is larger than the 10 MB that Discord takes", f.Name)
		}
		data, err := os.ReadFile(f.Path)
		if err != nil {
			return "", nil, fmt.Errorf("read the file %q: %w", f.Name, err)
		}
		part, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {multipart.FileContentDisposition("files["+strconv.Itoa(n)+"]", f.Name)},
			"Content-Type":        {cmp.Or(f.MIME, "application/octet-stream")},
		})
		if err != nil {
			return "", nil, err
		}
		if _, err := part.Write(data); err != nil {
			return "", nil, err
		}
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}
	return w.FormDataContentType(), b.Bytes(), nil
}

// Draft implements channels.Drafter.
func (c *Channel) Draft(ctx context.Context, chat, id, text string) (string, error) {
	path, err := chatPath(chat)
	if err != nil {
		return "", err
	}
	p := post{Content: rendered(text)}.fill()
	k := call{what: "show a draft", method: http.MethodPatch, path: path + "/messages/" + id}
	if id == "" || !snowflake(id) {
		k.method, k.path = http.MethodPost, path+"/messages"
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

// Find implements channels.Finder. Discord itself drops a second message with a nonce for
// "the past few minutes" only ("Create Message": enforce_nonce); what is older is looked
// for among the last messages of the chat. One that comes without its nonce counts when
// it is Hob's, says the same, and is not older than the delivery.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	path, err := chatPath(d.Chat)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	var what cause
	if d.Cause != nil && json.Unmarshal(d.Cause, &what) == nil && what.Interaction != "" && what.Token != "" {
		var m message
		err := c.do(ctx, call{what: "look for an answer", method: http.MethodGet, path: hook(what) + "/messages/@original", public: true}, &m)
		if err == nil && m.ID != "" && m.Flags&flagLoading == 0 && m.Content == rendered(d.Text) {
			return channels.Receipt{ID: m.ID}, true, nil
		}
	}
	me, err := c.self(ctx)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	var page []message
	if err := c.get(ctx, "look for a text", path+"/messages?limit="+strconv.Itoa(pageSize), &page); err != nil {
		if gone(err) || barred(err) { // then Send says so
			return channels.Receipt{}, false, nil
		}
		return channels.Receipt{}, false, err
	}
	at, found := c.among(page, me, d)
	return channels.Receipt{ID: at}, found, nil
}

// among looks for a delivery in a page of messages: for its text, and for each further
// message with files of it.
func (c *Channel) among(page []message, me user, d channels.Delivery) (id string, found bool) {
	_, rest := batches(d.Files)
	missing := map[string]bool{}
	for n := range rest {
		missing[nonce(filesID(d.ID, n))] = true
	}
	text := rendered(d.Text)
	for _, m := range page {
		if m.Author.ID != me.ID {
			continue
		}
		had := strings.Trim(string(m.Nonce), `"`)
		delete(missing, had)
		switch {
		case had == nonce(d.ID):
			id = m.ID
		case had != "" && had != "null", m.Content != text: // another one
		case !m.at().Before(d.CreatedAt.Add(-time.Second)), d.Draft != "" && m.ID == d.Draft:
			id = m.ID
			clear(missing) // nor do the others show theirs
		}
	}
	return id, id != "" && len(missing) == 0
}

// self is who the bot is.
func (c *Channel) self(ctx context.Context) (user, error) {
	if me, _ := c.known(""); me.ID != "" {
		return me, nil
	}
	var me user
	if err := c.get(ctx, "sign in", "/users/@me", &me); err != nil {
		return user{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.me = me
	return me, nil
}
