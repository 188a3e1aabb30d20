package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/text/sorting"
)

// maxChats is the maximum number of stored positions. The chats that have been idle longest are
// dropped.
const maxChats = 500

// readPosition is the read position in a chat. For a direct chat it includes the user.
type readPosition struct {
	Guild string `json:"g,omitempty"`
	Last  string `json:"l"`
	User  string `json:"u,omitempty"`
}

// guildMarkKey returns the key for the position of a whole server, or of all direct messages if
// guild is "". All messages up to that position were received, also in unknown chats.
func guildMarkKey(guild string) string { return marks + guild }

const marks = "@"

// readState holds the read positions of all chats with Hob: direct messages, and the server
// channels and threads in which Hob was mentioned.
type readState struct {
	keep channels.StateStore

	mu    sync.Mutex
	chats map[string]readPosition
}

const seenKey = "seen"

// loadPositions reads the positions stored before the last restart.
func (s *readState) loadPositions(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chats != nil {
		return nil
	}
	chats := map[string]readPosition{}
	if s.keep != nil {
		raw, err := s.keep.Get(ctx, seenKey)
		if err != nil {
			return fmt.Errorf("discord: load the read positions: %w", err)
		}
		if raw != nil {
			if err := json.Unmarshal(raw, &chats); err != nil {
				return fmt.Errorf("discord: decode the read positions: %w", err)
			}
		}
	}
	s.chats = chats
	return nil
}

func (s *readState) isKnownChat(chat string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.chats[chat]
	return ok
}

// markRead records the read position in a chat. If write is false, it ignores an unknown chat and
// leaves storing the position to a later call, because reading a message twice is harmless.
func (s *readState) markRead(ctx context.Context, chat string, at readPosition, write bool) error {
	s.mu.Lock()
	if s.chats == nil {
		s.chats = map[string]readPosition{}
	}
	p, known := s.chats[chat]
	if !isNewerID(at.Last, p.Last) || !write && !known {
		s.mu.Unlock()
		return nil
	}
	at.Guild, at.User = cmp.Or(at.Guild, p.Guild), cmp.Or(at.User, p.User)
	s.chats[chat] = at
	for len(s.chats) > maxChats {
		delete(s.chats, s.oldestChat())
	}
	raw, err := json.Marshal(s.chats)
	s.mu.Unlock()
	if err != nil || !write {
		return err
	}
	return s.writePositions(ctx, raw)
}

// oldestChat returns the chat that has been idle longest. The caller holds s.mu.
func (s *readState) oldestChat() string {
	return slices.MinFunc(slices.Collect(maps.Keys(s.chats)), func(a, b string) int {
		if marked := strings.HasPrefix(b, marks); marked != strings.HasPrefix(a, marks) {
			return map[bool]int{true: -1, false: 1}[marked] // keep the positions of servers
		}
		if isNewerID(s.chats[b].Last, s.chats[a].Last) {
			return -1
		}
		return 1
	})
}

func (s *readState) writePositions(ctx context.Context, raw []byte) error {
	if s.keep == nil {
		return nil
	}
	if err := s.keep.Set(ctx, seenKey, raw); err != nil {
		return fmt.Errorf("discord: store the read positions: %w", err)
	}
	return nil
}

// forgetChat drops a chat that no longer exists.
func (s *readState) forgetChat(ctx context.Context, chat string) error {
	s.mu.Lock()
	delete(s.chats, chat)
	raw, err := json.Marshal(s.chats)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.writePositions(ctx, raw)
}

// chatsOfGuild returns the chats of a server, or the direct chats if guild is "".
func (s *readState) chatsOfGuild(guild string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for chat, p := range s.chats {
		if p.Guild == guild && !strings.HasPrefix(chat, marks) {
			out[chat] = p.Last
		}
	}
	return out
}

// lastRead returns the read position in a chat.
func (s *readState) lastRead(chat string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chats[chat].Last
}

// hasDirectChat reports whether a direct chat with the user is known.
func (s *readState) hasDirectChat(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.chats {
		if p.User == user {
			return true
		}
	}
	return false
}

// pageSize is the page size of "Get Channel Messages".
const pageSize = 100

// catchUp fetches the messages in a server's chats that arrived after the last received one, or
// direct messages if guild is "". Duplicates are dropped by their keys.
func (c *Channel) catchUp(ctx context.Context, r channels.Receiver, guild string) error {
	c.caught[guild] = false
	before := c.seen.chatsOfGuild(guild)
	for chat, last := range before {
		if err := c.fetchMissed(ctx, r, guild, chat, last); err != nil {
			return err
		}
	}
	if from := c.seen.lastRead(guildMarkKey(guild)); from != "" {
		begun := c.begunIn
		if guild == "" {
			begun = c.begunDirect
		}
		if err := begun(ctx, r, guild, from); err != nil {
			return err
		}
	} else if err := c.seen.markRead(ctx, guildMarkKey(guild), readPosition{Guild: guild, Last: idAt(time.Now())}, true); err != nil {
		return err // messages before the first start are ignored
	}
	c.caught[guild] = true
	for _, last := range c.seen.chatsOfGuild(guild) {
		if err := c.seen.markRead(ctx, guildMarkKey(guild), readPosition{Guild: guild, Last: last}, false); err != nil {
			return err
		}
	}
	return nil
}

func (c *Channel) fetchMissed(ctx context.Context, r channels.Receiver, guild, chat, last string) error {
	for {
		var page []message
		err := c.getPatiently(ctx, "fetch missed messages", fmt.Sprintf("/channels/%s/messages?limit=%d&after=%s", chat, pageSize, last), &page)
		switch {
		case isGone(err):
			return c.seen.forgetChat(ctx, chat)
		case isForbidden(err):
			c.log.Info("chat no longer readable", "chat", chat, "error", err)
			return nil
		case err != nil:
			return err
		}
		// "Get Channel Messages": the order is undocumented; in practice the newest messages come
		// first.
		sorting.ByFunc(page, func(a, b message) int {
			if isNewerID(a.ID, b.ID) {
				return 1
			}
			return -1
		})
		from := last
		for i := range page {
			m := &page[i]
			m.Chat, m.Guild = chat, guild // messages from the HTTP API do not include the server
			if !isSnowflake(m.ID) || !isNewerID(m.ID, from) {
				continue
			}
			if err := c.forwardMessage(ctx, r, m); err != nil {
				return err
			}
			last = m.ID
		}
		if len(page) < pageSize || last == from {
			return nil
		}
	}
}
