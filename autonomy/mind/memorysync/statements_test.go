package memorysync

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/mind/learn"
	"hob/platform/provenance"
	"hob/platform/store"
)

// say stores what Hob learns from messages of the user.
func (f *fixture) say(messages ...string) {
	f.t.Helper()
	for i, text := range messages {
		done := f.learner.Study(learn.Turn{Event: "e", Session: "s", Channel: "web", Text: text, Owner: true, At: time.Now().Add(time.Duration(i) * time.Second)})
		fatal(f.t, f.st.Write(f.t.Context(), func(tx *store.Tx) error { done(tx); return nil }))
	}
}

// statements returns what `hob memory user` lists, without the counts.
func (f *fixture) statements() (out []string) {
	f.t.Helper()
	list, err := f.learner.User(f.t.Context())
	fatal(f.t, err)
	for _, e := range list {
		if e.SaidBy != "hob" {
			out = append(out, e.Text)
		}
	}
	slices.Sort(out)
	return out
}

func (f *fixture) expectStatements(when string, want ...string) {
	f.t.Helper()
	if d := cmp.Diff(want, f.statements()); d != "" {
		f.t.Errorf("%s: statements: %s", when, d)
	}
}

func TestStatements_AreInStepWithUserFile(t *testing.T) {
	f := newFixture(t)
	f.remember(provenance.Owner, "the gate code is on the fridge")
	f.say("I prefer aisle seats", "I don't like coriander", "call me Ada")
	f.sync()
	memory := []string{"the gate code is on the fridge"}
	facts := slices.Clone(memory)
	f.expect("after three messages", facts, []string{"I prefer aisle seats", "I don't like coriander", "call me Ada"}, memory)

	f.edit("USER.md", "aisle seats", "window seats")
	f.edit("USER.md", "- I don't like coriander\n", "")
	f.sync()
	f.expect("after an edit of the file", facts, []string{"I prefer window seats", "call me Ada"}, memory)
	f.expectStatements("after an edit of the file", "I prefer window seats", "call me Ada")

	list, err := f.learner.User(t.Context())
	fatal(t, err)
	for _, e := range list {
		switch e.Text {
		case "I prefer window seats":
			_, err = f.learner.ChangeUser(t.Context(), e.ID, learn.Change{Text: "I prefer seats near the door"})
		case "call me Ada":
			_, err = f.learner.ChangeUser(t.Context(), e.ID, learn.Change{Delete: true})
		}
		fatal(t, err)
	}
	f.sync()
	f.expect("after hob memory user replace and delete", facts, []string{"I prefer seats near the door"}, memory)
	before := f.read("USER.md")
	f.sync()
	if after := f.read("USER.md"); after != before {
		t.Errorf("a run without changes wrote the file:\n%s", after)
	}
}

// A missing file is written again and deletes nothing.
func TestStatements_SurviveALostFile(t *testing.T) {
	f := newFixture(t)
	f.say("I prefer aisle seats")
	f.sync()
	fatal(t, os.Remove(f.o.Targets[0].User))
	f.sync()
	f.expect("after the file was deleted", nil, []string{"I prefer aisle seats"}, nil)
	f.expectStatements("after the file was deleted", "I prefer aisle seats")
}

// A statement that is a fact, too, has one line. The user's edit of the line changes both.
func TestStatements_ShareTheLineOfAFact(t *testing.T) {
	f := newFixture(t)
	f.remember(provenance.Owner, "I prefer aisle seats", "I live in Bath")
	f.say("I prefer aisle seats")
	f.sync()
	f.expect("first", []string{"I prefer aisle seats", "I live in Bath"}, []string{"I prefer aisle seats", "I live in Bath"}, nil)
	f.edit("USER.md", "aisle seats", "window seats")
	f.sync()
	f.expect("after a change", []string{"I prefer window seats", "I live in Bath"}, []string{"I prefer window seats", "I live in Bath"}, nil)
	f.expectStatements("after a change", "I prefer window seats")
	f.edit("USER.md", "- I prefer window seats\n", "")
	f.sync()
	f.expect("after a deletion", []string{"I live in Bath"}, []string{"I live in Bath"}, nil)
	f.expectStatements("after a deletion")
}
