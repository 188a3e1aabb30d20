package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/platform/provenance"
)

// conversation is the context of the turn: the messages in the next request. Its methods report
// whether these messages contain untrusted text, and from which origins.
type conversation struct {
	o      *Options
	t      *Turn
	system string
	msgs   []llm.Message // messages of the complete request
	own    int           // index in msgs at which this turn begins
	stored int           // number of messages in this turn that are stored
	words  []string      // messages from the owner that arrived while the turn ran
	// continued reports whether other turns ran while this one was waiting for the owner and the
	// model has not been informed of that yet.
	continued bool
	// external reports whether an external agent is running and has read text that Hob has not
	// seen. actor is that agent, or the model of the turn.
	external atomic.Bool
	actor    llm.Model
}

// loadMessages replaces the messages with those from earlier turns (before) and from this turn
// (recorded).
func (c *conversation) loadMessages(before, recorded []llm.Message) {
	c.own, c.stored = len(before), len(recorded)
	c.msgs = append(append(make([]llm.Message, 0, len(before)+len(recorded)+8), before...), recorded...)
}

// lastMessage returns the newest message.
func (c *conversation) lastMessage() llm.Message { return c.msgs[len(c.msgs)-1] }

// appendMessage adds a message that is not stored yet.
func (c *conversation) appendMessage(m llm.Message) { c.msgs = append(c.msgs, m) }

// appendAnswer appends the model's answer, in the form in which it is stored.
func (c *conversation) appendAnswer(parts []llm.Part) {
	src := c.answerSource()
	for i := range parts {
		p := &parts[i]
		p.Source, p.Text = src, c.o.Redact.Text(strings.ToValidUTF8(p.Text, "\uFFFD"))
		if p.Call == nil {
			continue
		}
		if args := string(p.Call.Args); c.o.Redact.Known(args) != args { // refusePlaceholder refuses a call that contains the placeholder
			p.Call.Args = json.RawMessage(c.o.Redact.Known(args))
		}
		var b bytes.Buffer
		if json.Compact(&b, p.Call.Args) == nil {
			p.Call.Args = b.Bytes()
			continue
		}
		p.Call.Truncated = true
		p.Call.Args, _ = json.Marshal(string(p.Call.Args)) // a string can always be encoded
	}
	c.appendMessage(llm.Message{Role: llm.Assistant, Parts: parts})
}

// assignCallIDs assigns each call an id that is unique in the conversation and stays the same after
// a crash. It ignores the ids from the model.
func (c *conversation) assignCallIDs(parts []llm.Part) {
	n := 0
	for i := range parts {
		if call := parts[i].Call; call != nil {
			call.ID = c.callID(n)
			n++
		}
	}
}

// callID returns the id of the nth call in the model's next answer.
func (c *conversation) callID(n int) string {
	return fmt.Sprintf("call_%s_%d_%d", lastIDChars(c.t.Event.ID), len(c.msgs)-c.own, n)
}

// lastIDChars returns the last 12 characters of an event id without hyphens.
func lastIDChars(id string) string {
	id = strings.ReplaceAll(id, "-", "")
	return id[max(0, len(id)-12):]
}

// usedToolsBefore reports whether the turn before this one used tools.
func (c *conversation) usedToolsBefore() bool {
	for i := c.own - 1; i >= 0; i-- {
		switch m := c.msgs[i]; m.Role {
		case llm.ToolRole:
			return true
		case llm.User:
			if slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return !p.Context }) {
				return false
			}
		}
	}
	return false
}

func (c *conversation) unstoredMessages() []llm.Message { return c.msgs[c.own+c.stored:] }

// messageBytes returns the size of the request's messages in bytes.
func (c *conversation) messageBytes() (n int) {
	for _, m := range c.msgs {
		n += session.MessageBytes(m)
	}
	return n
}

// isTainted reports whether untrusted text is in the context of the next call.
func (c *conversation) isTainted() bool {
	if c.external.Load() {
		return true
	}
	for _, m := range c.msgs {
		for _, p := range m.Parts {
			if p.Source.Tainted() {
				return true
			}
		}
	}
	return false
}

// answerSource returns the provenance of Hob's answer. The model may repeat untrusted text from its
// context, so the answer stays tainted after that text has left the window.
func (c *conversation) answerSource() provenance.Source {
	if c.isTainted() {
		return provenance.Outside
	}
	return provenance.Hob
}

// contextOrigins returns the sources of the untrusted text in the context of the next call.
func (c *conversation) contextOrigins() []provenance.Origin {
	var lists [][]provenance.Origin
	if c.external.Load() && c.actor != nil {
		lists = append(lists, []provenance.Origin{{Kind: "agent", Label: c.actor.Info().Name(), Event: c.t.Event.ID}})
	}
	for _, m := range c.msgs {
		for _, p := range m.Parts {
			if len(p.Origins) > 0 && p.Source.Tainted() {
				lists = append(lists, p.Origins)
			}
		}
	}
	if lists == nil {
		return nil
	}
	return provenance.Join(lists...)
}

// messageOrigins returns the origins of the messages sent during this turn.
func (c *conversation) messageOrigins(src provenance.Source) []provenance.Origin {
	if !src.Tainted() {
		return nil
	}
	return c.t.Origins
}

// ownerWords returns tools.Call.OwnerWords for this turn.
func (c *conversation) ownerWords() []string {
	t := c.t
	if !t.Private || !t.Attended || t.Guest || t.Depth > 0 || t.Source != provenance.Owner || len(t.Outside) > 0 || c.isTainted() {
		return nil
	}
	if t.Call != nil { // the owner named the tool and wrote the arguments
		return append(jsonStrings(t.Call.Args), t.Call.Name)
	}
	return append([]string{t.Text}, c.words...)
}

// typedText returns tools.Call.Typed for this turn.
func (c *conversation) typedText() string {
	t := c.t
	if !t.Attended || t.Guest || t.Depth > 0 || t.Source != provenance.Owner || len(t.Outside) > 0 {
		return ""
	}
	return t.Text
}

// address matches the addresses and images in a model's answer that a viewer would turn into links.
var address = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)!?\[[^\]\n]{0,300}\]\(\s*<?([^\s)>]+)|(?:https?|ftp|file|data|javascript)(?::|%3a)[^\s<>"'` + "`" + `)\]}]+|\bwww\.[^\s<>"'` + "`" + `)\]}]+`)
})

// defuseLinks returns text in the form to deliver. If the context contains untrusted text, a link
// address that only the model wrote may contain private data, and opening or previewing the link
// would leak that data. defuseLinks makes such links and all images inactive.
func (c *conversation) defuseLinks(text string) string {
	if !c.isTainted() || !strings.ContainsAny(text, ":.[%") {
		return text
	}
	return address().ReplaceAllStringFunc(text, func(m string) string {
		target := m
		if i := strings.LastIndex(m, "]("); i >= 0 && strings.IndexByte("![", m[0]) >= 0 {
			target = strings.Trim(m[i+2:], " \t<")
		}
		if m[0] == '!' {
			return "(a picture at) " + breakAddress(m[1:])
		}
		if c.isKnownAddress(strings.TrimRight(target, ".,;:!?*_~")) {
			return m
		}
		return breakAddress(m)
	})
}

// breakAddress changes s so that it is no longer a valid address.
func breakAddress(s string) string {
	s = regexp.MustCompile(`(?i)h(tt)(ps?)(:|%3a)`).ReplaceAllString(s, "hxx$2$3")
	s = regexp.MustCompile(`(?i)\b(ftp|file|data|javascript)(:|%3a)`).ReplaceAllString(s, "$1 $2")
	s = regexp.MustCompile(`(?i)\bwww\.`).ReplaceAllString(s, "www[.]")
	return strings.ReplaceAll(s, "](//", "](")
}

// isKnownAddress reports whether a message to Hob or a tool result contains the complete address.
func (c *conversation) isKnownAddress(address string) bool {
	if address == "" {
		return true
	}
	for _, m := range c.msgs {
		if m.Role == llm.Assistant {
			continue
		}
		for _, p := range m.Parts {
			text := p.Text
			if p.Result != nil {
				text = p.Result.Text
			}
			if hasWholeAddress(text, address) {
				return true
			}
		}
	}
	return false
}

// hasWholeAddress reports whether text contains address as a complete address. A prefix of a longer
// address does not match, because the model could encode data in the length of the prefix.
func hasWholeAddress(text, address string) bool {
	for {
		i := strings.Index(text, address)
		if i < 0 {
			return false
		}
		text = text[i+len(address):]
		if rest := strings.TrimLeft(text, ".,;:!?*_~"); rest == "" || strings.IndexByte(" \t\r\n<>\"'`)]}|\\", rest[0]) >= 0 {
			return true
		}
	}
}
