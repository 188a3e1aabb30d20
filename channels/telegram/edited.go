package telegram

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"hob/channels"
)

// heard is an accepted message. Sum detects whether its text has changed; the text itself is
// not stored.
type heard struct {
	Key string `json:"k"`
	Sum uint32 `json:"s"`
	At  int64  `json:"t"` // Telegram's time of the message
}

const (
	// correctable is how long after a message its edits are accepted.
	correctable = 10 * time.Minute
	maxHeard    = 100
	// edited prefixes an edited text. With the prefix it is no command, no code, and no answer
	// to a question.
	edited = "(edited) "
)

func (m *message) key() string {
	return strconv.FormatInt(m.Chat.ID, 10) + "/" + strconv.FormatInt(m.ID, 10)
}

func (m *message) sum() uint32 {
	text, _ := m.written()
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}

// heed records an accepted message and all messages of its album.
func (c *Channel) heed(m *message) {
	for _, part := range append([]*message{m}, m.rest...) {
		c.heard = slices.DeleteFunc(c.heard, func(h heard) bool {
			return h.Key == part.key() || h.At < part.Date-int64(correctable/time.Second)
		})
		c.heard = append(c.heard, heard{part.key(), part.sum(), part.Date})
	}
	c.heard = c.heard[max(0, len(c.heard)-maxHeard):]
}

// correction returns the new text of an accepted message; false if something other than the
// text changed, such as a live location, and for messages that were never accepted: from
// unknown senders, or older than Hob. Attachments are already known.
func (c *Channel) correction(m *message) (channels.Inbound, bool) {
	i := slices.IndexFunc(c.heard, func(h heard) bool { return h.Key == m.key() })
	if i < 0 || c.heard[i].Sum == m.sum() || m.EditDate-m.Date > int64(correctable/time.Second) {
		return channels.Inbound{}, false
	}
	m.changed = true
	in, ok := c.inbound(m)
	in.Files, in.At = nil, time.Unix(m.EditDate, 0).UTC()
	in.Key += fmt.Sprintf("/%d/%x", m.EditDate, m.sum())
	return in, ok && in.Text != ""
}

// settled replaces the text of a message that is not yet accepted by its later edit. The
// update of the edit becomes empty.
func settled(updates []update) []update {
	for i, u := range updates {
		if u.Edited == nil {
			continue
		}
		for _, before := range updates[:i] {
			if m := before.Message; m != nil && m.key() == u.Edited.key() {
				changed := m.changed || m.sum() != u.Edited.sum()
				*m, updates[i].Edited = *u.Edited, nil
				m.changed = changed
			}
		}
	}
	return updates
}
