//go:build unix

package files

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestSpecialFiles(t *testing.T) {
	b := newBench(t, nil)
	if err := syscall.Mkfifo(b.path("Documents/pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	for tool, args := range map[string]map[string]any{
		"read_file":  {"path": "pipe"},
		"write_file": {"path": "pipe", "content": "x"},
		"trash_file": {"path": "pipe"},
		"move_file":  {"source": "pipe", "destination": "p2"},
	} {
		if _, err := b.call(tool, args); !errors.Is(err, ErrSpecial) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if err := os.Link(b.path("outside/secret.txt"), b.path("Documents/hard")); err != nil {
		t.Skip(err)
	}
	for _, add := range []bool{true, false} {
		if _, err := b.call("write_file", map[string]any{"path": "hard", "content": "x", "append": add}); err == nil || !strings.Contains(err.Error(), "hard link") {
			t.Errorf("write through a hard link: %v", err)
		}
	}
	if got := b.get("outside/secret.txt"); got != "canary" {
		t.Errorf("the linked file holds %q", got)
	}
}
