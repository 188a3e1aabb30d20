package autonomy_test

import (
	"strings"
	"testing"

	"hob/autonomy/intake"
	"hob/autonomy/llm/llmtest"
	"hob/channels"
)

// receiveFromGroup receives a message of a group and returns its conversation and answer.
func (e *engine) receiveFromGroup(sender, text string, owner bool) (session, answer string) {
	e.t.Helper()
	acc, err := e.intake.Receive(e.t.Context(), channels.Inbound{Channel: "chat", Chat: "g", Group: true, Sender: sender, FromOwner: owner, Text: text})
	failOnError(e.t, err)
	ev := e.awaitSettled(acc.Event)
	return ev.Session, ev.Answer
}

// A message of one group member is not in the context of another member, including the owner, even
// after a restart. In a shared conversation it is in the context of all members.
func TestGroup_MembersSeeOnlySharedMessages(t *testing.T) {
	for _, shared := range []bool{false, true} {
		dir := t.TempDir()
		run := func(fn func(e *engine)) *llmtest.Scripted {
			m := modelFrom(func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "ok"} })
			e := startEngine(t, setup{dir: dir, model: m, pushes: map[string]bool{"chat": true}, inbox: func(o *intake.Options) { o.SharedGroups = shared }})
			fn(e)
			e.stop()
			return m
		}
		run(func(e *engine) {
			mine, _ := e.receiveFromGroup("me", "my salary is 7000", true)
			bobs, _ := e.receiveFromGroup("bob", "my secret is 42", false)
			if (mine == bobs) != shared || !strings.HasPrefix(mine, "chat:g") {
				t.Errorf("shared %v: the conversations are %s and %s", shared, mine, bobs)
			}
		})
		m := run(func(e *engine) { e.receiveFromGroup("bob", "what do you know?", false) })
		text := textsOf(m.Asked()[0].Messages)
		if !strings.Contains(text, "secret is 42") || strings.Contains(text, "salary") != shared {
			t.Errorf("shared %v: bob's request: %s", shared, text)
		}
		m = run(func(e *engine) {
			e.receiveFromGroup("me", "and you?", true)
			// The owner continues the conversation by its name from another channel, and the answer
			// goes to the group.
			if shared {
				return
			}
			acc, err := e.intake.Receive(t.Context(), channels.Inbound{Channel: "web", Session: "chat:g:me", FromOwner: true, Text: "from home"})
			failOnError(t, err)
			if ev := e.awaitSettled(acc.Event); ev.Channel != "chat" || ev.Chat != "g" {
				t.Errorf("answered on %s in %s", ev.Channel, ev.Chat)
			}
		})
		if text := textsOf(m.Asked()[0].Messages); !strings.Contains(text, "salary") || strings.Contains(text, "secret") != shared {
			t.Errorf("shared %v: request of the owner: %s", shared, text)
		}
	}
}
