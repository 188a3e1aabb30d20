package telegram_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram/telegramtest"
)

func buttonPress(from int, data string, msg int) object {
	return object{
		"id": "cb1", "from": object{"id": from}, "data": data,
		"message": object{"message_id": msg, "date": time.Now().Add(time.Hour).Unix(), // the server's clock is wrong
			"chat": object{"id": telegramtest.Owner, "type": "private"}},
	}
}

func newQuestion(id string) channels.Delivery {
	d := newReply(id, "7", "May I?")
	d.Kind = channels.Question
	return d
}

func answerText(t *testing.T, a *telegramtest.Server, n int) object {
	t.Helper()
	channelstest.Until(t, "the press is answered", func() bool { return a.Called("answerCallbackQuery") >= n })
	var said object
	a.With(func() { said = a.Answers[n-1] })
	return said
}

func TestApprove(t *testing.T) {
	for _, yes := range []bool{true, false} {
		a := telegramtest.New(t)
		buttons := &channelstest.Buttons{Owner: "7", Question: "q123"}
		a.Deps.Buttons = buttons
		ch := a.Open()
		channelstest.Running(t, ch, &channelstest.Inbox{})
		awaitListening(t, a)
		if _, err := ch.Send(t.Context(), newQuestion("d1")); err != nil {
			t.Fatal(err)
		}
		msg := a.Posts()[0].ID
		board := fmt.Sprint(a.Board(msg))
		if !strings.Contains(board, "y:q123") || !strings.Contains(board, "n:q123") {
			t.Fatalf("the keyboard is %s", board)
		}
		a.Add("callback_query", buttonPress(8, "y:q123", msg)) // an unknown sender
		if said := answerText(t, a, 1); said["text"] != channels.ErrNotOwner.Error() || said["show_alert"] != true || len(buttons.Pressed()) != 0 {
			t.Errorf("answer to an unknown sender's press = %v", said)
		}
		a.Add("callback_query", buttonPress(telegramtest.Owner, "z:q123", msg))
		if said := answerText(t, a, 2); said["show_alert"] != true || len(buttons.Pressed()) != 0 {
			t.Errorf("answer to an invalid press = %v", said)
		}
		if fmt.Sprint(a.Board(msg)) != board {
			t.Error("an unknown sender's press removed the buttons")
		}
		a.Add("callback_query", buttonPress(telegramtest.Owner, map[bool]string{true: "y:q123", false: "n:q123"}[yes], msg))
		if said := answerText(t, a, 3); said["text"] == "" || said["show_alert"] != false {
			t.Errorf("answer to the owner's press = %v", said)
		}
		p := buttons.Pressed()
		if len(p) != 1 || p[0].Yes != yes || p[0].Sender != "7" || p[0].Chat != "7" || time.Since(p[0].Shown) > time.Minute || time.Since(p[0].Shown) < 0 {
			t.Errorf("pressed %+v", p)
		}
		channelstest.Until(t, "the buttons go", func() bool { return !strings.Contains(fmt.Sprint(a.Board(msg)), "q123") })
		if text := a.Texts[msg]; text != "May I?" {
			t.Errorf("the question is now %q", text)
		}
	}
}

// TestApprove_AnsweredElsewhere checks that the buttons of a question that was answered while Hob was off
// are removed.
func TestApprove_AnsweredElsewhere(t *testing.T) {
	a := telegramtest.New(t)
	buttons := &channelstest.Buttons{Owner: "7", Question: "q1"}
	a.Deps.Buttons = buttons
	if _, err := a.Open().Send(t.Context(), newQuestion("d1")); err != nil {
		t.Fatal(err)
	}
	if _, err := buttons.Answer(t.Context(), "terminal", "q1", time.Now(), true); err != nil {
		t.Fatal(err)
	}
	msg := a.Posts()[0].ID
	channelstest.Running(t, a.Open(), &channelstest.Inbox{})
	channelstest.Until(t, "the buttons go", func() bool { return !strings.Contains(fmt.Sprint(a.Board(msg)), "q1") })
	channelstest.Until(t, "the removal of the stored question", func() bool {
		kept, err := a.Deps.Keep.Get(t.Context(), "asked")
		return err == nil && string(kept) == "[]"
	})
	// A long id does not fit on a button.
	long := &channelstest.Buttons{Owner: "7", Question: strings.Repeat("q", 70)}
	a.Deps.Buttons = long
	if _, err := a.Open().Send(t.Context(), newQuestion("d2")); err != nil || a.Board(a.Posts()[len(a.Posts())-1].ID) != nil {
		t.Error(err)
	}
}
