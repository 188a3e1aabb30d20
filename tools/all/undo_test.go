package all

import (
	"os"
	"strings"
	"testing"

	"hob/tools"
)

// notUndone are the tools that change something and have no undo, with the
// reason. docs/undo.md tells the owner.
var notUndone = map[string]string{
	"undo":   "what was undone is done again with redo, or by asking for it",
	"forget": "forgetting leaves no trace of a text, so nothing to bring back; it always asks",
}

// TestEveryActionCanBeUndone: a tool that changes something takes it back, or
// its reason stands in the list and in the owner's page.
func TestEveryActionCanBeUndone(t *testing.T) {
	raw, err := os.ReadFile("../../docs/undo.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, x := range open(t).Tools {
		s := x.Spec()
		if s.Effects&(tools.Write|tools.Send|tools.Destroy) == 0 {
			continue
		}
		u, ok := x.(tools.Undoer)
		can := ok && u.CanUndo()
		reason := notUndone[s.Name]
		switch {
		case can && reason != "":
			t.Errorf("%s can be undone, but stands in the list of those that cannot", s.Name)
		case !can && reason == "":
			t.Errorf("%s (%s) has no undo and no reason for it", s.Name, s.Effects)
		}
		if !strings.Contains(page, "`"+s.Name+"`") {
			t.Errorf("docs/undo.md does not mention %s", s.Name)
		}
	}
}
