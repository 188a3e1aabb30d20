//go:build unix

package files

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestSpecialFiles(t *testing.T) {
	b := newBench(t, nil)
	if err := syscall.Mkfifo(b.filePath("Documents/pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	for tool, args := range map[string]map[string]any{
		"read_file":  {"path": "pipe"},
		"write_file": {"path": "pipe", "content": "x"},
		"trash_file": {"path": "pipe"},
		"move_file":  {"source": "pipe", "destination": "p2"},
	} {
		if _, err := b.callTool(tool, args); !errors.Is(err, ErrSpecial) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if err := os.Link(b.filePath("outside/secret.txt"), b.filePath("Documents/hard")); err != nil {
		t.Skip(err)
	}
	if _, err := b.callTool("read_file", map[string]any{"path": "hard"}); !errors.Is(err, ErrLinked) {
		t.Errorf("read through a hard link: %v", err)
	}
	if r := b.mustCall("search_files", map[string]any{"path": "~/Documents", "query": "canary"}); strings.Contains(r.Text, "hard:") || !strings.Contains(r.Text, "several hard links") {
		t.Errorf("search through a hard link: %s", r.Text)
	}
	for _, add := range []bool{true, false} {
		if _, err := b.callTool("write_file", map[string]any{"path": "hard", "content": "x", "append": add}); err == nil || !strings.Contains(err.Error(), "hard link") {
			t.Errorf("write through a hard link: %v", err)
		}
	}
	if got := b.readFile("outside/secret.txt"); got != "canary" {
		t.Errorf("the linked file contains %q", got)
	}
}

// TestSwappedFolder reads and writes while another process replaces a folder in the path by a link
// to a protected folder.
func TestSwappedFolder(t *testing.T) {
	b := newBench(t, nil)
	b.putFile("Documents/.ssh/x", "canary")
	b.putFile("Documents/d/x", "fine")
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		d, aside := b.filePath("Documents/d"), b.filePath("Documents/aside")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(d, aside)
			_ = os.Symlink(".ssh", d)
			_ = os.Remove(d)
			_ = os.Rename(aside, d)
		}
	})
	seen := 0
	for range 200 {
		if r, err := b.callTool("read_file", map[string]any{"path": "d/x"}); err == nil {
			seen++
			if strings.Contains(r.Text, "canary") {
				t.Fatal("read through the link")
			}
		}
	}
	for range 100 {
		_, _ = b.callTool("write_file", map[string]any{"path": "d/new", "content": "planted"})
	}
	close(stop)
	swapper.Wait()
	if got := b.readFile("Documents/.ssh/new"); got == "planted" {
		t.Error("written through the link")
	}
	t.Logf("%d of 200 reads succeeded", seen)
}
