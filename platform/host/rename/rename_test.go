package rename

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestNoReplace(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root := func(name string) *os.Root {
		r, err := os.OpenRoot(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	a, b := root("a"), root("b")
	put := func(r *os.Root, name string) {
		if err := r.WriteFile(name, []byte(r.Name()+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(a, "x")
	put(a, "y")
	put(b, "y")
	if err := NoReplace(a, "x", b, "z"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Stat("z"); err != nil {
		t.Fatal(err)
	}
	if err := NoReplace(a, "y", b, "y"); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("onto an existing file: %v", err)
	}
	if got, _ := b.ReadFile("y"); string(got) != b.Name()+"y" {
		t.Fatalf("the existing file is now %q", got)
	}
	if err := NoReplace(a, "none", b, "n"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("NoReplace of a missing file = %v", err)
	}
	noop := func() error { return nil }
	if err := renameChecked(a, "y", b, "y", noop); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("checked onto an existing file: %v", err)
	}
	if err := renameChecked(a, "none", b, "n", noop); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("renameChecked of a missing file = %v", err)
	}
	if err := renameChecked(a, "y", b, "n", noop); err != nil {
		t.Fatalf("checked: %v", err)
	}
}
