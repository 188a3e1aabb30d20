package approvaltest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/imessage"
	"hob/platform/host/osrun"
	"hob/platform/pim/messages/chatdbtest"
)

// mac is a Mac with Messages: its database, and a fake osascript that stores sent texts in the
// database.
type mac struct {
	t  *testing.T
	db *chatdbtest.DB

	mu    sync.Mutex
	texts []string
}

const crowd = "chat77"

func phoneNumber(who string) string {
	return map[string]string{owner: "+15550100", guest: "+15550101", "stranger": "+15550102"}[who]
}

func openMac(t *testing.T) *chatChannel {
	home := t.TempDir()
	failOnError(t, os.MkdirAll(filepath.Join(home, "Library", "Messages", "Attachments"), 0o700))
	m := &mac{t: t, db: chatdbtest.New(t, filepath.Join(home, "Library", "Messages", "chat.db"), chatdbtest.Newest())}
	for _, who := range []string{owner, guest, "stranger"} {
		m.db.Chat(phoneNumber(who), "iMessage", false)
	}
	m.db.Chat(crowd, "iMessage", true, phoneNumber(owner), phoneNumber(guest), phoneNumber("stranger"))
	return &chatChannel{
		section: fmt.Sprintf("[channels.imessage]\nallow = [%q]\nsettle = \"0s\"\n", phoneNumber(guest)),
		driver: simulatedDriver{imessage.Name, func(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
			var c imessage.Config
			if err := decode(&c); err != nil {
				return nil, err
			}
			deps.Getenv = func(k string) string { return map[string]string{"HOME": home}[k] }
			deps.Scripts = osrun.NewScripts(osrun.Options{Output: m.runScript, Getenv: func(string) string { return "" }, Cool: time.Nanosecond})
			ch, err := imessage.New(c, deps, imessage.Options{
				GOOS: "darwin", Poll: 20 * time.Millisecond, Glance: 5 * time.Millisecond, Debounce: time.Millisecond, Hold: 300 * time.Millisecond,
			})
			return freeMac{ch}, err
		}},
		guests: true, groups: true, others: []string{"stranger"}, trial: true, say: m.addMessage, saw: m.hasText,
	}
}

func (m *mac) addMessage(who string, group bool, text string) bool {
	chat := m.db.Chat(phoneNumber(who), "iMessage", false)
	if group {
		chat, text = m.db.Chat(crowd, "iMessage", true), "Hob, "+text
	}
	m.db.Say(chatdbtest.Message{Chat: chat, From: phoneNumber(who), Text: text, At: time.Now(), Values: map[string]any{"destination_caller_id": "+15550199"}})
	return who == "stranger"
}

func (m *mac) hasText(part string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Contains(strings.Join(m.texts, "\n"), part)
}

// runScript simulates osascript. A script that sends to a chat finds the chat by its guid, and a
// script that sends to a person uses the address.
func (m *mac) runScript(_ context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
	var c struct{ Target, Service, BodyText string }
	if err := json.Unmarshal(in, &c); err != nil {
		return nil, err
	}
	if strings.Contains(strings.Join(cmd.Args, " "), "count of chats") {
		return []byte(`{"ok":true,"data":{"chats":3}}`), nil
	}
	chat := m.db.Int("SELECT ROWID FROM chat WHERE guid = ?", c.Target)
	if chat == 0 {
		chat = m.db.Chat(c.Target, c.Service, false)
	}
	m.db.Say(chatdbtest.Message{Chat: chat, Text: c.BodyText, At: time.Now(), Values: map[string]any{"is_sent": 1}})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts = append(m.texts, c.BodyText)
	return []byte(`{"ok":true,"data":{"taken":true}}`), nil
}
