package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hob/channels"
	"hob/platform/text/markup"
)

// maxUpdate is the maximum length of an edited message, and maxSection the maximum length of a
// block (docs.slack.dev/reference/methods/chat.update, "msg_too_long", and
// docs.slack.dev/reference/block-kit/blocks/section-block).
const (
	maxUpdate  = 4000
	maxSection = 3000
)

// messageArgs returns the arguments for posting a message. They disable link previews and mentions
// by plain names.
func messageArgs(chat, text string) url.Values {
	channel, thread, _ := strings.Cut(chat, "/")
	args := url.Values{"channel": {channel}, "text": {text}, "unfurl_links": {"false"}, "unfurl_media": {"false"}, "link_names": {"false"}, "parse": {"none"}}
	if thread != "" {
		args.Set("thread_ts", thread)
	}
	return args
}

// postResult is Slack's response to a posted message.
type postResult struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"`
}

// Send implements channels.Channel.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	if err := c.loadAsked(ctx); err != nil {
		return channels.Receipt{}, err
	}
	if len(d.Files) > 0 && !c.didShare(d.ID) {
		if err := c.shareFiles(ctx, d); err != nil {
			return channels.Receipt{}, err
		}
		c.noteShare(d.ID)
	}
	text := markup.Slack(d.Markdown())
	if strings.TrimSpace(text) == "" {
		if len(d.Files) == 0 {
			return channels.Receipt{}, channels.Errorf(channels.Permanent, "slack: the text is empty")
		}
		return channels.Receipt{}, nil
	}
	args := messageArgs(d.Chat, text)
	args.Set("metadata", deliveryMetadata(d.ID))
	question := c.pressableQuestion(ctx, d)
	if question != "" {
		args.Set("blocks", askBlocks(text, question))
	}
	out, err := c.putText(ctx, d, args, question != "")
	if err != nil {
		return channels.Receipt{}, err
	}
	if question != "" {
		c.trackQuestion(ctx, question, &postedQuestion{Question: question, Channel: out.Channel, TS: out.TS, Thread: args.Get("thread_ts")})
	}
	return channels.Receipt{ID: out.TS}, nil
}

func (c *Channel) didShare(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shared[id]
}

func (c *Channel) noteShare(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.shared) > 1000 {
		clear(c.shared)
	}
	c.shared[id] = true
}

// pressableQuestion returns the question that a button press may answer, or "" for a message
// without buttons. Without buttons, the question can be answered in words.
func (c *Channel) pressableQuestion(ctx context.Context, d channels.Delivery) string {
	if c.buttons == nil || d.Kind != channels.Question {
		return ""
	}
	q, err := c.buttons.Open(ctx, d)
	if err != nil {
		c.log.Warn("question sent without buttons", "delivery", d.ID, "error", err)
		return ""
	}
	return q
}

// deliveryMetadata returns the metadata that Find uses to recognize a delivery.
func deliveryMetadata(id string) string {
	m := metadata{Type: "hob"}
	m.Payload.ID = id
	raw, err := json.Marshal(m)
	if err != nil {
		return "" // two strings can always be encoded
	}
	return string(raw)
}

// putText posts a message, or replaces the draft with it. A question is always a new message, so
// that its timestamp is the time at which its text appeared.
func (c *Channel) putText(ctx context.Context, d channels.Delivery, args url.Values, fresh bool) (postResult, error) {
	var out postResult
	if d.Draft != "" {
		if !fresh && utf8.RuneCountInString(args.Get("text")) <= maxUpdate {
			err := c.updateMessage(ctx, d.Draft, args, &out)
			gone := errorCode(err)
			// Rate limits are per method. If drafts have used up the limit for edits, a complete
			// text is sent as a new message.
			if gone != "message_not_found" && gone != "cant_update_message" && gone != "edit_window_closed" && gone != "msg_too_long" && channels.ClassOf(err) != channels.Later {
				return out, err
			}
		}
		_, err := c.callAPI(ctx, c.bot, "chat.delete", url.Values{"channel": {args.Get("channel")}, "ts": {d.Draft}}, nil)
		if err != nil && errorCode(err) != "message_not_found" { // so that the draft is not mistaken for the answer
			if err = c.updateMessage(ctx, d.Draft, messageArgs(d.Chat, "(full answer below)"), nil); err != nil {
				c.log.Debug("deleting a draft failed", "delivery", d.ID, "error", err)
			}
		}
	}
	_, err := c.callAPI(ctx, c.bot, "chat.postMessage", args, &out)
	return out, err
}

// updateMessage edits a message. It is safe to repeat.
func (c *Channel) updateMessage(ctx context.Context, when string, args url.Values, out *postResult) error {
	again := url.Values{"ts": {when}}
	for _, k := range []string{"channel", "text", "metadata", "blocks", "link_names", "parse", "unfurl_links", "unfurl_media"} {
		if v, ok := args[k]; ok {
			again[k] = v
		}
	}
	_, err := c.callAPI(ctx, c.bot, "chat.update", again, out)
	if e, ok := errors.AsType[*channels.Error](err); ok {
		e.MaybeSent = false
	}
	return err
}

// Draft implements channels.Drafter.
func (c *Channel) Draft(ctx context.Context, d channels.Delivery) (string, error) {
	id, text := d.Draft, d.Text
	shown := markup.Slack(text)
	for utf8.RuneCountInString(shown) > maxUpdate {
		r := []rune(text)
		text = string(r[:len(r)*3/4])
		shown = markup.Slack(text)
	}
	if strings.TrimSpace(shown) == "" {
		return id, nil
	}
	if err := c.mayDraft(); err != nil {
		return id, err
	}
	args := messageArgs(d.Chat, shown)
	out := postResult{TS: id}
	var err error
	if id != "" {
		err = c.updateMessage(ctx, id, args, &out)
	} else {
		args.Set("metadata", deliveryMetadata(d.ID))
		_, err = c.callAPI(ctx, c.bot, "chat.postMessage", args, &out)
	}
	if channels.ClassOf(err) == channels.Later {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.noDraft = time.Now().Add(channels.RetryIn(err, 10*time.Second))
	}
	return out.TS, err
}

// draftsAMinute is the number of edits per minute that drafts may use. The rest of the 50 edits per
// minute, which all chats share, is reserved for complete messages
// (docs.slack.dev/reference/methods/chat.update: Tier 3).
const draftsAMinute = 40

// mayDraft returns an error while the rate limit is reached or nearly reached, because complete
// messages need the remaining calls. Otherwise it counts the draft.
func (c *Channel) mayDraft() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, until := time.Now(), c.noDraft
	c.drafts = slices.DeleteFunc(c.drafts, func(t time.Time) bool { return now.Sub(t) > time.Minute })
	if len(c.drafts) >= draftsAMinute {
		until = c.drafts[0].Add(time.Minute)
	}
	if now.Before(until) {
		e := channels.Errorf(channels.Later, "slack: drafts deferred by the rate limit")
		e.RetryAt = until
		return e
	}
	c.drafts = append(c.drafts, now)
	return nil
}

// clocks is the maximum difference between Slack's clock and this machine's.
const clocks = 10 * time.Minute

// Find implements channels.DeliveryFinder.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	all, err := c.fetchHistory(ctx, d.Chat, formatTS(d.CreatedAt.Add(-clocks)), true)
	if errorCode(err) == "thread_not_found" {
		return channels.Receipt{}, false, nil
	}
	if err != nil {
		return channels.Receipt{}, false, err
	}
	for _, m := range all {
		if m.Bot != "" && m.Metadata.Type == "hob" && m.Metadata.Payload.ID == d.ID {
			return channels.Receipt{ID: m.TS}, true, nil
		}
	}
	return channels.Receipt{}, false, nil
}

// Typing implements channels.Typer. Slack shows the status of an app only in threads, for which the
// scope chat:write is sufficient (docs.slack.dev/reference/methods/assistant.threads.setStatus).
// The status disappears with the next message or after 2 minutes.
func (c *Channel) Typing(ctx context.Context, chat string) error {
	channel, thread, _ := strings.Cut(chat, "/")
	c.mu.Lock()
	never := c.noStatus
	c.mu.Unlock()
	if thread == "" || never {
		return nil
	}
	_, err := c.callAPI(ctx, c.bot, "assistant.threads.setStatus", url.Values{"channel_id": {channel}, "thread_ts": {thread}, "status": {"is writing..."}}, nil)
	if class := channels.ClassOf(err); err != nil && class != channels.Later && class != channels.Temporary {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.noStatus = true
		return nil
	}
	return err
}
