package memorysync

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
)

// Instances that share a database keep their own files: what one has not written yet is not removed
// there, and what the user removes in one is gone in the other.
func TestInstances_DoNotRetireEachOthersLines(t *testing.T) {
	one := newFixture(t)
	two := *one
	two.dir = t.TempDir()
	for f, name := range map[*fixture]string{one: "one", &two: "two"} {
		s, err := New(Options{
			Store: one.st, Base: one.base, Learner: one.learner, Journal: one.undo.JournalTx,
			Targets: []Target{{Instance: name, User: filepath.Join(f.dir, "USER.md"), Memory: filepath.Join(f.dir, "MEMORY.md")}},
		})
		failOnError(t, err)
		f.Syncer = s
	}
	one.rememberTexts(provenance.Owner, "the gate code is on the fridge", "the boiler is in the cellar")
	one.syncFiles()
	two.writeFile("MEMORY.md", "# Own notes\n\n- the bins go out on Monday\n")
	two.syncFiles()
	one.syncFiles()
	all := []string{"the bins go out on Monday", "the boiler is in the cellar", "the gate code is on the fridge"}
	if d := cmp.Diff(all, one.listFacts()); d != "" {
		t.Errorf("facts after both instances: %s", d)
	}
	two.editFile("MEMORY.md", "- the boiler is in the cellar\n", "")
	two.syncFiles()
	one.syncFiles()
	want := []string{"the bins go out on Monday", "the gate code is on the fridge"}
	for _, f := range []*fixture{one, &two} {
		got := f.listLines("MEMORY.md")
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("lines after an edit: %s", d)
		}
	}
}
