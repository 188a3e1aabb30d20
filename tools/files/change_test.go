package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
	"hob/tools"
)

func TestReadFile(t *testing.T) {
	b := newBench(t, func(o *Options) { o.MaxFile = 1 << 20; o.Trusted = []string{"~/Documents/mine"} })
	b.putFile("Documents/mine/own.txt", "hello")
	b.putFile("Documents/empty", "")
	b.putFile("Documents/odd.txt", "caf\xe9 \xe9\xe9\xe9\xe9")
	b.putFile("Documents/pic.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b.putFile("Documents/latin.txt", strings.Repeat("plain text ", 5)+"caf\xe9")
	b.putFile("Documents/bom.txt", "\xef\xbb\xbfhi")
	b.putFile("Documents/utf16.txt", "\xff\xfeh\x00i\x00")
	b.putFile("Documents/long.txt", strings.Repeat("line\n", 2500))
	b.putFile("Documents/wide.txt", strings.Repeat("x", 400<<10))
	b.putFile("Documents/big.txt", strings.Repeat("x", 1<<20+1))
	tests := []struct {
		name string
		args map[string]any
		want string
		code tools.Code
	}{
		{"whole", map[string]any{"path": "notes.txt"}, "one\ntwo\nthree\n", ""},
		{"tilde", map[string]any{"path": "~/Documents/notes.txt"}, "one\ntwo\nthree\n", ""},
		{"some lines", map[string]any{"path": "notes.txt", "offset": 2, "limit": 1}, "two\n[lines 2 to 2 of 3; continue with offset 3]", ""},
		{"last lines", map[string]any{"path": "notes.txt", "offset": 2}, "two\nthree\n[lines 2 to 3 of 3]", ""},
		{"after the end", map[string]any{"path": "notes.txt", "offset": 9}, "only 3 lines", tools.InvalidArguments},
		{"empty", map[string]any{"path": "empty"}, "~/Documents/empty is empty.", ""},
		{"picture", map[string]any{"path": "pic.png"}, "~/Documents/pic.png is not text but image/png, 16 bytes; it is not shown.", ""},
		{"latin 1", map[string]any{"path": "latin.txt"}, strings.Repeat("plain text ", 5) + "caf\uFFFD\n[1 bytes were not UTF-8 and are shown as \uFFFD]", ""},
		{"mostly not UTF-8", map[string]any{"path": "odd.txt"}, "~/Documents/odd.txt is text in an unknown encoding, not UTF-8, 9 bytes; it is not shown.", ""},
		{"byte order mark", map[string]any{"path": "bom.txt"}, "hi", ""},
		{"utf-16", map[string]any{"path": "utf16.txt"}, "hi\n[converted from UTF-16]", ""},
		{"missing", map[string]any{"path": "nope.txt"}, "there is no ~/Documents/nope.txt", tools.NotFound},
		{"folder", map[string]any{"path": "mine"}, "is a folder", tools.InvalidArguments},
		{"too large", map[string]any{"path": "big.txt"}, "at most 1 MB", tools.Unsupported},
		{"below a file", map[string]any{"path": "notes.txt/x"}, "", tools.Failed},
		{"empty path", map[string]any{"path": " "}, "empty", tools.InvalidArguments},
		{"nul", map[string]any{"path": "a\x00b"}, "NUL", tools.InvalidArguments},
		{"another user's home", map[string]any{"path": "~root/x"}, "other users", tools.InvalidArguments},
		{"negative", map[string]any{"path": "notes.txt", "limit": -1}, "negative", tools.InvalidArguments},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r, err := b.callTool("read_file", tc.args)
			if tc.code != "" {
				if tools.CodeOf(err) != tc.code || err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, want %s %q", err, tc.code, tc.want)
				}
				return
			}
			if d := cmp.Diff(tc.want, r.Text); d != "" || err != nil {
				t.Error(err, d)
			}
			want := provenance.Outside
			if tc.name == "empty" {
				want = provenance.Tool
			}
			if r.Source != want {
				t.Errorf("source %s, want %s", r.Source, want)
			}
		})
	}
	if r := b.mustCall("read_file", map[string]any{"path": "mine/own.txt"}); r.Source != provenance.Owner {
		t.Errorf("a trusted file is %s", r.Source)
	}
	if r := b.mustCall("read_file", map[string]any{"path": "long.txt"}); !strings.HasSuffix(r.Text, "[lines 1 to 2000 of 2500; continue with offset 2001]") {
		t.Errorf("long file ends with %q", r.Text[len(r.Text)-60:])
	}
	if r := b.mustCall("read_file", map[string]any{"path": "wide.txt"}); len(r.Text) > shownBytes+100 || !strings.Contains(r.Text, "the line is cut off") {
		t.Errorf("wide file: %d bytes", len(r.Text))
	}
}

func TestWriteFile(t *testing.T) {
	b := newBench(t, nil)
	r := b.mustCall("write_file", map[string]any{"path": "a/b/new.txt", "content": "hi"})
	if r.Text != "Created ~/Documents/a/b/new.txt (2 bytes)." || b.readFile("Documents/a/b/new.txt") != "hi" {
		t.Errorf("%q, %q", r.Text, b.readFile("Documents/a/b/new.txt"))
	}
	if _, err := b.undoCall("write_file", r); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.filePath("Documents/a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folders created for the file remain: %v", err)
	}
	if err := os.Chmod(b.filePath("Documents/notes.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	first := b.mustCall("write_file", map[string]any{"path": "notes.txt", "content": "first"})
	second := b.mustCall("write_file", map[string]any{"path": "notes.txt", "content": "second", "append": true})
	if got := b.readFile("Documents/notes.txt"); got != "first\nsecond" {
		t.Errorf("appended: %q", got)
	}
	if fi, err := os.Stat(b.filePath("Documents/notes.txt")); err != nil || (runtime.GOOS != "windows" && fi.Mode().Perm() != 0o640) {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if _, err := b.undoCall("write_file", first); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("undo of a file that changed since = %v", err)
	}
	for _, u := range []tools.Result{second, first} {
		if _, err := b.undoCall("write_file", u); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.readFile("Documents/notes.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("after both undos: %q", got)
	}
	if left, _ := filepath.Glob(b.filePath("Documents/.hob-*")); len(left) > 0 {
		t.Errorf("temporary files remain: %v", left)
	}
	for _, p := range []string{".", "a/", ""} {
		if _, err := b.callTool("write_file", map[string]any{"path": p, "content": "x"}); tools.CodeOf(err) != tools.InvalidArguments {
			t.Errorf("write to %q: %v", p, err)
		}
	}
}

func TestWriteFile_KeepsLimitedHistory(t *testing.T) {
	b := newBench(t, func(o *Options) { o.MaxFile = 100 })
	b.putFile("Documents/big.txt", strings.Repeat("x", 101))
	r := b.mustCall("write_file", map[string]any{"path": "big.txt", "content": "small"})
	if r.Undo != nil || !strings.Contains(r.Text, "cannot be undone") {
		t.Errorf("%q, undo %v", r.Text, r.Undo)
	}
	if _, err := b.callTool("write_file", map[string]any{"path": "big.txt", "content": strings.Repeat("y", 101)}); tools.CodeOf(err) != tools.InvalidArguments {
		t.Errorf("write above the limit = %v", err)
	}
	b.putFile("Documents/n.txt", strings.Repeat("x", 60))
	if _, err := b.callTool("write_file", map[string]any{"path": "n.txt", "content": strings.Repeat("y", 60), "append": true}); tools.CodeOf(err) != tools.InvalidArguments {
		t.Errorf("append above the limit = %v", err)
	}
	r = b.mustCall("write_file", map[string]any{"path": "n.txt", "content": "z"})
	kept, _ := filepath.Glob(b.filePath("hob/undo/*/*"))
	if len(kept) != 1 {
		t.Fatalf("kept versions = %v", kept)
	}
	if err := os.WriteFile(kept[0], []byte("tampered"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.undoCall("write_file", r); tools.CodeOf(err) != tools.NotFound || b.readFile("Documents/n.txt") != "z" {
		t.Errorf("undo from a damaged copy: %v", err)
	}
	none := newBench(t, func(o *Options) { o.UndoDir = "" })
	if r := none.mustCall("write_file", map[string]any{"path": "notes.txt", "content": "z"}); r.Undo != nil || !strings.Contains(r.Text, "cannot be undone") {
		t.Errorf("write without a history folder: %q", r.Text)
	}
}

func TestMoveFile(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Allowed = append(o.Allowed, "~/Archive") })
	b.putFile("Archive/x", "x")
	tests := []struct{ name, from, to, at string }{
		{"rename", "notes.txt", "n.txt", "Documents/n.txt"},
		{"into a folder", "notes.txt", "~/Archive", "Archive/notes.txt"},
		{"into new folders", "notes.txt", "a/b/n.txt", "Documents/a/b/n.txt"},
		{"into a new folder", "notes.txt", "c/", "Documents/c/notes.txt"},
		{"other allowed folder", "notes.txt", "~/Archive/n.txt", "Archive/n.txt"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := b.mustCall("move_file", map[string]any{"source": tc.from, "destination": tc.to})
			if got := b.readFile(tc.at); got != "one\ntwo\nthree\n" {
				t.Fatalf("%s: new file = %q", r.Text, got)
			}
			if _, err := b.undoCall("move_file", r); err != nil {
				t.Fatal(err)
			}
			if got := b.readFile("Documents/notes.txt"); got != "one\ntwo\nthree\n" {
				t.Fatalf("after undo: %q", got)
			}
			if _, err := os.Lstat(b.filePath("Documents/a")); err == nil {
				t.Error("folders created for the move remain")
			}
		})
	}
	b.putFile("Documents/other.txt", "other")
	if _, err := b.callTool("move_file", map[string]any{"source": "notes.txt", "destination": "other.txt"}); tools.CodeOf(err) != tools.Conflict || b.readFile("Documents/other.txt") != "other" {
		t.Errorf("onto an existing file: %v", err)
	}
	r := b.mustCall("move_file", map[string]any{"source": "notes.txt", "destination": "n.txt"})
	b.putFile("Documents/notes.txt", "newer")
	if _, err := b.undoCall("move_file", r); tools.CodeOf(err) != tools.Conflict || b.readFile("Documents/notes.txt") != "newer" {
		t.Errorf("undo over a newer file = %v", err)
	}
	b.putFile("Documents/d/x", "x")
	if _, err := b.callTool("move_file", map[string]any{"source": "d", "destination": "d/e/"}); tools.CodeOf(err) != tools.InvalidArguments {
		t.Errorf("move of a folder into itself = %v", err)
	}
	b.linkFile("notes.txt", "Documents/link")
	if _, err := b.callTool("move_file", map[string]any{"source": "link", "destination": "l2"}); tools.CodeOf(err) != tools.Unsupported {
		t.Errorf("a link: %v", err)
	}
	if _, err := b.callTool("move_file", map[string]any{"source": "gone", "destination": "l2"}); tools.CodeOf(err) != tools.NotFound {
		t.Errorf("a missing file: %v", err)
	}
}

func TestMoveFile_AcrossDevices(t *testing.T) {
	b := newBench(t, nil)
	from, err := b.f.openSpot("notes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := b.f.openSpot("carried.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	src, _, err := from.openParent(false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	if err := b.f.moveAcrossDevices(cancelled, from, src, to, src); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := b.f.moveAcrossDevices(t.Context(), from, src, to, src); err != nil {
		t.Fatal(err)
	}
	if got := b.readFile("Documents/carried.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("carried: %q", got)
	}
	names, _ := filepath.Glob(b.filePath("Documents/*"))
	hidden, _ := filepath.Glob(b.filePath("Documents/.*"))
	if len(names) != 1 || len(hidden) != 0 {
		t.Errorf("remaining files: %v %v", names, hidden)
	}
}

func TestTrashFile(t *testing.T) {
	b := newBench(t, nil)
	r := b.mustCall("trash_file", map[string]any{"path": "notes.txt"})
	if got := b.readFile(".local/share/Trash/files/notes.txt"); runtime.GOOS == "linux" && got != "one\ntwo\nthree\n" {
		t.Errorf("in the trash: %q", got)
	}
	if _, err := b.undoCall("trash_file", r); err != nil || b.readFile("Documents/notes.txt") != "one\ntwo\nthree\n" {
		t.Fatalf("undo: %v", err)
	}
	r = b.mustCall("trash_file", map[string]any{"path": "notes.txt"})
	b.putFile("Documents/notes.txt", "newer")
	if _, err := b.undoCall("trash_file", r); tools.CodeOf(err) != tools.Conflict || b.readFile("Documents/notes.txt") != "newer" {
		t.Errorf("undo over a newer file = %v", err)
	}
	if err := os.Remove(b.filePath("Documents/notes.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.filePath(".local/share/Trash")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.undoCall("trash_file", r); tools.CodeOf(err) != tools.NotFound {
		t.Errorf("undo after the trash was emptied = %v", err)
	}
}
