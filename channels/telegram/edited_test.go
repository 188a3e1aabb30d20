package telegram_test

import (
	"slices"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram/telegramtest"
)

// heardAfter waits for a final message and returns the texts before it.
func heardAfter(t *testing.T, a *telegramtest.Server, in *channelstest.Inbox) []string {
	t.Helper()
	n := len(in.Heard())
	a.Write("the last one")
	channelstest.Until(t, "the last message", func() bool {
		all := receivedTexts(in)
		return len(all) > n && all[len(all)-1] == "the last one"
	})
	return slices.DeleteFunc(receivedTexts(in), func(s string) bool { return s == "the last one" })
}

// TestCorrections checks that an edit by the owner within minutes is received once, marked as an
// edit.
func TestCorrections(t *testing.T) {
	a, in := telegramtest.New(t), &channelstest.Inbox{}
	end := channelstest.Running(t, a.Open(), in)
	awaitListening(t, a)
	m := telegramtest.Private("Remind me at five")
	a.Add("message", m)
	a.Edit(m, "Remind me at five", 3) // only the formatting changes
	if got := heardAfter(t, a, in); !slices.Equal(got, []string{"Remind me at five"}) {
		t.Fatalf("received %q", got)
	}
	a.Edit(m, "Remind me at six", 5)
	a.Edit(m, "Remind me at six", 6)
	a.Edit(m, "/undo", 7)
	a.Edit(m, "Remind me at six", 8)
	a.Edit(m, "yes", 601)
	want := []string{"Remind me at five", "(edited) Remind me at six", "(edited) /undo", "(edited) Remind me at six"}
	if got := heardAfter(t, a, in); !slices.Equal(got, want) {
		t.Fatalf("received %q", got)
	}
	keys := map[string]bool{}
	for _, h := range in.Heard() {
		if keys[h.Key] = true; strings.HasPrefix(h.Text, "(edited)") && (h.At.Unix() <= 1700000000 || string(h.Payload) != string(in.Heard()[0].Payload)) {
			t.Errorf("received %+v", h)
		}
	}
	if len(keys) != len(in.Heard()) {
		t.Errorf("%d keys for %d messages", len(keys), len(in.Heard()))
	}
	_ = end()

	// While Hob is off, a message that was already received is edited, and so is a new message,
	// which is received in its final form. Neither of them may answer a question.
	a.Edit(m, "Remind me at seven", 9)
	late := telegramtest.Private("no")
	a.Add("message", late)
	a.Edit(late, "yes", 2)
	again := &channelstest.Inbox{}
	channelstest.Running(t, a.Open(), again)
	if got := heardAfter(t, a, again); !slices.Equal(got, []string{"(edited) Remind me at seven", "(edited) yes"}) {
		t.Errorf("received %q", got)
	}
}

// TestCorrections_OfRejectedMessages checks that an edit does not turn a rejected message, or an update
// without a message, into a message.
func TestCorrections_OfRejectedMessages(t *testing.T) {
	a, in := telegramtest.New(t), &channelstest.Inbox{}
	in.Refuse(channels.ErrStranger)
	channelstest.Running(t, a.Open(), in)
	awaitListening(t, a)
	m := telegramtest.Private("hello")
	a.Add("message", m)
	channelstest.Until(t, "the stranger's message is dropped", func() bool {
		waiting := true
		a.With(func() { waiting = len(a.Updates) > 0 })
		return !waiting
	})
	in.Refuse(nil)
	a.Edit(m, "2345A-BCDEF", 5)
	place := telegramtest.Private("")
	delete(place, "text")
	place["location"] = object{"latitude": 1.0, "longitude": 2.0}
	a.Add("message", place)
	moves := telegramtest.Private("")
	moves["message_id"], moves["edit_date"], moves["location"] = place["message_id"], 1700000005, object{"latitude": 1.5, "longitude": 2.0}
	a.Add("edited_message", moves)
	post := telegramtest.Private("news")
	delete(post, "from")
	a.Add("edited_channel_post", post)
	if got := heardAfter(t, a, in); len(got) != 1 || !strings.HasPrefix(got[0], "[location") {
		t.Errorf("received %q", got)
	}
}
