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
	"hob/tools"
)

// learnFrom stores what Hob learns from messages of the user.
func (f *fixture) learnFrom(messages ...string) {
	f.t.Helper()
	for i, text := range messages {
		done := f.learner.Study(learn.Turn{Event: "e", Session: "s", Channel: "web", Text: text, Owner: true, At: time.Now().Add(time.Duration(i) * time.Second)})
		failOnError(f.t, f.st.Write(f.t.Context(), func(tx *store.Tx) error { done(tx); return nil }))
	}
}

// listStatements returns what `hob memory user` lists, without the counts.
func (f *fixture) listStatements() (out []string) {
	f.t.Helper()
	list, err := f.learner.User(f.t.Context())
	failOnError(f.t, err)
	for _, e := range list {
		if e.SaidBy != "hob" {
			out = append(out, e.Text)
		}
	}
	slices.Sort(out)
	return out
}

// changeStatement does what `hob memory user replace` and `delete` do.
func (f *fixture) changeStatement(id string, c learn.Change) {
	f.t.Helper()
	failOnError(f.t, f.st.Write(f.t.Context(), func(tx *store.Tx) error {
		_, _, err := f.learner.ChangeUserTx(tx, id, c)
		return err
	}))
}

func (f *fixture) expectStatements(when string, want ...string) {
	f.t.Helper()
	if d := cmp.Diff(want, f.listStatements()); d != "" {
		f.t.Errorf("%s: statements: %s", when, d)
	}
}

func TestStatements_AreInStepWithUserFile(t *testing.T) {
	f := newFixture(t)
	f.rememberTexts(provenance.Owner, "the gate code is on the fridge")
	f.learnFrom("I prefer aisle seats", "I don't like coriander", "call me Ada")
	f.syncFiles()
	memory := []string{"the gate code is on the fridge"}
	facts := slices.Clone(memory)
	f.expectContents("after three messages", facts, []string{"I prefer aisle seats", "I don't like coriander", "call me Ada"}, memory)

	f.editFile("USER.md", "aisle seats", "window seats")
	f.editFile("USER.md", "- I don't like coriander\n", "")
	f.syncFiles()
	f.expectContents("after an edit of the file", facts, []string{"I prefer window seats", "call me Ada"}, memory)
	f.expectStatements("after an edit of the file", "I prefer window seats", "call me Ada")

	list, err := f.learner.User(t.Context())
	failOnError(t, err)
	for _, e := range list {
		switch e.Text {
		case "I prefer window seats":
			f.changeStatement(e.ID, learn.Change{Text: "I prefer seats near the door"})
		case "call me Ada":
			f.changeStatement(e.ID, learn.Change{Delete: true})
		}
	}
	f.syncFiles()
	f.expectContents("after hob memory user replace and delete", facts, []string{"I prefer seats near the door"}, memory)
	before := f.readFile("USER.md")
	f.syncFiles()
	if after := f.readFile("USER.md"); after != before {
		t.Errorf("a run without changes wrote the file:\n%s", after)
	}
}

// A missing file is written again and deletes nothing.
func TestStatements_SurviveALostFile(t *testing.T) {
	f := newFixture(t)
	f.learnFrom("I prefer aisle seats")
	f.syncFiles()
	failOnError(t, os.Remove(f.o.Targets[0].User))
	f.syncFiles()
	f.expectContents("after the file was deleted", nil, []string{"I prefer aisle seats"}, nil)
	f.expectStatements("after the file was deleted", "I prefer aisle seats")
}

// A statement that is a fact, too, has one line. The user's edit of the line changes both.
func TestStatements_ShareTheLineOfAFact(t *testing.T) {
	f := newFixture(t)
	f.rememberTexts(provenance.Owner, "I prefer aisle seats", "I live in Bath")
	f.learnFrom("I prefer aisle seats")
	f.syncFiles()
	f.expectContents("first", []string{"I prefer aisle seats", "I live in Bath"}, []string{"I prefer aisle seats", "I live in Bath"}, nil)
	f.editFile("USER.md", "aisle seats", "window seats")
	f.syncFiles()
	f.expectContents("after a change", []string{"I prefer window seats", "I live in Bath"}, []string{"I prefer window seats", "I live in Bath"}, nil)
	f.expectStatements("after a change", "I prefer window seats")
	f.editFile("USER.md", "- I prefer window seats\n", "")
	f.syncFiles()
	f.expectContents("after a deletion", []string{"I live in Bath"}, []string{"I live in Bath"}, nil)
	f.expectStatements("after a deletion")
}

func TestStatements_UndoRestoresAnEdit(t *testing.T) {
	f := newFixture(t)
	f.learnFrom("I prefer aisle seats", "I don't like coriander", "call me Ada")
	f.syncFiles()
	f.editFile("USER.md", "aisle seats", "window seats")
	f.editFile("USER.md", "- I don't like coriander\n", "")
	f.syncFiles()
	f.expectStatements("after the edit", "I prefer window seats", "call me Ada")
	list, err := f.undo.Undoable(t.Context(), tools.UndoRequest{Last: 1, Origin: "cli"})
	failOnError(t, err)
	if len(list) != 1 || list[0].Result != "You edited USER.md: 2 statements changed." {
		t.Errorf("Undoable = %+v", list)
	}
	if text := f.undoLast(); text != "Reverted 2 changes. Hob updates the file." {
		t.Error(text)
	}
	was := []string{"I don't like coriander", "I prefer aisle seats", "call me Ada"}
	f.expectStatements("after the undo", was...)
	f.syncFiles()
	lines := f.listLines("USER.md")
	slices.Sort(lines)
	if d := cmp.Diff(was, lines); d != "" {
		t.Errorf("USER.md after the undo: %s", d)
	}
	before := f.readFile("USER.md")
	f.syncFiles()
	if after := f.readFile("USER.md"); after != before {
		t.Errorf("a run without changes wrote the file:\n%s", after)
	}
}

// An undo never overwrites what you said later.
func TestStatements_UndoKeepsANewerStatement(t *testing.T) {
	f := newFixture(t)
	f.learnFrom("call me Ada", "I prefer aisle seats")
	f.syncFiles()
	f.editFile("USER.md", "- call me Ada\n", "")
	f.editFile("USER.md", "aisle seats", "window seats")
	f.syncFiles()
	f.learnFrom("call me Max")
	if text := f.undoLast(); text != "Reverted 1 change. Hob updates the file. 1 other stayed, because they were corrected or forgotten since." {
		t.Errorf("undo = %q", text)
	}
	f.expectStatements("after the undo", "I prefer aisle seats", "call me Max")
}

func TestStatements_AreRecognizedInNewLines(t *testing.T) {
	f := newFixture(t)
	f.learnFrom("call me Ada", "I prefer aisle seats")
	f.syncFiles()
	f.writeFile("USER.md", "# About me\n\n- Call me Max.\n- I prefer window seats\n- I work at Initech\n- [outside] I love spam\n\n"+f.readFile("USER.md"))
	f.writeFile("MEMORY.md", "- I love mushrooms\n")
	f.syncFiles()
	f.expectStatements("after new lines", "Call me Max.", "I prefer aisle seats", "I prefer window seats")
	f.expectContents("after new lines", []string{"Call me Max.", "I prefer window seats", "I work at Initech", "outside: I love spam", "I love mushrooms"},
		[]string{"Call me Max.", "I prefer window seats", "I work at Initech", "[outside] I love spam", "I prefer aisle seats"}, []string{"I love mushrooms"})
	f.undoLast()
	f.syncFiles()
	f.expectStatements("after the undo", "I prefer aisle seats", "call me Ada")
	lines := f.listLines("USER.md")
	slices.Sort(lines)
	if d := cmp.Diff([]string{"I prefer aisle seats", "call me Ada"}, lines); d != "" {
		t.Errorf("USER.md after the undo: %s", d)
	}
}
