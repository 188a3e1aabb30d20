package app

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The refusal in a complete turn suggests the requested folder, besides the allowed folders, and
// never a parent folder or a protected one.
func TestReview11_RefusalAdvisesTheFolderAskedFor(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test needs Unix paths")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, dir := range []string{"Documents", "Downloads", ".ssh", "Pictures/2026"} {
		failOnError(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	h := openAt(t, home, "[files]\nallowed = [\"~/Documents\"]\n")
	for path, want := range map[string]string{
		"~/Downloads": `hob config set files.allowed '["~/Documents","~/Downloads"]'`, "~/Pictures/2026": `hob config set files.allowed '["~/Documents","~/Pictures/2026"]'`,
		"~": "", "/": "", "/etc": "", "~/.ssh": "",
	} {
		c := h.callTool("list_directory", `{"path":"`+path+`"}`)
		said := c.Text + c.Error
		switch {
		case said == "" || strings.Contains(said, "No entries"):
			t.Errorf("%s: %+v, want a refusal", path, c)
		case want == "" && strings.Contains(said, "config set"), !strings.Contains(said, want):
			t.Errorf("%s: result %q, want the advice %q", path, said, want)
		}
	}
}
