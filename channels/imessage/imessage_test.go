package imessage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/imessage"
	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
	"hob/platform/pim/messages/chatdbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	channelstest.Conform(t, func(t *testing.T) (channels.Channel, channelstest.Platform) {
		m := newMac(t, chatdbtest.Newest())
		m.db.Chat("c", "iMessage", false)
		return m.newChannel(imessage.Config{}, imessage.Options{}), m
	})
}

func TestScripts(t *testing.T) {
	osruntest.Check(t, imessage.Scripts()...)
	for _, s := range imessage.Scripts() {
		s.Text = strings.Replace(s.Text, "end tell", "", 1)
		if s.Engine != osrun.AppleScript || len(osruntest.Lint(s)) == 0 {
			t.Errorf("Lint reports nothing for the broken script %s", s.Name)
		}
	}
}

// runningChannel is a running channel.
type runningChannel struct {
	t     *testing.T
	inbox *channelstest.Inbox
	stop  func()
}

// runChannel runs a channel until the test ends, and returns once the channel listens.
func (m *mac) runChannel(t *testing.T, c *imessage.Channel) *runningChannel {
	t.Helper()
	l := &runningChannel{t: t, inbox: &channelstest.Inbox{}}
	l.stop = channelstest.Run(t, c, l.inbox)
	t.Cleanup(l.stop)
	channelstest.Until(t, "the first look", func() bool {
		b, err := m.keep.Get(t.Context(), "cursor")
		return err == nil && b != nil
	})
	return l
}

// expectTexts waits for a final message and checks that exactly these texts arrived before it.
func (l *runningChannel) expectTexts(m *mac, texts ...string) {
	l.t.Helper()
	m.addMessage(m.db.Chat("+15550111", "iMessage", false), "+15550111", "the last one")
	channelstest.Until(l.t, "what was written", func() bool {
		h := l.inbox.Heard()
		return len(h) > 0 && h[len(h)-1].Text == "the last one"
	})
	var got []string
	for _, in := range l.inbox.Heard() {
		if in.Text != "the last one" {
			got = append(got, in.Text)
		}
	}
	if diff := cmp.Diff(texts, got); diff != "" {
		l.t.Error(diff)
	}
}

const ada, own = "+15550100", "+15550199"

func TestRun_ReceivesMessages(t *testing.T) {
	for _, v := range chatdbtest.Versions()[2:] {
		t.Run(v.Name, func(t *testing.T) {
			m := newMac(t, v)
			chat := m.db.Chat(ada, "iMessage", false)
			group := m.db.Chat("chat77", "iMessage", true, ada, "bob@example.org")
			m.addMessage(chat, ada, "from before the first start")
			m.name = "Grace"
			c := m.newChannel(imessage.Config{}, imessage.Options{})
			l := m.runChannel(t, c)
			m.addMessage(chat, ada, "hello 👋")
			m.db.Say(chatdbtest.Message{Chat: chat, Text: "the owner of this Mac writes himself", At: time.Now()})
			m.addMessage(group, "Bob@Example.org", "dinner?")
			m.addMessage(group, "Bob@Example.org", "grace, dinner?")
			m.addMessage(group, "Bob@Example.org", "the hobby of hobbits")
			m.db.Say(chatdbtest.Message{Chat: chat, From: ada, Text: "old, fetched from iCloud", At: time.Now().Add(-time.Hour)})
			m.db.Say(chatdbtest.Message{Chat: chat, From: ada, Text: "Liked", At: time.Now(), Values: map[string]any{"associated_message_type": 2001, "associated_message_guid": "p:0/X"}})
			m.db.Say(chatdbtest.Message{Chat: group, From: ada, At: time.Now(), Values: map[string]any{"item_type": 1}})
			l.expectTexts(m, "hello 👋", "dinner?", "grace, dinner?", "the hobby of hobbits")
			h := l.inbox.Heard()
			if h[0].Sender != ada || h[0].Chat != ada || h[0].Group || h[0].Key == "" || h[0].At.IsZero() || h[0].FromOwner {
				t.Errorf("%+v", h[0])
			}
			if h[1].Sender != "bob@example.org" || h[1].Chat != "chat77" || !h[1].Group || h[1].Mentioned || !h[2].Mentioned || h[3].Mentioned {
				t.Errorf("%+v\n%+v\n%+v", h[1], h[2], h[3])
			}
			if d := c.DescribeStatus(); !strings.Contains(d, "listening since") || !strings.Contains(d, "last message at") {
				t.Error(d)
			}
		})
	}
}

// TestRun_ReceivesMessagesOfADowntime checks that a restart neither skips nor repeats messages, even when
// messages were deleted.
func TestRun_ReceivesMessagesOfADowntime(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	chat := m.db.Chat(ada, "iMessage", false)
	m.addMessage(chat, ada, "zero")
	l := m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{}))
	m.addMessage(chat, ada, "one")
	channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == 1 })
	l.stop()
	m.db.Exec("DELETE FROM message WHERE ROWID = (SELECT MAX(ROWID) FROM message)")
	l = m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{}))
	m.addMessage(chat, ada, "two")
	channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == 1 })
	l.stop()
	m.addMessage(chat, ada, "three")
	m.addMessage(chat, ada, "four")
	l = m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{}))
	l.expectTexts(m, "three", "four")
	l.stop()

	// Messages that the inbox rejected are received again; none are lost.
	l = m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{}))
	l.stop()
	c := m.newChannel(imessage.Config{}, imessage.Options{})
	inbox := &channelstest.Inbox{}
	inbox.Refuse(fmt.Errorf("the disk is full"))
	m.addMessage(chat, ada, "five")
	if err := c.Run(t.Context(), inbox); err == nil {
		t.Error("Run returned no error for a refused message")
	}
	l = m.runChannel(t, c)
	l.expectTexts(m, "five")
}

// TestRun_YearWithSystemUpdates simulates repeated updates of macOS, some while Hob runs. Every message is received
// once, in the same chats, and the answers go to these chats.
func TestRun_YearWithSystemUpdates(t *testing.T) {
	versions := chatdbtest.Versions()[2:]
	m := newMac(t, versions[0])
	m.db.Chat(ada, "iMessage", false)
	m.db.Chat("chat77", "iMessage", true, ada, "bob@example.org")
	c := m.newChannel(imessage.Config{}, imessage.Options{})
	l := m.runChannel(t, c)
	inbox, want := l.inbox, []string(nil)
	for month, v := range versions {
		if m.db.Update(v); month%2 == 0 {
			l.stop()
			m.addMessage(m.db.Chat(ada, "iMessage", false), ada, v.Name+" while Hob is off")
			c = m.newChannel(imessage.Config{}, imessage.Options{})
			l = m.runChannel(t, c)
			channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == 1 })
			want = append(want, v.Name+" while Hob is off")
			inbox = l.inbox
		}
		n := len(inbox.Heard())
		m.addMessage(m.db.Int("SELECT ROWID FROM chat WHERE style = 45 AND chat_identifier = ?", ada), ada, v.Name)
		m.addMessage(m.db.Int("SELECT ROWID FROM chat WHERE style = 43"), "bob@example.org", v.Name+" in the group")
		channelstest.Until(t, "what was written", func() bool { return len(inbox.Heard()) == n+2 })
		for i, in := range inbox.Heard()[n:] {
			if in.Chat != []string{ada, "chat77"}[i] || in.Text != []string{v.Name, v.Name + " in the group"}[i] {
				t.Errorf("%s: %+v", v.Name, in)
			}
			r, err := c.Send(t.Context(), channels.Delivery{ID: fmt.Sprint(v.Name, i), Chat: in.Chat, Cause: in.Payload, Text: "answer " + in.Text})
			if err != nil || r.ID == "" {
				t.Errorf("%s: %v", v.Name, err)
			}
		}
	}
	if n := len(m.Arrived()); n != 2*len(versions) || len(want) == 0 {
		t.Errorf("%d answers arrived", n)
	}
}

// TestRun_RecreatedDatabase checks that the old messages in a recreated database, whose row numbers restart, are
// not received again.
func TestRun_RecreatedDatabase(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	chat := m.db.Chat(ada, "iMessage", false)
	for i := range 5 {
		m.addMessage(chat, ada, fmt.Sprint("old ", i))
	}
	l := m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{}))
	m.addMessage(chat, ada, "one")
	channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == 1 })
	l.stop()
	m.db.Close()
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(m.db.File + end); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	m.db = chatdbtest.New(t, m.db.File, chatdbtest.Newest())
	chat = m.db.Chat(ada, "iMessage", false)
	for i := range 3 { // old and new messages mixed
		m.db.Say(chatdbtest.Message{GUID: fmt.Sprint("new", i), Chat: chat, From: ada, Text: fmt.Sprint("new ", i), At: time.Now()})
		m.db.Say(chatdbtest.Message{GUID: fmt.Sprint("old", i), Chat: chat, From: ada, Text: "one of those that were there", At: time.Now().Add(-time.Duration(i+1) * time.Minute)})
	}
	l = m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{}))
	channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == 3 })
	m.addMessage(chat, ada, "two")
	l.expectTexts(m, "new 0", "new 1", "new 2", "two")
}

// TestRun_DatabaseReplacedMeanwhile tests a database that is vacuumed, and a database that is replaced,
// while Hob runs.
func TestRun_DatabaseReplacedMeanwhile(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	m.db.Chat(ada, "iMessage", false)
	l := m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{}))
	m.addMessage(m.db.Chat(ada, "iMessage", false), ada, "one")
	channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == 1 })
	m.db.Exec("VACUUM")
	m.addMessage(m.db.Chat(ada, "iMessage", false), ada, "two")
	channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == 2 })
	m.db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	m.db.Close()
	next := chatdbtest.New(t, filepath.Join(t.TempDir(), "chat.db"), chatdbtest.Newest())
	next.Say(chatdbtest.Message{GUID: "A", Chat: next.Chat(ada, "iMessage", false), From: ada, Text: "three, in another file", At: time.Now()})
	next.Close()
	for _, end := range []string{"-wal", "-shm"} {
		_ = os.Remove(m.db.File + end)
	}
	if err := os.Rename(next.File, m.db.File); err != nil {
		t.Skip("an open file cannot be replaced on this system: ", err)
	}
	channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == 3 })
	m.db = chatdbtest.Reopen(t, m.db.File, chatdbtest.Newest())
	l.expectTexts(m, "one", "two", "three, in another file")
}

// TestRun_NoticesChanges checks that a write by Messages is noticed before the next poll.
func TestRun_NoticesChanges(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	chat := m.db.Chat(ada, "iMessage", false)
	l := m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{Poll: time.Hour, Glance: time.Millisecond, Debounce: time.Millisecond, Hold: time.Second}))
	for i := range 20 {
		m.addMessage(chat, ada, fmt.Sprint(i))
		channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == i+1 })
	}
}

// TestRows_CompletedLater checks that a message is received whose text and chat are written after its row.
func TestRows_CompletedLater(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	chat := m.db.Chat(ada, "iMessage", false)
	l := m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{Poll: 20 * time.Millisecond, Glance: 2 * time.Millisecond, Debounce: time.Millisecond, Hold: 20 * time.Second}))
	id, _ := m.db.Say(chatdbtest.Message{From: ada, At: time.Now()})
	m.addMessage(chat, ada, "and this")
	time.Sleep(30 * time.Millisecond) // the poll may or may not see the incomplete row; the outcome is the same
	m.db.Exec("INSERT INTO chat_message_join (chat_id, message_id) VALUES (?, ?)", chat, id)
	time.Sleep(10 * time.Millisecond)
	m.db.Exec("UPDATE message SET attributedBody = ? WHERE ROWID = ?", chatdbtest.Archive("first this", true), id)
	l.expectTexts(m, "first this", "and this")
}

// TestRows_EmptyOnesAreSkipped checks that a row that never gets a text is skipped after some time.
func TestRows_EmptyOnesAreSkipped(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	chat := m.db.Chat(ada, "iMessage", false)
	l := m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{Poll: 20 * time.Millisecond, Glance: 2 * time.Millisecond, Debounce: time.Millisecond, Hold: 50 * time.Millisecond}))
	m.db.Say(chatdbtest.Message{From: ada, At: time.Now()})
	m.db.Say(chatdbtest.Message{Chat: chat, From: ada, At: time.Now()})
	m.db.Say(chatdbtest.Message{Chat: chat, From: ada, At: time.Now(), Values: map[string]any{"attributedBody": []byte("no archive")}})
	for range 200 { // the waiting times of these rows run concurrently
		m.db.Say(chatdbtest.Message{Chat: chat, From: "+15550166", At: time.Now()})
	}
	m.addMessage(chat, ada, "after them")
	l.expectTexts(m, "[a message that could not be read; see the Messages app]", "after them")
	if h := l.inbox.Heard(); !h[0].Unknown || h[1].Unknown {
		t.Errorf("an unreadable message may decide requests: %+v", h[0])
	}
}

// TestRows_LateTextIsReceivedOnce checks that a row that was skipped without text is received once when it
// gets its text, even after a restart, and that a retracted row is not received.
func TestRows_LateTextIsReceivedOnce(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	chat := m.db.Chat(ada, "iMessage", false)
	o := imessage.Options{Poll: 20 * time.Millisecond, Glance: 2 * time.Millisecond, Debounce: time.Millisecond, Hold: 20 * time.Millisecond}
	l := m.runChannel(t, m.newChannel(imessage.Config{}, o))
	var rows []int64
	for range 4 {
		id, _ := m.db.Say(chatdbtest.Message{Chat: chat, From: ada, At: time.Now()})
		rows = append(rows, id)
	}
	m.addMessage(chat, ada, "whole at once")
	channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == 1 })
	fill := func(i int, text string) {
		m.db.Exec("UPDATE message SET attributedBody = ? WHERE ROWID = ?", chatdbtest.Archive(text, true), rows[i])
	}
	fill(0, "late")
	waiting := func(n int) {
		channelstest.Until(t, "what was written", func() bool {
			b, err := m.keep.Get(t.Context(), "cursor")
			return err == nil && strings.Count(string(b), "until") == n
		})
	}
	waiting(3)
	l.stop()
	fill(1, "later")
	m.db.Exec("UPDATE message SET date_retracted = 5 WHERE ROWID = ?", rows[2])
	m.db.Exec("DELETE FROM message WHERE ROWID = ?", rows[3])
	l = m.runChannel(t, m.newChannel(imessage.Config{}, o))
	waiting(0)
	l.expectTexts(m, "later")
}

// TestSender_ByServiceAndAddress checks that SMS and iMessage from one number are different senders, each with a
// separate chat in which it is answered, and that an address that only resembles an allowed one is
// rejected.
func TestSender_ByServiceAndAddress(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	c := m.newChannel(imessage.Config{Allow: []string{ada}}, imessage.Options{})
	l := m.runChannel(t, c)
	say := func(ident, from, service, text string) {
		m.db.Say(chatdbtest.Message{Chat: m.db.Chat(ident, service, strings.HasPrefix(ident, "chat"), from), From: from, Service: service, Text: text, At: time.Now()})
	}
	m.db.Version.Prefix = "" // guids begin with the service
	say(ada, ada, "iMessage", "one")
	say(ada, ada, "SMS", "two")
	say(ada, ada, "RCS", "three")
	say("chat77", ada, "SMS", "four")
	say("262966", "262966", "SMS", "your code is 1")
	say("ada\u212a@example.org", "ada\u212a@example.org", "iMessage", "no kelvin")
	say("ADAK@example.org", "ADAK@example.org", "iMessage", "five")
	l.expectTexts(m, "one", "two", "three", "four", "your code is 1", "five")
	var got []string
	for _, in := range l.inbox.Heard() {
		got = append(got, in.Sender+" in "+in.Conversation(false))
	}
	want := []string{ada + " in imessage:" + ada, "sms:" + ada + " in imessage:sms:" + ada, "sms:" + ada + " in imessage:sms:" + ada, "sms:" + ada + " in imessage:chat77:sms:" + ada, "sms:262966 in imessage:sms:262966", "adak@example.org in imessage:adak@example.org", "+15550111 in imessage:+15550111"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i, in := range l.inbox.Heard()[:3] {
		d := newDelivery(fmt.Sprint("d", i), in.Chat, "answer")
		if i != 2 { // the third delivery has no cause, like a reminder
			d.Cause = in.Payload
		}
		if _, err := c.Send(t.Context(), d); err != nil {
			t.Error(err)
		}
	}
	var to []string
	for _, call := range m.Calls() {
		to = append(to, call.Target)
	}
	if diff := cmp.Diff([]string{"iMessage;-;" + ada, "SMS;-;" + ada, "SMS;-;" + ada}, to); diff != "" {
		t.Error(diff)
	}
}

// TestSelfChat checks the chat in which the owner writes to their own address. Each message appears
// twice, and each answer is echoed; openclaw#32166, #59363, #126468.
func TestSelfChat(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	m.self = own
	chat := m.db.Chat(own, "iMessage", false)
	c := m.newChannel(imessage.Config{}, imessage.Options{})
	l := m.runChannel(t, c)
	var want []string
	for i := range 10 { // all within a minute
		text := fmt.Sprintf("question %d", i)
		m.addMessage(chat, own, text)
		want = append(want, text)
		channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == len(want) })
		in := l.inbox.Heard()[i]
		for part := range 2 {
			if _, err := c.Send(t.Context(), channels.Delivery{ID: fmt.Sprintf("d%d.%d", i, part), Chat: in.Chat, Cause: in.Payload, Text: fmt.Sprintf("OK %d", part)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.addMessage(chat, own, "OK 0") // the owner writes the same text as Hob
	want = append(want, "OK 0")
	l.expectTexts(m, want...)
	if n := len(m.Arrived()); n != 20 {
		t.Errorf("%d answers", n)
	}
}

// TestSelfChatFromAnotherAddress checks that Hob's text to one address of the owner is recognized
// in the chat with another address, where this Mac's clock and Apple's differ.
func TestSelfChatFromAnotherAddress(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	m.db.Chat(own, "iMessage", false)
	mail := m.db.Chat("me@example.org", "iMessage", false)
	m.db.Say(chatdbtest.Message{Chat: mail, Text: "old", At: time.Now(), Values: map[string]any{"destination_caller_id": "me@example.org"}})
	m.db.Say(chatdbtest.Message{Chat: mail, Text: "old", At: time.Now(), Values: map[string]any{"destination_caller_id": own}})
	c := m.newChannel(imessage.Config{}, imessage.Options{})
	l := m.runChannel(t, c)
	if _, err := c.Send(t.Context(), channels.Delivery{ID: "d1", Chat: own, Text: "Done."}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second copy is a message of the owner
		m.db.Say(chatdbtest.Message{Chat: mail, From: "me@example.org", Text: "Done.", At: time.Now().Add(-time.Minute)})
	}
	l.expectTexts(m, "Done.")
}

// TestEchoes checks that Hob's own text is ignored when it appears as a message from another
// person, in a direct chat (openclaw#135704) and after a restart, and that the person's own
// messages are received.
func TestEchoes(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	chat := m.db.Chat(ada, "iMessage", false)
	c := m.newChannel(imessage.Config{}, imessage.Options{})
	l := m.runChannel(t, c)
	const answer = "It is in the calendar for tomorrow at ten."
	for id, text := range map[string]string{"d1": answer, "d2": "Done."} {
		if _, err := c.Send(t.Context(), channels.Delivery{ID: id, Chat: ada, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	m.addMessage(chat, ada, answer)
	m.addMessage(chat, ada, "Done.")
	m.addMessage(chat, ada, "hello")
	channelstest.Until(t, "what was written", func() bool { return len(l.inbox.Heard()) == 1 })
	l.stop()
	m.addMessage(chat, ada, answer+"\n") // a third copy, received by another process
	m.addMessage(chat, ada, "Done.")     // a message from ada
	other := m.db.Chat("bob@example.org", "iMessage", false)
	m.addMessage(other, "bob@example.org", answer) // Hob did not send this text to bob
	l = m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{}))
	l.expectTexts(m, "Done.", answer)
}

func TestPrefix(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	chat, group := m.db.Chat(ada, "iMessage", false), m.db.Chat("chat77", "iMessage", true, ada)
	l := m.runChannel(t, m.newChannel(imessage.Config{Prefix: "/d"}, imessage.Options{}))
	for _, text := range []string{"no", "/d yes", "/D: also", "/dno", "a /d b", "/d"} {
		m.addMessage(chat, ada, text)
	}
	m.addMessage(group, ada, "/d group")
	m.addMessage(m.db.Chat("+15550111", "iMessage", false), "+15550111", "/d the last one")
	channelstest.Until(t, "what was written", func() bool { h := l.inbox.Heard(); return len(h) > 0 && h[len(h)-1].Text == "the last one" })
	var got []string
	for _, in := range l.inbox.Heard() {
		got = append(got, fmt.Sprintf("%s %v", in.Text, in.Mentioned))
	}
	if diff := cmp.Diff([]string{"yes false", "also false", " false", "group true", "the last one false"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestReceivedFiles_StayInTheAttachmentsFolder checks that no database entry about an attachment makes Hob open a file outside
// the attachments folder.
func TestReceivedFiles_StayInTheAttachmentsFolder(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	chat := m.db.Chat(ada, "iMessage", false)
	store := filepath.Join(m.home, "Library", "Messages", "Attachments")
	secret := filepath.Join(m.home, "secret")
	for file, text := range map[string]string{filepath.Join(store, "a.txt"): "hello", secret: "secret"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	linked := os.Symlink(secret, filepath.Join(store, "link.txt")) == nil
	c := m.newChannel(imessage.Config{}, imessage.Options{})
	l := m.runChannel(t, c)
	paths := []string{"~/Library/Messages/Attachments/a.txt", secret, "~/Library/Messages/Attachments/../../../secret", "/etc/passwd", "~/Library/Messages/Attachments/", ""}
	if linked {
		paths = append(paths, "~/Library/Messages/Attachments/link.txt")
	}
	var files []map[string]any
	for _, p := range paths {
		files = append(files, map[string]any{"filename": p, "transfer_name": "a.txt", "mime_type": "text/plain", "total_bytes": 5})
	}
	m.db.Say(chatdbtest.Message{Chat: chat, From: ada, Text: "\ufffc", At: time.Now(), Files: files})
	l.expectTexts(m, "")
	in := l.inbox.Heard()[0]
	if len(in.Files) != len(paths) || in.Files[0].Name != "a.txt" || in.Files[0].MIME != "text/plain" || in.Files[0].Size != 5 {
		t.Fatalf("%+v", in)
	}
	for i, f := range in.Files {
		r, err := f.Open(t.Context())
		if (err == nil) != (i == 0) {
			t.Errorf("%s: %v", paths[i], err)
		}
		if err == nil {
			b := make([]byte, 10)
			n, _ := r.Read(b)
			r.Close()
			if string(b[:n]) != "hello" {
				t.Errorf("%q", b[:n])
			}
		}
	}
}

// TestConversation_OfSeveralAddresses checks that one person's messages from several addresses belong to one
// conversation.
func TestConversation_OfSeveralAddresses(t *testing.T) {
	m := newMac(t, chatdbtest.Newest())
	phone, mail := m.db.Chat(ada, "iMessage", false), m.db.Chat("ada@example.org", "iMessage", false)
	m.db.Exec("UPDATE handle SET person_centric_id = 'P1'")
	l := m.runChannel(t, m.newChannel(imessage.Config{}, imessage.Options{}))
	m.addMessage(phone, ada, "one")
	m.addMessage(mail, "ada@example.org", "two")
	l.expectTexts(m, "one", "two")
	h := l.inbox.Heard()
	if h[0].Session != "" || h[1].Session != h[0].Conversation(false) || h[1].Sender != "ada@example.org" || h[1].Chat != "ada@example.org" {
		t.Errorf("%+v\n%+v", h[0], h[1])
	}
}

func TestGroup_MentionsByName(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"", "Hob, dinner?", true},
		{"", "Ada, dinner?", false},
		{"Ada", "@ada dinner?", true},
		{"Ada", "hob: dinner?", true},
		{"Ada", "Adaline comes", false},
		{"Ada", "canada", false},
		{"Mr. Bean (2)", "is mr.  bean (2) there?", true},
		{"Mr. Bean (2)", "is mrx bean 2 there?", false},
		{"Éloïse", "ÉLOÏSE!", true},
	} {
		if got := imessage.Names(tt.name, tt.text); got != tt.want {
			t.Errorf("%q names %q: %v", tt.text, tt.name, got)
		}
	}
}
