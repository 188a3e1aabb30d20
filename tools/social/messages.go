package social

import (
	"cmp"
	"context"
	_ "embed" // embeds the list of common words
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/knowledge"
	"hob/platform/pim/messages/chatdb"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Conversations reads the stored messages of all channels; *session.MessageIndex implements it.
type Conversations interface {
	// MessagesIn returns the messages of a period, newest first. It ignores Text and Who.
	MessagesIn(ctx context.Context, q knowledge.ConversationQuery) ([]knowledge.Said, error)
}

// Limits of reading messages.
const (
	maxRead     = 5_000 // messages per source
	chatdbPage  = 1_000 // rows of the Messages database per step
	messageTime = 60 * time.Second
)

// MessagesDatabase returns the path of the database of the Messages app; "" if home is "".
func MessagesDatabase(home string) string {
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return ""
		}
	}
	return filepath.Join(home, "Library", "Messages", "chat.db")
}

// imessage is the channel name of messages in the Messages database.
const imessage = "imessage"

// message is one message in a chat.
type message struct {
	Channel    string            `json:"channel"`
	Chat       string            `json:"chat"`
	Who        string            `json:"who"` // "you", "hob", or the name or address of another person
	Mine       bool              `json:"mine"`
	At         time.Time         `json:"at"`
	Text       string            `json:"text"`
	Provenance provenance.Source `json:"provenance"`
	// Origins are the origins of untrusted text in the message.
	Origins []provenance.Origin `json:"origins,omitempty"`
}

// messageQuery selects messages. Empty fields do not restrict it.
type messageQuery struct {
	since, until time.Time
	session      string
	channel      string
	contact      string
}

// readChats returns the matching messages of all sources, oldest first. problems names the sources
// that could not be read.
func (d Deps) readChats(ctx context.Context, c tools.Call, q messageQuery) (out []message, problems []string, err error) {
	if q.until.IsZero() {
		q.until = c.Now.Add(time.Minute)
	}
	if c.Realm != "" { // another agent may read only its own conversation
		if q.session != "" && q.session != c.Session {
			return nil, nil, tools.Errorf(tools.PolicyDenied, "this agent can read only its own conversation")
		}
		q.session = c.Session
	}
	match := contactMatcher{words: textnorm.FoldedWords(q.contact)}
	if q.contact != "" {
		if match, err = d.findContact(ctx, q.contact); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if d.Conversations != nil && q.channel != imessage {
		said, err := d.Conversations.MessagesIn(ctx, knowledge.ConversationQuery{Session: q.session, Since: q.since, Until: q.until, Limit: maxRead, Without: c.Event, Viewer: c.CredentialViewer()})
		if err != nil {
			return nil, nil, err
		}
		out = append(out, storedMessages(said, q, match)...)
	}
	if d.MessagesDB != "" && c.Realm == "" && q.session == "" && (q.channel == "" || q.channel == imessage) {
		list, err := d.readMessagesApp(ctx, q, match)
		switch {
		case errors.Is(err, fs.ErrNotExist) && q.channel == "": // the user does not use Messages
		case err != nil:
			problems = append(problems, err.Error())
		}
		out = append(out, list...)
	}
	slices.Reverse(out) // messages of one instant keep their order
	sorting.StableByFunc(out, func(a, b message) int { return a.At.Compare(b.At) })
	return out, problems, nil
}

// storedMessages converts messages of the channels. With a contact, only the chats in which that
// person wrote remain.
func storedMessages(said []knowledge.Said, q messageQuery, match contactMatcher) (out []message) {
	theirs := map[string]bool{}
	for _, s := range said {
		if q.contact != "" && s.Who != knowledge.ByOwner && s.Who != knowledge.ByHob && match.matchesLabel(s.Who) || q.contact != "" && match.matchesLabel(s.Session) {
			theirs[s.Session] = true
		}
	}
	for _, s := range said {
		channel, _, ok := strings.Cut(s.Session, ":")
		if !ok {
			channel = "hob"
		}
		if q.channel != "" && q.channel != channel || q.contact != "" && !theirs[s.Session] {
			continue
		}
		who := s.Who
		switch who {
		case knowledge.ByOwner:
			who = "you"
		case knowledge.ByOutside:
			who = "another person"
		}
		out = append(out, message{Channel: channel, Chat: s.Session, Who: who, Mine: s.Who == knowledge.ByOwner, At: s.At, Text: s.Text, Provenance: s.Provenance, Origins: s.Origins})
	}
	return out
}

// readMessagesApp reads the database of the Messages app, backward from the newest row.
func (d Deps) readMessagesApp(ctx context.Context, q messageQuery, match contactMatcher) (out []message, err error) {
	db, err := chatdb.Open(ctx, d.MessagesDB, "")
	if err != nil {
		if errors.Is(err, chatdb.ErrNoAccess) {
			return nil, fmt.Errorf("%w; allow full disk access for Hob in System Settings > Privacy & Security", err)
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	last, _, err := db.Last(ctx)
	if err != nil {
		return nil, err
	}
	for hi := last.RowID; hi > 0 && len(out) < maxRead; hi -= chatdbPage {
		list, _, err := db.All(ctx, max(0, hi-chatdbPage), chatdbPage)
		if err != nil {
			return nil, err
		}
		older := len(list) > 0
		for _, m := range slices.Backward(list) {
			older = older && m.At.Before(q.since)
			if m.RowID > hi || m.Kind != chatdb.Plain && m.Kind != chatdb.Edit || m.At.Before(q.since) || !m.At.Before(q.until) {
				continue
			}
			if x, ok := convertAppMessage(m); ok && (q.contact == "" || match.matchesLabel(m.Handle) || match.matchesLabel(x.Chat)) {
				out = append(out, x)
			}
		}
		if older {
			break
		}
	}
	return out, nil
}

func convertAppMessage(m chatdb.Message) (message, bool) {
	x := message{Channel: imessage, Who: cmp.Or(m.Person, m.Sender), Mine: m.FromMe, At: m.At, Text: m.Text, Provenance: provenance.Outside, Origins: []provenance.Origin{{Kind: "message", Label: cmp.Or(m.Sender, imessage)}}}
	if m.FromMe {
		x.Who = "you"
	} else if m.Sender != "" {
		x.Who = m.Sender
	}
	x.Chat = m.Handle
	if m.Chat != nil {
		x.Chat = cmp.Or(m.Chat.Name, m.Chat.Key())
	}
	if n := len(m.Files) + m.Missing; n > 0 {
		x.Text = strings.TrimSpace(x.Text + fmt.Sprintf(" [%s]", textnorm.CountNoun(n, "file", "files")))
	}
	return x, strings.TrimSpace(x.Text) != ""
}

// contactMatcher recognizes a person by name, address or number.
type contactMatcher struct {
	words   []string        // folded words of the requested name
	handles map[string]bool // normalized addresses and numbers
}

func (m contactMatcher) matchesLabel(label string) bool {
	if label == "" {
		return false
	}
	if m.handles[chatdb.Handle(label, "")] || m.handles[strings.ToLower(label)] {
		return true
	}
	if _, chat, ok := strings.Cut(label, ":"); ok && m.handles[chatdb.Handle(chat, "")] {
		return true
	}
	return len(m.words) > 0 && textnorm.ContainsAllWords(label, m.words)
}

// findContact returns a matcher for a person, with the addresses and numbers of the address books.
func (d Deps) findContact(ctx context.Context, contact string) (contactMatcher, error) {
	m := contactMatcher{words: textnorm.FoldedWords(contact), handles: map[string]bool{}}
	if strings.ContainsAny(contact, "@+") || strings.IndexFunc(contact, unicode.IsLetter) < 0 {
		m.handles[chatdb.Handle(contact, "")] = true
		m.handles[strings.ToLower(strings.TrimSpace(contact))] = true
	}
	if d.People == nil {
		return m, nil
	}
	found, err := d.People(ctx, contact)
	for _, p := range found {
		for _, a := range slices.Concat(p.Addresses, p.Phones) {
			m.handles[chatdb.Handle(a, "")] = true
		}
	}
	return m, err
}

//go:embed messages.txt
var commonText string

// commonWords are words that do not name a topic.
var commonWords = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(commonText) {
		out[w] = true
	}
	return out
})

// topicOf is a word and in how many texts it occurs.
type topicOf struct {
	Word  string `json:"word"`
	Texts int    `json:"messages"`
}

// findTopics returns the words that occur in the most texts, as they are written first.
func findTopics(texts []string, most int) []topicOf {
	shown, count, order := map[string]string{}, map[string]int{}, []string{}
	for _, t := range texts {
		seen := map[string]bool{}
		for _, w := range textnorm.Words(t) {
			f := textnorm.Fold(w)
			if utf8.RuneCountInString(f) < 4 || commonWords()[f] || strings.ContainsFunc(f, unicode.IsDigit) || seen[f] {
				continue
			}
			seen[f] = true
			if count[f]++; count[f] == 1 {
				shown[f], order = w, append(order, f)
			}
		}
	}
	sorting.StableByFunc(order, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	out := []topicOf{}
	for _, f := range order[:min(len(order), most)] {
		out = append(out, topicOf{shown[f], count[f]})
	}
	return out
}

// asksSomething returns the first question or request in a text, without quoted lines; "" if there
// is none.
func asksSomething(text string) string {
	var own []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "--" {
			break
		}
		if !strings.HasPrefix(line, ">") {
			own = append(own, line)
		}
	}
	for _, s := range splitSentences(strings.Join(own, "\n")) {
		folded := " " + strings.Join(textnorm.FoldedWords(s), " ") + " "
		if strings.HasSuffix(s, "?") || slices.ContainsFunc(requestPhrases, func(p string) bool { return strings.Contains(folded, p) }) {
			return textnorm.Ellipsize(s, 200)
		}
	}
	return ""
}

// requestPhrases are folded phrases of a request, with a space at both ends.
var requestPhrases = []string{" please ", " could you ", " can you ", " would you ", " let me know ", " bitte ", " s il vous plait ", " por favor "}

// splitSentences splits a text at ends of sentences and paragraphs.
func splitSentences(text string) (out []string) {
	start := 0
	add := func(end int) {
		if s := strings.Join(strings.Fields(text[start:end]), " "); s != "" {
			out = append(out, s)
		}
		start = end
	}
	for i, r := range text {
		next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(max(r, 0)):])
		switch {
		case r == '\n' && (next == '\n' || next == utf8.RuneError):
			add(i)
		case strings.ContainsRune(".!?", r) && (unicode.IsSpace(next) || next == utf8.RuneError):
			add(i + 1)
		}
	}
	add(len(text))
	return out
}

// chatSource returns the provenance of a result with the text of messages.
func chatSource(list []message) (provenance.Source, []provenance.Origin) {
	src := provenance.Tool
	var from [][]provenance.Origin
	for _, m := range list {
		if m.Provenance.Tainted() {
			src, from = provenance.Outside, append(from, m.Origins)
		}
	}
	return src, provenance.Join(from...)
}

// messageLine formats a message as one line of a list.
func (m message) messageLine(now time.Time, n int) string {
	return fmt.Sprintf("- %s, %s: %s", m.Who, dateparse.Format(m.At.In(now.Location()), now), textnorm.Ellipsize(strings.Join(strings.Fields(m.Text), " "), n))
}

// problemText formats the sources that could not be read.
func problemText(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	return "\nNot read: " + strings.Join(problems, "; ")
}
