// Package message implements watchers that fire when a message arrives for Hob, or in a
// conversation that Hob only reads. They select messages by sender, words, channel or chat. It also
// implements the standing intents, which fire once or each time and check who the sender is.
//
// A watcher receives each message in the transaction that stores the message
// (watchers.MessageWatcher). Thus it needs no polls, and a message fires exactly once, or not at
// all if it was not stored. Messages from Hob and commands are never passed to it.
package message

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
	setting "hob/platform/text/settings"
	"hob/platform/text/textnorm"
	"hob/watchers"
)

// Kind is the name of the kind.
const Kind = watchers.KindMessage

// maxTold limits the message text in a signal, in characters.
const maxTold = 4000

// config is the configuration of a watcher. Empty fields match all messages.
type config struct {
	From    watchers.Words `json:"from,omitempty"`    // one of these must match the sender: a name, an address or a number; "me" is the user
	Words   watchers.Words `json:"words,omitempty"`   // the message must contain one of these
	Except  watchers.Words `json:"except,omitempty"`  // the message must contain none of these
	Channel watchers.Words `json:"channel,omitempty"` // the message must be from one of these channels, such as "telegram"
	Chat    watchers.Words `json:"chat,omitempty"`    // the message must be in one of these chats or conversations, by name or id
	// Strangers is true to include messages that Hob does not answer.
	Strangers bool `json:"strangers,omitempty"`
	// Own includes (true) or excludes (false) the user's own messages. If Own and From are unset,
	// the user's messages are included except in the conversation that receives the notices.
	Own *bool `json:"own,omitempty"`
}

// Driver creates message watchers.
type Driver struct{}

// New returns the driver.
func New() *Driver { return &Driver{} }

// Describe implements watchers.Driver.
func (*Driver) Describe() watchers.Description {
	return watchers.Description{
		Kind: Kind, Subject: watchers.Messages, Options: "from?, words?, channel?, chat?", Keywords: "message chat person keyword mention",
		Title: "Messages", Form: []setting.Setting{
			{Key: "from", Kind: setting.Text, List: true, Optional: true, Title: "From", Help: `Names, addresses or numbers.`},
			{Key: "words", Kind: setting.Text, List: true, Optional: true, Title: "Words", Help: `Only items with one of these words.`},
			{Key: "channel", Kind: setting.Text, List: true, Optional: true, Title: "Channels", Help: `telegram, slack`},
			{Key: "chat", Kind: setting.Text, List: true, Optional: true, Title: "Chats", Help: `Names or ids.`},
		},
	}
}

// Migrations implements watchers.Driver.
func (*Driver) Migrations() []store.MigrationSet { return nil }

// New implements watchers.Driver.
func (*Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	c, err := parseConfig(spec.Config)
	if err != nil {
		return nil, err
	}
	return &watch{config: c, report: spec.Report, deps: deps}, nil
}

func parseConfig(raw json.RawMessage) (config, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return c, fmt.Errorf("message: %w", err)
	}
	if len(c.From)+len(c.Words)+len(c.Channel)+len(c.Chat) == 0 {
		return c, errors.New(`message: select messages with "from", "words", "channel" or "chat"`)
	}
	return c, nil
}

// DescribeConfig implements watchers.Driver. An example of its result is `messages from "Ada" with
// "launch"`.
func (*Driver) DescribeConfig(raw json.RawMessage) string {
	c, err := parseConfig(raw)
	if err != nil {
		return "messages (invalid configuration)"
	}
	var b strings.Builder
	b.WriteString("messages")
	for _, x := range []struct {
		word string
		list watchers.Words
	}{{" from ", c.From}, {" with ", c.Words}, {" without ", c.Except}, {" in the channel ", c.Channel}, {" in the chat ", c.Chat}} {
		if len(x.list) > 0 {
			b.WriteString(x.word + x.list.List())
		}
	}
	if c.Strangers {
		b.WriteString(", also from unknown senders")
	}
	if c.Own != nil && *c.Own {
		b.WriteString(", also your own")
	}
	return pim.SanitizeLine(b.String(), 300)
}

type watch struct {
	config
	report string
	deps   watchers.Deps
}

// Hear implements watchers.MessageWatcher.
func (w *watch) Hear(m watchers.Message, called func(string) []string) (watchers.Signal, bool) {
	if !w.matchesMessage(m) || len(w.From) > 0 && !w.isFrom(m, called) {
		return watchers.Signal{}, false
	}
	return messageSignal(m), true
}

// Unheard implements watchers.MismatchExplainer. It ignores the user's own messages and messages
// that Hob does not answer.
func (w *watch) Unheard(m watchers.Message) (watchers.SuppressedSignal, bool) {
	if m.Owner || m.Ignored {
		return watchers.SuppressedSignal{}, false
	}
	why := "the sender is not " + w.From.List()
	switch {
	case len(w.Channel) > 0 && !slices.ContainsFunc(w.Channel, func(c string) bool { return textnorm.EqualFolded(c, m.Channel) }):
		why = "the channel is not " + w.Channel.List()
	case len(w.Chat) > 0 && !w.inChat(m):
		why = "the chat is not " + w.Chat.List()
	case len(w.Words) > 0 && !w.Words.MatchesText(m.Text):
		why = "it contains none of the requested words: " + w.Words.List()
	case w.Except.MatchesText(m.Text):
		why = "it contains an excluded word: " + w.Except.List()
	}
	return watchers.SuppressedSignal{Text: messageSignal(m).Text, Why: why, At: m.At}, true
}

// matchesMessage reports whether a message matches all conditions except the condition on the
// sender.
func (w *watch) matchesMessage(m watchers.Message) bool {
	switch {
	case m.Ignored && !w.Strangers, m.Owner && !w.ownWords(m):
		return false
	case len(w.Channel) > 0 && !slices.ContainsFunc(w.Channel, func(c string) bool { return textnorm.EqualFolded(c, m.Channel) }):
		return false
	case len(w.Chat) > 0 && !w.inChat(m):
		return false
	}
	return (len(w.Words) == 0 || w.Words.MatchesText(m.Text)) && !w.Except.MatchesText(m.Text)
}

func (w *watch) ownWords(m watchers.Message) bool {
	switch {
	case w.Own != nil:
		return *w.Own
	case len(w.From) > 0:
		return slices.ContainsFunc(w.From, isOwner)
	}
	return m.Session != w.report
}

func isOwner(name string) bool {
	return textnorm.EqualFolded(name, "me") || textnorm.EqualFolded(name, "myself")
}

func (w *watch) inChat(m watchers.Message) bool {
	return slices.ContainsFunc(w.Chat, func(c string) bool {
		return c == m.Chat || c == m.Session || m.ChatName != "" && watchers.Words{c}.MatchesText(m.ChatName)
	})
}

// isFrom reports whether one of the configured senders wrote a message. It compares the configured
// names and their known aliases.
func (w *watch) isFrom(m watchers.Message, called func(string) []string) bool {
	for _, name := range w.From {
		if m.Owner {
			if isOwner(name) || w.Own != nil {
				return true
			}
			continue
		}
		if matchesSender(m, name) || slices.ContainsFunc(called(name), func(n string) bool { return matchesSender(m, n) }) {
			return true
		}
	}
	return false
}

// matchesSender reports whether who is a name, an address, an id or a number of the sender.
func matchesSender(m watchers.Message, who string) bool {
	who = strings.TrimSpace(who)
	id := strings.TrimPrefix(strings.ToLower(m.Sender), "@")
	if plain := strings.TrimPrefix(strings.ToLower(who), "@"); plain != "" && plain == id {
		return true
	}
	if strings.Contains(who, "@") { // an address must match completely
		return false
	}
	if n := watchers.PhoneDigits(who); n != "" {
		return sameNumber(n, watchers.PhoneDigits(m.Sender))
	}
	have, want := textnorm.FoldedWords(m.SenderName), textnorm.FoldedWords(who)
	for _, word := range want {
		if !slices.Contains(have, word) {
			return false
		}
	}
	return len(want) > 0
}

// sameNumber compares phone numbers with or without a country code: "0612 345678" equals "+49 612
// 345678".
func sameNumber(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) < 7 || len(b) < 7 {
		return false
	}
	return a == b || strings.HasSuffix(a, b) && len(a)-len(b) <= 3 || strings.HasSuffix(b, a) && len(b)-len(a) <= 3
}

// Past implements watchers.Historian.
func (w *watch) Past(ctx context.Context, since time.Time) (out []watchers.Signal, err error) {
	if w.deps.Messages == nil {
		return nil, nil
	}
	called := func(name string) []string { return w.deps.Called(w.deps.Store.Reader(ctx), name) }
	err = w.deps.Messages(ctx, since, func(m watchers.Message) error {
		if s, ok := w.Hear(m, called); ok {
			out = append(out, s)
		}
		return nil
	})
	return out, err
}

// payload is the JSON form of a message.
type payload struct {
	Channel string    `json:"channel"`
	Chat    string    `json:"chat,omitempty"`
	Session string    `json:"session,omitempty"`
	From    string    `json:"from"`
	Name    string    `json:"name,omitempty"`
	Text    string    `json:"text"`
	Cut     bool      `json:"cut,omitempty"`
	At      time.Time `json:"at"`
	// Stranger is true if Hob did not answer the message.
	Stranger bool `json:"stranger,omitempty"`
}

func messageSignal(m watchers.Message) watchers.Signal {
	p := payload{
		Channel: m.Channel, Chat: m.ChatName, Session: m.Session, From: m.Sender, Name: pim.SanitizeLine(m.SenderName, 100), Text: m.Text, At: m.At, Stranger: m.Ignored,
	}
	if p.Chat == "" {
		p.Chat = m.Chat
	}
	if r := []rune(p.Text); len(r) > maxTold {
		p.Text, p.Cut = string(r[:maxTold]), true
	}
	raw, err := json.Marshal(p)
	if err != nil { // a programming error: all values are strings
		panic(fmt.Sprintf("message: payload: %v", err))
	}
	who, source := pim.SanitizeLine(m.SenderName, 60), provenance.Outside
	switch {
	case m.Owner && m.ChatName == "":
		who, source = "You", provenance.Owner
	case m.Owner: // Anyone can choose the name of a chat.
		who = "You"
	case who == "":
		who = pim.SanitizeLine(m.Sender, 60)
	case m.Sender != "" && !strings.EqualFold(who, m.Sender): // anyone can choose any name
		who += " (" + pim.SanitizeLine(m.Sender, 60) + ")"
	}
	if who == "" {
		who = "an unknown sender"
	}
	where := m.Channel
	if m.ChatName != "" {
		where += ", " + pim.SanitizeLine(m.ChatName, 60)
	}
	if m.Ignored {
		where += ", an unknown sender"
	}
	return watchers.Signal{
		Key: m.ID, Text: who + " wrote (" + where + "): " + textnorm.Ellipsize(m.Text, 300), Payload: raw, Source: source, At: m.At,
	}
}
