package imessage_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/imessage"
	"hob/platform/pim/messages/chatdbtest"
)

func TestReadArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	db := chatdbtest.New(t, file, chatdbtest.Newest())
	chat := db.Chat("+491701234567", "iMessage", false)
	group := db.Chat("chat1", "iMessage", true, "+491701234567")
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	db.Say(chatdbtest.Message{Chat: chat, From: "+491701234567", Text: "hello", At: at})
	db.Say(chatdbtest.Message{Chat: chat, Text: "good morning", At: at.Add(time.Minute)})
	db.Say(chatdbtest.Message{Chat: group, From: "+491701234567", Text: "all here?", At: at.Add(2 * time.Minute)})
	var got []string
	err := imessage.Driver{}.ReadArchive(t.Context(), file, func(m channels.ArchivedMessage) error {
		if !strings.Contains(string(m.JSON), `"text":"`+m.Text+`"`) {
			t.Errorf("the JSON lacks the text %q: %s", m.Text, m.JSON)
		}
		got = append(got, m.Who+m.Chat+": "+m.Text)
		return nil
	})
	if err != nil || len(got) != 3 || got[0] != "+491701234567: hello" || !strings.HasPrefix(got[1], "me to ") || !strings.Contains(got[2], " in ") {
		t.Errorf("ReadArchive returned %q, %v", got, err)
	}
	stop := errors.New("stop")
	if err := (imessage.Driver{}).ReadArchive(t.Context(), file, func(channels.ArchivedMessage) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("ReadArchive = %v, want the error of the callback", err)
	}
	if err := (imessage.Driver{}).ReadArchive(t.Context(), file+".no", nil); err == nil {
		t.Error("ReadArchive accepts a missing file")
	}
}
