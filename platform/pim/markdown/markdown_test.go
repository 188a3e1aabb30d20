package markdown_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/markdown"
)

func newNotes(t *testing.T, files map[string]string) (dir string, n *markdown.Notes) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "vault")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, markdown.New(dir)
}

func joinTitles(list []pim.Note) string {
	var out []string
	for _, x := range list {
		out = append(out, x.Title)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestFind(t *testing.T) {
	dir, n := newNotes(t, map[string]string{
		"Boiler.md": "---\ntags: [home]\n---\nThe boiler is a Vaillant.", "Work/Plan Ąžuolas.md": "Ask Žana about the boiler room", "a.txt": "boiler",
		".obsidian/x.md": "boiler", ".trash/old.md": "boiler", "Work/.hidden.md": "boiler", "picture.md": "boiler \x00", "bad.md": "boiler \xff",
	})
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "secret.md"), []byte("boiler password"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../secret.md", filepath.Join(dir, "link.md")); err != nil {
		t.Skip(err)
	}
	list, err := n.FindNotes(t.Context(), "BOILER", 10)
	partial, ok := errors.AsType[*pim.PartialError](err)
	if joinTitles(list) != "Boiler, Plan Ąžuolas" || !ok || !strings.Contains(partial.Error(), "2 notes could not be read") || !strings.Contains(partial.Error(), "1 entries could not be read") {
		t.Fatalf("%+v, %v", list, err)
	}
	one, err := n.FindNotes(t.Context(), "žana ąžuolas", 10)
	if len(one) != 1 || one[0].Folder != "Work" || one[0].Ref != "Work/Plan Ąžuolas.md" {
		t.Errorf("FindNotes = %+v, %v", one, err)
	}
	if x, err := n.ReadNote(t.Context(), "Boiler.md"); err != nil || x.Text != "The boiler is a Vaillant." {
		t.Errorf("ReadNote = %+v, %v", x, err)
	}
	for _, ref := range []string{"", "../secret.md", "/etc/passwd.md", "Work/../../secret.md", ".obsidian/x.md", "a.txt", "none.md"} {
		if x, err := n.ReadNote(t.Context(), ref); !errors.Is(err, pim.ErrNotFound) {
			t.Errorf("%q: ReadNote = %+v, %v", ref, x, err)
		}
	}
	if x, err := n.ReadNote(t.Context(), "link.md"); err == nil {
		t.Errorf("a link out of the folder was followed: %+v", x)
	}
}

func TestFind_NewestFirst(t *testing.T) {
	dir, n := newNotes(t, map[string]string{"a.md": "one", "b.md": "two", "c.md": strings.Repeat("ž", 1000)})
	for i, name := range []string{"b.md", "c.md", "a.md"} {
		at := time.Date(2026, 11, 20-i, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	list, err := n.FindNotes(t.Context(), "", 2)
	if err != nil || len(list) != 2 || list[0].Title != "b" || list[1].Title != "c" || !list[1].Cut || len([]rune(list[1].Text)) != 300 {
		t.Errorf("FindNotes = %+v, %v", list, err)
	}
}

func TestCreate(t *testing.T) {
	dir, n := newNotes(t, map[string]string{"Plan.md": "mine", "Work/x.md": "x"})
	for _, tt := range []struct {
		name string
		note pim.Note
		want string // the path, or the error
	}{
		{"an existing title", pim.Note{Title: "Plan", Text: "new"}, "Plan 2.md"},
		{"in a folder", pim.Note{Title: "Žąsis", Text: "new", Folder: "/Work/"}, "Work/Žąsis.md"},
		{"invalid file name characters", pim.Note{Title: "../../etc: a|b?\n#x", Text: "new"}, "etc a b x.md"},
		{"a device of Windows", pim.Note{Title: "con.txt", Text: "new"}, "Note con.txt.md"},
		{"a long one", pim.Note{Title: strings.Repeat("ž", 150), Text: "new"}, strings.Repeat("ž", 60) + ".md"},
		{"no name", pim.Note{Title: " ... ", Text: "new"}, "error title"},
		{"outside", pim.Note{Title: "x", Folder: "../"}, "error not a valid name of a notes folder"},
		{"hidden", pim.Note{Title: "x", Folder: ".obsidian"}, "error not a valid name of a notes folder"},
		{"no such folder", pim.Note{Title: "x", Folder: "Nowhere"}, "error no such folder: \"Nowhere\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := n.CreateNote(t.Context(), tt.note)
			if want, fails := strings.CutPrefix(tt.want, "error "); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%+v, %v", r, err)
				}
				return
			}
			if err != nil || r.ID != tt.want {
				t.Fatalf("%+v, %v", r, err)
			}
			if b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(r.ID))); err != nil || string(b) != "new\n" {
				t.Errorf("ReadFile = %q, %v", b, err)
			}
			if err := n.TakeBack(t.Context(), r.Undo); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(r.ID))); !os.IsNotExist(err) {
				t.Error("the note still exists")
			}
			if err := n.TakeBack(t.Context(), r.Undo); !errors.Is(err, pim.ErrChanged) {
				t.Errorf("second TakeBack = %v", err)
			}
		})
	}
	r, err := n.CreateNote(t.Context(), pim.Note{Title: "Mine", Text: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, r.ID), []byte("written on"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.TakeBack(t.Context(), r.Undo); !errors.Is(err, pim.ErrChanged) {
		t.Errorf("TakeBack of an edited note = %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("temporary files left: %q", left)
	}
}

// TestFind_MissingFolder checks that a missing folder is an error and not an empty folder.
func TestFind_MissingFolder(t *testing.T) {
	n := markdown.New(filepath.Join(t.TempDir(), "none"))
	if list, err := n.FindNotes(t.Context(), "", 5); err == nil || list != nil {
		t.Errorf("FindNotes = %v, %v", list, err)
	}
	if _, err := n.CreateNote(t.Context(), pim.Note{Title: "x"}); err == nil {
		t.Error("CreateNote succeeded without a folder")
	}
}

// TestFind_ManyNotes searches 10,000 notes.
func TestFind_ManyNotes(t *testing.T) {
	files := map[string]string{}
	for i := range 10_000 {
		files[fmt.Sprintf("d%d/n%d.md", i%50, i)] = fmt.Sprintf("number %d.", i)
	}
	_, n := newNotes(t, files)
	if list, err := n.FindNotes(t.Context(), "number 7777.", 5); err != nil || joinTitles(list) != "n7777" {
		t.Errorf("FindNotes = %v, %v", list, err)
	}
}
