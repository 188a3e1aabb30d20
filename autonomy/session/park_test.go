package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hob/autonomy/llm"
	"hob/autonomy/session"
)

// The messages of a turn that waits for the owner and continues later stay contiguous, in the cache
// and in the file, across restarts, resets and trims.
func TestHistory_KeepsParkedTurnsInOnePiece(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := newSessions(t)
			r := rand.New(rand.NewPCG(seed, 7))
			parked := map[string][]llm.Message{} // what each recorded
			names := []string{}
			for n := range 60 {
				id := fmt.Sprint("t", n)
				call, result := callMessages(id)
				if len(names) > 0 && r.IntN(3) == 0 { // an answer arrives
					id = names[r.IntN(len(names))]
					names = slices.DeleteFunc(names, func(s string) bool { return s == id })
					_, result = callMessages(id)
					before, recorded := f.historyOfFileAndCache("s", id)
					if !equalMessages(recorded, parked[id]) {
						t.Fatalf("%s recorded %v", id, formatMessages(recorded))
					}
					checkPieces(t, before, id)
					f.addMessages("s", id, result)
					f.addMessages("s", id, assistantMessage("done "+id))
				} else {
					msgs := []llm.Message{userMessage("begin " + id + " " + strings.Repeat("q", r.IntN(6000))), call}
					f.addMessages("s", id, msgs...)
					if r.IntN(2) == 0 {
						f.addMessages("s", id, result, assistantMessage("done "+id))
					} else {
						parked[id], names = msgs, append(names, id)
					}
				}
				switch r.IntN(15) {
				case 0:
					f.resetSession("s")
				case 1:
					f.Sessions = session.New(f.store)
				}
				failOnError(t, f.Trim(t.Context(), "s"))
				window, _ := f.historyOfFileAndCache("s", "next")
				checkPieces(t, window, "")
			}
		})
	}
}

// checkPieces checks that each result directly follows its call and each call its message, and that
// the history does not contain the turn without.
func checkPieces(t *testing.T, msgs []llm.Message, without string) {
	t.Helper()
	for i, m := range msgs {
		p := m.Parts[0]
		switch {
		case p.Result != nil && (i == 0 || msgs[i-1].Parts[0].Call == nil || msgs[i-1].Parts[0].Call.ID != p.Result.ID):
			t.Fatalf("message %d: the result %s does not follow its call: %v", i, p.Result.ID, formatMessages(msgs))
		case p.Call != nil && (i == 0 || msgs[i-1].Role != llm.User):
			t.Fatalf("message %d: the call %s does not follow its message: %v", i, p.Call.ID, formatMessages(msgs))
		case without != "" && strings.HasPrefix(p.Text, "begin "+without+" "):
			t.Fatalf("the history of the turn %s contains the turn itself", without)
		}
	}
}

// If the turn of a message has no answer yet, a note follows the message, so that the next turn
// does not answer it. When the turn has ended, the message moves behind the later turns.
func TestHistory_NotesTurnsWithoutAnAnswer(t *testing.T) {
	f := newSessions(t)
	f.addMessages("s", "t1", userMessage("one"), assistantMessage("first"))
	f.addMessages("s", "t2", userMessage("two"))
	before, recorded := f.historyOfFileAndCache("s", "t3")
	if got := formatMessages(before); len(got) != 4 || !strings.HasPrefix(got[3], "assistant: [hob] No answer yet") || len(recorded) != 0 {
		t.Errorf("history before t3: %v", got)
	}
	f.addMessages("s", "t3", userMessage("three"), assistantMessage("third"))
	before, recorded = f.historyOfFileAndCache("s", "t2")
	if got := formatMessages(before); !slices.Equal(got, []string{"user: one", "assistant: first", "user: three", "assistant: third"}) || len(recorded) != 1 {
		t.Errorf("history before t2: %v, recorded %v", got, formatMessages(recorded))
	}
	f.addMessages("s", "t2", assistantMessage("second"))
	before, _ = f.historyOfFileAndCache("s", "t4")
	if got := formatMessages(before); !slices.Equal(got, []string{"user: one", "assistant: first", "user: three", "assistant: third", "user: two", "assistant: second"}) {
		t.Errorf("history before t4: %v", got)
	}
}
