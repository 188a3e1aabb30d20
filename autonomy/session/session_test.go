package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func failOnError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type fixture struct {
	*session.Sessions
	t     testing.TB
	store *store.Store
}

func newSessions(t testing.TB) *fixture {
	t.Helper()
	db, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), append(knowledge.Migrations(), session.Migrations()), store.Options{})
	failOnError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{Sessions: session.New(db), t: t, store: db}
}

func (f *fixture) newIndex() *session.MessageIndex {
	f.t.Helper()
	base, err := knowledge.New(f.store, knowledge.Options{})
	failOnError(f.t, err)
	l, err := session.NewLibrary(f.Sessions, base, session.LibraryOptions{
		About: func(_ context.Context, turn string) (session.About, error) {
			return session.About{Sender: "sender of " + turn, Call: strings.HasPrefix(turn, "call")}, nil
		},
		Realm: func(_ context.Context, id string) (string, error) { return strings.TrimPrefix(id, "home"), nil },
	})
	failOnError(f.t, err)
	return l
}

func (f *fixture) writeTx(fn func(tx *store.Tx) error) {
	f.t.Helper()
	failOnError(f.t, f.store.Write(f.t.Context(), fn))
}

func (f *fixture) addMessages(id, turn string, msgs ...llm.Message) {
	f.t.Helper()
	f.writeTx(func(tx *store.Tx) error { return f.AppendTx(tx, id, turn, msgs) })
}

func (f *fixture) resetSession(id string) {
	f.t.Helper()
	f.writeTx(func(tx *store.Tx) error { return f.ResetTx(tx, id) })
}

func (f *fixture) readHistory(id, turn string) (before, recorded []llm.Message) {
	f.t.Helper()
	before, recorded, err := f.History(f.t.Context(), id, turn)
	failOnError(f.t, err)
	return before, recorded
}

// historyOfFileAndCache checks that the cache and the file contain the same messages, and returns these messages.
func (f *fixture) historyOfFileAndCache(id, turn string) (before, recorded []llm.Message) {
	f.t.Helper()
	before, recorded = f.readHistory(id, turn)
	fresh := session.New(f.store)
	b, r, err := fresh.History(f.t.Context(), id, turn)
	failOnError(f.t, err)
	if diff := cmp.Diff(formatMessages(b), formatMessages(before)); diff != "" {
		f.t.Errorf("history of file and cache: %s", diff)
	}
	sameTime := func(a, b llm.Message) bool {
		return a.At.Equal(b.At) && !a.At.IsZero() || len(a.Parts) > 0 && a.Parts[0].Context
	}
	if !equalMessages(b, before) || !equalMessages(r, recorded) || !slices.EqualFunc(b, before, sameTime) || !slices.EqualFunc(r, recorded, sameTime) {
		f.t.Error("file and cache differ")
	}
	return before, recorded
}

// ignoreTime ignores the time at which a message was stored, because the expected messages do not
// contain it.
func ignoreTime() cmp.Option { return cmpopts.IgnoreFields(llm.Message{}, "At") }

func equalMessages(a, b []llm.Message) bool {
	return len(a) == len(b) && (len(a) == 0 || cmp.Equal(a, b, ignoreTime()))
}

func userMessage(text string) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Text: text, Source: provenance.Owner}}}
}

func assistantMessage(text string) llm.Message {
	return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: text, Source: provenance.Hob}}}
}

func callMessages(ids ...string) (call, result llm.Message) {
	call, result = llm.Message{Role: llm.Assistant}, llm.Message{Role: llm.ToolRole}
	for _, id := range ids {
		call.Parts = append(call.Parts, llm.Part{Call: &llm.ToolCall{ID: id, Name: "t", Args: json.RawMessage(`{"a":1}`)}, Source: provenance.Hob})
		result.Parts = append(result.Parts, llm.Part{Result: &llm.ToolResult{ID: id, Name: "t", Text: "result of " + id}, Source: provenance.Outside})
	}
	return call, result
}

// formatMessages returns a readable form of messages.
func formatMessages(ms []llm.Message) []string {
	out := []string{}
	for _, m := range ms {
		var parts []string
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				parts = append(parts, "call "+p.Call.ID)
			case p.Result != nil:
				parts = append(parts, "result "+p.Result.ID)
			default:
				parts = append(parts, p.Text[:min(20, len(p.Text))])
			}
		}
		out = append(out, string(m.Role)+": "+strings.Join(parts, ", "))
	}
	return out
}

// wellFormed checks the requirements of providers.
func wellFormed(t testing.TB, ms []llm.Message) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range ms {
		for _, p := range m.Parts {
			if p.Result != nil && !open[p.Result.ID] {
				t.Errorf("message %d: the result %s has no call", i, p.Result.ID)
			}
			if p.Result != nil {
				delete(open, p.Result.ID)
			}
		}
		if len(open) > 0 {
			t.Errorf("message %d: calls without results: %v", i, open)
		}
		for _, p := range m.Parts {
			if p.Call != nil {
				open[p.Call.ID] = true
			}
		}
	}
}

func TestHistory_IsWhatWasStored(t *testing.T) {
	f := newSessions(t)
	call, result := callMessages("c1", "c2")
	call.Parts[0].Call.Args = json.RawMessage(`{"html":"<b>&amp; \u2028","n":12345678901234567890.5}`)
	all := []llm.Message{
		{Role: llm.User, Parts: []llm.Part{
			{Text: "now is noon", Source: provenance.Hob, Context: true},
			{Text: "words from <outside> & more", Source: provenance.Outside},
			{Image: &llm.Image{MIME: "image/png", Data: []byte{0, 1, 2, 255}}, Source: provenance.Owner},
			{Text: "日本 🏠 \u2028", Source: provenance.Owner},
		}},
		{Role: llm.Assistant, Parts: []llm.Part{{Reasoning: &llm.Reasoning{Text: "hm", Signature: "sig", Redacted: "red"}}}},
		call, result, assistantMessage("done"),
	}
	f.readHistory("s", "t1") // load the window into the cache
	f.addMessages("s", "t1", all[:2]...)
	f.addMessages("s", "t1", all[2:]...)
	if before, recorded := f.historyOfFileAndCache("s", "t1"); len(before) != 0 || !cmp.Equal(all, recorded, ignoreTime()) {
		t.Error(cmp.Diff(all, recorded, ignoreTime()))
	}
	if before, recorded := f.historyOfFileAndCache("s", "t2"); len(recorded) != 0 || !cmp.Equal(all, before, ignoreTime()) {
		t.Error(cmp.Diff(all, before, ignoreTime()))
	}
	if b, r := f.historyOfFileAndCache("other", "t1"); len(b)+len(r) != 0 {
		t.Error("another conversation contains the messages")
	}
	rows, err := f.Messages(t.Context(), "s", 0, 3)
	failOnError(t, err)
	if len(rows) != 3 || !cmp.Equal(rows[0].Message, all[4]) || rows[0].Turn != "t1" {
		t.Errorf("rows: %+v", rows)
	}
	if rows, err = f.Messages(t.Context(), "s", rows[2].ID, 9); err != nil || len(rows) != 2 || !cmp.Equal(rows[1].Message, all[0]) {
		t.Errorf("older rows = %+v, %v", rows, err)
	}
}

// Characters that JSON cannot represent are the same in the cache and in the file.
func TestHistory_OddMessagesAreEqualInCacheAndFile(t *testing.T) {
	f := newSessions(t)
	f.readHistory("s", "t1")
	f.addMessages("s", "t1",
		userMessage("not \xff UTF-8"),
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c", Name: "t", Args: json.RawMessage("{ \"a\" :\n 1 }")}}}},
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "d", Name: "t"}}}},
		llm.Message{Role: llm.User, Parts: []llm.Part{{Image: &llm.Image{Data: []byte{}}}}},
		llm.Message{Role: llm.User, Parts: []llm.Part{}}, llm.Message{Role: llm.User})
	f.historyOfFileAndCache("s", "t1")
	err := f.store.Write(t.Context(), func(tx *store.Tx) error {
		return f.AppendTx(tx, "s", "t1", []llm.Message{{Parts: []llm.Part{{Call: &llm.ToolCall{Args: json.RawMessage(`{"half`)}}}}})
	})
	if err == nil {
		t.Error("arguments that are not JSON were stored")
	}
	f.historyOfFileAndCache("s", "t1")
}

func TestHistory_OmitsRolledBackMessages(t *testing.T) {
	f := newSessions(t)
	f.readHistory("s", "t1")
	boom := errors.New("boom")
	err := f.store.Write(t.Context(), func(tx *store.Tx) error {
		return errors.Join(f.AppendTx(tx, "s", "t1", []llm.Message{userMessage("x")}), boom)
	})
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if _, recorded := f.historyOfFileAndCache("s", "t1"); len(recorded) != 0 {
		t.Errorf("recorded: %v", formatMessages(recorded))
	}
}

// A returned window does not change when the turn continues.
func TestHistory_ReturnedWindowDoesNotChange(t *testing.T) {
	f := newSessions(t)
	f.addMessages("s", "t1", userMessage("one"), assistantMessage("first"))
	before, _ := f.readHistory("s", "t2")
	_ = append(before, assistantMessage("scribble"))
	f.addMessages("s", "t2", userMessage("two"))
	_, recorded := f.historyOfFileAndCache("s", "t2")
	_ = append(recorded, assistantMessage("scribble"))
	f.addMessages("s", "t2", assistantMessage("three"))
	before, recorded = f.historyOfFileAndCache("s", "t2")
	if diff := cmp.Diff([]string{"user: one", "assistant: first", "user: two", "assistant: three"}, formatMessages(append(before, recorded...))); diff != "" {
		t.Error(diff)
	}
}

func TestReset(t *testing.T) {
	f := newSessions(t)
	f.resetSession("s") // no messages yet
	f.addMessages("s", "t1", userMessage("one"), assistantMessage("two"))
	f.historyOfFileAndCache("s", "t2")
	f.resetSession("s")
	if b, r := f.historyOfFileAndCache("s", "t2"); len(b)+len(r) != 0 {
		t.Errorf("%v %v", formatMessages(b), formatMessages(r))
	}
	f.addMessages("s", "t2", userMessage("three"))
	f.addMessages("s", "t2", assistantMessage("four"))
	if b, _ := f.historyOfFileAndCache("s", "t3"); len(b) != 2 {
		t.Errorf("%v", formatMessages(b))
	}
	rows, err := f.Messages(t.Context(), "s", 0, 9)
	if err != nil || len(rows) != 4 {
		t.Errorf("%d rows are readable, %v", len(rows), err)
	}
}

// A turn that waits for approval keeps its messages if the conversation is reset in the meantime,
// but none of them are in the new window.
func TestReset_WhileATurnWaits(t *testing.T) {
	f := newSessions(t)
	call, result := callMessages("c1")
	f.addMessages("s", "t1", userMessage("old"), assistantMessage("old"))
	f.historyOfFileAndCache("s", "t2")
	f.addMessages("s", "t2", userMessage("send it"), call)
	f.resetSession("s")
	before, recorded := f.historyOfFileAndCache("s", "t2")
	if len(before) != 0 || !slices.Equal(formatMessages(recorded), []string{"user: send it", "assistant: call c1"}) {
		t.Errorf("%v, then %v", formatMessages(before), formatMessages(recorded))
	}
	f.addMessages("s", "t2", result, assistantMessage("sent"))
	if _, recorded = f.historyOfFileAndCache("s", "t2"); len(recorded) != 4 {
		t.Errorf("recorded: %v", formatMessages(recorded))
	}
	f.addMessages("s", "t3", userMessage("new"), assistantMessage("answer"))
	before, _ = f.historyOfFileAndCache("s", "t4")
	wellFormed(t, before)
	if !slices.Equal(formatMessages(before), []string{"user: new", "assistant: answer"}) {
		t.Errorf("history of the new conversation: %v", formatMessages(before))
	}
}
