package skills

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"hob/templates"
)

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A state that is restored unchanged, for example from a backup, has its skills again.
func TestSkillsComeBack(t *testing.T) {
	dir := t.TempDir()
	path := templates.StatePath(dir)
	fatal(t, os.MkdirAll(filepath.Dir(path), 0o700))
	b, err := json.Marshal(templates.State{Name: "owl", Origin: templates.Folder, Skills: []templates.Skill{{Name: "expense-report", Description: "how expense reports are written", Text: "Collect."}}})
	fatal(t, err)
	fatal(t, os.WriteFile(path, b, 0o600))
	s := New(dir)
	for _, there := range []bool{true, false, true} {
		if from, to := path, path+".kept"; !there {
			fatal(t, os.Rename(from, to))
		} else if _, err := os.Stat(to); err == nil {
			fatal(t, os.Rename(to, from))
		}
		notes, err := s.Matching(t.Context(), "write the expense report")
		if err != nil || len(notes) == 1 != there {
			t.Errorf("there %t: %d notes, %v", there, len(notes), err)
		}
	}
}
