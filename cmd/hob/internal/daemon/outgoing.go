package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/system"
	"hob/tools"
	"hob/tools/social"
)

// outgoing is the folder with the copies of files that go out: each is named by what
// it holds, and removed when no text that waits refers to it any more.
type outgoing struct {
	dir string
	mu  sync.Mutex // a copy is not removed while it is made again
}

// stale is how long a copy stays that nothing refers to: the row of its text may still
// be on its way into the database.
const stale = time.Hour

// largestOut is the largest file that goes out, in bytes; channels take less.
const largestOut = 50 << 20

// put makes a copy.
func (o *outgoing) put(f social.File) (channels.Attachment, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sum := sha256.Sum256(f.Data)
	path := filepath.Join(o.dir, hex.EncodeToString(sum[:]))
	a := channels.Attachment{Name: channels.FileName(f.Name), MIME: f.MIME, Size: int64(len(f.Data)), Path: path}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return a, fmt.Errorf("keep a copy of %s: %w", f.Name, err)
	}
	now := time.Now()
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == a.Size && os.Chtimes(path, now, now) == nil {
		return a, nil
	}
	if err := system.WriteFile(path, f.Data); err != nil {
		return a, fmt.Errorf("keep a copy of %s: %w", f.Name, err)
	}
	return a, nil
}

// sweep removes the copies that no text needs any more.
func (o *outgoing) sweep(ctx context.Context, b *bus.Bus) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	entries, err := os.ReadDir(o.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	paths, err := b.Attached(ctx)
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	for _, p := range paths {
		needed[filepath.Base(p)] = true
	}
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || needed[e.Name()] || time.Since(info.ModTime()) < stale {
			continue
		}
		errs = append(errs, os.Remove(filepath.Join(o.dir, e.Name())))
	}
	return errors.Join(errs...)
}

// sweepOutgoing does so at the start and every hour.
func (d *Daemon) sweepOutgoing(ctx context.Context) error {
	t := time.NewTicker(stale)
	defer t.Stop()
	for {
		if err := d.outgoing.sweep(ctx, d.bus); err != nil && ctx.Err() == nil {
			d.opt.Log.Warn("copies of files that went out cannot be removed", "err", err)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// File implements social.Post.
func (p post) File(ctx context.Context, path string) (social.File, error) {
	doc, err := p.d.files.ReadDocument(ctx, path, largestOut)
	if err != nil {
		return social.File{}, err
	}
	return social.File{Name: filepath.Base(doc.Path), MIME: http.DetectContentType(doc.Content), Path: doc.Path, Data: doc.Content}, nil
}

// Here implements social.Post.
func (p post) Here(ctx context.Context, event, channel string) (in, chat string, err error) {
	if channel != "" {
		chat, err = bus.OwnerChat(p.d.store.Reader(ctx), channel)
		return channel, chat, err
	}
	ev, err := p.d.bus.Event(ctx, event)
	if errors.Is(err, bus.ErrNotFound) {
		return "", "", nil // nothing was said: a rehearsal, say
	}
	if err != nil {
		return "", "", err
	}
	if p.d.channels.Has(ev.Channel) && !p.d.channels.Pull(ev.Channel) {
		return ev.Channel, ev.Chat, nil
	}
	return "", "", nil
}

// attach has the files of a message go along, where the channel takes them. To the
// owner the text says else where they lie.
func (p post) attach(o *bus.Out, m social.Message) (bool, error) {
	if len(m.Files) == 0 {
		return false, nil
	}
	most, ok := p.d.channels.Attaches(m.Channel)
	for _, f := range m.Files {
		if ok && int64(len(f.Data)) <= most {
			continue
		}
		if !m.Owner {
			return false, tools.Errorf(tools.Unsupported, "nothing was sent: %s takes no file such as %s (%d bytes; at most %d)", m.Channel, f.Name, len(f.Data), most)
		}
		o.Text += fmt.Sprintf("\n%s lies on your computer: %s", f.Name, f.Path)
		return false, nil
	}
	for _, f := range m.Files {
		a, err := p.d.outgoing.put(f)
		if err != nil {
			return false, err
		}
		o.Files = append(o.Files, a)
	}
	return true, nil
}
