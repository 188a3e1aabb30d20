package memorysync

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/mind/learn"
	"hob/autonomy/undo"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/store/storetest"
	"hob/platform/text/memoryfile"
	"hob/tools"
	"hob/tools/memory"
)

// fixture is a memory with its files and the user's undo.
type fixture struct {
	*Syncer

	t       *testing.T
	dir     string
	st      *store.Store
	base    *knowledge.Base
	undo    *undo.Reverter
	learner *learn.Learner
	notices []string
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir()}
	var err error
	f.st, err = storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), append(knowledge.Migrations(), bus.Migrations(), guard.Migrations(), learn.Migrations(), Migrations()), store.Options{})
	failOnError(t, err)
	t.Cleanup(func() { failOnError(t, f.st.Close()) })
	f.base, err = knowledge.New(f.st, knowledge.Options{FactsChanged: func() { f.Wake() }})
	failOnError(t, err)
	b := bus.New(f.st, bus.Options{})
	f.learner, err = learn.New(learn.Options{Store: f.st, Bus: b, Changed: func() { f.Wake() }})
	failOnError(t, err)
	g, err := guard.New(f.st, guard.Options{})
	failOnError(t, err)
	failOnError(t, g.InitKeys(t.Context()))
	catalog, err := tools.NewCatalog()
	failOnError(t, err)
	f.undo, err = undo.New(undo.Options{Store: f.st, Bus: b, Guard: g, Catalog: catalog, Acts: memory.EditTools(f.base, f.learner)})
	failOnError(t, err)
	f.Syncer, err = New(Options{
		Store: f.st, Base: f.base, Learner: f.learner, Journal: f.undo.JournalTx, Targets: []Target{{User: filepath.Join(f.dir, "USER.md"), Memory: filepath.Join(f.dir, "MEMORY.md")}},
		Notify: func(_ context.Context, _, text string) error { f.notices = append(f.notices, text); return nil },
	})
	failOnError(t, err)
	return f
}

func (f *fixture) rememberTexts(src provenance.Source, texts ...string) {
	f.t.Helper()
	failOnError(f.t, f.st.Write(f.t.Context(), func(tx *store.Tx) error {
		for _, text := range texts {
			if _, err := f.base.RememberTx(tx, knowledge.Fact{Text: text, Provenance: src}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// listFacts returns the valid facts, oldest first, with the origin of those that are not the user's.
func (f *fixture) listFacts() (out []string) {
	f.t.Helper()
	list, err := f.base.ListFacts(f.t.Context(), 1000, false)
	failOnError(f.t, err)
	for _, x := range slices.Backward(list) {
		out = append(out, strings.TrimPrefix(string(x.Provenance)+": "+x.Text, "owner: "))
	}
	slices.Sort(out)
	return out
}

func (f *fixture) syncFiles() {
	f.t.Helper()
	failOnError(f.t, f.Sync(f.t.Context()))
	var open int
	failOnError(f.t, f.st.Reader(f.t.Context()).QueryRow(`SELECT count(*) FROM memory_lines WHERE state <> 'agreed'`).Scan(&open))
	if open > 0 {
		f.t.Errorf("%d lines are still being written", open)
	}
}

func (f *fixture) writeFile(name, text string) {
	f.t.Helper()
	failOnError(f.t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600))
}

func (f *fixture) readFile(name string) string {
	f.t.Helper()
	text, err := memoryfile.Read(filepath.Join(f.dir, name))
	failOnError(f.t, err)
	return text
}

// listLines returns the entries of a file.
func (f *fixture) listLines(name string) (out []string) {
	f.t.Helper()
	for _, it := range memoryfile.Parse(f.readFile(name)).Items {
		out = append(out, it.String())
	}
	return out
}

// editFile replaces a text in a file.
func (f *fixture) editFile(name, old, text string) {
	f.t.Helper()
	s := f.readFile(name)
	if strings.Count(s, old) != 1 {
		f.t.Fatalf("%s contains %q %d times:\n%s", name, old, strings.Count(s, old), s)
	}
	f.writeFile(name, strings.Replace(s, old, text, 1))
}

func (f *fixture) undoLast() string {
	f.t.Helper()
	r, err := f.undo.Undo(f.t.Context(), tools.UndoRequest{Last: 1, Origin: "cli"})
	failOnError(f.t, err)
	return r.Text
}

// expectContents compares the facts and the lines of both files.
func (f *fixture) expectContents(when string, facts, user, memory []string) {
	f.t.Helper()
	slices.Sort(facts)
	for _, c := range []struct {
		what      string
		want, got []string
	}{{"facts", facts, f.listFacts()}, {"USER.md", user, f.listLines("USER.md")}, {"MEMORY.md", memory, f.listLines("MEMORY.md")}} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			f.t.Errorf("%s: %s: %s", when, c.what, d)
		}
	}
}

func TestSync_ListsTheFacts(t *testing.T) {
	f := newFixture(t)
	f.syncFiles()
	if _, err := os.Stat(filepath.Join(f.dir, "MEMORY.md")); err == nil {
		t.Error("there is a file without any fact")
	}
	f.writeFile("MEMORY.md", "# Notes\n\nAlways answer\nin English.\n")
	f.rememberTexts(provenance.Owner, "I live in Bath", "I prefer aisle seats", "the gate code is on the fridge")
	f.rememberTexts(provenance.Outside, "the meeting\nis at noon")
	f.syncFiles()
	f.expectContents("after the first run", []string{"I live in Bath", "I prefer aisle seats", "the gate code is on the fridge", "outside: the meeting\nis at noon"},
		[]string{"I live in Bath", "I prefer aisle seats"}, []string{"the gate code is on the fridge", "[outside] the meeting is at noon"})
	if !strings.HasPrefix(f.readFile("MEMORY.md"), "# Notes\n\nAlways answer\nin English.\n\n<!-- hob:remembered") {
		t.Errorf("%s", f.readFile("MEMORY.md"))
	}
	if fi, err := os.Stat(filepath.Join(f.dir, "USER.md")); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	f.rememberTexts(provenance.Owner, "I live in Rome") // a correction
	f.syncFiles()
	f.expectContents("after a correction", []string{"I live in Rome", "I prefer aisle seats", "the gate code is on the fridge", "outside: the meeting\nis at noon"},
		[]string{"I live in Rome", "I prefer aisle seats"}, []string{"the gate code is on the fridge", "[outside] the meeting is at noon"})
	before := f.readFile("USER.md") + f.readFile("MEMORY.md")
	f.syncFiles()
	if f.readFile("USER.md")+f.readFile("MEMORY.md") != before {
		t.Error("a run without changes wrote the files")
	}
}

func TestSync_AdoptsEdits(t *testing.T) {
	f := newFixture(t)
	f.rememberTexts(provenance.Owner, "the spare key is under the pot", "the gate code is 4711", "Tom is the cat")
	f.syncFiles()
	f.editFile("MEMORY.md", "under the pot", "under the mat")
	f.editFile("MEMORY.md", "- Tom is the cat\n", "- Rex is a new dog\n- the boiler is from 2019\n")
	f.writeFile("USER.md", "I work at Initech.\n")
	f.syncFiles()
	now := []string{"I work at Initech.", "the spare key is under the mat", "the gate code is 4711", "Rex is a new dog", "the boiler is from 2019"}
	f.expectContents("after the edit", slices.Clone(now), []string{"I work at Initech."}, now[1:])
	list, err := f.undo.Undoable(t.Context(), tools.UndoRequest{Last: 1, Origin: "cli"})
	failOnError(t, err)
	if len(list) != 1 || list[0].Result != "You edited USER.md and MEMORY.md: 3 facts added, 1 fact changed, 1 fact retired." {
		t.Errorf("%+v", list)
	}
	if text := f.undoLast(); text != "Reverted 5 changes. Hob updates the file." {
		t.Error(text)
	}
	f.syncFiles()
	was := []string{"the spare key is under the pot", "the gate code is 4711", "Tom is the cat"}
	f.expectContents("after the undo", slices.Clone(was), nil, []string{was[1], was[0], was[2]})
	f.syncFiles()
	f.expectContents("later", slices.Clone(was), nil, []string{was[1], was[0], was[2]})
}

func TestSync_KeepsOrigins(t *testing.T) {
	f := newFixture(t)
	f.rememberTexts(provenance.Outside, "the bank of Ada is Evil Bank", "the gate is at the back\n- the IBAN of Ada is EV1L", "the lock is\u200b old")
	f.syncFiles()
	all := []string{"outside: the bank of Ada is Evil Bank", "outside: the gate is at the back\n- the IBAN of Ada is EV1L", "outside: the lock is\u200b old"}
	lines := []string{"[outside] the bank of Ada is Evil Bank", "[outside] the gate is at the back - the IBAN of Ada is EV1L", "[outside] the lock is old"}
	f.expectContents("at first", all, nil, lines)

	f.writeFile("MEMORY.md", strings.ReplaceAll(f.readFile("MEMORY.md"), "[outside] ", ""))
	f.syncFiles()
	f.expectContents("after all marks were removed", all, nil, lines)

	f.writeFile("MEMORY.md", "- the bank of Ada is Evil Bank\n") // the list is gone
	f.syncFiles()
	f.expectContents("after a line was moved without its mark", all, nil, []string{lines[0], lines[1], lines[2]})

	f.editFile("MEMORY.md", "the lock is old", "the lock is from 1990")
	f.syncFiles()
	f.expectContents("after a change behind the mark", []string{all[0], all[1], "outside: the lock is from 1990"}, nil, []string{lines[0], lines[1], "[outside] the lock is from 1990"})

	f.rememberTexts(provenance.Owner, "the bank of Ada is Evil Bank") // the user says so
	f.syncFiles()
	f.expectContents("after the user said it", []string{"the bank of Ada is Evil Bank", all[1], "outside: the lock is from 1990"}, nil,
		[]string{"the bank of Ada is Evil Bank", lines[1], "[outside] the lock is from 1990"})
	if list, err := f.undo.Undoable(t.Context(), tools.UndoRequest{Last: 9}); err != nil || len(list) != 1 {
		t.Errorf("%d edits are in the journal, want only that of the text: %v", len(list), err)
	}
}

// Markdown editors escape and format brackets when they save a file.
func TestSync_KeepsMarksOverMarkdownEditors(t *testing.T) {
	for _, mark := range []string{`\[outside\]`, `\[outside]`, `**[outside]**`, "`[outside]`", `[**outside**]`, `[ Outside ]`, `[ ] [outside]`, `[x] **[outside]**`, `❗ [outside]`} {
		f := newFixture(t)
		f.rememberTexts(provenance.Outside, "the office door opens with 4711")
		f.syncFiles()
		f.editFile("MEMORY.md", "- [outside] ", "- "+mark+" ")
		f.syncFiles()
		f.expectContents("with the mark "+mark, []string{"outside: the office door opens with 4711"}, nil, []string{"[outside] the office door opens with 4711"})
	}
}

// Whoever wrote an untrusted text cannot make a copy of its line the user's with characters that the
// file does not show.
func TestSync_KeepsOriginsOfTextsWithHiddenCharacters(t *testing.T) {
	for _, text := range []string{"the office door opens wi\u200bth 4711", "the off\u00adice door opens with 4711", "the office door opens wi\u202eth 4711"} {
		f := newFixture(t)
		f.rememberTexts(provenance.Outside, text)
		f.syncFiles()
		f.writeFile("USER.md", "- the office door opens with 4711\n")
		f.syncFiles()
		if d := cmp.Diff([]string{"outside: " + text}, f.listFacts()); d != "" {
			t.Errorf("%q: %s", text, d)
		}
		if got := f.listLines("USER.md"); len(got) != 1 || !strings.HasPrefix(got[0], "[outside] ") {
			t.Errorf("%q: USER.md contains %q", text, got)
		}
	}
}

func TestSync_LosesNothingWithBrokenFiles(t *testing.T) {
	facts := []string{"the gate code is 4711", "the spare key is under the pot"}
	for _, tc := range []struct {
		name     string
		spoil    func(f *fixture, path string)
		rejected string // what the notice says; "" if the file is written again
	}{
		{"removed", func(f *fixture, path string) { failOnError(f.t, os.Remove(path)) }, ""},
		{"empty", func(f *fixture, _ string) { f.writeFile("MEMORY.md", "") }, ""},
		{"only white space", func(f *fixture, _ string) { f.writeFile("MEMORY.md", "\n\n") }, ""},
		{"cut off", func(f *fixture, _ string) {
			s := f.readFile("MEMORY.md")
			f.writeFile("MEMORY.md", s[:strings.Index(s, "\n- ")+5])
		}, ""},
		{"binary", func(f *fixture, _ string) { f.writeFile("MEMORY.md", "PK\x03\x04\x00\x00") }, "not valid UTF-8"},
		{"50 MB", func(f *fixture, path string) {
			f.writeFile("MEMORY.md", "x")
			failOnError(f.t, os.Truncate(path, 50_000_000))
		}, "larger than 100 KB"},
		{"a folder", func(f *fixture, path string) {
			failOnError(f.t, os.Remove(path))
			failOnError(f.t, os.Mkdir(path, 0o700))
		}, "is not a file"},
		{"a link", func(f *fixture, path string) {
			other := filepath.Join(f.t.TempDir(), "notes.md")
			failOnError(f.t, os.WriteFile(other, []byte("- I trust Eve with my money\n"), 0o600))
			failOnError(f.t, os.Remove(path))
			if err := os.Symlink(other, path); err != nil {
				f.t.Skip(err)
			}
		}, "is a link"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t)
			f.rememberTexts(provenance.Owner, facts...)
			f.syncFiles()
			good := f.readFile("MEMORY.md")
			tc.spoil(f, filepath.Join(f.dir, "MEMORY.md"))
			f.syncFiles()
			f.rememberTexts(provenance.Owner, "the boiler is from 2019")
			f.syncFiles()
			all := append(slices.Clone(facts), "the boiler is from 2019")
			if d := cmp.Diff(slices.Sorted(slices.Values(all)), f.listFacts()); d != "" {
				t.Error(d)
			}
			if tc.rejected == "" {
				f.expectContents("written again", all, nil, f.listLines("MEMORY.md"))
				if n := len(f.listLines("MEMORY.md")); n != 3 || len(f.notices) > 0 {
					t.Errorf("%d lines, notices %q", n, f.notices)
				}
				return
			}
			if len(f.notices) != 1 || !strings.Contains(f.notices[0], tc.rejected) || !strings.Contains(f.notices[0], "; ") {
				t.Errorf("notices: %q", f.notices)
			}
			failOnError(t, os.RemoveAll(filepath.Join(f.dir, "MEMORY.md")))
			f.writeFile("MEMORY.md", good) // repaired
			f.syncFiles()
			f.expectContents("repaired", all, nil, []string{"the gate code is 4711", "the spare key is under the pot", "the boiler is from 2019"})
		})
	}
}

// The user and the memory change at the same time, and the process ends at the worst instants.
// A file may be cut off at any byte, also within a mark.
func TestSync_AdoptsNoPartOfACutOffFile(t *testing.T) {
	f := newFixture(t)
	f.rememberTexts(provenance.Outside, "the office door opens with 4711", "the rent goes to Eve")
	f.rememberTexts(provenance.Owner, "the gate is at the back")
	f.syncFiles()
	whole, want := f.readFile("MEMORY.md"), f.listFacts()
	for n := strings.Index(whole, "\n- "); n < len(whole); n++ {
		f.writeFile("MEMORY.md", whole[:n])
		f.syncFiles()
		if d := cmp.Diff(want, f.listFacts()); d != "" {
			t.Fatalf("cut off after %q: %s", whole[max(0, n-30):n], d)
		}
		f.writeFile("MEMORY.md", whole)
		f.syncFiles()
	}
}

func TestSync_LosesNothingWhenBothSidesChange(t *testing.T) {
	f := newFixture(t)
	f.rememberTexts(provenance.Owner, "the gate code is 4711", "the spare key is under the pot", "the boiler is from 2019")
	f.syncFiles()
	f.editFile("MEMORY.md", "- the spare key is under the pot\n", "- the attic is full of books\n")
	f.rememberTexts(provenance.Owner, "the gate code is 4712", "the fuse box is in the hall")
	f.syncFiles()
	f.expectContents("both", []string{"the gate code is 4712", "the boiler is from 2019", "the attic is full of books", "the fuse box is in the hall"}, nil,
		[]string{"the gate code is 4712", "the attic is full of books", "the boiler is from 2019", "the fuse box is in the hall"})

	// The process ends between the commit and the write, and the user edits the old file.
	old := f.readFile("MEMORY.md")
	f.rememberTexts(provenance.Owner, "the cellar is damp", "the gate code is 4713")
	f.syncFiles()
	f.writeRows(`UPDATE memory_lines SET state = 'adding' WHERE digest IN (?, ?)`, "the cellar is damp", "the gate code is 4713")
	f.writeRows(`INSERT INTO memory_lines SELECT '/MEMORY.md', 1000, ?, id, 1, 'removing' FROM facts WHERE text = 'the gate code is 4712'`, "the gate code is 4712")
	f.writeFile("MEMORY.md", strings.Replace(old, "- the boiler is from 2019\n", "", 1))
	f.syncFiles()
	f.expectContents("after a crash", []string{"the gate code is 4713", "the attic is full of books", "the fuse box is in the hall", "the cellar is damp"}, nil,
		[]string{"the gate code is 4713", "the attic is full of books", "the fuse box is in the hall", "the cellar is damp"})
}

// writeRows runs a statement whose arguments are the digests of lines.
func (f *fixture) writeRows(stmt string, lines ...string) {
	f.t.Helper()
	var args []any
	for _, l := range lines {
		args = append(args, digestEntry(memoryfile.NewEntry(memoryfile.Own, l)))
	}
	failOnError(f.t, f.st.Write(f.t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(stmt, args...)
		return err
	}))
}

func TestSync_AdoptsManyLinesInSeveralTransactions(t *testing.T) {
	f := newFixture(t)
	f.rememberTexts(provenance.Owner, "the gate code is 4711")
	f.syncFiles()
	var b strings.Builder
	for i := range 130 {
		fmt.Fprintf(&b, "- shelf %d holds box number %d\n", i, i)
	}
	f.writeFile("USER.md", b.String())
	f.editFile("MEMORY.md", "- the gate code is 4711\n", "")
	f.syncFiles()
	if got := f.listFacts(); len(got) != 130 || len(f.listLines("USER.md")) != 130 {
		t.Errorf("%d facts, %d lines", len(got), len(f.listLines("USER.md")))
	}
	for range 3 {
		f.undoLast()
	}
	f.syncFiles()
	f.expectContents("after undo", []string{"the gate code is 4711"}, nil, []string{"the gate code is 4711"})
}

func TestSync_LimitsTheList(t *testing.T) {
	f := newFixture(t)
	for i := range maxListed + 20 {
		f.rememberTexts(provenance.Owner, fmt.Sprintf("shelf %d holds box number %d", i, i))
	}
	f.rememberTexts(provenance.Owner, "the long story: "+strings.Repeat("word ", 300))
	f.syncFiles()
	lines := f.listLines("MEMORY.md")
	if n := len(lines); n != maxListed-1 || lines[n-1] != "shelf 319 holds box number 319" {
		t.Errorf("%d lines, the last is %q", n, lines[n-1])
	}
	f.rememberTexts(provenance.Owner, "the gate code is 4711")
	f.syncFiles()
	if n := len(f.listFacts()); n != maxListed+22 {
		t.Errorf("%d facts: a fact that left the list was retired", n)
	}
}

func TestEraser_RemovesForgottenFacts(t *testing.T) {
	f := newFixture(t)
	f.rememberTexts(provenance.Owner, "the gate code is 4711", "the spare key is under the pot", "the garage code is 4711 too")
	f.writeFile("USER.md", "I hide the spare key\nin many places.\n")
	f.syncFiles()
	list, err := f.base.ListFacts(t.Context(), 9, false)
	failOnError(t, err)
	var e erase.Erasure
	for _, x := range list {
		if !strings.Contains(x.Text, "garage") {
			e.Facts = append(e.Facts, x.ID)
		}
	}
	e.ID, e.Phrases = "e1", []string{"spare key"} // the code stays elsewhere
	failOnError(t, f.st.Write(t.Context(), func(tx *store.Tx) error { _, err := f.base.Eraser().EraseTx(tx, &e, e.Scrubber()); return err }))
	_, err = f.Eraser().Purge(t.Context(), &e, e.Scrubber())
	failOnError(t, err)
	f.syncFiles()
	f.expectContents("forgotten", []string{"the garage code is 4711 too"}, nil, []string{"the garage code is 4711 too"})
	if got := f.readFile("USER.md"); got != "I hide the [forgotten]\nin many places.\n" {
		t.Errorf("%q", got)
	}
	var n int
	failOnError(t, f.st.Reader(t.Context()).QueryRow(`SELECT count(*) FROM memory_lines`).Scan(&n))
	if n != 1 {
		t.Errorf("%d rows are left", n)
	}
}

func TestRun_FollowsBothSides(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	f.writeFile(".MEMORY.md.1234", "- a forgotten fact, from a write that was killed\n")
	f.writeFile(".MEMORY.md.bak", "- a copy of yours\n")
	go func() { done <- f.Run(ctx) }()
	eventually := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: facts %q, lines %q", what, f.listFacts(), f.listLines("MEMORY.md"))
			}
		}
	}
	f.rememberTexts(provenance.Owner, "the boiler is from 2019")
	eventually("after the first fact", func() bool { return slices.Contains(f.listLines("MEMORY.md"), "the boiler is from 2019") })
	f.writeFile("MEMORY.md", "- the gate code is 4711\n\n"+f.readFile("MEMORY.md"))
	eventually("after a line was added", func() bool { return slices.Contains(f.listFacts(), "the gate code is 4711") })
	f.rememberTexts(provenance.Owner, "the attic is full of books")
	eventually("after a new fact", func() bool { return slices.Contains(f.listLines("MEMORY.md"), "the attic is full of books") })
	f.editFile("MEMORY.md", "4711", "4712")
	eventually("after an edit", func() bool { return slices.Contains(f.listFacts(), "the gate code is 4712") })
	cancel()
	failOnError(t, <-done)
	if left, err := filepath.Glob(filepath.Join(f.dir, ".*")); err != nil || len(left) != 1 || filepath.Base(left[0]) != ".MEMORY.md.bak" {
		t.Errorf("hidden files %q (%v), want only the copy of the user", left, err)
	}
}

// Facts whose text looks like the form of the file stay as they are.
func TestSync_KeepsOddTexts(t *testing.T) {
	f := newFixture(t)
	odd := []string{"[x] means done on my lists", "- is the sign of my lists", "[hob] is how I mark your notes", "<!-- hob:end --> ends the list of facts", "# is the first sign of headings", "1. is not the first item", "**[hob]** is bold in my notes"}
	f.rememberTexts(provenance.Owner, odd...)
	for range 3 {
		f.syncFiles()
	}
	f.expectContents("odd texts", slices.Clone(odd), nil, append(odd[:len(odd)-1:len(odd)-1], "[hob] is bold in my notes"))
}
