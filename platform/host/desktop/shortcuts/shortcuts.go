// Package shortcuts lists and runs the user's macOS shortcuts with Apple's program shortcuts (since
// macOS 12). Other systems have no shortcuts.
package shortcuts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"hob/platform/host/osrun"
)

// Errors of a Library. Wrapping errors name the remedy.
var (
	ErrNone = errors.New("shortcut not found")
	// ErrUnsure means that the shortcut was started and may have finished.
	ErrUnsure = errors.New("unknown whether the shortcut finished; check the screen for its dialog")
)

// Limits of time, of the number of names, and of the output in bytes.
const (
	listTime  = 15 * time.Second
	runTime   = 60 * time.Second
	maxNames  = 500
	maxOutput = 100_000
)

// Library is the collection of shortcuts on this Mac. The zero value is useful.
type Library struct {
	Run osrun.Programs
	// Program is /usr/bin/shortcuts unless a test replaces it.
	Program string
}

func (l Library) programPath() string { return cmp.Or(l.Program, "/usr/bin/shortcuts") }

// List returns the names of the shortcuts.
func (l Library) List(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	out, err := l.Run.Run(ctx, nil, l.programPath(), "list")
	if err != nil {
		return nil, fmt.Errorf("list the shortcuts: %w", err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); name != "" && len(names) < maxNames {
			names = append(names, name)
		}
	}
	return names, nil
}

// Start runs the shortcut with exactly the given name once and returns its output as text.
func (l Library) Start(ctx context.Context, name, input string) (text string, err error) {
	if name == "" || strings.ContainsFunc(name, unicode.IsControl) {
		return "", ErrNone
	}
	dir, err := os.MkdirTemp("", "hob-shortcut-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out := filepath.Join(dir, "out.txt")
	args := []string{"run", "--output-path", out}
	if input != "" {
		in := filepath.Join(dir, "in.txt")
		if err := os.WriteFile(in, []byte(input), 0o600); err != nil {
			return "", err
		}
		args = append(args, "--input-path", in)
	}
	bound, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	if _, err := l.Run.Run(bound, nil, l.programPath(), append(args, "--", name)...); err != nil {
		if errors.Is(err, osrun.ErrNoProgram) {
			return "", fmt.Errorf("run the shortcut: %w", err)
		}
		return "", fmt.Errorf("run the shortcut: %w: %w", ErrUnsure, err)
	}
	return readOutputFile(out)
}

// readOutputFile returns the output of a shortcut, if there is any and it is text.
func readOutputFile(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxOutput))
	if err != nil {
		return "", err
	}
	if strings.ContainsRune(string(b), 0) {
		return "(the output is not text)", nil
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD")), nil
}
