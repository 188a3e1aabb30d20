package imessage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"hob/channels"
	"hob/platform/host/system"
	"hob/platform/pim/messages/chatdb"
	"hob/platform/retry"
)

// stored is the attachments folder of the Messages app.
const stored = "Attachments"

// attachmentPath returns an attachment's path below the attachments folder. It never accepts a file
// outside that folder, regardless of the database content.
func attachmentPath(file string) (string, bool) {
	file = path.Clean(strings.ReplaceAll(file, `\`, "/"))
	_, rest, ok := strings.Cut(file, "/Library/Messages/"+stored+"/")
	return filepath.FromSlash(rest), ok && filepath.IsLocal(filepath.FromSlash(rest))
}

// fetchWait is the maximum wait for a file that is being downloaded.
const fetchWait = 20 * time.Second

// toFile converts an attachment for the manager.
func (c *Channel) toFile(a chatdb.Attachment) channels.File {
	name := a.Name
	if name == "" {
		name = "attachment"
	}
	return channels.File{Name: name, MIME: a.MIME, Size: a.Size, Open: func(ctx context.Context) (io.ReadCloser, error) {
		rest, ok := attachmentPath(a.Path)
		if !ok {
			return nil, channels.Errorf(channels.Permanent, "imessage: the file is outside the attachments folder of Messages")
		}
		until := time.Now().Add(fetchWait)
		for {
			f, err := c.openStored(rest)
			if !errors.Is(err, fs.ErrNotExist) || time.Now().After(until) {
				return f, err
			}
			if retry.Sleep(ctx, c.opt.Glance) != nil {
				return nil, ctx.Err()
			}
		}
	}}
}

// openStored opens a regular file below the attachments folder. It does not follow links that lead
// out of the folder.
func (c *Channel) openStored(rest string) (io.ReadCloser, error) {
	root, err := os.OpenRoot(filepath.Join(filepath.Dir(c.cfg.DB), stored))
	if err != nil {
		return nil, fmt.Errorf("imessage: open the attachments folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Stat(rest); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errors.New("imessage: the file is not downloaded or not a regular file"), err)
	}
	f, err := root.Open(rest)
	if err != nil {
		return nil, fmt.Errorf("imessage: open an attachment: %w", err)
	}
	return f, nil
}

// ours is the name of the folders for files that Hob sends, and keepFor is how long the files stay
// there. Messages has no access to other folders, and may need a file for several minutes.
const (
	ours    = "Hob"
	keepFor = time.Hour
)

// readableFolders returns the folders that Messages can read: its own folder and the owner's
// pictures.
func (c *Channel) readableFolders() []string {
	out := []string{filepath.Join(filepath.Dir(c.cfg.DB), stored, ours)}
	if c.home != "" {
		out = append(out, filepath.Join(c.home, "Pictures", ours))
	}
	return out
}

// stageFile copies a file to a folder that Messages can read, and returns the path.
func (c *Channel) stageFile(a channels.Attachment) (string, error) {
	var errs []error
	for _, place := range c.readableFolders() {
		to := filepath.Join(place, uuid.NewString(), fileName(a.Name))
		err := copyTo(a.Path, to)
		if err == nil {
			return to, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("imessage: copy a file for Messages: %w", errors.Join(errs...))
}

// fileName returns s in a form that is a valid file name on every file system.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:`, r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 100 {
		s = string(r[len(r)-100:])
	}
	if s = strings.TrimLeft(s, ". "); s == "" {
		return "file"
	}
	return s
}

func copyTo(from, to string) error {
	in, err := os.Open(from) //nolint:gosec // Hob's own copy
	if err != nil {
		return err
	}
	defer in.Close()
	return system.WriteFrom(to, in)
}

// removeStaleFiles removes files sent long ago, and database copies left by a killed process.
func (c *Channel) removeStaleFiles() {
	if c.deps.Dir != "" {
		chatdb.RemoveStaleCopies(c.deps.Dir)
	}
	for _, place := range c.readableFolders() {
		list, err := os.ReadDir(place)
		if err != nil {
			continue // the file does not exist
		}
		for _, e := range list {
			if _, err := uuid.Parse(e.Name()); err != nil {
				continue
			}
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > keepFor {
				_ = os.RemoveAll(filepath.Join(place, e.Name()))
			}
		}
	}
}
