package telegram

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"hob/channels"
)

// heard is a message that was taken. Sum tells whether its words have changed since, and
// nothing else of them.
type heard struct {
	Key string `json:"k"`
	Sum uint32 `json:"s"`
	At  int64  `json:"t"` // when it was written, as Telegram says
}

const (
	// correctable is for how long what its sender changes in a message is heard.
	correctable = 10 * time.Minute
	maxHeard    = 100
	// edited stands before words that were changed. With it they are no command, no code,
	// and no answer to a question.
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

// heed remembers that a message was taken, with all that belongs to it.
func (c *Channel) heed(m *message) {
	for _, part := range append([]*message{m}, m.rest...) {
		c.heard = slices.DeleteFunc(c.heard, func(h heard) bool {
			return h.Key == part.key() || h.At < part.Date-int64(correctable/time.Second)
		})
		c.heard = append(c.heard, heard{part.key(), part.sum(), part.Date})
	}
	c.heard = c.heard[max(0, len(c.heard)-maxHeard):]
}

// correction is what a message says now that was taken when it said something else; false
// for all that has changed but words, as a place that moves does, and for what was never
// taken: a stranger's message, or one from before Hob was there. What came along is known
// already.
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

// settled puts what its sender has changed meanwhile into the place of a message that was
// not taken yet. The update of the change is left without it.
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
