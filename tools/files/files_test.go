package files

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/platform/host/trash"
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
	b.putFile("Documents/notes.txt", "one\ntwo\nthree\n")
	b.putFile("outside/secret.txt", "canary")
	return b
}

func (b *bench) filePath(rel string) string { return filepath.Join(b.home, filepath.FromSlash(rel)) }

func (b *bench) putFile(rel, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.filePath(rel)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.filePath(rel), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) linkFile(target, rel string) {
	b.t.Helper()
	if err := os.Symlink(target, b.filePath(rel)); err != nil {
		b.t.Skip("symbolic links are not available:", err)
	}
}

func (b *bench) readFile(rel string) string {
	raw, err := os.ReadFile(b.filePath(rel))
	if err != nil {
		return "<" + errors.Unwrap(err).Error() + ">"
	}
	return string(raw)
}

func (b *bench) callTool(name string, args map[string]any) (tools.Result, error) {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.by[name].Call(b.t.Context(), tools.Call{ID: "c", Args: raw, Now: now})
}

func (b *bench) mustCall(name string, args map[string]any) tools.Result {
	b.t.Helper()
	r, err := b.callTool(name, args)
	if err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	return r
}

func (b *bench) undoCall(name string, r tools.Result) (string, error) {
	b.t.Helper()
	if r.Undo == nil {
		b.t.Fatalf("%s: nothing to undo", name)
	}
	return b.by[name].(tools.Undoer).Undo(b.t.Context(), r.Undo.Data)
}

func TestAccess_Refused(t *testing.T) {
	b := newBench(t, nil)
	b.putFile("Documents/.ssh/id_ed25519", "canary")
	b.putFile("Documents/work/.git/hooks/pre-commit", "canary")
	b.putFile("Documents/work/.git/config", "canary")
	b.putFile("Documents/.SSH2/x", "fine")
	b.linkFile(b.filePath("outside/secret.txt"), "Documents/abs-link")
	b.linkFile("../outside/secret.txt", "Documents/rel-link")
	b.linkFile("../outside", "Documents/dir-link")
	b.linkFile("loop", "Documents/loop")
	b.linkFile(".ssh", "Documents/innocent")
	b.linkFile("../Documents/notes.txt", "Documents/out-and-in")
	tests := []struct {
		name, path string
		want       error
	}{
		{"absolute", b.filePath("outside/secret.txt"), ErrNotAllowed},
		{"dot dot", "../outside/secret.txt", ErrNotAllowed},
		{"dot dot in the middle", "~/Documents/a/../../outside/secret.txt", ErrNotAllowed},
		{"sibling with the same beginning", b.docs + "2/x", ErrNotAllowed},
		{"etc", "/etc/passwd", ErrNotAllowed},
		{"home", "~", ErrNotAllowed},
		{"absolute link", "abs-link", ErrNotAllowed},
		{"relative link", "rel-link", ErrNotAllowed},
		{"through a linked folder", "dir-link/secret.txt", ErrNotAllowed},
		{"new file through a linked folder", "dir-link/new.txt", ErrNotAllowed},
		{"link that leaves and returns", "out-and-in", ErrNotAllowed},
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
				r, err := b.callTool(tool, args)
				if !errors.Is(err, tc.want) || tools.CodeOf(err) != tools.PolicyDenied || strings.Contains(r.Text, "canary") {
					t.Errorf("%s: %q, %v; want %v", tool, r.Text, err, tc.want)
				}
			}
			if _, err := b.callTool("move_file", map[string]any{"source": "notes.txt", "destination": tc.path}); !errors.Is(err, tc.want) {
				t.Errorf("move to the path = %v; want %v", err, tc.want)
			}
		})
	}
	if got := b.readFile("outside/secret.txt") + b.readFile("Documents/notes.txt"); got != "canaryone\ntwo\nthree\n" {
		t.Errorf("files changed: %q", got)
	}
	_, err := b.callTool("read_file", map[string]any{"path": b.filePath("outside/secret.txt")})
	if want := `hob config set files.allowed '["~/Documents","~/outside"]'`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error does not name the command that allows the folder: %v", err)
	}
}

func TestAccess_HomeAllowed(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Allowed = []string{"~"} })
	b.putFile(".config/autostart/x.desktop", "x")
	b.putFile(".bashrc", "x")
	for _, p := range []string{
		"~/.bashrc", ".profile", ".zshrc", ".ssh/config", ".config/autostart/new.desktop", ".config/google-chrome/Default/Cookies",
		".mozilla/firefox/x", "hob/hob.db", "hob", ".BASHRC", ".config/systemd/user/x.service", ".gitconfig",
	} {
		if _, err := b.callTool("write_file", map[string]any{"path": p, "content": "x"}); !errors.Is(err, ErrProtected) {
			t.Errorf("write %s: %v", p, err)
		}
		if _, err := b.callTool("read_file", map[string]any{"path": p}); !errors.Is(err, ErrProtected) {
			t.Errorf("read %s: %v", p, err)
		}
	}
	for _, p := range []string{".config", "hob"} {
		if _, err := b.callTool("trash_file", map[string]any{"path": p}); !errors.Is(err, ErrProtected) {
			t.Errorf("trash %s: %v", p, err)
		}
	}
	if _, err := b.callTool("trash_file", map[string]any{"path": "~"}); err == nil {
		t.Error("the allowed folder itself was moved to the trash")
	}
	b.mustCall("write_file", map[string]any{"path": "Desktop/x.txt", "content": "x"})
}

func TestAccess_NoFolderAllowed(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Allowed = nil })
	for _, p := range []string{"x.txt", "~/x.txt", "/x"} {
		_, err := b.callTool("read_file", map[string]any{"path": p})
		if !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), "no folder is allowed yet") {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := New(Options{Home: b.home, Allowed: []string{"docs"}}); err == nil {
		t.Error("a relative allowed folder was accepted")
	}
}
