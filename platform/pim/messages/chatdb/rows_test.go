package chatdb_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"hob/platform/pim/messages/chatdb"
	"hob/platform/pim/messages/chatdbtest"
)

// TestRows_Year writes 365 days into one database, which starts on the oldest macOS
// and is updated to each later one, with old rows in their old form. After each
// update, every row is read with its sender, chat, kind and time.
func TestRows_Year(t *testing.T) {
	versions := chatdbtest.Versions()
	w := chatdbtest.New(t, filepath.Join(t.TempDir(), "chat.db"), versions[0])
	const days = 365
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	rng := rand.New(rand.NewPCG(1, 2))
	var want []string
	n := 0
	for i, v := range versions {
		if i > 0 {
			w.Update(v)
		}
		ada, bob, group := w.Chat("ada@example.org", "iMessage", false), w.Chat("+15550177", "SMS", false), w.Chat("chat77", "iMessage", true, "ada@example.org", "+15550177")
		say := func(at time.Time, m chatdbtest.Message, line string) string {
			n++
			m.At, m.GUID = at, fmt.Sprintf("G%d", n)
			w.Say(m)
			if line != "" {
				at = at.UTC()
				want = append(want, fmt.Sprintf("%d %s", n, line)+at.Format(" 15:04:05"))
			}
			return m.GUID
		}
		for day := days * i / len(versions); day < days*(i+1)/len(versions); day++ {
			at := begin.AddDate(0, 0, day).Add(time.Duration(rng.Int64N(86_000)) * time.Second)
			next := func() time.Time { at = at.Add(time.Second); return at }
			text := fmt.Sprintf("day %d 👋 %s", day, strings.Repeat("ä", rng.IntN(300)))
			first := say(next(), chatdbtest.Message{Chat: ada, From: "ada@example.org", Text: text}, fmt.Sprintf(`message ada@example.org>ada@example.org %q`, text))
			say(next(), chatdbtest.Message{Chat: ada, Text: "mine"}, `message >ada@example.org "mine" me`)
			switch day % 9 {
			case 0:
				line := `message ada@example.org>chat77 "all"`
				if w.Has("message.thread_originator_guid") {
					line += " re " + first
				}
				say(next(), chatdbtest.Message{Chat: group, From: "ada@example.org", Text: "all", Values: map[string]any{"thread_originator_guid": first}}, line)
			case 1:
				if w.Has("message.associated_message_type") {
					say(next(), chatdbtest.Message{Chat: ada, From: "ada@example.org", Text: "Liked", Values: map[string]any{"associated_message_type": 2001, "associated_message_guid": "p:0/" + first}}, `tapback ada@example.org>ada@example.org "Liked" re `+first)
				}
			case 2:
				if w.Has("message.date_edited") {
					say(next(), chatdbtest.Message{Chat: ada, From: "ada@example.org", Text: "at two", Values: map[string]any{"date_edited": w.Date(at), "message_summary_info": chatdbtest.Edited([]string{"at one", "at two"})}}, `edit ada@example.org>ada@example.org "at two"`)
				}
			case 3:
				if w.Has("message.date_edited") {
					say(next(), chatdbtest.Message{Chat: ada, From: "ada@example.org", Values: map[string]any{"date_edited": w.Date(at), "message_summary_info": chatdbtest.Retracted(1, 0)}}, `unsent ada@example.org>ada@example.org ""`)
				}
			case 4:
				say(next(), chatdbtest.Message{Chat: group, From: "+15550177", Service: "SMS", Values: map[string]any{"item_type": 2, "group_title": "Trip"}}, `event +15550177>chat77 "Trip"`)
			case 5:
				say(next(), chatdbtest.Message{Chat: bob, From: "+15550177", Service: "SMS", Text: "\ufffc", Files: []map[string]any{{"filename": "~/Library/Messages/Attachments/a/IMG.heic", "mime_type": "image/heic", "total_bytes": day, "transfer_name": "IMG.heic"}}},
					fmt.Sprintf(`message +15550177>+15550177 "" [IMG.heic image/heic %d ~/Library/Messages/Attachments/a/IMG.heic]`, day))
			case 6:
				if w.Has("message.balloon_bundle_id") {
					say(next(), chatdbtest.Message{Chat: ada, From: "ada@example.org", Text: "\ufffd", Values: map[string]any{"balloon_bundle_id": "com.example.game"}}, `app ada@example.org>ada@example.org ""`)
				}
			case 7:
				if w.Has("chat_recoverable_message_join.message_id") {
					say(next(), chatdbtest.Message{From: "ada@example.org", Text: "deleted"}, "")
					w.Put("chat_recoverable_message_join", map[string]any{"chat_id": ada, "message_id": n})
				}
			}
		}
		got := readBy(t, w.File, 200)
		if diff := cmp.Diff(want, formatMessages(got)); diff != "" {
			t.Fatalf("%s: %s", v.Name, diff)
		}
		last := begin.AddDate(0, 0, days*(i+1)/len(versions)-1)
		if d := got[len(got)-1].At.Sub(last); d < 0 || d > 25*time.Hour {
			t.Errorf("%s: the last message has the time %s, read on %s", v.Name, got[len(got)-1].At, last)
		}
		for j := 1; j < len(got); j++ {
			if got[j].At.Before(got[j-1].At.Add(-24 * time.Hour)) {
				t.Fatalf("%s: %s after %s", v.Name, got[j].At, got[j-1].At)
			}
		}
	}
}

// TestRows_Contradictory reads rows whose columns contradict each other, and reactions of a later macOS
// version.
func TestRows_Contradictory(t *testing.T) {
	w := chatdbtest.New(t, filepath.Join(t.TempDir(), "chat.db"), chatdbtest.Newest())
	ada := w.Chat("ada@example.org", "iMessage", false)
	for i, values := range []map[string]any{
		{"text": "no, never", "attributedBody": chatdbtest.Archive("yes", true)},
		{"text": "\ufffc the same ", "attributedBody": chatdbtest.Archive("\ufffcthe same", true)},
		{"text": "as it is", "attributedBody": []byte("no archive")},
		{"text": "Loved it in a new way", "associated_message_type": 2017, "associated_message_guid": "p:0/G0"},
		{"associated_message_type": 3017, "associated_message_guid": "G0"},
		{"text": "a number where a text is", "guid": 7, "balloon_bundle_id": 5, "date": "yesterday"},
	} {
		w.Say(chatdbtest.Message{GUID: fmt.Sprintf("G%d", i), Chat: ada, From: "ada@example.org", At: noon, Values: values})
	}
	want := []string{
		`1 message ada@example.org>ada@example.org "yes" approximate 12:00:00`,
		`2 message ada@example.org>ada@example.org " the same " 12:00:00`,
		`3 message ada@example.org>ada@example.org "as it is" 12:00:00`,
		`4 tapback ada@example.org>ada@example.org "Loved it in a new way" re G0 12:00:00`,
		`5 tapback ada@example.org>ada@example.org "reaction" re G0 12:00:00`,
		`6 app ada@example.org>ada@example.org "a number where a text is" 00:00:00`,
	}
	if diff := cmp.Diff(want, formatMessages(readMessages(t, w.File))); diff != "" {
		t.Error(diff)
	}
}

// FuzzRow checks that a row with any column values is read, as are the rows after
// it.
func FuzzRow(f *testing.F) {
	w := chatdbtest.New(f, filepath.Join(f.TempDir(), "chat.db"), chatdbtest.Newest())
	ada := w.Chat("ada@example.org", "iMessage", false)
	w.Say(chatdbtest.Message{Chat: ada, From: "ada@example.org", Text: "odd", At: noon, Files: []map[string]any{{"filename": "x"}}})
	w.Say(chatdbtest.Message{GUID: "after", Chat: ada, From: "ada@example.org", Text: "after it", At: noon})
	messages, err := sql.Open("sqlite", "file:"+filepath.ToSlash(w.File)+"?_pragma=busy_timeout(10000)&_pragma=synchronous(OFF)")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { messages.Close() })
	d, err := chatdb.Open(f.Context(), w.File, f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { d.Close() })
	f.Add("G1", "text", chatdbtest.Archive("text", true), chatdbtest.Edited([]string{"a", "b"}), int64(5), int64(2001), "p:0/G0", "~/Library/x", "E:a@b")
	f.Add("G1", "", []byte("\x04\x0bstreamtyped"), chatdbtest.Retracted(2, 0), int64(-1), int64(3006), "bp:", "", "")
	f.Fuzz(func(t *testing.T, guid, text string, body, summary []byte, number, kind int64, target, file, address string) {
		if guid == "after" {
			return
		}
		write := func(q string, args ...any) {
			t.Helper()
			if _, err := messages.Exec(q, args...); err != nil {
				t.Fatal(err)
			}
		}
		write("UPDATE message SET guid = ?1, text = nullif(?2, ''), attributedBody = ?3, message_summary_info = ?4, date = ?5, date_edited = ?5, item_type = ?5, is_from_me = ?5 & 1, error = ?2, associated_message_type = ?6, associated_message_guid = ?7, thread_originator_guid = ?7, balloon_bundle_id = nullif(?8, ''), service = ?8, destination_caller_id = ?9 WHERE ROWID = 1", guid, text, body, summary, number, kind, target, file, address)
		write("UPDATE attachment SET filename = ?1, transfer_name = ?2, total_bytes = ?3, mime_type = ?4", file, text, number, body)
		write("UPDATE chat SET display_name = ?1, account_login = ?2, last_addressed_handle = ?2, style = ?3, guid = ?4, chat_identifier = ?2", text, address, kind, target)
		write("UPDATE handle SET id = ?1, country = ?2, person_centric_id = ?3", address, target, file)
		list, next, err := d.Messages(t.Context(), 0, 9)
		if err != nil || next != 2 {
			t.Fatalf("%d, %v", next, err)
		}
		for _, m := range list {
			if !utf8.ValidString(m.Text) {
				t.Errorf("%q", m.Text)
			}
		}
		if len(list) == 0 || list[len(list)-1].GUID != "after" || list[len(list)-1].Text != "after it" {
			t.Errorf("%+v", list)
		}
		if _, err := d.Own(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := d.Find(t.Context(), address); err != nil {
			t.Error(err)
		}
	})
}

// A message from a sender whose first message arrives during the read is returned with its sender.
func TestRows_SenderOfAFirstMessage(t *testing.T) {
	w := chatdbtest.New(t, filepath.Join(t.TempDir(), "chat.db"), chatdbtest.Newest())
	d, err := chatdb.Open(t.Context(), w.File, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	const all = 300
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range all {
			who := fmt.Sprintf("who%d@example.org", i)
			w.Say(chatdbtest.Message{Chat: w.Chat(who, "iMessage", false), From: who, Text: "hello", At: time.Now()})
		}
	})
	defer writing.Wait()
	var cursor int64
	for n := 0; n < all; {
		list, next, err := d.Messages(t.Context(), cursor, 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			if n++; m.Sender == "" || m.Chat == nil {
				t.Fatalf("message %d has sender %q in %v", n, m.Sender, m.Chat)
			}
		}
		cursor = next
	}
}
