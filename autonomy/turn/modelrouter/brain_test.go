package modelrouter

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"hob/autonomy/llm"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPlain(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"a greeting", "hello there", true},
		{"small talk", "what's the weather like in Vilnius?", true},
		{"a short task", "add milk to my list", true},
		{"a request about earlier text", "delete it", true}, // the same tools are offered to both
		{"one line break", "thanks\nsee you", true},
		{"160 letters", strings.Repeat("a", 160), true},
		{"161 letters", strings.Repeat("a", 161), false},
		{"160 letters of another alphabet", strings.Repeat("ž", 160), true},
		{"28 words", strings.TrimSpace(strings.Repeat("ab ", 28)), true},
		{"29 words", strings.TrimSpace(strings.Repeat("ab ", 29)), false},
		{"two line breaks", "one\ntwo\nthree", false},
		{"code", "what is `ls`?", false},
		{"an address", "open https://example.com", false},
		{"an address without a scheme", "what is on www.example.com", false},
		{"work", "please analyse this", false},
		{"work in capitals", "REFACTOR it", false},
		{"work before a comma", "debug, please", false},
		{"a keyword within a word", "my testament", true},
		{"empty", "  ", false},
	} {
		if got, why := IsPlainMessage(tt.text); got != tt.want || got != (why == "") {
			t.Errorf("%s: %v (%s), want %v", tt.name, got, why, tt.want)
		}
	}
	if n := len(keywords()); n < 30 || n > 50 {
		t.Errorf("%d keywords", n)
	}
}

type namedModel struct{ name string }

func (n namedModel) Info() llm.Info { return llm.Info{Provider: "p", Model: n.name} }

func (n namedModel) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		yield(llm.Event{Kind: llm.Done}, nil)
	}
}

func newChooser(t testing.TB, db *store.Store, standing, small string) *Router {
	t.Helper()
	c, err := New(Options{
		Store: db, Pins: NewPins(db), Small: small,
		Standing: func(context.Context) (llm.Model, string, error) { return namedModel{standing}, "because", nil },
		Named: func(name string) (llm.Model, error) {
			if name, ok := strings.CutPrefix(name, "p/"); ok && name != "gone" {
				return namedModel{name}, nil
			}
			return nil, fmt.Errorf("model %q: there is no such provider", name)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func openStore(t testing.TB) *store.Store {
	t.Helper()
	db, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{Migrations()}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestChoose(t *testing.T) {
	plain := TurnInfo{Session: "s", Event: "e", Text: "hello", Bare: true, Attended: true}
	with := func(f func(*TurnInfo)) TurnInfo {
		a := plain
		f(&a)
		return a
	}
	for _, tt := range []struct {
		name         string
		small        string
		ask          TurnInfo
		want, reason string
	}{
		{"routing is off", "", plain, "p/main", "because"},
		{"short and plain", "p/small", plain, "p/small", "short and plain"},
		{"work", "p/small", with(func(a *TurnInfo) { a.Text = "analyse my week" }), "p/main", `it contains the word "analyse"`},
		{"with a picture", "p/small", with(func(a *TurnInfo) { a.Bare = false }), "p/main", "has an attachment"},
		{"tools were used just before", "p/small", with(func(a *TurnInfo) { a.Chain = true }), "p/main", "used tools"},
		{"unattended", "p/small", with(func(a *TurnInfo) { a.Attended = false }), "p/main", "no user sent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := newChooser(t, openStore(t), "main", tt.small).Choose(t.Context(), tt.ask)
			if err != nil {
				t.Fatal(err)
			}
			if name := got.Model.Info().Name(); name != tt.want || !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("%s, because %s", name, got.Reason)
			}
		})
	}
}

// A turn that resumes after a crash keeps the model with which it started, regardless of the
// current configuration.
func TestChoose_ResumedTurnKeepsItsModel(t *testing.T) {
	db := openStore(t)
	ask := TurnInfo{Session: "s", Event: "e", Text: "hello", Bare: true, Attended: true}
	first, err := newChooser(t, db, "main", "p/small").Choose(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), first.Record); err != nil {
		t.Fatal(err)
	}
	ask.Resumed = true
	again, err := newChooser(t, db, "other", "").Choose(t.Context(), ask)
	if err != nil || again.Model.Info().Name() != "p/small" || again.Reason != first.Reason || again.Record != nil {
		t.Errorf("%+v, %v", again, err)
	}
	ask.Event = "another"
	if c, err := newChooser(t, db, "other", "").Choose(t.Context(), ask); err != nil || c.Model.Info().Name() != "p/other" {
		t.Errorf("Choose without a recorded model = %+v, %v", c, err)
	}
	err = db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE turn_models SET model = 'p/gone'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ask.Event = "e"
	if c, err := newChooser(t, db, "other", "").Choose(t.Context(), ask); err != nil || c.Model.Info().Name() != "p/other" || !strings.Contains(c.Reason, "no longer exists") {
		t.Errorf("Choose with a removed model = %+v, %v", c, err)
	}
}

func TestPin(t *testing.T) {
	db := openStore(t)
	c := newChooser(t, db, "main", "p/small")
	if err := c.Pin(t.Context(), "s", "nowhere/x"); err == nil {
		t.Error("Pin accepts an unknown model")
	}
	if err := c.Pin(t.Context(), "s", " p/big "); err != nil {
		t.Fatal(err)
	}
	ask := TurnInfo{Session: "s", Event: "e", Text: "hello", Bare: true, Attended: true}
	for _, c := range []*Router{c, newChooser(t, db, "main", "p/small")} { // and after a restart
		if got, err := c.Choose(t.Context(), ask); err != nil || got.Model.Info().Name() != "p/big" {
			t.Errorf("Choose = %+v, %v", got, err)
		}
	}
	other := ask
	other.Session = "t"
	if got, err := c.Choose(t.Context(), other); err != nil || got.Model.Info().Name() != "p/small" {
		t.Errorf("Choose of another conversation = %+v, %v", got, err)
	}
	if err := errors.Join(c.Pin(t.Context(), "s", ""), c.Pin(t.Context(), "none", "")); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Choose(t.Context(), ask); err != nil || got.Model.Info().Name() != "p/small" {
		t.Errorf("Choose = %+v, %v", got, err)
	}
}
