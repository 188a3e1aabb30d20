package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
)

// openLibrary returns conversations with words to find.
func openLibrary(t testing.TB) *fixture {
	f := newSessions(t)
	f.addMessages("home", "t1", userMessage("The plumber comes on Friday at nine"), assistantMessage("I noted the plumber."))
	f.addMessages("home", "t2", userMessage("Šiaulių gatvė 5, kambarys"), assistantMessage("Café crème, déjà vu"))
	call, result := callMessages("c1")
	result.Parts[0].Result.Text = "page about boilers and plumbers"
	f.addMessages("work", "t3", userMessage("read the page"), call, result, assistantMessage("It is about boilers."))
	f.addMessages("work", "t4", llm.Message{Role: llm.User, Parts: []llm.Part{
		{Text: "[context] plumber plumber plumber", Source: provenance.Hob, Context: true}, {Text: "hello", Source: provenance.Owner},
	}})
	return f
}

func TestSearch(t *testing.T) {
	f := openLibrary(t)
	for _, tc := range []struct {
		name string
		q    session.Query
		want []string // speakers and turns of the results
	}{
		{"a word in all conversations", session.Query{Text: "plumber"}, []string{"hob t1", "owner t1", "tool t3"}},
		{"of one conversation", session.Query{Text: "plumber", Session: "home"}, []string{"hob t1", "owner t1"}},
		{"of the owner", session.Query{Text: "plumber", Who: session.WhoOwner}, []string{"owner t1"}},
		{"all words", session.Query{Text: "friday plumber"}, []string{"owner t1"}},
		{"any word, if no row has all", session.Query{Text: "friday boiler"}, []string{"hob t3", "owner t1", "tool t3"}},
		{"a phrase", session.Query{Text: `"plumber comes"`}, []string{"owner t1"}},
		{"a phrase that does not occur", session.Query{Text: `"comes plumber"`}, nil},
		{"the start of a word", session.Query{Text: "plum"}, []string{"hob t1", "owner t1", "tool t3"}},
		{"without a word", session.Query{Text: "plumber -friday -page"}, []string{"hob t1"}},
		{"without accents", session.Query{Text: "siauliu GATVE"}, []string{"owner t2"}},
		{"with accents", session.Query{Text: "crème"}, []string{"hob t2"}},
		{"without the asking turn", session.Query{Text: "plumber", Without: "t1"}, []string{"tool t3"}},
		{"later than now", session.Query{Text: "plumber", Since: time.Now().Add(time.Hour)}, nil},
		{"until before", session.Query{Text: "plumber", Until: time.Now().Add(-time.Hour)}, nil},
		{"since before", session.Query{Text: "friday", Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}, []string{"owner t1"}},
		{"operators are words", session.Query{Text: "plumber AND NOT NEAR(x"}, []string{"hob t1", "owner t1", "tool t3"}},
		{"nothing", session.Query{Text: "zanzibar"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, err := f.newIndex().Search(t.Context(), tc.q)
			failOnError(t, err)
			got := []string{}
			for _, x := range found {
				got = append(got, x.Who+" "+x.Turn)
				if x.Message == 0 || x.At.IsZero() || !strings.Contains(x.Snippet, "[") {
					t.Errorf("%+v", x)
				}
				if want := x.Who == session.WhoTool; x.Source.Tainted() != want {
					t.Errorf("source of the row of %s = %q", x.Who, x.Source)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) && len(got)+len(tc.want) > 0 {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
	if _, err := f.newIndex().Search(t.Context(), session.Query{Text: ` "" -plumber ()*`}); !errors.Is(err, session.ErrNoWords) {
		t.Errorf("Search without a word = %v, want ErrNoWords", err)
	}
}

// New messages are found, erased ones are not.
func TestSearch_FollowsChanges(t *testing.T) {
	f := openLibrary(t)
	count := func(text string) int {
		t.Helper()
		found, err := f.newIndex().Search(t.Context(), session.Query{Text: text, Limit: 2000})
		failOnError(t, err)
		return len(found)
	}
	if count("walrus") != 0 {
		t.Error("Search finds a text that does not exist")
	}
	f.writeTx(func(tx *store.Tx) error {
		for i := range 1200 {
			if err := f.AppendTx(tx, "many", fmt.Sprint("m", i), []llm.Message{userMessage("walrus")}); err != nil {
				return err
			}
		}
		return nil
	})
	failOnError(t, f.newIndex().Index(t.Context()))
	if n := count("walrus"); n != 1200 {
		t.Errorf("%d of 1200 found", n)
	}
	found, err := f.newIndex().Search(t.Context(), session.Query{Text: "friday"})
	failOnError(t, err)
	base, err := knowledge.New(f.store, knowledge.Options{})
	failOnError(t, err)
	f.writeTx(func(tx *store.Tx) error {
		return base.UnindexTx(tx, knowledge.KindTurn, session.MessageRef(found[0].Message))
	})
	if count("friday") != 0 {
		t.Error("Search finds an erased text")
	}
	if _, r, err := f.Message(t.Context(), found[0].Message); err != nil || len(r.Message.Parts) == 0 {
		t.Errorf("Message of a found row = %v", err)
	}
	if _, _, err := f.Message(t.Context(), 1<<40); !errors.Is(err, session.ErrNoMessage) {
		t.Errorf("Message of an unknown row = %v", err)
	}
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{"plumber", `"`, `""`, `a"b`, `"a" OR NEAR(b, 2)`, "a*", "*", "-", "--x", "a:b", "{a b}: c", "^a", "\x00", "a\x00b", "'; DROP TABLE found", "日本", "\u0301", "̈a", strings.Repeat("x ", 400), strings.Repeat("y", 5000), "\xff\xfe"} {
		f.Add(s)
	}
	shelf := openLibrary(f).newIndex()
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := shelf.Search(t.Context(), session.Query{Text: text, Session: text}); err != nil && !errors.Is(err, session.ErrNoWords) {
			t.Errorf("%q: Search = %v", text, err)
		}
	})
}
