package system

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// WriteFile atomically replaces a private file (0600). After a crash the file has either the old or
// the new content. WriteFile follows a symbolic link, so that a link into a dotfiles repository is
// kept.
func WriteFile(path string, data []byte) error { return WriteFrom(path, bytes.NewReader(data)) }

// WriteFrom works like WriteFile, with the content of r. If r fails, nothing is replaced. During
// the write, and after a crash, a temporary file exists in the same folder. Its name begins with a
// dot, the name of the file, and another dot; see RemoveLeftovers.
func WriteFrom(path string, r io.Reader) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if !errors.Is(err, fs.ErrNotExist) {
		return writeFailure(path, err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return writeFailure(path, err)
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*") // CreateTemp uses mode 0600
	if err != nil {
		return writeFailure(path, err)
	}
	tmp := f.Name()
	if err := fillFile(f, r); err != nil {
		return errors.Join(writeFailure(path, err), os.Remove(tmp))
	}
	if err := Rename(tmp, path); err != nil {
		return errors.Join(writeFailure(path, err), os.Remove(tmp))
	}
	syncDir(dir)
	return nil
}

// RemoveLeftovers removes the temporary files that WriteFrom left beside a file when the process was killed. Call it
// only while nothing writes the file.
func RemoveLeftovers(path string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		if ok && number != "" && strings.Trim(number, "0123456789") == "" {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

func writeFailure(path string, err error) error {
	return fmt.Errorf("write %s: %w; %s", path, innermostError(err), writeRemedy(err, "make its folder writable"))
}

func fillFile(f *os.File, r io.Reader) error {
	_, err := io.Copy(f, r)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes a rename durable on systems that can sync folders. Windows cannot; on Windows the
// NTFS journal makes renames durable.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}

// Retries while another process has a file open on Windows, such as a command that reads it or a
// virus scanner that checks a new file.
const (
	renameWait  = 2 * time.Second
	renamePause = 10 * time.Millisecond
)

// sharingViolation is ERROR_SHARING_VIOLATION of Windows.
const sharingViolation = syscall.Errno(32)

// Rename works like os.Rename, but retries briefly if an open file cannot be replaced or moved,
// which happens on Windows.
func Rename(from, to string) error {
	err := os.Rename(from, to)
	for end := time.Now().Add(renameWait); inUse(err) && time.Now().Before(end); err = os.Rename(from, to) {
		time.Sleep(renamePause)
	}
	return err
}

// RenameDurable works like Rename, but returns only after the rename is on disk.
func RenameDurable(from, to string) error {
	if err := Rename(from, to); err != nil {
		return err
	}
	syncDir(filepath.Dir(to))
	return nil
}

// ReadFile works like os.ReadFile, but retries briefly if a file cannot be opened while it is being
// replaced, which happens on Windows.
func ReadFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	for end := time.Now().Add(renameWait); inUse(err) && time.Now().Before(end); b, err = os.ReadFile(path) {
		time.Sleep(renamePause)
	}
	return b, err
}

func inUse(err error) bool {
	return err != nil && runtime.GOOS == "windows" && (errors.Is(err, fs.ErrPermission) || errors.Is(err, sharingViolation))
}

// EscapeGlob escapes a path so that filepath.Glob matches it literally.
func EscapeGlob(path string) string {
	if runtime.GOOS != "windows" { // on Windows a backslash separates folders and escapes nothing
		path = strings.ReplaceAll(path, `\`, `\\`)
	}
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// QuoteForShell returns paths as arguments for a POSIX shell, for commands that the user copies from a
// message. The usual home on macOS contains a space.
func QuoteForShell(paths ...string) string {
	special := func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+=:,@%", r)
	}
	var out []string
	for _, p := range paths {
		if p == "" || strings.ContainsFunc(p, special) {
			p = "'" + strings.ReplaceAll(p, "'", `'\''`) + "'"
		}
		out = append(out, p)
	}
	return strings.Join(out, " ")
}

// RemoveAll works like os.RemoveAll, but also on file systems that only support simple deletion:
// some network drives and RAM disks on Windows reject the method that Go uses ("Incorrect
// function").
func RemoveAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil || runtime.GOOS != "windows" || errors.Is(err, fs.ErrPermission) {
		return err
	}
	if removeEach(path) != nil {
		return err // the first error is more specific
	}
	return nil
}

// removeEach removes the content of a folder before the folder itself. It removes links, not their targets.
func removeEach(path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if fi.IsDir() {
		list, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := removeEach(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(path)
}
