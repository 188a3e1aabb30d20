package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/platform/pim"
	"hob/platform/store"
	"hob/watchers"
)

// IntentDriver creates standing intents.
type IntentDriver struct{}

// NewIntents returns the driver.
func NewIntents() *IntentDriver { return &IntentDriver{} }

// Describe implements watchers.Driver.
func (*IntentDriver) Describe() watchers.Description {
	return watchers.Description{Kind: watchers.KindIntent, Intent: true, Options: "from?, words?, channel?, watcher?, each_time?", Keywords: "intent next time"}
}

// Migrations implements watchers.Driver.
func (*IntentDriver) Migrations() []store.MigrationSet { return nil }

// New implements watchers.Driver.
func (*IntentDriver) New(spec watchers.Spec, _ watchers.Deps) (any, error) {
	c, err := parseIntent(spec.Config)
	if err != nil {
		return nil, err
	}
	if spec.Mode == watchers.Tell && c.From == "" {
		return nil, errors.New("intent: only a message from a person can be answered; name the person")
	}
	return &intent{IntentConfig: c, private: spec.Mode == watchers.Tell}, nil
}

func parseIntent(raw json.RawMessage) (watchers.IntentConfig, error) {
	var c watchers.IntentConfig
	if err := watchers.Decode(raw, &c); err != nil {
		return c, fmt.Errorf("intent: %w", err)
	}
	n := 0
	for _, set := range []bool{c.From != "", c.Mine, c.Watcher != ""} {
		if set {
			n++
		}
	}
	switch {
	case n > 1:
		return c, errors.New("intent: wait for one of these: a person, your own messages, or a watcher")
	case n == 0 && len(c.Words) == 0:
		return c, errors.New("intent: name a person, words or a watcher to wait for")
	case c.Watcher != "" && c.Channel != "":
		return c, errors.New("intent: a watcher has no channel")
	}
	return c, nil
}

// DescribeConfig implements watchers.Driver. An example of its result is `the next message from "Ada"`.
func (*IntentDriver) DescribeConfig(raw json.RawMessage) string {
	c, err := parseIntent(raw)
	if err != nil {
		return "an intent (invalid configuration)"
	}
	which := "the next"
	if c.EachTime {
		which = "each"
	}
	what := which + " message"
	switch {
	case c.Watcher != "":
		what = fmt.Sprintf("%s event of the watcher %q", which, c.Title)
	case c.Mine && c.EachTime:
		what = "each of your own messages"
	case c.Mine:
		what = "your next message"
	case c.From != "":
		what += fmt.Sprintf(" from %q", c.From)
	}
	if len(c.Words) > 0 {
		what += " with " + c.Words.List()
	}
	if c.Channel != "" {
		what += " on " + c.Channel
	}
	return pim.SanitizeLine(what, 300)
}

type intent struct {
	watchers.IntentConfig

	private bool // the text must not reach the other members of a group
}

// The channel has authenticated the id of the sender.
func (x *intent) Hear(m watchers.Message, called func(string) []string) (watchers.Signal, bool) {
	switch {
	case x.Watcher != "" || m.Ignored || m.Owner != x.Mine || x.private && m.Group:
		return watchers.Signal{}, false
	case x.Channel != "" && !strings.EqualFold(x.Channel, m.Channel), len(x.Words) > 0 && !x.Words.MatchesText(m.Text):
		return watchers.Signal{}, false
	case x.From != "" && !x.isFrom(m, called):
		return watchers.Signal{}, false
	case x.Mine && (watchers.Words{"intent", "intents"}).MatchesText(m.Text): // such as "cancel the intent about the garden"
		return watchers.Signal{}, false
	}
	s := messageSignal(m)
	s.Last = !x.EachTime
	if x.private {
		s.Payload = encodeRecipient(watchers.Recipient{Channel: m.Channel, To: m.Chat})
	}
	return s, true
}

// HearSignal implements watchers.SignalWatcher.
func (x *intent) HearSignal(of watchers.Spec, s watchers.Signal) (watchers.Signal, bool) {
	if x.Watcher != of.ID || len(x.Words) > 0 && !x.Words.MatchesText(s.Text) {
		return watchers.Signal{}, false
	}
	return watchers.Signal{Key: s.Key, Text: s.Text, Payload: s.Payload, Source: s.Source, At: s.At, Last: !x.EachTime}, true
}

// isFrom reports whether the person wrote a message. Only ids that the channel has authenticated
// count: known accounts, addresses and phone numbers.
func (x *intent) isFrom(m watchers.Message, called func(string) []string) bool {
	if slices.Contains(append(x.Accounts, x.From), m.Channel+":"+m.Sender) {
		return true
	}
	return slices.ContainsFunc(append(called(x.From), x.From), func(name string) bool {
		return watchers.IsAddress(name) && matchesSender(watchers.Message{Sender: m.Sender}, name)
	})
}

func encodeRecipient(r watchers.Recipient) json.RawMessage {
	raw, err := json.Marshal(r)
	if err != nil { // a programming error: all values are strings
		panic(fmt.Sprintf("intent: payload: %v", err))
	}
	return raw
}
