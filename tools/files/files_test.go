package files

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
	"hob/platform/trash"
	"hob/tools"
)

var now = time.Date(2026, 3, 9, 14, 0, 0, 0, time.FixedZone("CET", 3600))

// bench is a home folder with ~/Documents allowed.
type bench struct {
	t    *testing.T
	home string
	docs string
	f    *Files
	by   map[string]tools.Tool
}

func newBench(t *testing.T, change func(*Options)) *bench {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, home: home, docs: filepath.Join(home, "Documents"), by: map[string]tools.Tool{}}
	can, err := trash.New(trash.Options{Home: home, DataHome: filepath.Join(home, ".local", "share")})
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{
		Allowed: []string{"~/Documents"}, Home: home, UndoDir: filepath.Join(home, "hob", "undo"),
		Protected: []string{filepath.Join(home, "hob")}, Trash: can,
	}
	if change != nil {
		change(&opt)
	}
	if b.f, err = New(opt); err != nil {
		t.Fatal(err)
	}
	for _, tool := range b.f.Tools() {
		b.by[tool.Spec().Name] = tool
	}
	b.put("Documents/notes.txt", "one\ntwo\nthree\n")
	b.put("outside/secret.txt", "canary")
	return b
}

func (b *bench) path(rel string) string { return filepath.Join(b.home, filepath.FromSlash(rel)) }

func (b *bench) put(rel, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(rel)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(rel), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) link(target, rel string) {
	b.t.Helper()
	if err := os.Symlink(target, b.path(rel)); err != nil {
		b.t.Skip("no symlinks here:", err)
	}
}

func (b *bench) get(rel string) string {
	raw, err := os.ReadFile(b.path(rel))
	if err != nil {
		return "<" + errors.Unwrap(err).Error() + ">"
	}
	return string(raw)
}

func (b *bench) call(name string, args map[string]any) (tools.Result, error) {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.by[name].Call(b.t.Context(), tools.Call{ID: "c", Args: raw, Now: now})
}

func (b *bench) must(name string, args map[string]any) tools.Result {
	b.t.Helper()
	r, err := b.call(name, args)
	if err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	return r
}

func (b *bench) undo(name string, r tools.Result) (string, error) {
	b.t.Helper()
	if r.Undo == nil {
		b.t.Fatalf("%s: nothing to undo", name)
	}
	return b.by[name].(tools.Undoer).Undo(b.t.Context(), r.Undo.Data)
}

func TestWhereFilesMayNotReach(t *testing.T) {
	b := newBench(t, nil)
	b.put("Documents/.ssh/id_ed25519", "canary")
	b.put("Documents/work/.git/hooks/pre-commit", "canary")
	b.put("Documents/work/.git/config", "canary")
	b.put("Documents/.SSH2/x", "fine")
	b.link(b.path("outside/secret.txt"), "Documents/abs-link")
	b.link("../outside/secret.txt", "Documents/rel-link")
	b.link("../outside", "Documents/dir-link")
	b.link("loop", "Documents/loop")
	b.link(".ssh", "Documents/innocent")
	b.link("../Documents/notes.txt", "Documents/out-and-in")
	tests := []struct {
		name, path string
		want       error
	}{
		{"absolute", b.path("outside/secret.txt"), ErrNotAllowed},
		{"dot dot", "../outside/secret.txt", ErrNotAllowed},
		{"dot dot in the middle", "~/Documents/a/../../outside/secret.txt", ErrNotAllowed},
		{"sibling with the same beginning", b.docs + "2/x", ErrNotAllowed},
		{"etc", "/etc/passwd", ErrNotAllowed},
		{"home", "~", ErrNotAllowed},
		{"absolute link", "abs-link", ErrNotAllowed},
		{"relative link", "rel-link", ErrNotAllowed},
		{"through a linked folder", "dir-link/secret.txt", ErrNotAllowed},
		{"new file through a linked folder", "dir-link/new.txt", ErrNotAllowed},
		{"link that goes out and in", "out-and-in", ErrNotAllowed},
		{"loop", "loop", ErrNotAllowed},
		{"keys", ".ssh/id_ed25519", ErrProtected},
		{"keys, other case", ".SsH/id_ed25519", ErrProtected},
		{"keys, long s", ".ſsh/new", ErrProtected},
		{"keys through a link", "innocent/id_ed25519", ErrProtected},
		{"hooks", "work/.git/hooks/pre-commit", ErrProtected},
		{"repository config", "work/.git/config", ErrProtected},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for tool, args := range map[string]map[string]any{
				"read_file":      {"path": tc.path},
				"write_file":     {"path": tc.path, "content": "x"},
				"list_directory": {"path": tc.path},
				"search_files":   {"path": tc.path, "query": "canary"},
				"trash_file":     {"path": tc.path},
				"move_file":      {"source": tc.path, "destination": "moved"},
			} {
				r, err := b.call(tool, args)
				if !errors.Is(err, tc.want) || tools.CodeOf(err) != tools.PolicyDenied || strings.Contains(r.Text, "canary") {
					t.Errorf("%s: %q, %v; want %v", tool, r.Text, err, tc.want)
				}
			}
			if _, err := b.call("move_file", map[string]any{"source": "notes.txt", "destination": tc.path}); !errors.Is(err, tc.want) {
				t.Errorf("move to it: %v; want %v", err, tc.want)
			}
		})
	}
	if got := b.get("outside/secret.txt") + b.get("Documents/notes.txt"); got != "canaryone\ntwo\nthree\n" {
		t.Errorf("files changed: %q", got)
	}
	_, err := b.call("read_file", map[string]any{"path": b.path("outside/secret.txt")})
	if want := `hob config set files.allowed '["~/Documents","~/outside"]'`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error does not say how to allow the folder: %v", err)
	}
}

func TestHomeAllowed(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Allowed = []string{"~"} })
	b.put(".config/autostart/x.desktop", "x")
	b.put(".bashrc", "x")
	for _, p := range []string{
		"~/.bashrc", ".profile", ".zshrc", ".ssh/config", ".config/autostart/new.desktop", ".config/google-chrome/Default/Cookies",
		".mozilla/firefox/x", "hob/hob.db", "hob", ".BASHRC", ".config/systemd/user/x.service", ".gitconfig",
	} {
		if _, err := b.call("write_file", map[string]any{"path": p, "content": "x"}); !errors.Is(err, ErrProtected) {
			t.Errorf("write %s: %v", p, err)
		}
		if _, err := b.call("read_file", map[string]any{"path": p}); !errors.Is(err, ErrProtected) {
			t.Errorf("read %s: %v", p, err)
		}
	}
	for _, p := range []string{".config", "hob"} {
		if _, err := b.call("trash_file", map[string]any{"path": p}); !errors.Is(err, ErrProtected) {
			t.Errorf("trash %s: %v", p, err)
		}
	}
	if _, err := b.call("trash_file", map[string]any{"path": "~"}); err == nil {
		t.Error("the allowed folder itself was put in the trash")
	}
	b.must("write_file", map[string]any{"path": "Desktop/x.txt", "content": "x"})
}

func TestNoFolderAllowed(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Allowed = nil })
	for _, p := range []string{"x.txt", "~/x.txt", "/x"} {
		_, err := b.call("read_file", map[string]any{"path": p})
		if !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), "no folder is allowed so far") {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := New(Options{Home: b.home, Allowed: []string{"docs"}}); err == nil {
		t.Error("a relative allowed folder was accepted")
	}
}

func TestReadFile(t *testing.T) {
	b := newBench(t, func(o *Options) { o.MaxFile = 1 << 20; o.Trusted = []string{"~/Documents/mine"} })
	b.put("Documents/mine/own.txt", "hello")
	b.put("Documents/empty", "")
	b.put("Documents/pic.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b.put("Documents/latin.txt", strings.Repeat("plain text ", 5)+"caf\xe9")
	b.put("Documents/bom.txt", "\xef\xbb\xbfhi")
	b.put("Documents/utf16.txt", "\xff\xfeh\x00i\x00")
	b.put("Documents/long.txt", strings.Repeat("line\n", 2500))
	b.put("Documents/wide.txt", strings.Repeat("x", 400<<10))
	b.put("Documents/big.txt", strings.Repeat("x", 1<<20+1))
	tests := []struct {
		name string
		args map[string]any
		want string
		code tools.Code
	}{
		{"whole", map[string]any{"path": "notes.txt"}, "one\ntwo\nthree\n", ""},
		{"tilde", map[string]any{"path": "~/Documents/notes.txt"}, "one\ntwo\nthree\n", ""},
		{"some lines", map[string]any{"path": "notes.txt", "offset": 2, "limit": 1}, "two\n[lines 2 to 2 of 3; go on with offset 3]", ""},
		{"last lines", map[string]any{"path": "notes.txt", "offset": 2}, "two\nthree\n[lines 2 to 3 of 3]", ""},
		{"past the end", map[string]any{"path": "notes.txt", "offset": 9}, "only 3 lines", tools.InvalidArguments},
		{"empty", map[string]any{"path": "empty"}, "~/Documents/empty is empty.", ""},
		{"picture", map[string]any{"path": "pic.png"}, "~/Documents/pic.png is not text but image/png, 16 bytes; it is not shown.", ""},
		{"latin 1", map[string]any{"path": "latin.txt"}, strings.Repeat("plain text ", 5) + "caf\uFFFD\n[1 bytes were not UTF-8 and are shown as \uFFFD]", ""},
		{"byte order mark", map[string]any{"path": "bom.txt"}, "hi", ""},
		{"utf-16", map[string]any{"path": "utf16.txt"}, "hi\n[converted from UTF-16]", ""},
		{"missing", map[string]any{"path": "nope.txt"}, "there is no ~/Documents/nope.txt", tools.NotFound},
		{"folder", map[string]any{"path": "mine"}, "is a folder", tools.InvalidArguments},
		{"too large", map[string]any{"path": "big.txt"}, "at most 1 MB", tools.Unsupported},
		{"below a file", map[string]any{"path": "notes.txt/x"}, "", tools.Failed},
		{"empty path", map[string]any{"path": " "}, "empty", tools.InvalidArguments},
		{"nul", map[string]any{"path": "a\x00b"}, "NUL", tools.InvalidArguments},
		{"somebody's home", map[string]any{"path": "~root/x"}, "other people", tools.InvalidArguments},
		{"negative", map[string]any{"path": "notes.txt", "limit": -1}, "negative", tools.InvalidArguments},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r, err := b.call("read_file", tc.args)
			if tc.code != "" {
				if tools.CodeOf(err) != tc.code || err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, want %s %q", err, tc.code, tc.want)
				}
				return
			}
			if d := cmp.Diff(tc.want, r.Text); d != "" || err != nil {
				t.Error(err, d)
			}
			if r.Source != provenance.Outside {
				t.Errorf("source %s", r.Source)
			}
		})
	}
	if r := b.must("read_file", map[string]any{"path": "mine/own.txt"}); r.Source != provenance.Owner {
		t.Errorf("a trusted file is %s", r.Source)
	}
	if r := b.must("read_file", map[string]any{"path": "long.txt"}); !strings.HasSuffix(r.Text, "[lines 1 to 2000 of 2500; go on with offset 2001]") {
		t.Errorf("long file ends with %q", r.Text[len(r.Text)-60:])
	}
	if r := b.must("read_file", map[string]any{"path": "wide.txt"}); len(r.Text) > shownBytes+100 || !strings.Contains(r.Text, "the line goes on") {
		t.Errorf("wide file: %d bytes", len(r.Text))
	}
}

func TestWriteFile(t *testing.T) {
	b := newBench(t, nil)
	r := b.must("write_file", map[string]any{"path": "a/b/new.txt", "content": "hi"})
	if r.Text != "Created ~/Documents/a/b/new.txt (2 bytes)." || b.get("Documents/a/b/new.txt") != "hi" {
		t.Errorf("%q, %q", r.Text, b.get("Documents/a/b/new.txt"))
	}
	if _, err := b.undo("write_file", r); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.path("Documents/a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folders made for it are still there: %v", err)
	}
	if err := os.Chmod(b.path("Documents/notes.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	first := b.must("write_file", map[string]any{"path": "notes.txt", "content": "first"})
	second := b.must("write_file", map[string]any{"path": "notes.txt", "content": "second", "append": true})
	if got := b.get("Documents/notes.txt"); got != "first\nsecond" {
		t.Errorf("appended: %q", got)
	}
	if fi, err := os.Stat(b.path("Documents/notes.txt")); err != nil || (runtime.GOOS != "windows" && fi.Mode().Perm() != 0o640) {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if _, err := b.undo("write_file", first); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("undoing what was changed since: %v", err)
	}
	for _, u := range []tools.Result{second, first} {
		if _, err := b.undo("write_file", u); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.get("Documents/notes.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("after undoing both: %q", got)
	}
	if left, _ := filepath.Glob(b.path("Documents/.hob-*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	for _, p := range []string{".", "a/", ""} {
		if _, err := b.call("write_file", map[string]any{"path": p, "content": "x"}); tools.CodeOf(err) != tools.InvalidArguments {
			t.Errorf("write to %q: %v", p, err)
		}
	}
}

func TestWriteKeepsNoMoreThanItMay(t *testing.T) {
	b := newBench(t, func(o *Options) { o.MaxFile = 100 })
	b.put("Documents/big.txt", strings.Repeat("x", 101))
	r := b.must("write_file", map[string]any{"path": "big.txt", "content": "small"})
	if r.Undo != nil || !strings.Contains(r.Text, "cannot be undone") {
		t.Errorf("%q, undo %v", r.Text, r.Undo)
	}
	if _, err := b.call("write_file", map[string]any{"path": "big.txt", "content": strings.Repeat("y", 101)}); tools.CodeOf(err) != tools.InvalidArguments {
		t.Errorf("too large: %v", err)
	}
	b.put("Documents/n.txt", strings.Repeat("x", 60))
	if _, err := b.call("write_file", map[string]any{"path": "n.txt", "content": strings.Repeat("y", 60), "append": true}); tools.CodeOf(err) != tools.InvalidArguments {
		t.Errorf("grows too large: %v", err)
	}
	r = b.must("write_file", map[string]any{"path": "n.txt", "content": "z"})
	kept, _ := filepath.Glob(b.path("hob/undo/*/*"))
	if len(kept) != 1 {
		t.Fatalf("kept: %v", kept)
	}
	if err := os.WriteFile(kept[0], []byte("tampered"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.undo("write_file", r); tools.CodeOf(err) != tools.NotFound || b.get("Documents/n.txt") != "z" {
		t.Errorf("undo from a damaged copy: %v", err)
	}
	none := newBench(t, func(o *Options) { o.UndoDir = "" })
	if r := none.must("write_file", map[string]any{"path": "notes.txt", "content": "z"}); r.Undo != nil || !strings.Contains(r.Text, "cannot be undone") {
		t.Errorf("without a place: %q", r.Text)
	}
}

func TestMoveFile(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Allowed = append(o.Allowed, "~/Archive") })
	b.put("Archive/x", "x")
	tests := []struct{ name, from, to, at string }{
		{"rename", "notes.txt", "n.txt", "Documents/n.txt"},
		{"into a folder", "notes.txt", "~/Archive", "Archive/notes.txt"},
		{"into new folders", "notes.txt", "a/b/n.txt", "Documents/a/b/n.txt"},
		{"into a new folder", "notes.txt", "c/", "Documents/c/notes.txt"},
		{"other allowed folder", "notes.txt", "~/Archive/n.txt", "Archive/n.txt"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := b.must("move_file", map[string]any{"source": tc.from, "destination": tc.to})
			if got := b.get(tc.at); got != "one\ntwo\nthree\n" {
				t.Fatalf("%s: %q at the new place", r.Text, got)
			}
			if _, err := b.undo("move_file", r); err != nil {
				t.Fatal(err)
			}
			if got := b.get("Documents/notes.txt"); got != "one\ntwo\nthree\n" {
				t.Fatalf("after undoing: %q", got)
			}
			if _, err := os.Lstat(b.path("Documents/a")); err == nil {
				t.Error("folders made for it are left")
			}
		})
	}
	b.put("Documents/other.txt", "other")
	if _, err := b.call("move_file", map[string]any{"source": "notes.txt", "destination": "other.txt"}); tools.CodeOf(err) != tools.Conflict || b.get("Documents/other.txt") != "other" {
		t.Errorf("onto an existing file: %v", err)
	}
	r := b.must("move_file", map[string]any{"source": "notes.txt", "destination": "n.txt"})
	b.put("Documents/notes.txt", "newer")
	if _, err := b.undo("move_file", r); tools.CodeOf(err) != tools.Conflict || b.get("Documents/notes.txt") != "newer" {
		t.Errorf("undo onto something newer: %v", err)
	}
	b.put("Documents/d/x", "x")
	if _, err := b.call("move_file", map[string]any{"source": "d", "destination": "d/e/"}); tools.CodeOf(err) != tools.InvalidArguments {
		t.Errorf("into itself: %v", err)
	}
	b.link("notes.txt", "Documents/link")
	if _, err := b.call("move_file", map[string]any{"source": "link", "destination": "l2"}); tools.CodeOf(err) != tools.Unsupported {
		t.Errorf("a link: %v", err)
	}
	if _, err := b.call("move_file", map[string]any{"source": "gone", "destination": "l2"}); tools.CodeOf(err) != tools.NotFound {
		t.Errorf("a missing file: %v", err)
	}
}

func TestCarry(t *testing.T) {
	b := newBench(t, nil)
	from, err := b.f.at("notes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := b.f.at("carried.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	src, _, err := from.parent(false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	if err := b.f.carry(cancelled, from, src, to, src); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := b.f.carry(t.Context(), from, src, to, src); err != nil {
		t.Fatal(err)
	}
	if got := b.get("Documents/carried.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("carried: %q", got)
	}
	names, _ := filepath.Glob(b.path("Documents/*"))
	hidden, _ := filepath.Glob(b.path("Documents/.*"))
	if len(names) != 1 || len(hidden) != 0 {
		t.Errorf("left over: %v %v", names, hidden)
	}
}

func TestTrashFile(t *testing.T) {
	b := newBench(t, nil)
	r := b.must("trash_file", map[string]any{"path": "notes.txt"})
	if got := b.get(".local/share/Trash/files/notes.txt"); runtime.GOOS == "linux" && got != "one\ntwo\nthree\n" {
		t.Errorf("in the trash: %q", got)
	}
	if _, err := b.undo("trash_file", r); err != nil || b.get("Documents/notes.txt") != "one\ntwo\nthree\n" {
		t.Fatalf("undo: %v", err)
	}
	r = b.must("trash_file", map[string]any{"path": "notes.txt"})
	b.put("Documents/notes.txt", "newer")
	if _, err := b.undo("trash_file", r); tools.CodeOf(err) != tools.Conflict || b.get("Documents/notes.txt") != "newer" {
		t.Errorf("undo onto something newer: %v", err)
	}
	if err := os.Remove(b.path("Documents/notes.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.path(".local/share/Trash")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.undo("trash_file", r); tools.CodeOf(err) != tools.NotFound {
		t.Errorf("undo after the trash was emptied: %v", err)
	}
}

func TestList(t *testing.T) {
	b := newBench(t, nil)
	b.put("Documents/sub/a.PDF", "x")
	b.put("Documents/sub/deep/b.pdf", "xx")
	b.put("Documents/.hidden", "x")
	b.put("Documents/.ssh/id", "x")
	b.put("Documents/node_modules/m/c.pdf", "x")
	b.put("Documents/cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55")
	b.put("Documents/cache/d.pdf", "x")
	b.link("/etc", "Documents/link")
	for _, p := range []string{"notes.txt", "sub/a.PDF", "sub/deep/b.pdf"} {
		if err := os.Chtimes(b.path("Documents/"+p), now, now); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		args map[string]any
		want string
	}{
		{"plain", map[string]any{"path": "~/Documents"}, "~/Documents: 5 entries\n- cache/\n- link -> /etc\n- node_modules/\n- notes.txt (14 bytes, 2026-03-09)\n- sub/\n" +
			"(Not complete: 1 hidden one was left out; 1 protected one was left out.)"},
		{"pattern", map[string]any{"path": "sub", "pattern": "*.pdf"}, "~/Documents/sub: 1 entry matching *.pdf\n- a.PDF (1 byte, 2026-03-09)"},
		{"recursive", map[string]any{"path": ".", "pattern": "*.pdf", "recursive": true}, "~/Documents: 2 entries matching *.pdf\n- sub/a.PDF (1 byte, 2026-03-09)\n- sub/deep/b.pdf (2 bytes, 2026-03-09)\n" +
			"(Not complete: the inside of cache, node_modules was left out; 1 hidden one was left out; 1 protected one was left out.)"},
		{"hidden asked for", map[string]any{"path": ".", "pattern": ".h*"}, "~/Documents: 1 entry matching .h*\n- .hidden (1 byte, "},
		{"nothing", map[string]any{"path": "sub", "pattern": "*.doc"}, "Nothing in ~/Documents/sub matches *.doc."},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := b.must("list_directory", tc.args)
			if !strings.HasPrefix(r.Text, tc.want) || r.Source != provenance.Outside {
				t.Errorf("%s\n%s", r.Source, cmp.Diff(tc.want, r.Text))
			}
		})
	}
	if _, err := b.call("list_directory", map[string]any{"path": "notes.txt"}); tools.CodeOf(err) != tools.InvalidArguments {
		t.Errorf("a file: %v", err)
	}
	if _, err := b.call("list_directory", map[string]any{"path": ".", "pattern": "[a"}); tools.CodeOf(err) != tools.InvalidArguments {
		t.Errorf("a bad pattern: %v", err)
	}
	for i := range maxListed + 5 {
		b.put("Documents/many/"+string(rune('a'+i%26))+strings.Repeat("x", i/26)+".txt", "")
	}
	if r := b.must("list_directory", map[string]any{"path": "many"}); !strings.Contains(r.Text, "5 more are not shown") {
		t.Errorf("many: %s", r.Text[len(r.Text)-80:])
	}
}

func TestSearch(t *testing.T) {
	b := newBench(t, func(o *Options) { o.MaxFile = 4096 })
	b.put("Documents/a/budget.md", "Rent: 900\nFood: 300\n")
	b.put("Documents/a/b.txt", strings.Repeat("rent again\n", 7))
	b.put("Documents/pic.bin", "rent\x00\x01")
	b.put("Documents/big.txt", strings.Repeat("rent ", 1000))
	b.put("Documents/.hidden", "rent")
	r := b.must("search_files", map[string]any{"path": "~/Documents", "query": "RENT"})
	want := "6 matches for \"RENT\" in ~/Documents:\n- a/b.txt:1: rent again\n- a/b.txt:2: rent again\n- a/b.txt:3: rent again\n- a/b.txt:4: rent again\n- a/b.txt:5: rent again\n" +
		"- a/budget.md:1: Rent: 900\n" +
		"(Not complete: 1 binary one was left out; 2 further match in a file with more than 5 ones were left out; 1 hidden one was left out; 1 larger than 4 KB one was left out.)"
	if d := cmp.Diff(want, r.Text); d != "" {
		t.Error(d)
	}
	r = b.must("search_files", map[string]any{"path": ".", "query": "budget", "pattern": "*.md"})
	if d := cmp.Diff("1 match for \"budget\" in ~/Documents:\n- a/budget.md", strings.Split(r.Text, "\n(")[0]); d != "" {
		t.Error(d)
	}
	if r = b.must("search_files", map[string]any{"path": "a", "query": "zebra"}); r.Text != `Nothing in ~/Documents/a contains "zebra" (2 text files searched).` {
		t.Error(r.Text)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := b.by["search_files"].Call(ctx, tools.Call{Args: json.RawMessage(`{"path":".","query":"x"}`), Now: now}); tools.CodeOf(err) != tools.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
}

func TestInspect(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Drop = "~/Documents/Hob"; o.Trusted = []string{"~/Documents/mine"} })
	b.put("Documents/repo/.git/HEAD", "x")
	tests := []struct {
		path string
		want Place
	}{
		{"notes.txt", Place{Path: b.path("Documents/notes.txt"), Exists: true, Inert: true}},
		{"mine/x.sh", Place{Path: b.path("Documents/mine/x.sh"), Trusted: true}},
		{"Hob/report.md", Place{Path: b.path("Documents/Hob/report.md"), Drop: true, Inert: true}},
		{"Hob/.x.md", Place{Path: b.path("Documents/Hob/.x.md"), Drop: true}},
		{"repo/x.md", Place{Path: b.path("Documents/repo/x.md")}},
	}
	for _, tc := range tests {
		got, err := b.f.Inspect(tc.path)
		if d := cmp.Diff(tc.want, got); d != "" || err != nil {
			t.Error(tc.path, err, d)
		}
	}
}

func TestDropFolderIsMade(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Allowed = nil; o.Drop = "~/Drop/Hob" })
	if _, err := b.call("read_file", map[string]any{"path": "x.txt"}); tools.CodeOf(err) != tools.NotFound || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("read before it is there: %v", err)
	}
	b.must("write_file", map[string]any{"path": "x.txt", "content": "x"})
	if b.get("Drop/Hob/x.txt") != "x" {
		t.Error("not written")
	}
}
