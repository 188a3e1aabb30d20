package imessage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/imessage"
	"hob/platform/host/osrun"
	"hob/platform/pim/messages/chatdbtest"
)

// mac simulates a Mac with Messages: osascript, for the scripts of this package, and the database
// that Messages writes. It also simulates the failures known from github.com/openclaw/imsg (ghost
// rows, chats under other ids, rows that are filled in later) and
// github.com/carterlasalle/mac_messages_mcp.
type mac struct {
	t    testing.TB
	home string
	db   *chatdbtest.DB
	keep channelstest.Keeper
	channelstest.Stalls

	mu      sync.Mutex
	calls   []call
	arrived []string
	fails   []string // results of the next sends; see deliver
	always  string
	old     bool            // whether Messages has the scripting dictionary of macOS 12
	unknown map[string]bool // chat ids that Messages does not know
	self    string          // the owner's own address
	open    bool
	name    string // the owner's name for Hob
}

type call struct {
	Script  string `json:"-"`
	Target  string `json:"target"`
	Service string `json:"service"`
	Body    string `json:"bodyText"`
	File    string `json:"filePath"`
}

func newMac(t testing.TB, v chatdbtest.Version) *mac {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "Library", "Messages", "Attachments"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &mac{t: t, home: home, db: chatdbtest.New(t, filepath.Join(home, "Library", "Messages", "chat.db"), v), open: true, unknown: map[string]bool{}}
}

// newChannel creates a channel that uses m.
func (m *mac) newChannel(cfg imessage.Config, o imessage.Options) *imessage.Channel {
	m.t.Helper()
	if o.Poll == 0 {
		o.Poll, o.Glance, o.Debounce, o.Hold = 20*time.Millisecond, 10*time.Millisecond, time.Millisecond, 300*time.Millisecond
	}
	if o.Verify == 0 {
		o.Verify = 300 * time.Millisecond
	}
	o.GOOS = "darwin"
	c, err := imessage.New(cfg, channels.Deps{
		Log: slog.New(slog.DiscardHandler), Name: m.name, Keep: &m.keep, Dir: filepath.Join(m.home, "hob"),
		Getenv:  func(k string) string { return map[string]string{"HOME": m.home, "TERM_PROGRAM": "Apple_Terminal"}[k] },
		Scripts: osrun.NewScripts(osrun.Options{Output: m.runProgram, Getenv: func(string) string { return "" }, Cool: time.Nanosecond}),
	}, o)
	if err != nil {
		m.t.Fatal(err)
	}
	return c
}

func syntaxError(word string) error {
	return &osrun.Failure{Program: "osascript", Said: "1200:1212: syntax error: Erwartet wird Zeilenende, „" + word + "“ gefunden. (-2741)", Err: errors.New("exit status 1")}
}

func (m *mac) runProgram(ctx context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
	if cmd.Path == "/usr/bin/open" {
		m.mu.Lock()
		m.open = true
		m.mu.Unlock()
		return nil, nil
	}
	if cmd.Path != "/usr/bin/osascript" || len(cmd.Args) != 3 || cmd.Args[1] != "-e" {
		return nil, fmt.Errorf("no such program: %q", cmd.Args)
	}
	var c call
	if err := json.Unmarshal(in, &c); err != nil {
		return nil, err
	}
	switch text := cmd.Args[2]; {
	case strings.Contains(text, "count of chats"):
		c.Script = "ready"
	case strings.Contains(text, "send theThing to chat id theTarget"):
		c.Script = "chat"
	case strings.Contains(text, "1st account whose"):
		c.Script = "person"
	case strings.Contains(text, "1st service whose"):
		c.Script = "person12"
	}
	m.mu.Lock()
	m.calls = append(m.calls, c)
	old, open := m.old, m.open
	m.mu.Unlock()
	if old && c.Script == "person" {
		return nil, syntaxError("account")
	}
	if !open {
		return []byte(`{"ok":false,"number":9600,"began":false}`), nil
	}
	if err := m.Stalled(ctx); err != nil {
		return nil, err
	}
	return m.deliverCall(c)
}

func scriptFailure(number int, began bool) ([]byte, error) {
	return fmt.Appendf(nil, `{"ok":false,"number":%d,"message":"\u201eNachrichten\u201c hat einen Fehler erhalten","began":%v}`, number, began), nil
}

// deliverCall simulates how Messages handles a call.
func (m *mac) deliverCall(c call) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	how := m.always
	if len(m.fails) > 0 && c.Script != "ready" {
		how, m.fails = m.fails[0], m.fails[1:]
	}
	taken := []byte(`{"ok":true,"data":{"taken":true}}`)
	switch how {
	case "refused":
		return scriptFailure(-1743, false)
	case "no answer":
		return scriptFailure(-1712, false)
	case "no answer, and then nothing":
		return scriptFailure(-1712, true)
	case "gone":
		return scriptFailure(-600, false)
	case "dies":
		return nil, &osrun.Failure{Program: "osascript", Said: "killed", Err: errors.New("signal: killed")}
	case "shows nothing":
		return taken, nil
	}
	if c.Script == "ready" {
		return []byte(`{"ok":true,"data":{"chats":3}}`), nil
	}
	chat := int64(0)
	if c.Script == "chat" {
		if chat = m.db.Int("SELECT ROWID FROM chat WHERE guid = ?", c.Target); chat == 0 || m.unknown[c.Target] {
			return scriptFailure(-1728, false)
		}
	} else if chat = m.db.Int("SELECT ROWID FROM chat WHERE style = 45 AND chat_identifier = ?", c.Target); chat == 0 {
		chat = m.db.Chat(c.Target, c.Service, false)
	}
	values := map[string]any{"is_sent": 1}
	switch how {
	case "by SMS after all":
		values = map[string]any{"error": 22}
		time.AfterFunc(50*time.Millisecond, func() {
			m.db.Exec("UPDATE message SET error = 0, is_sent = 1, service = 'SMS' WHERE is_from_me = 1")
		})
	case "typographic":
		c.Body = strings.NewReplacer("'", "\u2019", "--", "\u2014", "...", "\u2026").Replace(c.Body)
	case "not delivered":
		values = map[string]any{"error": 22}
	case "ghost":
		chat = 0
		values = map[string]any{"handle_id": m.db.Handle(c.Target[strings.LastIndexByte(c.Target, ';')+1:], "iMessage")}
		c.Body = ""
	case "another chat":
		ident := c.Target[strings.LastIndexByte(c.Target, ';')+1:]
		chat = m.db.Put("chat", map[string]any{"guid": "any;-;" + ident, "style": 45, "chat_identifier": ident, "service_name": "iMessage"})
	}
	m.writeRows(chat, c, values)
	if how == "no answer, and sent" {
		return scriptFailure(-1712, true)
	}
	return taken, nil
}

// writeRows writes the rows of a sent item.
func (m *mac) writeRows(chat int64, c call, values map[string]any) {
	msg := chatdbtest.Message{Chat: chat, Text: c.Body, At: time.Now(), Values: values}
	if c.File != "" {
		b, err := os.ReadFile(c.File)
		if err != nil {
			m.t.Errorf("Messages cannot read the file: %v", err)
		}
		name := filepath.Base(c.File)
		msg.Text, msg.Files = "\ufffc", []map[string]any{{"transfer_name": name, "filename": "~/Library/Messages/Attachments/x/" + name, "total_bytes": len(b)}}
		m.arrived = append(m.arrived, name+": "+string(b))
	} else if c.Body != "" {
		m.arrived = append(m.arrived, c.Body)
	}
	m.db.Say(msg)
	if m.self != "" && strings.HasSuffix(c.Target, m.self) { // the message is echoed
		msg.From, msg.Values = m.self, nil
		m.db.Say(msg)
	}
}

// addMessage simulates a message from a person. A message from the owner to themselves has two rows.
func (m *mac) addMessage(chat int64, from, text string) {
	if from == m.self {
		m.db.Say(chatdbtest.Message{Chat: chat, Text: text, At: time.Now(), Values: map[string]any{"is_sent": 1, "destination_caller_id": from}})
	}
	m.db.Say(chatdbtest.Message{Chat: chat, From: from, Text: text, At: time.Now(), Values: map[string]any{"destination_caller_id": "+15550199"}})
}

func (m *mac) failNext(how ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = append(m.fails, how...)
}

// Arrived implements channelstest.Platform.
func (m *mac) Arrived() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.arrived...)
}

// Calls returns the scripts that were run since the last call.
func (m *mac) Calls() []call {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls
	m.calls = nil
	return c
}

// Fail implements channelstest.Platform.
func (m *mac) Fail(c channels.Class, n int) bool {
	how, ok := map[channels.Class]string{channels.Temporary: "no answer", channels.Permanent: "not delivered", channels.Unauthorized: "refused"}[c]
	for range n {
		if ok {
			m.failNext(how)
		}
	}
	return ok
}

// Say implements channelstest.Speaker.
func (m *mac) Say(ctx context.Context, chat, sender, text string, group bool) bool {
	if b, err := m.keep.Get(ctx, "cursor"); err != nil || b == nil {
		return false
	}
	m.addMessage(m.db.Chat(chat, "iMessage", group, sender), sender, text)
	return true
}

// Down implements channelstest.Outage: Messages does not respond.
func (m *mac) Down() { m.setAlways("no answer") }

// Up implements channelstest.Outage.
func (m *mac) Up() { m.setAlways("") }

func (m *mac) setAlways(always string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.always = always
}

// Reopen implements channelstest.Reopener.
func (m *mac) Reopen(*testing.T) channels.Channel {
	return m.newChannel(imessage.Config{}, imessage.Options{})
}
