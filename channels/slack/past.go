package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/retry"
	"hob/platform/text/sorting"
)

// readState holds the read positions as Slack timestamps.
type readState struct {
	Since string            `json:"since"` // start for all conversations; "" before the first start
	At    map[string]string `json:"at"`    // keyed by "C1" or "C1/thread"
}

const (
	maxPlaces = 300                 // maximum number of stored read positions
	maxLooked = 60                  // maximum number of known conversations that are checked after a pause, latest first; the same maximum applies to unknown ones
	maxPages  = 10                  // maximum pages of the conversation list
	stale     = 14 * 24 * time.Hour // age after which a conversation is not checked
	maxMissed = 2000                // maximum messages per conversation
	longest   = 2 * time.Minute     // maximum wait for a rate limit
)

// formatTS formats t as a Slack timestamp.
func formatTS(t time.Time) string {
	return strconv.FormatInt(t.Unix(), 10) + "." + fmt.Sprintf("%06d", t.Nanosecond()/1000)
}

// loadCursors loads the read positions. At the first start it records the time, so that older
// messages are ignored. It reports whether messages may have been missed. now is Slack's time.
func (c *Channel) loadCursors(ctx context.Context, now time.Time) (bool, error) {
	if c.seen.Since == "" {
		if err := c.loadKept(ctx, keepSeen, &c.seen); err != nil {
			return false, err
		}
	}
	if c.seen.At == nil {
		c.seen.At = map[string]string{}
	}
	if c.seen.Since != "" {
		return true, nil
	}
	c.seen.Since = formatTS(now)
	return false, c.keepSeen(ctx)
}

// serverTime returns Slack's time, which may differ from the clock of this machine.
func serverTime(h http.Header) time.Time {
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return time.Now()
	}
	return t
}

// markRead records that a message was handled. If create is set, it also starts to track the
// conversation.
func (c *Channel) markRead(ctx context.Context, place, when string, create bool) error {
	old, known := c.seen.At[place]
	if (!known && !create) || (known && cmpTS(old, when) >= 0) {
		return nil
	}
	c.seen.At[place] = when
	if !c.behind && cmpTS(c.seen.Since, when) < 0 {
		c.seen.Since = when
	}
	for len(c.seen.At) > maxPlaces {
		delete(c.seen.At, slices.MinFunc(slices.Collect(maps.Keys(c.seen.At)), func(a, b string) int {
			return cmpTS(c.seen.At[a], c.seen.At[b])
		}))
	}
	return c.keepSeen(ctx)
}

func (c *Channel) keepSeen(ctx context.Context) error {
	if c.keep == nil {
		return nil
	}
	raw, err := json.Marshal(c.seen)
	if err == nil {
		err = c.keep.Set(ctx, keepSeen, raw)
	}
	if err != nil {
		return fmt.Errorf("slack: store the read positions: %w", err)
	}
	return nil
}

// readPosition is a conversation with its read position.
type readPosition struct{ place, after string }

// member is a conversation that Hob is a member of.
type member struct {
	ID string `json:"id"`
	IM bool   `json:"is_im"`
}

// listMemberships returns the conversations that Hob is a member of, direct messages first
// (docs.slack.dev/reference/methods/users.conversations).
func (c *Channel) listMemberships(ctx context.Context) ([]member, error) {
	var all []member
	args := url.Values{"types": {"im,mpim,public_channel,private_channel"}, "exclude_archived": {"true"}, "limit": {"200"}}
	for range maxPages {
		var page struct {
			Channels []member `json:"channels"`
			Next     struct {
				Cursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		err := c.retryRateLimited(ctx, func() error {
			_, err := c.callAPI(ctx, c.bot, "users.conversations", args, &page)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Channels...)
		if page.Next.Cursor == "" {
			break
		}
		args.Set("cursor", page.Next.Cursor)
	}
	sorting.StableByFunc(all, func(a, b member) int {
		switch {
		case a.IM == b.IM:
			return 0
		case a.IM:
			return -1
		}
		return 1
	})
	return all, nil
}

// readPositions returns the read positions of the conversations to check for missed messages: the
// known ones, and others in which a first message may have arrived.
func (c *Channel) readPositions(ctx context.Context) ([]readPosition, error) {
	in, err := c.listMemberships(ctx)
	if err != nil && channels.ClassOf(err) != channels.Permanent && errorCode(err) != "missing_scope" {
		return nil, err
	}
	if err != nil {
		c.log.Warn("finding conversations that started while Hob was off failed", "error", err)
	}
	var unknown []readPosition
	for _, m := range in {
		if _, known := c.seen.At[m.ID]; !known && isID(m.ID) {
			unknown = append(unknown, readPosition{m.ID, c.seen.Since})
		}
	}
	if n := len(unknown); n > maxLooked {
		c.log.Warn("slack: Hob is in too many conversations; not all are checked for missed messages", "conversations", n, "looked_at", maxLooked)
		unknown = unknown[:maxLooked]
	}
	old := formatTS(time.Now().Add(-stale))
	var known []readPosition
	for place, after := range c.seen.At {
		if cmpTS(after, old) > 0 || strings.HasPrefix(place, "D") && !strings.Contains(place, "/") {
			known = append(known, readPosition{place, after})
		}
	}
	sorting.ByFunc(known, func(a, b readPosition) int { return -cmpTS(a.after, b.after) })
	return append(known[:min(len(known), maxLooked)], unknown...), nil
}

// retryRateLimited calls f and repeats the call after a rate limit, if the wait is short enough.
func (c *Channel) retryRateLimited(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil || channels.ClassOf(err) != channels.Later {
			return err
		}
		wait := channels.RetryIn(err, time.Second)
		if end, ok := ctx.Deadline(); ok && time.Until(end) < wait || wait > longest {
			return err
		}
		if retry.Sleep(ctx, wait) != nil {
			return ctx.Err()
		}
	}
}

// receiveMissed fetches the messages since the read positions. hear must return nil for messages
// that can never be accepted, because an error stops the fetch.
func (c *Channel) receiveMissed(ctx context.Context, hear func(ctx context.Context, m message) error) error {
	c.behind = true // until all messages are fetched, unknown conversations are read from Since on
	list, err := c.readPositions(ctx)
	if err != nil {
		return fmt.Errorf("slack: fetch missed messages: %w", err)
	}
	for i := 0; i < len(list); i++ {
		at := list[i]
		all, err := c.fetchHistory(ctx, at.place, at.after, false)
		switch {
		case err == nil:
		case channels.ClassOf(err) == channels.Permanent || errorCode(err) == "missing_scope":
			c.log.Info("chat no longer readable", "chat", at.place, "error", err)
			delete(c.seen.At, at.place)
			continue
		default:
			return fmt.Errorf("slack: fetch missed messages: %w", err)
		}
		for _, m := range all {
			m.Channel = channelOfPlace(at.place)
			if err := hear(ctx, m); err != nil {
				return err
			}
			thread := m.Channel + "/" + m.TS
			if m.Replies > 0 && !strings.Contains(at.place, "/") && !slices.ContainsFunc(list, func(s readPosition) bool { return s.place == thread }) && len(list) < 4*maxLooked {
				list = append(list, readPosition{thread, at.after})
			}
		}
	}
	c.behind = false
	for _, when := range c.seen.At {
		if cmpTS(c.seen.Since, when) < 0 {
			c.seen.Since = when
		}
	}
	return c.keepSeen(ctx)
}

func channelOfPlace(place string) string {
	id, _, _ := strings.Cut(place, "/")
	return id
}

// fetchHistory returns the messages of a conversation after a time, oldest first
// (docs.slack.dev/reference/methods/conversations.history and .replies: pages of a history begin
// with the latest message, pages of a thread with its first message).
func (c *Channel) fetchHistory(ctx context.Context, place, after string, metadata bool) ([]message, error) {
	id, thread, isThread := strings.Cut(place, "/")
	method, args := "conversations.history", url.Values{"channel": {id}, "oldest": {after}, "limit": {"200"}}
	if isThread {
		method = "conversations.replies"
		args.Set("ts", thread)
	}
	if metadata {
		args.Set("include_all_metadata", "true")
	}
	var out []message
	for {
		var page struct {
			Messages []message `json:"messages"`
			More     bool      `json:"has_more"`
			Next     struct {
				Cursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		err := c.retryRateLimited(ctx, func() error {
			_, err := c.callAPI(ctx, c.bot, method, args, &page)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, m := range page.Messages {
			if isTS(m.TS) && cmpTS(m.TS, after) > 0 { // the result always contains the thread's first message
				out = append(out, m)
			}
		}
		if !page.More || page.Next.Cursor == "" || len(out) >= maxMissed {
			break
		}
		args.Set("cursor", page.Next.Cursor)
	}
	sorting.StableByFunc(out, func(a, b message) int { return cmpTS(a.TS, b.TS) })
	return out, nil
}
