package autonomy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/platform/provenance"
	"hob/watchers"
)

// userTexts lists the last lines of the user's messages of a request.
func userTexts(r llm.Request) (out []string) {
	for _, m := range r.Messages {
		if m.Role == "user" {
			text := m.Parts[len(m.Parts)-1].Text
			out = append(out, text[strings.LastIndexByte(text, '\n')+1:])
		}
	}
	return out
}

// A message is answered while a question is open. When the question is answered, its turn continues
// with that message in its context, also after a restart and a crash.
func TestConversation_ContinuesWhileAQuestionIsOpen(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			m := modelFrom(func(r llmtest.Request) llmtest.Answer {
				text := r.LastUser[strings.LastIndexByte(r.LastUser, '\n')+1:]
				if strings.HasPrefix(text, "send") && r.Round == 0 {
					return callsAnswer(newCall("add_item", fmt.Sprintf(`{"text":%q}`, text)), sendText(text))
				}
				return llmtest.Answer{Text: "answer to " + text}
			})
			s := setup{model: m, dir: t.TempDir(), effects: &effects{}}
			e := startEngine(t, s)
			e.askHob("s", "hello")
			one := e.putMessage("s", "send 1", "")
			e.awaitSettled(one)
			if got := e.askHob("s", "what is new?"); got != "answer to what is new?" {
				t.Errorf("answer to a message during the question: %q", got)
			}
			two := e.putMessage("s", "send 2", "")
			e.awaitSettled(two)
			if got := e.askHob("s", "still there?"); got != "answer to still there?" {
				t.Errorf("answer to a message during two questions: %q", got)
			}
			if restart {
				e.stop()
				e = startEngine(t, s)
				e.askHob("s", "and now?")
			}
			open := map[string]string{}
			for _, a := range e.openApprovals() {
				open[a.Event] = a.ID
				if a.Source != "conversation s" {
					t.Errorf("source %q", a.Source)
				}
			}
			e.answerApproval(open[two], true)
			if got := e.awaitClosed(two).Answer; got != "answer to send 2" {
				t.Errorf("answer after the second question: %q", got)
			}
			e.answerApproval(open[one], false)
			if got := e.awaitClosed(one).Answer; got != "answer to send 1" {
				t.Errorf("answer after the first question: %q", got)
			}
			e.askHob("s", "bye")
			if diff := cmp.Diff([]string{"send 2"}, e.effects.sent); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"send 1", "send 2"}, e.listItems()); diff != "" {
				t.Error(diff)
			}
			checkCallsPaired(t, m)
			asked := m.Asked()
			want := []string{"hello", "what is new?", "still there?", "send 2", "send 1", "bye"}
			if restart {
				want = slices.Insert(want, 3, "and now?")
			}
			if diff := cmp.Diff(want, userTexts(asked[len(asked)-1])); diff != "" {
				t.Error(diff)
			}
			last := asked[len(asked)-2].Messages // the first question continues
			if text := last[len(last)-1].Parts[0].Result.Text; !strings.Contains(text, "[hint]") && !strings.Contains(last[len(last)-1].Parts[1].Result.Text, "[hint]") {
				t.Errorf("the result does not say that the conversation continued: %q", text)
			}
		})
	}
}

// Later signals of a watcher run while its questions are open, up to a limit. Further signals wait
// and are counted.
func TestWatcher_RunsWhileItsQuestionsAreOpen(t *testing.T) {
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		if r.Round > 0 {
			return llmtest.Answer{Text: "sent"}
		}
		return callsAnswer(sendText(fmt.Sprint(len(r.Messages))))
	})
	e := startEngine(t, setup{model: m})
	e.specs["w"] = watchers.Spec{ID: "w", Kind: "file", Title: "PDFs", Mode: watchers.Do, Action: "send it", Report: "chat", Provenance: provenance.Owner}
	for i := range 8 {
		failOnError(t, e.intake.Fire(t.Context(), "w", []watchers.Signal{{Key: fmt.Sprint(i), Text: fmt.Sprint("file ", i), Source: provenance.Outside}}, nil))
	}
	open := e.awaitPending(5)
	parked, err := e.bus.Inbox.ParkedSessions(t.Context())
	failOnError(t, err)
	if diff := cmp.Diff([]bus.OpenQuestions{{Session: "watcher:w", Parked: 5, Blocked: 3}}, parked); diff != "" {
		t.Fatal(diff)
	}
	if q := e.listQuestions(open[0].Event); open[0].Source != `watcher "PDFs"` || len(q) != 1 || !strings.Contains(q[0], `Requested by watcher "PDFs".`) {
		t.Errorf("questions %q of the source %q", q, open[0].Source)
	}
	answered := map[string]bool{}
	for len(answered) < 8 { // each answer starts the next signal
		for _, a := range e.openApprovals() {
			if !answered[a.ID] {
				answered[a.ID] = true
				e.answerApproval(a.ID, true)
				e.awaitClosed(a.Event)
				break
			}
		}
	}
	if len(e.effects.sent) != 8 {
		t.Errorf("sent %v", e.effects.sent)
	}
	checkCallsPaired(t, m)
}
