package files

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"hob/tools"
)

func (b *bench) redoCall(name string, r *tools.Result) error {
	b.t.Helper()
	_, data, err := b.by[name].(tools.Redoer).Redo(b.t.Context(), r.Undo.Data)
	if err == nil {
		r.Undo.Data = data
	}
	return err
}

// Incident 57 (undo destroyed newer content): if a file has changed since the call, undo and redo
// leave the file unchanged and report a conflict.
func TestIncident57UndoDestroysNothingNewer(t *testing.T) {
	write := map[string]any{"path": "notes.txt", "content": "by hob"}
	for name, tc := range map[string]struct {
		tool  string
		args  map[string]any
		since func(b *bench)
		path  string // path that must keep its later content
		want  string
	}{
		"a replaced file was edited":     {"write_file", write, func(b *bench) { b.putFile("Documents/notes.txt", "by hob, and more") }, "Documents/notes.txt", "by hob, and more"},
		"new content of the same length": {"write_file", write, func(b *bench) { b.putFile("Documents/notes.txt", "BY HOB") }, "Documents/notes.txt", "BY HOB"},
		"a new file was edited": {
			"write_file", map[string]any{"path": "new.txt", "content": "x"}, func(b *bench) { b.putFile("Documents/new.txt", "mine") }, "Documents/new.txt", "mine",
		},
		"a new file grew too large": {
			"write_file", map[string]any{"path": "new.txt", "content": "x"}, func(b *bench) { b.putFile("Documents/new.txt", string(make([]byte, 1<<20+1))) }, "Documents/new.txt", string(make([]byte, 1<<20+1)),
		},
		"another file at the original path": {
			"move_file", map[string]any{"source": "notes.txt", "destination": "old.txt"}, func(b *bench) { b.putFile("Documents/notes.txt", "newer") }, "Documents/notes.txt", "newer",
		},
		"a new file at the original path of a trashed one": {
			"trash_file", map[string]any{"path": "notes.txt"}, func(b *bench) { b.putFile("Documents/notes.txt", "newer") }, "Documents/notes.txt", "newer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *Options) { o.MaxFile = 1 << 20 })
			r := b.mustCall(tc.tool, tc.args)
			tc.since(b)
			if _, err := b.undoCall(tc.tool, r); tools.CodeOf(err) != tools.Conflict {
				t.Errorf("undo: %v", err)
			}
			if got := b.readFile(tc.path); got != tc.want {
				t.Errorf("the content is now %.20q", got)
			}
		})
	}
}

func TestIncident57AFileInAFolderThatWasMadeForIt(t *testing.T) {
	b := newBench(t, nil)
	r := b.mustCall("write_file", map[string]any{"path": "trip/plan.txt", "content": "x"})
	b.putFile("Documents/trip/mine.txt", "mine")
	if _, err := b.undoCall("write_file", r); err != nil {
		t.Fatal(err)
	}
	if got := b.readFile("Documents/trip/mine.txt"); got != "mine" {
		t.Errorf("the user's file in that folder = %q", got)
	}
}

func TestRedo(t *testing.T) {
	for name, tc := range map[string]struct {
		tool          string
		args          map[string]any
		path          string
		undone, again string
	}{
		"a new file":      {"write_file", map[string]any{"path": "a/new.txt", "content": "x"}, "Documents/a/new.txt", "<no such file or directory>", "x"},
		"a replaced file": {"write_file", map[string]any{"path": "notes.txt", "content": "x"}, "Documents/notes.txt", "one\ntwo\nthree\n", "x"},
		"a moved file":    {"move_file", map[string]any{"source": "notes.txt", "destination": "sub/n.txt"}, "Documents/sub/n.txt", "<no such file or directory>", "one\ntwo\nthree\n"},
		"a trashed file":  {"trash_file", map[string]any{"path": "notes.txt"}, "Documents/notes.txt", "one\ntwo\nthree\n", "<no such file or directory>"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			r := b.mustCall(tc.tool, tc.args)
			for range 3 {
				if _, err := b.undoCall(tc.tool, r); err != nil {
					t.Fatal(err)
				}
				if got := b.readFile(tc.path); got != tc.undone {
					t.Fatalf("undone: %q", got)
				}
				if err := b.redoCall(tc.tool, &r); err != nil {
					t.Fatal(err)
				}
				if got := b.readFile(tc.path); got != tc.again {
					t.Fatalf("after redo: %q", got)
				}
			}
			if _, err := b.undoCall(tc.tool, r); err != nil {
				t.Fatal(err)
			}
			if tc.undone[0] == '<' {
				b.putFile(tc.path, "newer")
			} else {
				b.putFile("Documents/notes.txt", "newer")
			}
			before := b.readFile("Documents/notes.txt") + b.readFile(tc.path)
			switch err := b.redoCall(tc.tool, &r); {
			case tc.tool == "trash_file": // redo may move the newer file to the trash, from which it can be restored
			case tools.CodeOf(err) != tools.Conflict || b.readFile("Documents/notes.txt")+b.readFile(tc.path) != before:
				t.Errorf("redo over a newer file = %v", err)
			}
		})
	}
}

// A forged undo record cannot reach other files: the path in the record is resolved like any other
// path.
func TestUndo_ForgedRecordReachesNoOtherFile(t *testing.T) {
	b := newBench(t, nil)
	b.putFile("secret.txt", "canary")
	if err := os.MkdirAll(filepath.Join(b.home, "Documents", ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for tool, record := range map[string]any{
		"write_file": writeUndo{Path: b.filePath("secret.txt"), Created: true, After: contentDigest([]byte("canary"))},
		"move_file":  moveUndo{From: b.filePath("Documents/x"), To: b.filePath("secret.txt")},
	} {
		raw, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		u := b.by[tool].(tools.Undoer)
		if _, err := u.Undo(t.Context(), raw); err == nil {
			t.Errorf("%s undid a change outside of the allowed folders", tool)
		}
		if _, _, err := u.(tools.Redoer).Redo(t.Context(), raw); err == nil {
			t.Errorf("%s changed a file outside of the allowed folders", tool)
		}
	}
	if b.readFile("secret.txt") != "canary" {
		t.Error("the protected file is missing")
	}
}
