package telegram

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"hob/channels"
)

// replyContext is stored as the Payload of a message.
type replyContext struct {
	Message int64 `json:"m"`
	Group   bool  `json:"g,omitempty"`
	Chat    int64 `json:"c,omitempty"` // the chat to which the message id belongs
}

// toInbound converts a message. It returns false for messages that no person wrote: messages from
// other bots and from Hob itself, posts on behalf of a channel, and service messages such as joins.
func (c *Channel) toInbound(m *message) (channels.Inbound, bool) {
	me := c.botUser()
	if m.From == nil || m.From.IsBot || m.SenderChat != nil || m.Chat.ID == 0 {
		return channels.Inbound{}, false
	}
	in := channels.Inbound{
		Channel: Name, Chat: c.chatAddress(m), Group: m.Chat.Type != "private", ChatName: m.Chat.Title,
		Sender: strconv.FormatInt(m.From.ID, 10), SenderName: m.From.displayName(),
		Forwarded: isPresent(m.Forward) || m.ViaBot != nil,
		Key:       m.messageKey(),
		At:        time.Unix(m.Date, 0).UTC(),
	}
	in.Mentioned = !in.Group || m.ReplyTo.isOwn(me)
	if m.ReplyTo != nil {
		in.ReplyTo = []string{strconv.FormatInt(m.ReplyTo.ID, 10)}
		in.Threaded = m.ReplyTo.ID == m.Thread // true for every message in a topic
	}
	var texts []string
	alone := "" // text of a part that consists only of a mention of Hob
	changed := false
	for _, part := range append([]*message{m}, m.rest...) {
		changed = changed || part.changed
		in.Files = append(in.Files, c.attachedFiles(part)...)
		text, entities := part.textAndEntities()
		said, named := me.cutMention(text, entities)
		if in.Mentioned = in.Mentioned || named; !in.Group {
			said = startCommandText(said)
		}
		own, theirs := part.describeContent()
		if said = strings.TrimSpace(strings.TrimSpace(said) + "\n" + own); said != "" {
			texts = append(texts, said)
		} else if strings.TrimSpace(text) != "" {
			alone = text
		}
		if theirs != "" {
			in.Outside = append(in.Outside, theirs)
		}
	}
	if in.Text = strings.Join(texts, "\n"); in.Text == "" && len(in.Files) == 0 {
		in.Text = alone
	}
	if in.Text == "" && len(in.Files) == 0 {
		return channels.Inbound{}, false
	}
	if from := m.forwardOrigin(); from != "" {
		in.Text = strings.TrimSpace("Forwarded from " + from + ":\n" + in.Text)
	}
	if changed && in.Text != "" {
		in.Text = edited + in.Text
	}
	if said := m.quotedText(me); said != "" {
		in.Outside = append(in.Outside, said)
	}
	b, err := json.Marshal(replyContext{Message: m.ID, Group: in.Group, Chat: m.Chat.ID})
	if err == nil {
		in.Payload = b
	}
	return in, true
}

// textAndEntities returns the text or caption of a message, with its entities.
func (m *message) textAndEntities() (string, []entity) {
	if m.Text != "" {
		return m.Text, m.Entities
	}
	return m.Caption, m.CaptionEntities
}

// forwardOrigin returns the author of a forwarded message, or "" if the message is not forwarded or
// its author is unknown.
func (m *message) forwardOrigin() string {
	var o origin
	if !isPresent(m.Forward) || json.Unmarshal(m.Forward, &o) != nil {
		return ""
	}
	who := o.Hidden
	if o.User != nil {
		who = o.User.displayName()
	}
	for _, c := range []*chat{o.Group, o.Chat} {
		if c != nil && who == "" {
			who = c.Title
		}
	}
	return strings.Join(strings.Fields(strings.Trim(who+", "+o.Signed, ", ")), " ")
}

func isPresent(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// chatAddress returns the chat in the format for Send: "id", or "id/thread" in a topic. A group
// that became a supergroup keeps its first id, so that its conversations continue.
func (c *Channel) chatAddress(m *message) string {
	s := c.originalChatID(strconv.FormatInt(m.Chat.ID, 10))
	if m.IsTopic && m.Thread != 0 {
		s += "/" + strconv.FormatInt(m.Thread, 10)
	}
	return s
}

func (u user) displayName() string {
	n := strings.TrimSpace(u.FirstName + " " + u.LastName)
	if n == "" {
		n = u.Username
	}
	return n
}

// isOwn reports whether the message exists and was sent by Hob.
func (m *message) isOwn(me user) bool {
	return m != nil && m.From != nil && me.ID != 0 && m.From.ID == me.ID
}

// quotedText returns the text that a message replies to, if another person wrote it: the quoted
// part, or the whole text.
func (m *message) quotedText(me user) string {
	switch {
	case m.ReplyTo.isOwn(me):
		return ""
	case m.Quote != nil && m.Quote.Text != "":
		return m.Quote.Text
	case m.ReplyTo == nil:
		return ""
	}
	text, _ := user{}.cutMention(m.ReplyTo.textAndEntities())
	own, theirs := m.ReplyTo.describeContent()
	return strings.Join(strings.FieldsFunc(text+"\x00"+own+"\x00"+theirs, func(r rune) bool { return r == 0 }), "\n")
}

// startCommandText converts the first message to a bot. "/start CODE", which a link such as
// https://t.me/hobbot?start=CODE sends, becomes CODE, and "/start" becomes "/help". Other text is
// returned unchanged.
func startCommandText(text string) string {
	rest, ok := strings.CutPrefix(text, "/start")
	switch {
	case !ok || rest != "" && rest[0] != ' ':
		return text
	case strings.TrimSpace(rest) == "":
		return "/help"
	}
	return strings.TrimSpace(rest)
}

// cutMention reports whether text mentions Hob, and returns text without the mention. "/stop@hob
// now" becomes the command "/stop now". Addresses of hidden links are added after the words.
func (u user) cutMention(text string, entities []entity) (string, bool) {
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
		case e.Type == "text_link" && e.URL != "" && len(e.URL) <= maxLink:
			if end := e.Offset + e.Length; strings.Trim(e.URL, "/") != strings.Trim(word, "/") {
				units = slices.Insert(units, end, utf16.Encode([]rune(" ("+e.URL+")"))...)
			}
			continue
		default:
			continue
		}
		named = true
		end := e.Offset + e.Length
		if left == "" && end < len(units) && units[end] == ' ' && (e.Offset == 0 || units[e.Offset-1] == ' ') {
			end++ // remove one of the two blanks
		}
		units = slices.Replace(units, e.Offset, end, utf16.Encode([]rune(left))...)
	}
	return strings.TrimSpace(string(utf16.Decode(units))), named
}

// maxLink is the maximum length in bytes of a link that is added to the text.
const maxLink = 2048

// describeContent describes content other than text. own is the sender's part; theirs is text from
// other people, such as the name on a contact card.
func (m *message) describeContent() (own, theirs string) {
	var mine, others []string
	add := func(to *[]string, format string, args ...any) {
		s := fmt.Sprintf(format, args...)
		*to = append(*to, "["+strings.NewReplacer("[", "(", "]", ")", "\n", " ").Replace(s)+"]")
	}
	if m.Location != nil {
		add(&mine, "location: %.6f, %.6f", m.Location.Latitude, m.Location.Longitude)
		if m.Venue != nil {
			add(&others, "place: %s, %s", m.Venue.Title, m.Venue.Address)
		}
	}
	if m.Contact != nil {
		add(&mine, "contact")
		add(&others, "contact: %s, %s", strings.TrimSpace(m.Contact.FirstName+" "+m.Contact.LastName), m.Contact.Phone)
	}
	if m.Sticker != nil {
		add(&mine, "sticker %s", m.Sticker.Emoji)
	}
	if m.Dice != nil {
		add(&mine, "%s %d", m.Dice.Emoji, m.Dice.Value)
	}
	if m.Poll != nil {
		var options []string
		for _, o := range m.Poll.Options {
			options = append(options, o.Text)
		}
		add(&mine, "poll: %s %s", m.Poll.Question, strings.Join(options, " / "))
	}
	return strings.Join(mine, "\n"), strings.Join(others, "\n")
}
