package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/platform/store"
)

func TestTrim_KeepsWholeTurns(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := newSessions(t)
			r := rand.New(rand.NewPCG(seed, 3))
			type turn struct {
				id   string
				msgs []llm.Message
			}
			var all []turn
			from := 0 // earliest start of the window
			for n := range 30 {
				id := fmt.Sprint("t", n)
				f.historyOfFileAndCache("s", id)
				msgs := []llm.Message{userMessage(strings.Repeat("q", r.IntN(6000)))}
				for k := range r.IntN(12) {
					call, result := callMessages(fmt.Sprintf("%s-%d", id, k))
					result.Parts[0].Result.Text = strings.Repeat("r", r.IntN(9000))
					msgs = append(msgs, call, result)
				}
				msgs = append(msgs, assistantMessage("done"))
				half := len(msgs) / 2
				f.addMessages("s", id, msgs[:half]...)
				f.addMessages("s", id, msgs[half:]...)
				all = append(all, turn{id, msgs})
				switch r.IntN(12) {
				case 0:
					f.resetSession("s")
					from = len(all)
				case 1:
					f.Sessions = session.New(f.store) // a restart
				}
				failOnError(t, f.Trim(t.Context(), "s"))
				window, _ := f.historyOfFileAndCache("s", "next")
				wellFormed(t, window)
				// The window is a sequence of complete turns that ends with the newest turn.
				start, chars := len(all), 0
				for rest := len(window); rest > 0 && start > from; start-- {
					rest -= len(all[start-1].msgs)
				}
				var want []llm.Message
				for _, tn := range all[start:] {
					want = append(want, tn.msgs...)
				}
				if !equalMessages(want, window) {
					t.Fatalf("window after turn %d: %v", n, formatMessages(window))
				}
				for _, m := range window {
					chars += session.MessageBytes(m)
				}
				if start < len(all)-1 && (chars > session.MaxChars || len(window) > session.MaxMessages) {
					t.Errorf("after turn %d the window has %d characters in %d messages", n, chars, len(window))
				}
				if start == len(all) && from < len(all) {
					t.Errorf("the newest turn was cut")
				}
			}
		})
	}
}

func TestTrim_SmallHistories(t *testing.T) {
	f := newSessions(t)
	failOnError(t, f.Trim(t.Context(), "never seen"))
	f.readHistory("empty", "t1")
	failOnError(t, f.Trim(t.Context(), "empty"))
	f.addMessages("one", "t1", userMessage(strings.Repeat("x", 2*session.MaxChars)), assistantMessage("y"))
	f.readHistory("one", "t1")
	failOnError(t, f.Trim(t.Context(), "one"))
	if b, _ := f.historyOfFileAndCache("one", "t2"); len(b) != 2 {
		t.Error("the only turn was cut")
	}
	f.addMessages("one", "t2", userMessage("small"), assistantMessage("tiny"))
	f.Sessions = session.New(f.store) // the window is not in the cache of the new Sessions
	failOnError(t, f.Trim(t.Context(), "one"))
	if b, _ := f.historyOfFileAndCache("one", "t3"); !slices.Equal(formatMessages(b), []string{"user: small", "assistant: tiny"}) {
		t.Errorf("%v", formatMessages(b))
	}
}

// A concurrent read of the history does not undo a reset.
func TestReset_RacesWithReading(t *testing.T) {
	f := newSessions(t)
	for i := range 60 {
		id := fmt.Sprint("s", i)
		f.addMessages(id, "t1", userMessage("old"))
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, _, err := f.History(context.Background(), id, "t2"); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() { f.resetSession(id) })
		wg.Wait()
		if b, _ := f.readHistory(id, "t2"); len(b) != 0 {
			t.Fatalf("round %d: %v", i, formatMessages(b))
		}
	}
}

func TestHistory_ManyConversations(t *testing.T) {
	f := newSessions(t)
	var wg sync.WaitGroup
	for i := range 40 { // more than the cache holds
		wg.Go(func() {
			id := fmt.Sprint("s", i)
			for n := range 5 {
				turn := fmt.Sprint("t", n)
				before, _, err := f.History(t.Context(), id, turn)
				if err != nil || len(before) != 2*n {
					t.Errorf("history of %s before %s: %d messages, %v", id, turn, len(before), err)
				}
				err = f.store.Write(t.Context(), func(tx *store.Tx) error {
					return f.AppendTx(tx, id, turn, []llm.Message{userMessage(id), assistantMessage(turn)})
				})
				if err != nil {
					t.Error(err)
				}
				if err := f.Trim(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range 40 {
		f.historyOfFileAndCache(fmt.Sprint("s", i), "next")
	}
}

func TestInfo(t *testing.T) {
	f := newSessions(t)
	touch := func(id string, turn bool) {
		f.writeTx(func(tx *store.Tx) error { return f.TouchTx(tx, id, "web", "c", turn) })
	}
	if _, ok, err := f.Get(t.Context(), "s"); ok || err != nil {
		t.Errorf("Get of an unknown session = %v, %v", ok, err)
	}
	touch("s", true)
	touch("s", false)
	touch("s", true)
	touch("other", false)
	i, ok, err := f.Get(t.Context(), "s")
	if err != nil || !ok || i.Turns != 2 || i.Channel != "web" || i.Chat != "c" || i.CreatedAt.IsZero() {
		t.Errorf("%+v %v %v", i, ok, err)
	}
	list, err := f.List(t.Context(), 9)
	if err != nil || len(list) != 2 {
		t.Errorf("List = %+v, %v", list, err)
	}
}
