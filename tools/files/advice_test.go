package files

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hob/tools"
)

// smallestArguments returns the smallest valid arguments of a tool.
func smallestArguments(tool, path string) map[string]any {
	args := map[string]any{"path": path}
	switch tool {
	case "write_file":
		args["content"] = "x"
	case "search_files":
		args["query"] = "x"
	}
	return args
}

// remedyOf returns the remedy of a refused call.
func remedyOf(t *testing.T, err error) (remedy string, protected bool) {
	t.Helper()
	e, ok := errors.AsType[*tools.Error](err)
	if !ok {
		t.Fatalf("%v is not a tool error", err)
	}
	if !errors.Is(err, ErrProtected) && !errors.Is(err, ErrNotAllowed) {
		t.Fatalf("error %v is neither ErrProtected nor ErrNotAllowed", err)
	}
	return e.Remedy, errors.Is(err, ErrProtected)
}

// The advice of a refusal names only the folder that the call needs.
func TestReview11_AdviceNamesExactlyTheNeededFolder(t *testing.T) {
	b := newBench(t, nil)
	b.putFile("Downloads/a.txt", "a")
	b.putFile("Downloads/sub/b.txt", "b")
	b.putFile("loose.txt", "x")
	b.putFile(".ssh/config", "Host x")
	set := func(folder string) string {
		return `hob config set files.allowed '["~/Documents","` + filepath.ToSlash(folder) + `"]'`
	}
	for _, c := range []struct{ name, tool, path, want string }{
		{"a folder", "list_directory", "~/Downloads", set("~/Downloads")},
		{"a folder below it", "list_directory", "~/Downloads/sub", set("~/Downloads/sub")},
		{"a file", "read_file", "~/Downloads/a.txt", set("~/Downloads")},
		{"a new file", "write_file", "~/Downloads/new.txt", set("~/Downloads")},
		{"a folder that may not exist", "list_directory", "~/Music", set("~/Music")},
		{"home", "list_directory", "~", ""},
		{"above home", "list_directory", filepath.Dir(b.home), ""},
		{"the root", "list_directory", "/", ""},
		{"a file in the home folder", "read_file", "~/loose.txt", ""},
		{"a system file", "read_file", "/etc/hostname", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("the test needs Unix paths")
			}
			_, err := b.callTool(c.tool, smallestArguments(c.tool, c.path))
			got, _ := remedyOf(t, err)
			if c.want == "" {
				if strings.Contains(got, "config set") {
					t.Errorf("advises %q, want no folder", got)
				}
				return
			}
			if !strings.HasSuffix(got, c.want) {
				t.Errorf("advises %q, want %q", got, c.want)
			}
		})
	}
}

// The refusal of a protected path never says how to allow the path, regardless of the name under
// which it was requested.
func TestReview10_RefusalNeverAdvisesProtectedPlace(t *testing.T) {
	b := newBench(t, nil)
	b.putFile(".ssh/id_ed25519", "key")
	b.putFile(".aws/credentials", "key")
	b.putFile("hob/config.toml", "x")
	b.putFile("Projects/x/.git/hooks/pre-commit", "x")
	b.linkFile(b.filePath(".ssh"), "keys")
	b.linkFile(b.filePath(".ssh"), "Documents/keys")
	for _, path := range []string{
		"~/.ssh", "~/.ssh/id_ed25519", "~/.ssh/missing", "~/.SSH", "~/.aws/credentials", "~/hob", "~/hob/config.toml", "~/keys", "~/keys/id_ed25519",
		"~/Documents/keys", "~/Documents/keys/id_ed25519", "~/Projects/x/.git/hooks", "/etc/shadow", "/proc/self/environ", "/dev/mem",
	} {
		for _, tool := range []string{"list_directory", "read_file", "write_file", "search_files"} {
			if runtime.GOOS == "windows" && strings.HasPrefix(path, "/") {
				continue
			}
			_, err := b.callTool(tool, smallestArguments(tool, path))
			if got, _ := remedyOf(t, err); strings.Contains(got, "allow") {
				t.Errorf("%s %s: advises %q", tool, path, got)
			}
		}
	}
	_, err := b.callTool("list_directory", map[string]any{"path": "~/.ssh"})
	if _, protected := remedyOf(t, err); !protected {
		t.Errorf("~/.ssh is not reported as protected: %v", err)
	}
}

// The user pastes the advice into a shell, and a model chose the path in it.
func TestReview11_AdviceCannotCarryACommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not allow such names")
	}
	b := newBench(t, nil)
	for _, name := range []string{"a'; touch pwned; '", "a\x1b[2J", "a\u200bb", "a\u202eb", "a\nb", "$(id)", "`id`", `a"b`, `a\b`} {
		if err := os.MkdirAll(b.filePath("other/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := b.callTool("list_directory", map[string]any{"path": "~/other/" + name})
		if got, _ := remedyOf(t, err); strings.Contains(got, name) || strings.Contains(got, "config set") {
			t.Errorf("%q: advises %q", name, got)
		}
	}
}

func TestReview11_AdviceWithoutAnyFolder(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Allowed = nil })
	for _, path := range []string{"x.txt", "", "~/Documents"} {
		_, err := b.callTool("search_files", map[string]any{"path": path, "query": "x"})
		got, _ := remedyOf(t, err)
		if strings.Contains(got, `"."`) || strings.Contains(got, `"~"`) {
			t.Errorf("%q: advises %q", path, got)
		}
	}
}
