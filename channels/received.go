package channels

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"hob/platform/failpoint"
	"hob/platform/text/document"
)

// ReceivedFolder is the folder for files from messages, within the user's files folder.
const ReceivedFolder = "Received"

// ReceiveFiles stores files from messages in ReceivedFolder below dir, and reads them with the
// program reader, as in document.Limits.
func ReceiveFiles(dir func() string, reader []string) Files {
	return Files{
		Keep: OpenReceivedFolder(dir, ReceivedFolder),
		Read: func(ctx context.Context, name string, data []byte) (string, error) {
			return readReceived(ctx, reader, name, data)
		},
	}
}

// maxReceived limits the text extracted from a received file, in bytes. The message contains less.
const maxReceived = 64 << 10

// readReceived returns the text of a received file. reader is the command that reads documents.
func readReceived(ctx context.Context, reader []string, name string, data []byte) (string, error) {
	f, err := document.Parse(ctx, name, data, document.Limits{Text: maxReceived, Parts: 5, Time: 15 * time.Second, Helper: reader})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, doc := range f.Documents {
		for _, s := range doc.Sections {
			for _, text := range []string{strings.Join(s.Heading, " / "), cmp.Or(s.Text, s.Header), strings.Join(s.Rows, "\n")} {
				if text = strings.TrimSpace(text); text != "" && b.Len() < maxReceived {
					b.WriteString(text + "\n")
				}
			}
		}
	}
	return b.String(), nil
}

// OpenReceivedFolder returns a function that stores files from messages in the folder sub of dir.
// Both folders are created when the first file is stored. Only the owner can read a stored file.
// Existing files are never changed; a file with the same content is stored once.
func OpenReceivedFolder(dir func() string, sub string) func(ctx context.Context, name string, data []byte) (string, error) {
	return func(ctx context.Context, name string, data []byte) (string, error) {
		in := dir()
		if err := os.MkdirAll(in, 0o700); err != nil {
			return "", fmt.Errorf("store a file: %w", err)
		}
		outer, err := os.OpenRoot(in)
		if err != nil {
			return "", fmt.Errorf("store a file: %w", err)
		}
		defer func() { _ = outer.Close() }()
		if err := outer.Mkdir(sub, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("store a file: %w", err)
		}
		root, err := outer.OpenRoot(sub) // never through a symbolic link
		if err != nil {
			return "", fmt.Errorf("store a file: %w", err)
		}
		defer func() { _ = root.Close() }()
		got, err := placeFile(ctx, root, FileName(name), data)
		if err != nil {
			return "", fmt.Errorf("store a file: %w", err)
		}
		return filepath.Join(in, sub, got), nil
	}
}

// sameNames is the maximum number of files with the same base name.
const sameNames = 1000

// placeFile writes a file under the first free name.
func placeFile(ctx context.Context, root *os.Root, name string, data []byte) (string, error) {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 1; n <= sameNames && ctx.Err() == nil; n++ {
		try := name
		if n > 1 {
			try = fmt.Sprintf("%s (%d)%s", stem, n, ext)
		}
		switch err := createWhole(root, try, data); {
		case err == nil:
			return try, nil
		case !errors.Is(err, fs.ErrExist):
			return "", err
		case hasSameContent(root, try, data):
			return try, nil
		}
	}
	return "", errors.Join(ctx.Err(), fmt.Errorf("too many files are named %q", name))
}

// halfName is the prefix of unfinished files.
const halfName = ".hob-half-"

// createWhole writes a file under a temporary name and renames it, so that a file with its final
// name is always complete.
func createWhole(root *os.Root, name string, data []byte) (err error) {
	if _, err := root.Lstat(name); err == nil {
		return fs.ErrExist
	}
	half := halfName + rand.Text()
	f, err := root.OpenFile(half, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data[:len(data)/2])
	failpoint.Hit("file.received.half")
	if err == nil {
		_, err = f.Write(data[len(data)/2:])
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = publishFile(root, half, name)
		if dir, e := root.Open("."); e == nil { // sync the folder, where supported, so that the name is durable
			_ = dir.Sync()
			_ = dir.Close()
		}
	}
	return errors.Join(err, ignoreNotExist(root.Remove(half)))
}

// publishFile renames a file unless the name exists. If the file system does not support hard
// links, it first creates an empty file to reserve the name.
func publishFile(root *os.Root, half, name string) error {
	err := root.Link(half, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), root.Rename(half, name)); err != nil {
		return errors.Join(err, ignoreNotExist(root.Remove(name)))
	}
	return nil
}

func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// RemovePartialFiles removes the partial files in ReceivedFolder that are older than since. They
// remain if Hob is interrupted while writing. The platform delivers their messages again.
func RemovePartialFiles(dir, sub string, since time.Time) error {
	in := filepath.Join(dir, sub)
	entries, err := os.ReadDir(in)
	if err != nil {
		return ignoreNotExist(err)
	}
	var errs []error
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), halfName) && info.Mode().IsRegular() && info.ModTime().Before(since) {
			errs = append(errs, ignoreNotExist(os.Remove(filepath.Join(in, e.Name()))))
		}
	}
	return errors.Join(errs...)
}

// hasSameContent reports whether a regular file with this name has exactly this content.
func hasSameContent(root *os.Root, name string, data []byte) bool {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(data)) {
		return false
	}
	old, err := root.ReadFile(name)
	return err == nil && bytes.Equal(old, data)
}
