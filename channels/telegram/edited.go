package telegram

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"hob/channels"
)

// takenMessage is an accepted message. Sum detects whether its text has changed, because the text
// itself is not stored.
type takenMessage struct {
	Key string `json:"k"`
	Sum uint32 `json:"s"`
	At  int64  `json:"t"` // time of the message according to Telegram
}

const (
	// correctable is how long after a message its edits are accepted.
	correctable = 10 * time.Minute
	maxHeard    = 100
	// edited is the prefix for edited text. Text with this prefix cannot be a command, a pairing
	// code or an answer to a question.
	edited = "(edited) "
)

func (m *message) messageKey() string {
	return strconv.FormatInt(m.Chat.ID, 10) + "/" + strconv.FormatInt(m.ID, 10)
}

func (m *message) textChecksum() uint32 {
	text, _ := m.textAndEntities()
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}

// rememberTaken records an accepted message and all messages in its album.
func (c *Channel) rememberTaken(m *message) {
	for _, part := range append([]*message{m}, m.rest...) {
		c.heard = slices.DeleteFunc(c.heard, func(h takenMessage) bool {
			return h.Key == part.messageKey() || h.At < part.Date-int64(correctable/time.Second)
		})
		c.heard = append(c.heard, takenMessage{part.messageKey(), part.textChecksum(), part.Date})
	}
	c.heard = c.heard[max(0, len(c.heard)-maxHeard):]
}

// parseCorrection returns the new text of an accepted message. It returns false if something other
// than the text changed, such as a live location. It also returns false if the message was never
// accepted, because its sender is unknown or it is older than Hob. The result has no attachments,
// because they arrived with the original message.
func (c *Channel) parseCorrection(m *message) (channels.Inbound, bool) {
	i := slices.IndexFunc(c.heard, func(h takenMessage) bool { return h.Key == m.messageKey() })
	if i < 0 || c.heard[i].Sum == m.textChecksum() || m.EditDate-m.Date > int64(correctable/time.Second) {
		return channels.Inbound{}, false
	}
	m.changed = true
	in, ok := c.toInbound(m)
	in.Files, in.At = nil, time.Unix(m.EditDate, 0).UTC()
	in.Key += fmt.Sprintf("/%d/%x", m.EditDate, m.textChecksum())
	return in, ok && in.Text != ""
}

// mergeEdits replaces the text of a message that is not accepted yet with its later edit. The
// update with the edit becomes empty.
func mergeEdits(updates []update) []update {
	for i, u := range updates {
		if u.Edited == nil {
			continue
		}
		for _, before := range updates[:i] {
			if m := before.Message; m != nil && m.messageKey() == u.Edited.messageKey() {
				changed := m.changed || m.textChecksum() != u.Edited.textChecksum()
				*m, updates[i].Edited = *u.Edited, nil
				m.changed = changed
			}
		}
	}
	return updates
}
