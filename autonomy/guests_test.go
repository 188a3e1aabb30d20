package autonomy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/autonomy/intake"
	"hob/autonomy/llm/llmtest"
	"hob/channels"
)

// A guest who exceeds the limit gets one notice. Later messages are dropped without a model
// call and do not affect other senders or the owner.
func TestGuests_HaveAMessageLimit(t *testing.T) {
	model := llmtest.NewScripted(llmtest.Options{Otherwise: &llmtest.Answer{Text: "hello"}})
	e := startEngine(t, setup{model: model, inbox: func(o *intake.Options) { o.GuestMessages = 3 }})
	write := func(sender, key string, owner bool) (string, error) {
		acc, err := e.intake.Receive(t.Context(), channels.Inbound{
			Channel: "mail", Chat: sender, Sender: sender, FromOwner: owner, Text: "hi " + key, Key: key, At: time.Now(),
		})
		if err == nil {
			e.awaitSettled(acc.Event)
		}
		return acc.Event, err
	}
	for i := range 3 {
		if _, err := write("bob", fmt.Sprint(i), false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := write("bob", "0", false); err != nil { // the platform delivers it again
		t.Errorf("Receive of a repeated message: %v", err)
	}
	asked := len(model.Requests())
	id, err := write("bob", "4", false)
	if err != nil {
		t.Fatalf("Receive of the message that gets the notice: %v", err)
	}
	ev, err := e.bus.Inbox.Event(t.Context(), id)
	failOnError(t, err)
	if !strings.Contains(ev.Answer, "at most 3 messages per hour") {
		t.Errorf("answer = %q, want the limit", ev.Answer)
	}
	for i := range 5 {
		if _, err := write("bob", fmt.Sprint("more", i), false); !errors.Is(err, intake.ErrTooMany) || !errors.Is(err, channels.ErrStranger) {
			t.Errorf("message %d above the limit: %v", i, err)
		}
	}
	for sender, full := range map[string]bool{"bob": true, "eve": false} {
		_, _, err := e.intake.Known(t.Context(), channels.Inbound{Channel: "mail", Sender: sender, Key: "files"})
		if errors.Is(err, channels.ErrStranger) != full {
			t.Errorf("Known of a message of %s: %v", sender, err)
		}
	}
	if _, known, err := e.intake.Known(t.Context(), channels.Inbound{Channel: "mail", Sender: "bob", Key: "1"}); err != nil || !known {
		t.Errorf("Known of a repeated message = false, %v", err)
	}
	if n := len(model.Requests()); n != asked {
		t.Errorf("%d model calls for messages above the limit", n-asked)
	}
	if _, err := write("eve", "e", false); err != nil {
		t.Errorf("Receive from another guest: %v", err)
	}
	for i := range 5 {
		if _, err := write("me", fmt.Sprint("own", i), true); err != nil {
			t.Errorf("Receive from the owner: %v", err)
		}
	}
}
