package telegram

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/retry"
)

// Keys of the stored state.
const (
	keyOffset   = "offset"
	keyMoved    = "moved"
	keyCommands = "commands"
)

// Run implements channels.Channel.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	if c.keep == nil {
		return channels.Errorf(channels.Permanent, "telegram: no store for the update offset, so messages would be received twice or lost")
	}
	inner, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { c.asked.Watch(inner, c.opt.Pause, c.removeButtons) })
	err := c.pollUntilDone(ctx, r)
	cancel()
	wg.Wait()
	c.mu.Lock()
	c.since = time.Time{}
	c.mu.Unlock()
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the caller ended the context
	}
	return err
}

const (
	longestPause = 30 * time.Second
	conflicts    = 4 // number of tolerated conflicts with another poll, for example by a Hob process that was just killed
)

// pollUntilDone polls until ctx ends or the owner must act.
func (c *Channel) pollUntilDone(ctx context.Context, r channels.Receiver) error {
	begun, failures, inTheWay := false, 0, 0
	pauses := retry.Backoff{First: c.opt.Pause, Max: min(32*c.opt.Pause, longestPause)}
	for ctx.Err() == nil {
		var err error
		if !begun {
			err = c.signIn(ctx)
			begun = err == nil
		}
		if err == nil {
			err = c.pollOnce(ctx, r)
		}
		if ctx.Err() != nil {
			return nil
		}
		c.noteStatus(err)
		if err == nil {
			failures, inTheWay = 0, 0
			continue
		}
		wait := channels.RetryIn(err, pauses.Delay(failures+1))
		failures++
		switch e, _ := errors.AsType[*channels.Error](err); {
		case e == nil:
		case e.Class == channels.Unauthorized || hasRefusalText(err, "webhook"):
			return err
		case hasRefusalText(err, "conflict"):
			if inTheWay++; inTheWay >= conflicts {
				return err
			}
		}
		c.log.Warn("polling telegram failed", "error", err, "again_in", wait)
		_ = retry.Sleep(ctx, wait) // the loop ends with ctx
	}
	return nil
}

// noteStatus stores the connection status for DescribeStatus.
func (c *Channel) noteStatus(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken = err; err != nil {
		c.since = time.Time{}
	} else if c.since.IsZero() {
		c.since = time.Now()
	}
}

//go:embed commands.txt
var commandList string

// signIn signs in, and registers the commands if they have changed.
func (c *Channel) signIn(ctx context.Context) error {
	if _, err := c.getMe(ctx); err != nil {
		return err
	}
	if _, err := c.movedTo(ctx, ""); err != nil {
		return err
	}
	kept, err := c.keep.Get(ctx, keyCommands)
	if err != nil {
		return fmt.Errorf("telegram: load the registered commands: %w", err)
	}
	if string(kept) == commandList {
		return nil
	}
	var list []map[string]string
	for line := range strings.Lines(commandList) {
		if cmd, about, ok := strings.Cut(strings.TrimSpace(line), " - "); ok {
			list = append(list, map[string]string{"command": cmd, "description": about})
		}
	}
	if err := c.callMethod(ctx, "setMyCommands", params{"commands": list}, nil); err != nil {
		if channels.ClassOf(err) == channels.Unauthorized {
			return err
		}
		c.log.Warn("registering the commands failed", "error", err)
		return nil
	}
	if err := c.keep.Set(ctx, keyCommands, []byte(commandList)); err != nil {
		return fmt.Errorf("telegram: store the registered commands: %w", err)
	}
	return nil
}

// updateOffset is the read position in the updates.
type updateOffset struct {
	Next  int64          `json:"next"` // id of the first update that is not accepted yet
	At    int64          `json:"at"`   // time of the last accepted update
	Heard []takenMessage `json:"heard,omitempty"`
}

// stale is how long a position is valid. After a week without updates, update ids restart at a
// random number, and a larger stored offset would skip updates. The server drops updates after a
// day. See https://core.telegram.org/bots/api#update and #getting-updates.
const stale = 3 * 24 * time.Hour

// pollOnce polls once and handles the updates.
func (c *Channel) pollOnce(ctx context.Context, r channels.Receiver) error {
	kept, err := c.keep.Get(ctx, keyOffset)
	if err != nil {
		return fmt.Errorf("telegram: load the update offset: %w", err)
	}
	if kept == nil {
		return c.skipPast(ctx)
	}
	var at updateOffset
	if err := json.Unmarshal(kept, &at); err != nil {
		c.log.Warn("decoding the update offset failed; receiving all waiting messages", "error", err)
	}
	c.heard = at.Heard
	if time.Since(time.Unix(at.At, 0)) > stale {
		at.Next = 0
	}
	updates, err := c.getUpdates(ctx, at.Next, c.opt.Poll)
	if err == nil && len(updates) > 0 && updates[len(updates)-1].albumID() != "" { // the album may continue
		_ = retry.Sleep(ctx, c.opt.Album) // getUpdates reports the end of ctx
		updates, err = c.getUpdates(ctx, at.Next, 0)
	}
	if err != nil {
		return err
	}
	c.noteStatus(nil)
	for _, u := range mergeAlbums(mergeEdits(updates)) {
		if err := c.handleUpdate(ctx, r, u); err != nil {
			return err
		}
	}
	return nil
}

// albumID returns the id of the album that an update belongs to, or "".
func (u *update) albumID() string {
	if u.Message == nil || u.Message.Album == "" || u.Message.From == nil {
		return ""
	}
	return fmt.Sprint(u.Message.Chat.ID, "/", u.Message.From.ID, "/", u.Message.Album)
}

// mergeAlbums merges the updates of an album into one, because Telegram sends each picture
// separately.
func mergeAlbums(updates []update) (out []update) {
	for _, u := range updates {
		if n := len(out); n > 0 && u.albumID() != "" && out[n-1].albumID() == u.albumID() {
			out[n-1].ID = u.ID
			out[n-1].Message.rest = append(out[n-1].Message.rest, u.Message)
			continue
		}
		out = append(out, u)
	}
	return out
}

// skipPast drops messages written before Hob was set up. An offset of -1 drops all updates except
// the last one (https://core.telegram.org/bots/api#getupdates).
func (c *Channel) skipPast(ctx context.Context) error {
	updates, err := c.getUpdates(ctx, -1, 0)
	if hasRefusalText(err, "webhook") {
		if err = c.takeOver(ctx); err == nil {
			updates, err = c.getUpdates(ctx, -1, 0)
		}
	}
	if err != nil {
		return err
	}
	var next int64
	for _, u := range updates {
		next = u.ID + 1
	}
	return c.moveTo(ctx, next)
}

// takeOver removes a webhook that existed before Hob was set up, because the owner has just given
// the bot to Hob. A later webhook belongs to another program or to an attacker, so the owner must
// decide.
func (c *Channel) takeOver(ctx context.Context) error {
	at, err := c.webhookHost(ctx)
	if err != nil {
		return err
	}
	if err := c.callMethod(ctx, "deleteWebhook", nil, nil); err != nil {
		return err
	}
	c.log.Warn("removed the webhook that received the messages of the telegram bot", "host", at)
	return nil
}

// getUpdates polls for updates. If an update cannot be decoded, only its id is returned.
func (c *Channel) getUpdates(ctx context.Context, offset int64, hold time.Duration) ([]update, error) {
	ctx, cancel := context.WithTimeout(ctx, hold+slack)
	defer cancel()
	p := params{"timeout": int(hold / time.Second), "limit": 100, "allowed_updates": []string{"message", "edited_message", "callback_query"}}
	if offset != 0 {
		p["offset"] = offset
	}
	var list []json.RawMessage
	if err := c.callMethod(ctx, "getUpdates", p, &list); err != nil {
		return nil, err
	}
	var out []update
	for _, raw := range list {
		var id struct {
			ID *int64 `json:"update_id"`
		}
		if json.Unmarshal(raw, &id) != nil || id.ID == nil {
			c.log.Warn("telegram sent an update without an id")
			continue
		}
		var u update
		if err := json.Unmarshal(raw, &u); err != nil {
			c.log.Warn("skipped a telegram update that cannot be decoded", "update", *id.ID, "error", err)
			u = update{ID: *id.ID}
		}
		out = append(out, u)
	}
	return out, nil
}

func (c *Channel) moveTo(ctx context.Context, next int64) error {
	b, err := json.Marshal(updateOffset{Next: next, At: time.Now().Unix(), Heard: c.heard})
	if err == nil {
		err = c.keep.Set(ctx, keyOffset, b)
	}
	if err != nil {
		return fmt.Errorf("telegram: store the update offset: %w", err)
	}
	return nil
}

// handleUpdate handles one update and then advances the offset. After an error the offset stays
// where it is, so that Telegram delivers this update and later ones again.
func (c *Channel) handleUpdate(ctx context.Context, r channels.Receiver, u update) error {
	switch {
	case u.Callback != nil:
		c.handlePress(ctx, *u.Callback)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	case u.Message != nil && u.Message.MigrateTo != 0:
		if err := c.recordMigration(ctx, strconv.FormatInt(u.Message.Chat.ID, 10), u.Message.MigrateTo); err != nil {
			return err
		}
	case u.Message != nil:
		in, ok := c.toInbound(u.Message)
		if err := c.forwardMessage(ctx, r, u.Message, in, ok); err != nil {
			return err
		}
	case u.Edited != nil:
		in, ok := c.parseCorrection(u.Edited)
		if err := c.forwardMessage(ctx, r, u.Edited, in, ok); err != nil {
			return err
		}
	}
	return c.moveTo(ctx, u.ID+1)
}

// forwardMessage passes a message to r if it has content.
func (c *Channel) forwardMessage(ctx context.Context, r channels.Receiver, m *message, in channels.Inbound, says bool) error {
	if !says {
		return nil
	}
	switch _, err := r.Receive(ctx, in); {
	case errors.Is(err, channels.ErrStranger):
	case err != nil:
		return fmt.Errorf("telegram: message not accepted, Hob will retry: %w", err)
	default:
		c.rememberTaken(m)
	}
	return nil
}

const maxMoved = 200

// recordMigration records the new id of a group that became a supergroup.
func (c *Channel) recordMigration(ctx context.Context, from string, to int64) error {
	if _, err := c.movedTo(ctx, from); err != nil {
		return err
	}
	c.mu.Lock()
	if len(c.moved) >= maxMoved {
		clear(c.moved)
	}
	c.moved[from] = strconv.FormatInt(to, 10)
	b, err := json.Marshal(c.moved)
	c.mu.Unlock()
	if err == nil {
		err = c.keep.Set(ctx, keyMoved, b)
	}
	if err != nil {
		return fmt.Errorf("telegram: store the new id of a group: %w", err)
	}
	return nil
}

// movedTo returns the current id of a chat.
func (c *Channel) movedTo(ctx context.Context, id string) (string, error) {
	c.mu.Lock()
	known := c.moved != nil
	c.mu.Unlock()
	if !known {
		m := map[string]string{}
		if c.keep != nil {
			kept, err := c.keep.Get(ctx, keyMoved)
			if err != nil {
				return "", fmt.Errorf("telegram: load the group ids: %w", err)
			}
			if kept != nil && json.Unmarshal(kept, &m) != nil {
				m = map[string]string{}
			}
		}
		c.mu.Lock()
		if c.moved == nil {
			c.moved = m
		}
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := []string{id}
	for {
		to, ok := c.moved[id]
		if !ok || slices.Contains(seen, to) {
			return id, nil
		}
		id = to
		seen = append(seen, id)
	}
}

// originalChatID returns the first id of a chat.
func (c *Channel) originalChatID(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range len(c.moved) {
		for from, to := range c.moved {
			if to == id {
				id = from
				break
			}
		}
	}
	return id
}
