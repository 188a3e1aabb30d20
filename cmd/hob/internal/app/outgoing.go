package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/platform/provenance"
	"hob/platform/retry"
	"hob/tools"
	"hob/tools/social"
)

// outgoingFiles is the folder with copies of outgoing files: each is named by its content, and
// removed when no waiting message refers to it.
type outgoingFiles struct {
	dir   string
	most  int64                                       // bytes that all copies may have
	waits func(ctx context.Context) ([]string, error) // the copies that texts which wait refer to
	since time.Time                                   // older incomplete files were left by a crash

	mu     sync.Mutex // guards the fields below; a copy found by hasCopy is not removed meanwhile
	coming int64      // bytes of the copies that are being made
}

// stale is how long an unreferenced copy is kept, because the row of its message may not be
// committed yet. When space runs out, fresh applies.
const (
	stale = time.Hour
	fresh = 5 * time.Minute
)

// largestOut is the largest file that is sent, in bytes; channels have lower limits. mostOut limits
// the copies of all files.
const (
	largestOut = 50 << 20
	mostOut    = 500 << 20
)

func (o *outgoingFiles) copyPath(digest string) string { return filepath.Join(o.dir, digest) }

// putCopy copies a file, which open opens. It runs outside of transactions, because copying is
// slow.
func (o *outgoingFiles) putCopy(ctx context.Context, f social.File, open func() (io.ReadCloser, error)) error {
	if o.hasCopy(f) {
		return nil
	}
	if err := o.reserveSpace(ctx, f); err != nil {
		return err
	}
	defer o.releaseSpace(f)
	r, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	if err := system.WriteFrom(o.copyPath(f.Digest), &verifiedReader{r: r, sum: sha256.New(), want: f.Digest}); err != nil {
		if e, ok := errors.AsType[*tools.Error](err); ok {
			return e
		}
		return tools.Errorf(tools.Failed, "%s was not sent: copy file: %w", f.Name, err)
	}
	return nil
}

// reserveSpace makes room for a copy. It removes unreferenced copies, oldest first, and never a
// copy that waits to be sent.
func (o *outgoingFiles) reserveSpace(ctx context.Context, f social.File) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	list, err := o.listCopies()
	if err != nil {
		return tools.Errorf(tools.Failed, "%s was not sent: read the folder of file copies: %w", f.Name, err)
	}
	list = slices.DeleteFunc(list, isPartialCopy) // they are coming
	used := o.coming
	for _, c := range list {
		used += c.Size()
	}
	if used+f.Size > o.most {
		if list, err = o.unreferencedCopies(ctx, list); err != nil {
			return tools.Errorf(tools.Failed, "%s was not sent: %w", f.Name, err)
		}
		slices.SortFunc(list, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
		for _, c := range list {
			if used+f.Size > o.most && time.Since(c.ModTime()) >= fresh && os.Remove(filepath.Join(o.dir, c.Name())) == nil {
				used -= c.Size()
			}
		}
	}
	if used+f.Size > o.most {
		return &tools.Error{
			Source:  provenance.Outside,
			Code:    tools.Failed,
			Message: fmt.Sprintf("%s (%d kB) was not sent: waiting and recently sent files use %d MB of the limit of %d MB", f.Name, f.Size>>10, used>>20, o.most>>20),
			Remedy:  "send it again in a few minutes; see unsent messages with: hob channel status",
		}
	}
	o.coming += f.Size
	return nil
}

func (o *outgoingFiles) releaseSpace(f social.File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.coming -= f.Size
}

// listCopies lists the files in the folder.
func (o *outgoingFiles) listCopies() (list []fs.FileInfo, err error) {
	entries, err := os.ReadDir(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			list = append(list, info)
		}
	}
	return list, err
}

// isPartialCopy reports whether a copy is not written to its end.
func isPartialCopy(c fs.FileInfo) bool { return strings.HasPrefix(c.Name(), ".") }

// unreferencedCopies leaves those to which no text refers that waits.
func (o *outgoingFiles) unreferencedCopies(ctx context.Context, list []fs.FileInfo) ([]fs.FileInfo, error) {
	paths, err := o.waits(ctx)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, p := range paths {
		needed[filepath.Base(p)] = true
	}
	return slices.DeleteFunc(list, func(c fs.FileInfo) bool { return needed[c.Name()] }), nil
}

// hasCopy reports whether there is a copy, and extends its lifetime if so.
func (o *outgoingFiles) hasCopy(f social.File) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	info, err := os.Lstat(o.copyPath(f.Digest))
	return err == nil && info.Mode().IsRegular() && info.Size() == f.Size && os.Chtimes(o.copyPath(f.Digest), now, now) == nil
}

// verifiedReader reads a file and checks that its content is unchanged.
type verifiedReader struct {
	r    io.Reader
	sum  hash.Hash
	want string
}

func (c *verifiedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.sum.Write(p[:n])
	if n > 0 {
		failpoint.Hit("file.outgoing.half")
	}
	if errors.Is(err, io.EOF) && hex.EncodeToString(c.sum.Sum(nil)) != c.want {
		err = tools.Errorf(tools.Conflict, "the file changed after you approved it; nothing was sent")
	}
	return n, err
}

// removeUnused removes unreferenced copies.
func (o *outgoingFiles) removeUnused(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	list, err := o.listCopies()
	if err != nil || len(list) == 0 {
		return err
	}
	if list, err = o.unreferencedCopies(ctx, list); err != nil {
		return err
	}
	var errs []error
	for _, c := range list {
		if isPartialCopy(c) && c.ModTime().Before(o.since) || time.Since(c.ModTime()) >= stale {
			errs = append(errs, os.Remove(filepath.Join(o.dir, c.Name())))
		}
	}
	return errors.Join(errs...)
}

// sweepOutgoing removes old copies at the start and every hour; at the start it also removes files
// that were received incompletely.
func (d *App) sweepOutgoing(ctx context.Context) error {
	if err := channels.RemovePartialFiles(d.receivedFilesDir(), channels.ReceivedFolder, d.started); err != nil {
		d.opt.Log.Warn("cannot remove partial file copies", "err", err)
	}
	for {
		if err := d.outgoing.removeUnused(ctx); err != nil && ctx.Err() == nil {
			d.opt.Log.Warn("cannot remove copies of sent files", "err", err)
		}
		if retry.Sleep(ctx, stale) != nil {
			return nil
		}
	}
}

// File implements social.Sender.
func (p outboxSender) File(_ context.Context, path string) (social.File, error) {
	doc, r, err := p.d.files.OpenDocument(path, largestOut)
	if err != nil {
		return social.File{}, err
	}
	defer func() { _ = r.Close() }() // it is only read
	sum, head := sha256.New(), headWriter{}
	n, err := io.Copy(io.MultiWriter(sum, &head), io.LimitReader(r, largestOut+1))
	switch {
	case err != nil:
		return social.File{}, tools.Errorf(tools.Failed, "%s cannot be read: %w", doc.Path, err)
	case n > largestOut:
		return social.File{}, tools.Errorf(tools.Unsupported, "%s is larger than the limit of %d MB", doc.Path, largestOut>>20)
	}
	return social.File{
		Name: filepath.Base(doc.Path), MIME: http.DetectContentType(head.b), Path: doc.Path, Hidden: doc.Hidden, Size: n, Digest: hex.EncodeToString(sum.Sum(nil)),
	}, nil
}

// headWriter keeps the beginning of the written data, for type detection.
type headWriter struct{ b []byte }

func (h *headWriter) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), 512-len(h.b))]...)
	return len(p), nil
}

// Keep implements social.Sender.
func (p outboxSender) Keep(ctx context.Context, m social.Message) error {
	most, ok := p.d.channels.Attaches(m.Channel)
	for _, f := range m.Files {
		if !ok || f.Size > most {
			return nil
		}
		if err := p.d.outgoing.putCopy(ctx, f, func() (io.ReadCloser, error) {
			_, r, err := p.d.files.OpenDocument(f.Path, largestOut)
			return r, err
		}); err != nil {
			return err
		}
	}
	failpoint.Hit("file.outgoing.kept")
	return nil
}

// Here implements social.Sender.
func (p outboxSender) Here(ctx context.Context, event, channel string) (in, chat string, err error) {
	if channel != "" {
		chat, err = bus.OwnerChat(p.d.store.Reader(ctx), channel)
		return channel, chat, err
	}
	ev, err := p.d.bus.Inbox.Event(ctx, event)
	if errors.Is(err, bus.ErrNotFound) {
		return "", "", nil // no message: a rehearsal, for example
	}
	if err != nil {
		return "", "", err
	}
	if p.d.channels.Has(ev.Channel) && !p.d.channels.Pull(ev.Channel) {
		return ev.Channel, ev.Chat, nil
	}
	return "", "", nil
}

// attachFiles attaches the files of a message if the channel supports them. Otherwise a text to the
// owner names their location.
func (p outboxSender) attachFiles(o *bus.OutboxItem, m social.Message) (bool, error) {
	if len(m.Files) == 0 {
		return false, nil
	}
	most, ok := p.d.channels.Attaches(m.Channel)
	for _, f := range m.Files {
		if ok && f.Size <= most {
			continue
		}
		if !m.Owner {
			return false, tools.Errorf(tools.Unsupported, "nothing was sent: %s does not accept %s (%d bytes; maximum %d)", tools.Clean(m.Channel), f.Name, f.Size, most)
		}
		o.Text += fmt.Sprintf("\n%s is on your computer: %s", f.Name, f.Path)
		return false, nil
	}
	for _, f := range m.Files {
		o.Files = append(o.Files, channels.Attachment{Name: channels.FileName(f.Name), MIME: f.MIME, Size: f.Size, Path: p.d.outgoing.copyPath(f.Digest)})
	}
	return true, nil
}
