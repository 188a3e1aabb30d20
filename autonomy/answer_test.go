package autonomy_test

import (
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm/llmtest"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
)

// senderModel returns a model that sends a text on request and reports it.
func senderModel() *llmtest.Scripted {
	return llmtest.NewScripted(llmtest.Options{Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		switch {
		case len(r.Results) > 0:
			return llmtest.Answer{Text: "finished"}, true
		case strings.Contains(r.LastUser, "send it"):
			return llmtest.Answer{Calls: []llmtest.Call{useTool("send_text", "x")}}, true
		}
		return llmtest.Answer{Text: "hi"}, true
	}})
}

func TestReview1_BareYesAnswersNoQuestionAfterFiveMinutes(t *testing.T) {
	e := startEngine(t, setup{model: senderModel(), guard: guard.Options{Live: time.Hour}})
	for _, tc := range []struct {
		age  time.Duration
		sent int
	}{{5*time.Minute + time.Second, 0}, {4 * time.Minute, 1}} {
		id := e.putMessage("s", "send it", "")
		e.awaitSettled(id)
		a := e.awaitPending(1)[0]
		failOnError(t, e.store.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE approvals SET created_at = created_at - ? WHERE id = ?`, tc.age.Milliseconds(), a.ID)
			return err
		}))
		got := e.askHob("s", "yes")
		if named := strings.Contains(got, "/yes "+a.ID); named != (tc.sent == 0) {
			t.Errorf("after %s the answer to \"yes\" is %q", tc.age, got)
		}
		if tc.sent == 0 {
			e.askHob("s", "/no "+a.ID)
		}
		e.awaitClosed(id)
		if len(e.effects.sent) != tc.sent {
			t.Errorf("after %s: sent %v", tc.age, e.effects.sent)
		}
	}
}

// chatEngine returns an engine with a push channel.
func chatEngine(t *testing.T) *engine {
	t.Helper()
	return startEngine(t, setup{model: senderModel(), pushes: map[string]bool{"pigeon": true}})
}

// sendReply sends a message from the owner in the private chat, as a reply to the message replyTo if
// it is given.
func (e *engine) sendReply(text string, replyTo ...string) string {
	e.t.Helper()
	acc, err := e.intake.Receive(e.t.Context(), channels.Inbound{Channel: "pigeon", Chat: "ada", Sender: "ada", FromOwner: true, Text: text, ReplyTo: replyTo, At: time.Now()})
	failOnError(e.t, err)
	return acc.Event
}

// confirmDeliveries reports the queued texts as accepted by the platform, which splits each text into two
// messages.
func (e *engine) confirmDeliveries() {
	e.t.Helper()
	out := e.bus.Outbox
	for {
		rows, err := out.ClaimDeliveries(e.t.Context(), "pigeon", 10)
		failOnError(e.t, err)
		if len(rows) == 0 {
			return
		}
		for _, d := range rows {
			failOnError(e.t, out.Delivered(e.t.Context(), d.ID, channels.Receipt{ID: "m1-" + d.ID, Parts: []string{"m1-" + d.ID, "m2-" + d.ID}}))
		}
	}
}

func TestReview1_QuestionIsShownOnceThePlatformAcceptsIt(t *testing.T) {
	e := chatEngine(t)
	id := e.sendReply("send it")
	e.awaitSettled(id)
	a := e.awaitPending(1)[0]
	if got := e.awaitSettled(e.sendReply("yes")).Answer; !strings.Contains(got, "/yes "+a.ID) || len(e.effects.sent) != 0 {
		t.Errorf("\"yes\" before the question is sent: answer %q, sent %v; want nothing sent", got, e.effects.sent)
	}
	e.confirmDeliveries()
	if got := e.awaitSettled(e.sendReply("yes")).Answer; !strings.Contains(got, "/yes "+a.ID) || len(e.effects.sent) != 0 {
		t.Errorf("\"yes\" after another text: answer %q, sent %v; want nothing sent", got, e.effects.sent)
	}
	e.awaitSettled(e.sendReply("/no " + a.ID))
	e.awaitClosed(id)
	e.confirmDeliveries()

	id = e.sendReply("send it")
	e.awaitSettled(id)
	e.awaitPending(1)
	e.confirmDeliveries()
	if got := e.awaitSettled(e.sendReply("ok")).Answer; got != "Reply yes to approve or no to deny: Send x." || len(e.effects.sent) != 0 {
		t.Errorf("ok: %q, %v", got, e.effects.sent)
	}
	e.confirmDeliveries() // the reminder is the newest text, and shows the question again
	if got := e.awaitSettled(e.sendReply("Yes!")).Answer; !strings.HasPrefix(got, "Thank you") {
		t.Errorf("answer to \"yes\" = %q", got)
	}
	e.awaitClosed(id)
	if len(e.effects.sent) != 1 {
		t.Errorf("sent: %v", e.effects.sent)
	}
}

// A reply to the message with a question answers that question, regardless of which turn asked it.
// A reply to any other message answers no question.
func TestReview1_ReplyAnswersTheQuestionItRepliesTo(t *testing.T) {
	e := chatEngine(t)
	hello := e.sendReply("hello")
	e.awaitSettled(hello)
	e.confirmDeliveries()
	e.specs["w"] = watchers.Spec{ID: "w", Kind: "file", Mode: watchers.Do, Action: "send it", Report: "pigeon:ada", Provenance: provenance.Owner}
	failOnError(t, e.intake.Fire(t.Context(), "w", []watchers.Signal{{Key: "1", Text: "a file", Source: provenance.Outside}}, nil))
	a := e.awaitPending(1)[0]
	e.confirmDeliveries()
	var question, reply bus.Delivery
	ds, err := e.bus.Outbox.Deliveries(t.Context(), "", "", "", 20)
	failOnError(t, err)
	for _, d := range ds {
		switch {
		case d.Kind == channels.Question:
			question = d
		case d.Event == hello:
			reply = d
		}
	}
	for _, to := range [][]string{nil, {"m1-" + reply.ID}, {"m9-" + question.ID}} {
		if got := e.awaitSettled(e.sendReply("yes", to...)).Answer; strings.HasPrefix(got, "Thank you") || len(e.effects.sent) != 0 {
			t.Errorf("\"yes\" in reply to %v: answer %q, sent %v; want nothing sent", to, got, e.effects.sent)
		}
		e.confirmDeliveries()
	}
	other := channels.Inbound{Channel: "pigeon", Chat: "elsewhere", Sender: "ada", FromOwner: true, Text: "yes", ReplyTo: []string{"m2-" + question.ID}, At: time.Now()}
	acc, err := e.intake.Receive(t.Context(), other) // in another chat, the same id identifies a different message
	failOnError(t, err)
	e.awaitSettled(acc.Event)
	if len(e.effects.sent) != 0 {
		t.Fatalf("a reply in another chat approved the send: %v", e.effects.sent)
	}
	if got := e.awaitSettled(e.sendReply("yes", "m2-"+question.ID)).Answer; !strings.HasPrefix(got, "Thank you") {
		t.Errorf("answer to a \"yes\" that replies to the second part = %q", got)
	}
	e.awaitClosed(a.Event)
	if len(e.effects.sent) != 1 {
		t.Errorf("sent: %v", e.effects.sent)
	}
}

// A question that is too long for a chat cannot be approved in a chat.
func TestReview6_LongQuestionIsNotApprovedInAChat(t *testing.T) {
	long := strings.Repeat("fine; ", 3000) + "rm -rf ~"
	m := llmtest.NewScripted(llmtest.Options{Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		if len(r.Results) > 0 {
			return llmtest.Answer{Text: "finished"}, true
		}
		return llmtest.Answer{Calls: []llmtest.Call{useTool("send_text", long)}}, true
	}})
	e := startEngine(t, setup{model: m})
	id := e.putMessage("s", "send it", "")
	e.awaitSettled(id)
	a := e.awaitPending(1)[0]
	for _, q := range e.listQuestions(id) {
		if !strings.Contains(q, "too long for a chat") || !strings.Contains(q, "hob approvals show "+a.ID) || strings.Contains(q, "fine; fine") && strings.Contains(q, "exactly:") {
			t.Errorf("the question is %q", q)
		}
	}
	for _, text := range []string{"yes", "/yes " + a.ID} {
		if got := e.askHob("s", text); !strings.Contains(got, "too long for a chat") || len(e.effects.sent) != 0 {
			t.Errorf("%s: %q, sent %d", text, got, len(e.effects.sent))
		}
	}
	e.answerApproval(a.ID, true) // the command line and the page show the complete question
	if e.awaitClosed(id); len(e.effects.sent) != 1 {
		t.Errorf("sent %d", len(e.effects.sent))
	}
}

// A question that fits into a chat is shown completely, including its middle.
func TestReview6_ChatShowsTheMiddleOfAQuestion(t *testing.T) {
	text := strings.Repeat("fine; ", 400) + "rm -rf ~/thesis; " + strings.Repeat("fine; ", 400)
	m := llmtest.NewScripted(llmtest.Options{Reply: func(llmtest.Request) (llmtest.Answer, bool) {
		return llmtest.Answer{Calls: []llmtest.Call{useTool("send_text", text)}}, true
	}})
	e := startEngine(t, setup{model: m})
	id := e.putMessage("s", "send it", "")
	e.awaitSettled(id)
	if q := e.listQuestions(id); len(q) != 1 || !strings.Contains(q[0], text) {
		t.Errorf("questions = %q", q)
	}
}
