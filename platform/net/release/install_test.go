package release

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// putPrograms creates the named files next to hob. The content of each file is its version.
func putPrograms(t *testing.T, files map[string]string) Program {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return Program{Path: filepath.Join(dir, "hob"), Kind: Archive}
}

func contentsOf(t *testing.T, p Program) string {
	t.Helper()
	var out []string
	for _, name := range []string{p.Path, p.Previous(), p.siblingPath(".old"), p.siblingPath(".new")} {
		if b, err := os.ReadFile(name); err == nil {
			out = append(out, filepath.Base(name)+"="+string(b))
		}
	}
	return strings.Join(out, " ")
}

func TestSwap(t *testing.T) {
	p := putPrograms(t, map[string]string{"hob": "1", "hob.new": "2"})
	for _, step := range []struct{ from, want string }{
		{p.siblingPath(".new"), "hob=2 hob.previous=1"},
		{p.Previous(), "hob=1 hob.previous=2"},
		{p.Previous(), "hob=2 hob.previous=1"},
	} {
		if err := p.Swap(step.from); err != nil {
			t.Fatal(err)
		}
		if got := contentsOf(t, p); got != step.want {
			t.Errorf("after Swap: %s, want %s", got, step.want)
		}
	}
}

// TestSwap_ContinuesAfterCrash starts with the files that a crash between two steps of Swap leaves.
func TestSwap_ContinuesAfterCrash(t *testing.T) {
	t.Run("before the replacement", func(t *testing.T) {
		p := putPrograms(t, map[string]string{"hob": "2", "hob.previous": "1", "hob.new": "3"})
		if err := os.Link(p.Path, p.siblingPath(".old")); err != nil {
			t.Skip(err)
		}
		if err := p.Swap(p.siblingPath(".new")); err != nil || contentsOf(t, p) != "hob=3 hob.previous=2" {
			t.Errorf("%v: %s", err, contentsOf(t, p))
		}
	})
	t.Run("before the replacement, without hard links", func(t *testing.T) {
		p := putPrograms(t, map[string]string{"hob": "2", "hob.previous": "1", "hob.old": "2"})
		if err := p.finishSwap(); err != nil || contentsOf(t, p) != "hob=2 hob.previous=1" {
			t.Errorf("%v: %s", err, contentsOf(t, p))
		}
	})
	t.Run("between the renames on Windows", func(t *testing.T) {
		p := putPrograms(t, map[string]string{"hob.old": "2", "hob.previous": "1", "hob.new": "3"})
		if err := p.Swap(p.siblingPath(".new")); err != nil || contentsOf(t, p) != "hob=3 hob.previous=2" {
			t.Errorf("%v: %s", err, contentsOf(t, p))
		}
	})
	t.Run("after the replacement", func(t *testing.T) {
		p := putPrograms(t, map[string]string{"hob": "3", "hob.previous": "1", "hob.old": "2"})
		if err := p.Swap(p.Previous()); err != nil || contentsOf(t, p) != "hob=2 hob.previous=3" {
			t.Errorf("%v: %s", err, contentsOf(t, p))
		}
	})
}

// Windows cannot replace a previous program that still runs. A folder that is not empty stands for it.
func TestSwap_MovesPreviousAsideIfItCannotBeReplaced(t *testing.T) {
	p := putPrograms(t, map[string]string{"hob": "2", "hob.new": "3"})
	if err := os.MkdirAll(filepath.Join(p.Previous(), "runs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.Swap(p.siblingPath(".new")); err != nil || contentsOf(t, p) != "hob=3 hob.previous=2" {
		t.Errorf("%v: %s", err, contentsOf(t, p))
	}
	if list, err := filepath.Glob(filepath.Join(filepath.Dir(p.Path), ".hob.new.*")); err != nil || len(list) != 1 {
		t.Errorf("the next download does not delete the program that was moved aside: %q, %v", list, err)
	}
}

func TestSwapByRename_UndoesFirstStep(t *testing.T) {
	p := putPrograms(t, map[string]string{"hob": "1"})
	if err := swapByRename(p.Path, p.siblingPath(".new"), p.siblingPath(".old")); err == nil || contentsOf(t, p) != "hob=1" {
		t.Errorf("swap without a new program: %v: %s", err, contentsOf(t, p))
	}
	if err := os.WriteFile(p.siblingPath(".new"), []byte("2"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := swapByRename(p.Path, p.siblingPath(".new"), p.siblingPath(".old")); err != nil || contentsOf(t, p) != "hob=2 hob.old=1" {
		t.Errorf("%v: %s", err, contentsOf(t, p))
	}
}

func TestProgram(t *testing.T) {
	if got := (Program{Path: `C:\hob\hob.exe`}).Previous(); got != `C:\hob\hob.previous.exe` {
		t.Errorf("Previous = %s", got)
	}
	for _, kind := range []Kind{Deb, RPM, App, Brew, Scoop, Winget} {
		if err := (Program{Path: "/usr/bin/hob", Kind: kind}).CheckReplaceable(); !errors.Is(err, ErrManaged) {
			t.Errorf("%s: CheckReplaceable = %v, want ErrManaged", kind, err)
		}
	}
	missing := Program{Path: filepath.Join(t.TempDir(), "no", "hob"), Kind: Archive}
	if err := missing.CheckReplaceable(); err == nil || !strings.Contains(err.Error(), "is not writable") {
		t.Errorf("CheckReplaceable of a read-only folder = %v", err)
	}
	p := putPrograms(t, map[string]string{"hob": "1"})
	if err := p.CheckReplaceable(); err != nil {
		t.Error(err)
	}
	if _, err := p.CheckPrevious(t.Context()); !errors.Is(err, ErrNoPrevious) {
		t.Errorf("CheckPrevious = %v", err)
	}
}

func TestUnpackProgram_Zip(t *testing.T) {
	pack := func(name string) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte("program"))
		}
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if b, err := unpackProgram("https://example.com/a.zip", pack("hob_1/hob.exe")); err != nil || string(b) != "program" {
		t.Errorf("unpackProgram = %q, %v", b, err)
	}
	if _, err := unpackProgram("https://example.com/a.zip", pack("README")); err == nil {
		t.Error("an archive without a program was accepted")
	}
	if _, err := unpackProgram("https://example.com/a.tar.gz", []byte("no gzip")); err == nil {
		t.Error("a damaged archive was accepted")
	}
}

// A temporary file of a download that was interrupted hours ago is removed. The file of a running
// update is kept.
func TestRemoveInterrupted(t *testing.T) {
	dir := t.TempDir()
	staged := filepath.Join(dir, "hob.new")
	old, young, other := filepath.Join(dir, ".hob.new.1"), filepath.Join(dir, ".hob.new.2"), filepath.Join(dir, ".hob.news")
	for _, f := range []string{old, young, other} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{old, other} {
		if err := os.Chtimes(f, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	removeInterrupted(staged)
	for f, want := range map[string]bool{old: false, young: true, other: true} {
		if _, err := os.Stat(f); (err == nil) != want {
			t.Errorf("%s exists = %t, want %t", f, err == nil, want)
		}
	}
}
