package chatdb_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/pim/messages/chatdb"
	"hob/platform/pim/messages/chatdbtest"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func readMessages(t *testing.T, file string) []chatdb.Message {
	t.Helper()
	return readBy(t, file, 7)
}

func readBy(t *testing.T, file string, atOnce int) []chatdb.Message {
	t.Helper()
	d, err := chatdb.Open(t.Context(), file, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var out []chatdb.Message
	for after := int64(0); ; {
		page, next, err := d.Messages(t.Context(), after, atOnce)
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, page...); next == after {
			return out
		}
		after = next
	}
}

// formatMessage formats a message as one line.
func formatMessage(m chatdb.Message) string {
	chat := "-"
	if m.Chat != nil {
		chat = m.Chat.Key()
	}
	s := fmt.Sprintf("%d %s %s>%s %q", m.RowID, m.Kind, m.Sender, chat, m.Text)
	if m.FromMe {
		s += " me"
	}
	if m.ReplyTo != "" {
		s += " re " + m.ReplyTo
	}
	for _, f := range m.Files {
		s += fmt.Sprintf(" [%s %s %d %s]", f.Name, f.MIME, f.Size, f.Path)
	}
	if m.Undecodable {
		s += " undecodable"
	}
	if m.Approximate {
		s += " approximate"
	}
	return s + m.At.Format(" 15:04:05")
}

// TestVersions reads the same messages with each schema, while the newest are in
// the log.
func TestVersions(t *testing.T) {
	for _, v := range chatdbtest.Versions() {
		t.Run(v.Name, func(t *testing.T) {
			w := chatdbtest.New(t, filepath.Join(t.TempDir(), "chat.db"), v)
			w.Chat("+15550100", "iMessage", false)
			ada := w.Chat("ada@Example.org", "iMessage", false)
			sms := w.Chat("+15550177", "SMS", false)
			group := w.Chat("chat77", "iMessage", true, "+15550100", "ada@Example.org")
			at := noon
			say := func(m chatdbtest.Message) string {
				m.At = at
				at = at.Add(time.Second)
				_, guid := w.Say(m)
				return guid
			}
			first := say(chatdbtest.Message{Chat: ada, From: "ada@Example.org", Text: "Grüße 👋"})
			say(chatdbtest.Message{Chat: ada, Text: "hello"})
			say(chatdbtest.Message{Chat: sms, From: "+15550177", Service: "SMS", Text: strings.Repeat("x", 200)})
			say(chatdbtest.Message{Chat: group, From: "+15550100", Text: "all", Values: map[string]any{"thread_originator_guid": first}})
			say(chatdbtest.Message{Chat: group, From: "ada@Example.org", Text: "\ufffc look", Files: []map[string]any{{"filename": "~/Library/Messages/Attachments/a/IMG.jpg", "mime_type": "image/jpeg", "total_bytes": 12, "transfer_name": "IMG.jpg"}}})
			say(chatdbtest.Message{Chat: group, From: "+15550100", Values: map[string]any{"item_type": 2, "group_title": "Trip"}})
			say(chatdbtest.Message{Chat: ada, From: "ada@Example.org"})
			got := readMessages(t, w.File)
			want := []string{
				`1 message ada@example.org>ada@example.org "Grüße 👋" 12:00:00`,
				`2 message >ada@example.org "hello" me 12:00:01`,
				`3 message +15550177>+15550177 "` + strings.Repeat("x", 200) + `" 12:00:02`,
				`4 message +15550100>chat77 "all" re ` + first + ` 12:00:03`,
				`5 message ada@example.org>chat77 " look" [IMG.jpg image/jpeg 12 ~/Library/Messages/Attachments/a/IMG.jpg] 12:00:04`,
				`6 event +15550100>chat77 "Trip" 12:00:05`,
				`7 message ada@example.org>ada@example.org "" 12:00:06`,
			}
			if !w.Has("message.thread_originator_guid") {
				want[3] = `4 message +15550100>chat77 "all" 12:00:03`
			}
			if diff := cmp.Diff(want, formatMessages(got)); diff != "" {
				t.Error(diff)
			}
			if !got[3].Chat.Group || got[0].Chat.Group || got[2].Chat.Service != "SMS" || got[0].Chat.Service != "iMessage" || !got[0].At.Equal(noon) {
				t.Errorf("%+v, %+v", got[2].Chat, got[3].Chat)
			}
		})
	}
}

func formatMessages(list []chatdb.Message) []string {
	var out []string
	for _, m := range list {
		out = append(out, formatMessage(m))
	}
	return out
}

// TestKinds checks all kinds of rows in the newest schema.
func TestKinds(t *testing.T) {
	w := chatdbtest.New(t, filepath.Join(t.TempDir(), "chat.db"), chatdbtest.Newest())
	ada := w.Chat("ada@example.org", "iMessage", false)
	n := 0
	say := func(from, text string, values map[string]any) int64 {
		n++
		id, _ := w.Say(chatdbtest.Message{GUID: fmt.Sprintf("G%d", n), Chat: ada, From: from, Text: text, At: noon.Add(time.Duration(n) * time.Minute), Values: values})
		return id
	}
	url := "com.apple.messages.URLBalloonProvider"
	say("ada@example.org", "Lunch?", nil)
	say("", "Liked “Lunch?”", map[string]any{"associated_message_type": 2001, "associated_message_guid": "p:0/G1"})
	say("", "", map[string]any{"associated_message_type": 3001, "associated_message_guid": "bp:G1"})
	say("", "", map[string]any{"associated_message_type": 2006, "associated_message_guid": "p:0/G1", "associated_message_emoji": "🦊"})
	say("ada@example.org", "", map[string]any{"associated_message_type": 1000, "associated_message_guid": "p:0/G1"})
	say("ada@example.org", "at one", map[string]any{"date_edited": 5, "message_summary_info": chatdbtest.Edited([]string{"at noon", "at one"})})
	say("ada@example.org", "", map[string]any{"date_edited": 5, "message_summary_info": chatdbtest.Edited([]string{"at one", "at two"})})
	say("ada@example.org", "", map[string]any{"date_edited": 5, "message_summary_info": chatdbtest.Retracted(1, 0)})
	say("ada@example.org", "", map[string]any{"date_retracted": 5})
	say("ada@example.org", "half", map[string]any{"date_edited": 5, "message_summary_info": chatdbtest.Retracted(2, 1)})
	say("ada@example.org", "\ufffd", map[string]any{"balloon_bundle_id": "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.PassbookUIService.PeerPaymentMessagesExtension"})
	say("ada@example.org", "", map[string]any{"attributedBody": []byte("what is this")})
	say("ada@example.org", "", map[string]any{"attributedBody": chatdbtest.Archive("cut off here", true)[:120]})
	say("ada@example.org", "https://example.org/a", map[string]any{"balloon_bundle_id": url})
	w.Say(chatdbtest.Message{GUID: "U1", Chat: ada, From: "ada@example.org", Text: "https://example.org/b", At: noon.Add(time.Hour)})
	w.Say(chatdbtest.Message{GUID: "U2", Chat: ada, From: "ada@example.org", Text: "https://example.org/b", At: noon.Add(time.Hour + 80*time.Second), Values: map[string]any{"balloon_bundle_id": url}})
	w.Say(chatdbtest.Message{GUID: "U3", Chat: ada, From: "ada@example.org", Text: "https://example.org/b", At: noon.Add(2 * time.Hour), Values: map[string]any{"balloon_bundle_id": url}})
	gone := say("ada@example.org", "deleted", nil)
	w.Exec("DELETE FROM chat_message_join WHERE message_id = ?", gone)
	w.Put("chat_recoverable_message_join", map[string]any{"chat_id": ada, "message_id": gone})
	w.Say(chatdbtest.Message{GUID: "N", From: "ada@example.org", Text: "nowhere", At: noon})
	want := []string{
		`1 message ada@example.org>ada@example.org "Lunch?" 12:01:00`,
		`2 tapback >ada@example.org "Liked “Lunch?”" me re G1 12:02:00`,
		`3 tapback >ada@example.org "like" me re G1 12:03:00`,
		`4 tapback >ada@example.org "🦊" me re G1 12:04:00`,
		`5 tapback ada@example.org>ada@example.org "sticker" re G1 12:05:00`,
		`6 edit ada@example.org>ada@example.org "at one" 12:06:00`,
		`7 edit ada@example.org>ada@example.org "at two" 12:07:00`,
		`8 unsent ada@example.org>ada@example.org "" 12:08:00`,
		`9 unsent ada@example.org>ada@example.org "" 12:09:00`,
		`10 edit ada@example.org>ada@example.org "half" 12:10:00`,
		`11 app ada@example.org>ada@example.org "" 12:11:00`,
		`12 message ada@example.org>ada@example.org "" undecodable 12:12:00`,
		`14 message ada@example.org>ada@example.org "https://example.org/a" 12:14:00`,
		`15 message ada@example.org>ada@example.org "https://example.org/b" 13:00:00`,
		`17 message ada@example.org>ada@example.org "https://example.org/b" 14:00:00`,
		`19 message ada@example.org>- "nowhere" 12:00:00`,
	}
	got := formatMessages(readMessages(t, w.File))
	cut := ""
	for i, l := range got {
		if strings.HasPrefix(l, "13 ") {
			cut, got = l, append(got[:i:i], got[i+1:]...)
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(cut, "approximate") && !strings.Contains(cut, "undecodable") {
		t.Errorf("the damaged row: %s", cut)
	}
}

// TestOpen_ReadsTheLog checks that rows that are only in the log are found, also if
// SQLite cannot open the database in place, and that the copy is removed.
func TestOpen_ReadsTheLog(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	w := chatdbtest.New(t, filepath.Join(dir, "chat.db"), chatdbtest.Newest())
	ada := w.Chat("ada@example.org", "iMessage", false)
	for i := range 5 {
		w.Say(chatdbtest.Message{Chat: ada, From: "ada@example.org", Text: fmt.Sprint(i), At: noon})
	}
	if got := readMessages(t, w.File); len(got) != 5 {
		t.Fatalf("%d of 5 messages", len(got))
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	// A symlink at the path of SQLite's index, which SQLite does not follow.
	if err := os.Symlink("nowhere", filepath.Join(other, "chat.db-shm")); err != nil {
		t.Skip("symlinks are not supported: ", err)
	}
	for _, f := range []string{"chat.db", "chat.db-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(other, f), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := chatdb.Open(t.Context(), filepath.Join(other, "chat.db"), temp)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := d.Messages(t.Context(), 0, 100)
	if err != nil || len(list) != 5 || !d.Copied() || d.Stale() {
		t.Errorf("%d of 5 messages, copied %v, stale %v, %v", len(list), d.Copied(), d.Stale(), err)
	}
	if err := os.WriteFile(filepath.Join(other, "chat.db-wal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !d.Stale() {
		t.Error("an outdated copy does not count as stale")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("ReadDir = %v, %v", left, err)
	}
}

func TestOpen_RejectsOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty.db": "", "text.db": strings.Repeat("no database at all. ", 100)} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := chatdb.Open(t.Context(), file, dir); !errors.Is(err, chatdb.ErrNotMessages) {
			t.Errorf("%s: Open = %v, want ErrNotMessages", name, err)
		}
	}
	if _, err := chatdb.Open(t.Context(), filepath.Join(dir, "none.db"), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := chatdb.Open(t.Context(), dir, dir); err == nil {
		t.Error("Open accepted a folder")
	}
}

func TestHandle(t *testing.T) {
	for _, c := range [][3]string{
		{"+1 (555) 010-0123", "", "+15550100123"},
		{"Ada@Example.ORG", "", "ada@example.org"},
		{"5550100123", "us", "+15550100123"},
		{"15550100123", "US", "+15550100123"},
		{"5550100123", "", "5550100123"},
		{"0037060000000", "lt", "+37060000000"},
		{"262966", "us", "262966"},
		{"AMAZON", "", "AMAZON"},
		{"tel:+37060000000", "", "+37060000000"},
		{"mailto:A@b.org", "", "a@b.org"},
		{"+37060000000(smsfp)", "", "+37060000000"},
		{"\u202a+370 600 00000\u202c", "", "+37060000000"},
		{"urn:biz:0000", "", "urn:biz:0000"},
		{"ada\u212a@example.org", "", "ada\u212a@example.org"}, // the kelvin sign is not the letter k
		{"\u0130da@example.org", "", "\u0130da@example.org"},
		{"АDA@example.org", "", "Аda@example.org"}, // Cyrillic
		{"+1555\u200b0100", "", "+1555\u200b0100"},
		{"٠١٢٣٤٥", "us", "٠١٢٣٤٥"},
		{"", "", ""},
		{"+", "", "+"},
	} {
		if got := chatdb.Handle(c[0], c[1]); got != c[2] {
			t.Errorf("Handle(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// TestPersons checks that all addresses of one person get the same Person.
func TestPersons(t *testing.T) {
	w := chatdbtest.New(t, filepath.Join(t.TempDir(), "chat.db"), chatdbtest.Newest())
	phone, mail := w.Chat("+15550100", "iMessage", false), w.Chat("ada@example.org", "iMessage", false)
	w.Exec("UPDATE handle SET person_centric_id = 'P1'")
	w.Say(chatdbtest.Message{Chat: mail, From: "ada@example.org", Text: "a", At: noon})
	w.Say(chatdbtest.Message{Chat: phone, From: "+15550100", Text: "b", At: noon})
	got := readMessages(t, w.File)
	if len(got) != 2 || got[0].Person != "+15550100" || got[1].Person != "+15550100" || got[0].Sender != "ada@example.org" {
		t.Errorf("%+v", got)
	}
}

// FuzzHandle checks that Handle is idempotent.
func FuzzHandle(f *testing.F) {
	f.Add("+1 (555) 010-0123", "us")
	f.Add("tel:Ada@b", "")
	f.Fuzz(func(t *testing.T, id, country string) {
		once := chatdb.Handle(id, country)
		if again := chatdb.Handle(once, ""); again != once && !strings.ContainsAny(id, ":(") {
			t.Errorf("%q, then %q", once, again)
		}
	})
}
