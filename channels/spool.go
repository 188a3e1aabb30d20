package channels

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/platform/retry"
	"hob/platform/text/sorting"
)

// OutgoingFile describes a file to send, as it was at the time of the request.
type OutgoingFile struct {
	Name, MIME, Path string
	Hidden           bool // whether the file or a folder above it is hidden
	Size             int64
	Digest           string // SHA-256 of the content, in hexadecimal
}

// MaxOutgoingFile is the maximum size in bytes of a file to send. Channels may have lower limits.
const MaxOutgoingFile = 50 << 20

const (
	// maxSpool limits the total size of the file copies in the spool, in bytes.
	maxSpool = 500 << 20
	// spoolStale is how long an unreferenced copy is kept, because the row of its message may not
	// be committed yet. If space runs out, spoolFresh applies instead.
	spoolStale = time.Hour
	spoolFresh = 5 * time.Minute
)

// ErrFileChanged means that the content of a file differs from its digest.
var ErrFileChanged = errors.New("the file changed after you approved it; nothing was sent")

// SpoolFullError reports a file for which the spool has no space.
type SpoolFullError struct {
	File      OutgoingFile
	Used, Max int64 // total bytes of the copies, and the limit
}

// Error implements error.
func (e *SpoolFullError) Error() string {
	return fmt.Sprintf("%s (%d kB) was not sent: waiting and recently sent files already use %d MB of the %d MB allowed; try again later", e.File.Name, e.File.Size>>10, e.Used>>20, e.Max>>20)
}

// SpoolOptions holds the options of a Spool.
type SpoolOptions struct {
	Dir string
	// Received is the folder that contains ReceivedFolder. Run first removes the partial files that
	// an interrupted run left in ReceivedFolder.
	Received string
	// Waiting returns the paths of the copies that unsent messages refer to.
	Waiting func(ctx context.Context) ([]string, error)
	// Started is when the program started. Older incomplete copies were left by a crash.
	Started time.Time
	// Max limits the total size of the copies, in bytes. 0 means 500 MB.
	Max int64
	Log *slog.Logger
}

// Spool is the folder with copies of outgoing files. Each copy is named after the digest of its
// content and removed when no unsent message refers to it. The methods may be called concurrently.
type Spool struct {
	o SpoolOptions

	mu     sync.Mutex // guards the fields below, and keeps a copy found by hasCopy from being removed in the meantime
	coming int64      // total bytes of the copies in progress
}

// NewSpool returns a Spool. The folder is created when the first file is copied.
func NewSpool(o SpoolOptions) *Spool {
	if o.Max == 0 {
		o.Max = maxSpool
	}
	return &Spool{o: o}
}

// Path returns the path of the copy with this digest.
func (o *Spool) Path(digest string) string { return filepath.Join(o.o.Dir, digest) }

// Put copies the file that open returns; an existing copy is kept. Call it outside of transactions,
// because copying is slow. It returns a SpoolFullError, ErrFileChanged, or the error of open.
func (o *Spool) Put(ctx context.Context, f OutgoingFile, open func() (io.ReadCloser, error)) error {
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
	defer func() { _ = r.Close() }() // the file was only read
	if err := system.WriteFrom(o.Path(f.Digest), &verifiedReader{r: r, sum: sha256.New(), want: f.Digest}); err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	return nil
}

// reserveSpace makes room for a copy. It removes unreferenced copies, oldest first, but never a
// copy that is waiting to be sent.
func (o *Spool) reserveSpace(ctx context.Context, f OutgoingFile) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	list, err := o.listCopies()
	if err != nil {
		return fmt.Errorf("read the folder of file copies: %w", err)
	}
	list = slices.DeleteFunc(list, isPartialCopy) // partial copies are counted in coming
	used := o.coming
	for _, c := range list {
		used += c.Size()
	}
	if used+f.Size > o.o.Max {
		if list, err = o.unreferencedCopies(ctx, list); err != nil {
			return err
		}
		sorting.ByFunc(list, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
		for _, c := range list {
			if used+f.Size > o.o.Max && time.Since(c.ModTime()) >= spoolFresh && os.Remove(filepath.Join(o.o.Dir, c.Name())) == nil {
				used -= c.Size()
			}
		}
	}
	if used+f.Size > o.o.Max {
		return &SpoolFullError{File: f, Used: used, Max: o.o.Max}
	}
	o.coming += f.Size
	return nil
}

func (o *Spool) releaseSpace(f OutgoingFile) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.coming -= f.Size
}

// listCopies lists the files in the folder.
func (o *Spool) listCopies() (list []fs.FileInfo, err error) {
	entries, err := os.ReadDir(o.o.Dir)
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

// isPartialCopy reports whether a copy is incomplete.
func isPartialCopy(c fs.FileInfo) bool { return strings.HasPrefix(c.Name(), ".") }

// unreferencedCopies returns the copies that no unsent message refers to.
func (o *Spool) unreferencedCopies(ctx context.Context, list []fs.FileInfo) ([]fs.FileInfo, error) {
	paths, err := o.o.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, p := range paths {
		needed[filepath.Base(p)] = true
	}
	return slices.DeleteFunc(list, func(c fs.FileInfo) bool { return needed[c.Name()] }), nil
}

// hasCopy reports whether a copy exists, and extends its lifetime if so.
func (o *Spool) hasCopy(f OutgoingFile) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	info, err := os.Lstat(o.Path(f.Digest))
	return err == nil && info.Mode().IsRegular() && info.Size() == f.Size && os.Chtimes(o.Path(f.Digest), now, now) == nil
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
		err = ErrFileChanged
	}
	return n, err
}

// RemoveUnused removes unreferenced copies that are at least an hour old, and incomplete copies
// left by a crash.
func (o *Spool) RemoveUnused(ctx context.Context) error {
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
		if isPartialCopy(c) && c.ModTime().Before(o.o.Started) || time.Since(c.ModTime()) >= spoolStale {
			errs = append(errs, os.Remove(filepath.Join(o.o.Dir, c.Name())))
		}
	}
	return errors.Join(errs...)
}

// Run removes unused copies at the start and then every hour until ctx ends, and returns nil.
func (o *Spool) Run(ctx context.Context) error {
	if err := RemovePartialFiles(o.o.Received, ReceivedFolder, o.o.Started); err != nil {
		o.o.Log.Warn("cannot remove partial file copies", "err", err)
	}
	for {
		if err := o.RemoveUnused(ctx); err != nil && ctx.Err() == nil {
			o.o.Log.Warn("cannot remove copies of sent files", "err", err)
		}
		if retry.Sleep(ctx, spoolStale) != nil {
			return nil
		}
	}
}

// ErrFileTooLarge means that a file is larger than MaxOutgoingFile.
var ErrFileTooLarge = fmt.Errorf("larger than the limit of %d MB", MaxOutgoingFile>>20)

// InspectOutgoing reads a file to send and returns its type, size and digest.
func InspectOutgoing(path string, hidden bool, r io.Reader) (OutgoingFile, error) {
	sum, head := sha256.New(), headWriter{}
	n, err := io.Copy(io.MultiWriter(sum, &head), io.LimitReader(r, MaxOutgoingFile+1))
	switch {
	case err != nil:
		return OutgoingFile{}, err
	case n > MaxOutgoingFile:
		return OutgoingFile{}, ErrFileTooLarge
	}
	return OutgoingFile{
		Name: filepath.Base(path), MIME: http.DetectContentType(head.b), Path: path, Hidden: hidden, Size: n, Digest: hex.EncodeToString(sum.Sum(nil)),
	}, nil
}

// headWriter keeps the beginning of the written data, for type detection.
type headWriter struct{ b []byte }

func (h *headWriter) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), 512-len(h.b))]...)
	return len(p), nil
}
