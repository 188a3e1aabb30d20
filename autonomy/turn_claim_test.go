package autonomy_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm/llmtest"
	"hob/platform/store/storetest"
	"hob/tools"
)

func textAnswer(s string) llmtest.Answer { return llmtest.Answer{Text: s} }

func TestClaims(t *testing.T) {
	quiet := pathTool(func(context.Context, string) error { return nil })
	tests := []struct {
		name   string
		talk   []string // the owner's messages; the last answer counts
		model  []llmtest.Answer
		want   string
		rounds int // model calls in all
	}{
		{"a false claim is corrected by the model", []string{"email Ada"}, []llmtest.Answer{textAnswer("I have sent the email to Ada."), textAnswer("I have not sent it yet.")}, "I have not sent it yet.", 2},
		{"a repeated false claim gets a correction", []string{"email Ada"}, []llmtest.Answer{textAnswer("I have sent the email to Ada."), textAnswer("I've sent it.")}, "I've sent it.\n\n(Correction: I said \"I've sent it.\", but no call of mine did that. It has not been done.)", 2},
		{"in the language of the claim", []string{"schreib Ada"}, []llmtest.Answer{textAnswer("Ich habe die E-Mail gesendet."), textAnswer("Ich habe die E-Mail gesendet.")}, "Ich habe die E-Mail gesendet.\n\n(Richtigstellung: Ich schrieb „Ich habe die E-Mail gesendet.“, aber kein Aufruf von mir hat das getan. Es ist nicht geschehen.)", 2},
		{"the action follows the claim", []string{"change it"}, []llmtest.Answer{textAnswer("I have saved the file."), callsAnswer(changePath("/a")), textAnswer("I have saved the file.")}, "I have saved the file.", 3},
		{"the claim is true", []string{"change it"}, []llmtest.Answer{callsAnswer(changePath("/a")), textAnswer("I have saved the file.")}, "I have saved the file.", 2},
		{"a read does not support \"saved\"", []string{"save it"}, []llmtest.Answer{callsAnswer(readPage("cats")), textAnswer("I've saved the file."), textAnswer("I have only read it.")}, "I have only read it.", 3},
		{"a failed call does not count", []string{"add it"}, []llmtest.Answer{callsAnswer(newCall("add_item", `{"text":"bad"}`)), textAnswer("I've added the task."), textAnswer("I could not add it.")}, "I could not add it.", 3},
		{"a save does not support \"sent\"", []string{"change it"}, []llmtest.Answer{callsAnswer(changePath("/a")), textAnswer("I have emailed it to Ada."), textAnswer("It is saved, not sent.")}, "It is saved, not sent.", 3},
		{"an addition does not support \"deleted\"", []string{"tidy up"}, []llmtest.Answer{callsAnswer(newCall("add_item", `{"text":"x"}`)), textAnswer("I have deleted the old tasks."), textAnswer("Nothing was deleted.")}, "Nothing was deleted.", 3},
		{"an answer about an earlier turn", []string{"change it", "did you save it?"}, []llmtest.Answer{callsAnswer(changePath("/a")), textAnswer("Done."), textAnswer("Yes, I saved the file.")}, "Yes, I saved the file.", 3},
		{"an earlier turn does not count for this one", []string{"change it", "change it again"}, []llmtest.Answer{callsAnswer(changePath("/a")), textAnswer("Done."), textAnswer("I have saved the file."), textAnswer("I did nothing.")}, "I did nothing.", 4},
		{"no earlier turn supports the claim", []string{"hello", "did you save it?"}, []llmtest.Answer{textAnswer("Hello."), textAnswer("Yes, I saved the file."), textAnswer("No.")}, "No.", 3},
		{"a claim about an earlier turn", []string{"change it", "thanks"}, []llmtest.Answer{callsAnswer(changePath("/a")), textAnswer("Done."), textAnswer("I saved the file earlier, so all is well.")}, "I saved the file earlier, so all is well.", 3},
		{"a claim without an actor", []string{"what is new"}, []llmtest.Answer{callsAnswer(readPage("mail")), textAnswer("The invoice has been sent.")}, "The invoice has been sent.", 2},
		{"an offer", []string{"hello"}, []llmtest.Answer{textAnswer("I can send the email if you like.")}, "I can send the email if you like.", 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := scriptedModel(tc.model...)
			e := startEngine(t, setup{model: m, tools: []tools.Tool{quiet}})
			var got string
			for _, s := range tc.talk {
				got = e.askHob("s", s)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if n := len(m.Asked()); n != tc.rounds {
				t.Errorf("%d model calls, want %d", n, tc.rounds)
			}
			checkCallsPaired(t, m)
			checkPrefixes(t, m)
		})
	}
}

// Claims in the present and the future also need a call that supports them. A text after an
// introduction counts as Hob's own claim, unless the user asked for a text.
func TestReview11_ClaimsNeedASupportingCall(t *testing.T) {
	quiet := pathTool(func(context.Context, string) error { return nil })
	const taken = "I have set no reminder."
	tests := []struct {
		name  string
		talk  []string
		model []llmtest.Answer
		want  string // "": the last answer of model
		calls int    // model calls in all
	}{
		{"a reminder that was not set", []string{"remind me at 5pm"}, []llmtest.Answer{textAnswer("Your reminder is set for 5pm."), textAnswer(taken)}, taken, 2},
		{"asked as a question", []string{"can you remind me at 5pm?"}, []llmtest.Answer{textAnswer("Your reminder is set for 5pm."), textAnswer(taken)}, taken, 2},
		{"an alarm that does not exist", []string{"wake me at 7"}, []llmtest.Answer{textAnswer("Sure, the alarm will ring at 7."), textAnswer(taken)}, taken, 2},
		{"a promise", []string{"remind me at 5pm"}, []llmtest.Answer{textAnswer("I'll remind you at 5pm."), textAnswer(taken)}, taken, 2},
		{"behind an introduction", []string{"remind me at 5pm"}, []llmtest.Answer{textAnswer("Here is the text:\nI have set the reminder for 5pm."), textAnswer(taken)}, taken, 2},
		{"in a list", []string{"remind me at 5pm"}, []llmtest.Answer{textAnswer("What I did:\n- I have set the reminder for 5pm."), textAnswer(taken)}, taken, 2},
		{"all set", []string{"remind me at 5pm"}, []llmtest.Answer{textAnswer("All set!"), textAnswer(taken)}, taken, 2},
		{"that stays is corrected", []string{"remind me at 5pm"}, []llmtest.Answer{textAnswer("Your reminder is set for 5pm."), textAnswer("The reminder is set.")}, "The reminder is set.\n\n(Correction: I said \"The reminder is set.\", but no call of mine did that. It has not been done.)", 2},
		{"a read of another item", []string{"remind me at 5pm"}, []llmtest.Answer{callsAnswer(readPage("cats")), textAnswer("Your reminder is set for 5pm."), textAnswer(taken)}, taken, 3},
		{"a file is no mail", []string{"change it"}, []llmtest.Answer{callsAnswer(changePath("/a")), textAnswer("The mail is on its way."), textAnswer("It is saved.")}, "It is saved.", 3},
		{"the reminder was set", []string{"remind me at 5pm"}, []llmtest.Answer{callsAnswer(changePath("/a")), textAnswer("Your reminder is set for 5pm.")}, "", 2},
		{"all done", []string{"change it"}, []llmtest.Answer{callsAnswer(changePath("/a")), textAnswer("All done!")}, "", 2},
		{"a claim about a read item", []string{"is my reminder set?"}, []llmtest.Answer{callsAnswer(readPage("reminder at 17:00")), textAnswer("Yes, your reminder is set for 5pm.")}, "", 2},
		{"a quotation", []string{"what does the app say"}, []llmtest.Answer{textAnswer("It says \"Your reminder is set for 5pm\".")}, "", 1},
		{"a letter that was asked for", []string{"write a letter to Ada"}, []llmtest.Answer{textAnswer("Here is the letter:\n\nDear Ada,\nI have sent the report.\nBest regards\nTom")}, "", 1},
		{"behind that letter", []string{"write a letter to Ada"}, []llmtest.Answer{textAnswer("Here is the letter:\n\nDear Ada,\nthanks.\nBest regards\nTom\n\nI have sent it to her."), textAnswer("Not sent yet.")}, "Not sent yet.", 2},
		{"an explanation", []string{"how does mail work?"}, []llmtest.Answer{textAnswer("The mail is sent to a server.")}, "", 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := scriptedModel(tc.model...)
			e := startEngine(t, setup{model: m, tools: []tools.Tool{quiet}})
			var got string
			for _, s := range tc.talk {
				got = e.askHob("s", s)
			}
			want := tc.want
			if want == "" {
				want = tc.model[len(tc.model)-1].Text
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if n := len(m.Asked()); n != tc.calls {
				t.Errorf("%d model calls, want %d", n, tc.calls)
			}
		})
	}
}

// Streamed text cannot be withdrawn, so the correction follows it.
func TestClaims_CorrectionFollowsInTheStream(t *testing.T) {
	e := startEngine(t, setup{model: scriptedModel(textAnswer("I've sent it."), textAnswer("I've sent it!"))})
	sub := e.bus.Feed.Subscribe(0)
	defer sub.Close()
	id := e.putMessage("s", "email Ada", "")
	answer := e.awaitSettled(id).Answer
	var streamed strings.Builder
	for ev := range sub.C() {
		if ev.Type == "message_end" {
			break
		}
		if ev.Type == "content_delta" {
			var delta struct{ Text string }
			failOnError(t, json.Unmarshal(ev.Data, &delta))
			streamed.WriteString(delta.Text)
		}
	}
	if got := streamed.String(); got != "I've sent it.\n\n"+answer || !strings.Contains(answer, "(Correction: ") {
		t.Errorf("streamed %q, answered %q", got, answer)
	}
}

// checkPrefixes fails if a request does not begin with the complete previous one.
func checkPrefixes(t testing.TB, m *llmtest.Scripted) {
	t.Helper()
	asked := m.Asked()
	for i := 1; i < len(asked); i++ {
		n := len(asked[i-1].Messages)
		if len(asked[i].Messages) < n {
			t.Errorf("request %d is shorter than the one before", i)
			continue
		}
		if d := cmp.Diff(asked[i-1].Messages, asked[i].Messages[:n], sentParts); d != "" {
			t.Errorf("request %d changes earlier messages:\n%s", i, d)
		}
	}
}

// The additional model call of a turn is made only once, even after a crash.
func TestClaims_HintIsGivenOnceAcrossACrash(t *testing.T) {
	storetest.FileOnly(t, "the test copies the files as a SIGKILL leaves them")
	snaps := &snapshots{t: t}
	quiet := pathTool(func(context.Context, string) error { return nil })
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		switch len(r.Results) {
		case 0:
			if strings.Contains(r.LastUser, "[check]") {
				return callsAnswer(changePath("/a"), changePath("/b"))
			}
			return textAnswer("I have sent the email to Ada.")
		}
		snaps.takeSnapshot("the hint is recorded")
		return textAnswer("I have sent it.")
	})
	dir := t.TempDir()
	snaps.path = filepath.Join(dir, "hob.db")
	e := startEngine(t, setup{dir: dir, model: m, tools: []tools.Tool{quiet}})
	id := e.putMessage("s", "email Ada", "")
	e.awaitSettled(id)
	m = modelFrom(func(llmtest.Request) llmtest.Answer { return textAnswer("I have sent it.") })
	after := startEngine(t, setup{dir: snaps.taken[0].dir, model: m, tools: []tools.Tool{quiet}})
	if got := after.awaitSettled(id).Answer; !strings.HasPrefix(got, "I have sent it.\n\n(Correction: ") {
		t.Error(got)
	}
	if n := len(m.Asked()); n != 1 {
		t.Errorf("%d model calls after the crash, want 1", n)
	}
	checkCallsPaired(t, m)
}
