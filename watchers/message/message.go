// Package message is the kind of watcher that tells when somebody writes to Hob,
// or where Hob reads along: by who writes, by words, by channel or chat.
//
// It is shown each message in the transaction that takes it in (watchers.Hearer),
// so it asks nobody, costs nothing while nobody writes, and tells of each message
// once or, when the message was not kept, not at all. What Hob says is never
// shown to it, nor are commands.
package message

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/watchers"
)

// Kind is the kind's name.
const Kind = watchers.KindMessage

// maxTold is how much of a message goes with its signal, in characters.
const maxTold = 4000

// config is what the owner or a tool gives. What is empty admits all.
type config struct {
	From    watchers.Words `json:"from,omitempty"`    // one of these: a name, an address, a number; "me" is the owner
	Words   watchers.Words `json:"words,omitempty"`   // with one of these
	Except  watchers.Words `json:"except,omitempty"`  // but none of these
	Channel watchers.Words `json:"channel,omitempty"` // in one of these channels: "telegram"
	Chat    watchers.Words `json:"chat,omitempty"`    // in one of these chats or conversations, by name or id
	// Strangers: also what Hob itself does not listen to.
	Strangers bool `json:"strangers,omitempty"`
	// Own: what the owner writes counts too (true) or never. If it is not given
	// it counts in other conversations than that in which he is told, unless
	// somebody is named.
	Own *bool `json:"own,omitempty"`
}

// Driver makes message watchers.
type Driver struct{}

// New returns the driver.
func New() *Driver { return &Driver{} }

// Kind implements watchers.Driver.
func (*Driver) Kind() string { return Kind }

// Migrations implements watchers.Driver.
func (*Driver) Migrations() []store.Set { return nil }

// New implements watchers.Driver.
func (*Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	c, err := parse(spec.Config)
	if err != nil {
		return nil, err
	}
	return &watch{config: c, report: spec.Report, deps: deps}, nil
}

func parse(raw json.RawMessage) (config, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return c, fmt.Errorf("message: %w", err)
	}
	if len(c.From)+len(c.Words)+len(c.Channel)+len(c.Chat) == 0 {
		return c, errors.New(`message: say which messages: "from", "words", "channel" or "chat"`)
	}
	return c, nil
}

// Describe implements watchers.Driver: `messages from "Ada" with "launch"`.
func (*Driver) Describe(raw json.RawMessage) string {
	c, err := parse(raw)
	if err != nil {
		return "messages, in an unreadable way"
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
		b.WriteString(", also of strangers")
	}
	if c.Own != nil && *c.Own {
		b.WriteString(", also your own")
	}
	return pim.Line(b.String(), 300)
}

type watch struct {
	config
	report string
	deps   watchers.Deps
}

// Hear implements watchers.Hearer.
func (w *watch) Hear(m watchers.Message, called func(string) []string) (watchers.Signal, bool) {
	if !w.wants(m) || len(w.From) > 0 && !w.from(m, called) {
		return watchers.Signal{}, false
	}
	return signal(m), true
}

// Unheard implements watchers.Unhearer. What the owner writes himself he knows, and
// who is not answered may write as much as he likes.
func (w *watch) Unheard(m watchers.Message) (watchers.Passed, bool) {
	if m.Owner || m.Ignored {
		return watchers.Passed{}, false
	}
	why := "somebody else wrote it than " + w.From.List()
	switch {
	case len(w.Channel) > 0 && !slices.ContainsFunc(w.Channel, func(c string) bool { return phrase.Same(c, m.Channel) }):
		why = "it came on another channel than " + w.Channel.List()
	case len(w.Chat) > 0 && !w.inChat(m):
		why = "it came in another chat than " + w.Chat.List()
	case len(w.Words) > 0 && !w.Words.In(m.Text):
		why = "it has none of the words you asked for: " + w.Words.List()
	case w.Except.In(m.Text):
		why = "it has one of the words you left out: " + w.Except.List()
	}
	return watchers.Passed{Text: signal(m).Text, Why: why, At: m.At}, true
}

// wants reports whether a message fits, besides who wrote it.
func (w *watch) wants(m watchers.Message) bool {
	switch {
	case m.Ignored && !w.Strangers, m.Owner && !w.ownWords(m):
		return false
	case len(w.Channel) > 0 && !slices.ContainsFunc(w.Channel, func(c string) bool { return phrase.Same(c, m.Channel) }):
		return false
	case len(w.Chat) > 0 && !w.inChat(m):
		return false
	}
	return (len(w.Words) == 0 || w.Words.In(m.Text)) && !w.Except.In(m.Text)
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

func isOwner(name string) bool { return phrase.Same(name, "me") || phrase.Same(name, "myself") }

func (w *watch) inChat(m watchers.Message) bool {
	return slices.ContainsFunc(w.Chat, func(c string) bool {
		return c == m.Chat || c == m.Session || m.ChatName != "" && watchers.Words{c}.In(m.ChatName)
	})
}

// from reports whether one of those named wrote a message, by the names that are
// given or by what is known of them.
func (w *watch) from(m watchers.Message, called func(string) []string) bool {
	for _, name := range w.From {
		if m.Owner {
			if isOwner(name) || w.Own != nil {
				return true
			}
			continue
		}
		if is(m, name) || slices.ContainsFunc(called(name), func(n string) bool { return is(m, n) }) {
			return true
		}
	}
	return false
}

// is reports whether a name, an address, an id or a number is the sender's.
func is(m watchers.Message, who string) bool {
	who = strings.TrimSpace(who)
	id := strings.TrimPrefix(strings.ToLower(m.Sender), "@")
	if plain := strings.TrimPrefix(strings.ToLower(who), "@"); plain != "" && plain == id {
		return true
	}
	if strings.Contains(who, "@") { // an address is all of it or nothing
		return false
	}
	if n := digits(who); n != "" {
		return sameNumber(n, digits(m.Sender))
	}
	have, want := phrase.Split(m.SenderName), phrase.Split(who)
	for _, word := range want {
		if !slices.Contains(have, word) {
			return false
		}
	}
	return len(want) > 0
}

// digits are those of a phone number, "" when it is none.
func digits(s string) string {
	var b strings.Builder
	for i, r := range strings.TrimSpace(s) {
		switch {
		case r >= '0' && r <= '9':
			b.WriteRune(r)
		case r == '+' && i == 0, strings.ContainsRune(" -./()", r):
		default:
			return ""
		}
	}
	if b.Len() < 7 {
		return ""
	}
	return b.String()
}

// sameNumber compares with and without the prefix of a country: "0612 345678" is
// "+49 612 345678".
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

// payload is a message for programs.
type payload struct {
	Channel string    `json:"channel"`
	Chat    string    `json:"chat,omitempty"`
	Session string    `json:"session,omitempty"`
	From    string    `json:"from"`
	Name    string    `json:"name,omitempty"`
	Text    string    `json:"text"`
	Cut     bool      `json:"cut,omitempty"`
	At      time.Time `json:"at"`
	// Stranger: Hob did not answer it.
	Stranger bool `json:"stranger,omitempty"`
}

func signal(m watchers.Message) watchers.Signal {
	p := payload{
		Channel: m.Channel, Chat: m.ChatName, Session: m.Session, From: m.Sender, Name: pim.Line(m.SenderName, 100), Text: m.Text, At: m.At, Stranger: m.Ignored,
	}
	if p.Chat == "" {
		p.Chat = m.Chat
	}
	if r := []rune(p.Text); len(r) > maxTold {
		p.Text, p.Cut = string(r[:maxTold]), true
	}
	raw, err := json.Marshal(p)
	if err != nil { // a programming error: they are texts
		panic(fmt.Sprintf("message: payload: %v", err))
	}
	who, source := pim.Line(m.SenderName, 60), provenance.Outside
	switch {
	case m.Owner && m.ChatName == "":
		who, source = "You", provenance.Owner
	case m.Owner: // others name a chat as they like
		who = "You"
	case who == "":
		who = pim.Line(m.Sender, 60)
	case m.Sender != "" && !strings.EqualFold(who, m.Sender): // anybody may call himself as he likes
		who += " (" + pim.Line(m.Sender, 60) + ")"
	}
	if who == "" {
		who = "somebody"
	}
	where := m.Channel
	if m.ChatName != "" {
		where += ", " + pim.Line(m.ChatName, 60)
	}
	if m.Ignored {
		where += ", a stranger"
	}
	return watchers.Signal{
		Key: m.ID, Text: who + " wrote (" + where + "): " + phrase.Cut(m.Text, 300), Payload: raw, Source: source, At: m.At,
	}
}
