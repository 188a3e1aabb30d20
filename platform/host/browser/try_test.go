package browser

import (
	"os"
	"path/filepath"
	"testing"
)

// Try checks the start without the user's profile and leaves no files.
func TestTry(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	profile := filepath.Join(t.TempDir(), "profile")
	b, err := New(Options{Profile: profile, Network: Nowhere{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Find(); err != nil {
		t.Skip(err)
	}
	if err := b.TestStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.Running() {
		t.Error("the browser still runs")
	}
	if _, err := os.Stat(profile); err == nil {
		t.Error("the profile was touched")
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "hob-browser-*")); err != nil || len(left) > 0 {
		t.Errorf("files left behind: %q, %v", left, err)
	}
	b, err = New(Options{Profile: profile, Network: Nowhere{}, Path: "/bin/false"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.TestStart(t.Context()); err == nil {
		t.Error("a program that is not a browser was accepted")
	}
}
