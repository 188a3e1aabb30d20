package telegram

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"hob/channels"
)

// cause is the Payload of a message.
type cause struct {
	Message int64 `json:"m"`
	Group   bool  `json:"g,omitempty"`
}

// inbound reads a message; false for what nobody said: what other bots and Hob itself
// wrote, what was written in the name of a channel, and notes such as that somebody
// came or went.
func (c *Channel) inbound(m *message) (channels.Inbound, bool) {
	me := c.self()
	if m.From == nil || m.From.IsBot || m.SenderChat != nil || m.Chat.ID == 0 {
		return channels.Inbound{}, false
	}
	in := channels.Inbound{
		Channel: name, Chat: address(m.Chat.ID, m), Group: m.Chat.Type != "private", ChatName: m.Chat.Title,
		Sender: strconv.FormatInt(m.From.ID, 10), SenderName: m.From.name(),
		Forwarded: given(m.Forward) || m.ViaBot != nil,
		Key:       strconv.FormatInt(m.Chat.ID, 10) + "/" + strconv.FormatInt(m.ID, 10),
		Files:     c.files(m), At: time.Unix(m.Date, 0).UTC(),
	}
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	in.Text, in.Mentioned = me.addressed(text, entities)
	in.Mentioned = in.Mentioned || !in.Group || m.ReplyTo.by(me)
	if !in.Group {
		in.Text = start(in.Text)
	}
	in.Text = strings.TrimSpace(strings.TrimSpace(in.Text) + "\n" + m.told())
	if m.silent(text) {
		return channels.Inbound{}, false
	}
	if in.Text == "" && len(in.Files) == 0 {
		in.Text = text // a name alone
	}
	if said := m.answers(me); said != "" {
		in.Outside = append(in.Outside, said)
	}
	b, err := json.Marshal(cause{Message: m.ID, Group: in.Group})
	if err == nil {
		in.Payload = b
	}
	return in, true
}

// silent reports whether a message holds nothing that can be heard.
func (m *message) silent(text string) bool {
	return strings.TrimSpace(text) == "" && m.told() == "" && m.Photo == nil && m.Document == nil && m.Animation == nil &&
		m.Audio == nil && m.Video == nil && m.VideoNote == nil && m.Voice == nil
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// address is the chat as Send takes it: "id", or "id/thread" in a topic.
func address(id int64, m *message) string {
	s := strconv.FormatInt(id, 10)
	if m.IsTopic && m.Thread != 0 {
		s += "/" + strconv.FormatInt(m.Thread, 10)
	}
	return s
}

func (u user) name() string {
	n := strings.TrimSpace(u.FirstName + " " + u.LastName)
	if n == "" {
		n = u.Username
	}
	return n
}

// by reports whether a message is there and Hob's own.
func (m *message) by(me user) bool {
	return m != nil && m.From != nil && me.ID != 0 && m.From.ID == me.ID
}

// answers returns what a message answers to, if somebody else wrote that: the part
// that was marked, or all of it.
func (m *message) answers(me user) string {
	switch {
	case m.ReplyTo.by(me):
		return ""
	case m.Quote != nil && m.Quote.Text != "":
		return m.Quote.Text
	case m.ReplyTo == nil:
		return ""
	}
	return strings.TrimSpace(m.ReplyTo.Text + m.ReplyTo.Caption + " " + m.ReplyTo.told())
}

// start reads the first word to a bot: "/start CODE" is what a link such as
// https://t.me/hobbot?start=CODE sends.
func start(text string) string {
	rest, ok := strings.CutPrefix(text, "/start")
	switch {
	case !ok || rest != "" && rest[0] != ' ':
		return text
	case strings.TrimSpace(rest) == "":
		return "/help"
	}
	return strings.TrimSpace(rest)
}

// addressed reports whether a text names Hob, and takes the name out of it. "/stop@hob
// now" is the command "/stop now".
func (u user) addressed(text string, entities []entity) (string, bool) {
	units := utf16.Encode([]rune(text))
	at := "@" + u.Username
	named := false
	for i := len(entities) - 1; i >= 0; i-- {
		e := entities[i]
		if e.Offset < 0 || e.Length <= 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
			continue
		}
		word := string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
		var left string
		switch {
		case e.Type == "mention" && u.Username != "" && strings.EqualFold(word, at):
		case e.Type == "text_mention" && e.User != nil && u.ID != 0 && e.User.ID == u.ID:
		case e.Type == "bot_command" && u.Username != "" && len(word) > len(at) && strings.EqualFold(word[len(word)-len(at):], at):
			left = word[:len(word)-len(at)]
		default:
			continue
		}
		named = true
		end := e.Offset + e.Length
		if left == "" && end < len(units) && units[end] == ' ' && (e.Offset == 0 || units[e.Offset-1] == ' ') {
			end++ // one blank less
		}
		units = append(append(append([]uint16(nil), units[:e.Offset]...), utf16.Encode([]rune(left))...), units[end:]...)
	}
	if !named {
		return text, false
	}
	return strings.TrimSpace(string(utf16.Decode(units))), true
}

// told puts what is no text into words.
func (m *message) told() string {
	var parts []string
	add := func(format string, args ...any) {
		s := fmt.Sprintf(format, args...)
		parts = append(parts, "["+strings.NewReplacer("[", "(", "]", ")", "\n", " ").Replace(s)+"]")
	}
	switch {
	case m.Venue != nil && m.Location != nil:
		add("place: %s, %s (%.6f, %.6f)", m.Venue.Title, m.Venue.Address, m.Location.Latitude, m.Location.Longitude)
	case m.Location != nil:
		add("location: %.6f, %.6f", m.Location.Latitude, m.Location.Longitude)
	}
	if m.Contact != nil {
		add("contact: %s, %s", strings.TrimSpace(m.Contact.FirstName+" "+m.Contact.LastName), m.Contact.Phone)
	}
	if m.Sticker != nil {
		add("sticker %s", m.Sticker.Emoji)
	}
	if m.Dice != nil {
		add("%s %d", m.Dice.Emoji, m.Dice.Value)
	}
	if m.Poll != nil {
		var options []string
		for _, o := range m.Poll.Options {
			options = append(options, o.Text)
		}
		add("poll: %s %s", m.Poll.Question, strings.Join(options, " / "))
	}
	return strings.Join(parts, "\n")
}
