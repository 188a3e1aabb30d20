package shortcuts

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/host/osrun"
)

// macWith returns a Library whose shortcuts program is replaced by do.
func macWith(t *testing.T, do func(args []string) ([]byte, error)) Library {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shortcuts")
	if err := os.WriteFile(file, nil, 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	return Library{Program: file, Run: osrun.Programs{Output: func(_ context.Context, cmd *exec.Cmd, _ []byte) ([]byte, error) { return do(cmd.Args[1:]) }}}
}

func TestProgram(t *testing.T) {
	var ran []string
	l := macWith(t, func(args []string) ([]byte, error) {
		if args[0] == "list" {
			return []byte("Morning\n\n  Grüße senden\n"), nil
		}
		in, err := os.ReadFile(args[4])
		if err != nil {
			return nil, err
		}
		ran = []string{args[0], string(in), args[5], args[6]}
		return nil, os.WriteFile(args[2], []byte("done\n"), 0o600)
	})
	names, err := l.List(t.Context())
	if diff := cmp.Diff([]string{"Morning", "Grüße senden"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
	text, err := l.Start(t.Context(), "--help", "to Ada")
	if diff := cmp.Diff([]string{"run", "to Ada", "--", "--help"}, ran); diff != "" || text != "done" || err != nil {
		t.Error(diff, text, err)
	}
	l = macWith(t, func([]string) ([]byte, error) {
		return nil, &osrun.Failure{Said: "Fehler", Err: errors.New("exit status 1")}
	})
	if _, err := l.Start(t.Context(), "Morning", ""); !errors.Is(err, ErrUnsure) {
		t.Errorf("failing shortcut: %v", err)
	}
}

func TestNotInstalled(t *testing.T) {
	l := Library{Program: filepath.Join(t.TempDir(), "shortcuts")}
	if _, err := l.List(t.Context()); !errors.Is(err, osrun.ErrNoProgram) {
		t.Errorf("list: %v", err)
	}
	if _, err := l.Start(t.Context(), "x", ""); !errors.Is(err, osrun.ErrNoProgram) || errors.Is(err, ErrUnsure) {
		t.Errorf("run: %v", err)
	}
	if _, err := l.Start(t.Context(), "x\n", ""); !errors.Is(err, ErrNone) {
		t.Errorf("invalid name: %v", err)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if text, err := readOutputFile(filepath.Join(dir, "gone")); text != "" || err != nil {
		t.Errorf("readOutputFile = %q, %v", text, err)
	}
	for in, want := range map[string]string{" Grüße\n": "Grüße", "a\x00b": "(the output is not text)", strings.Repeat("x", maxOutput+5): strings.Repeat("x", maxOutput)} {
		path := filepath.Join(dir, "out")
		if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := readOutputFile(path); text != want || err != nil {
			t.Errorf("readOutputFile = %.20q, %v", text, err)
		}
	}
}
