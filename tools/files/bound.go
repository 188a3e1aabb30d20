package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"hob/platform/host/denypaths"
	"hob/tools"
)

// An approval is bound to the state of the paths at the time of the request. The guard compares
// CallAssessment.Exact before the call runs. mostBound limits the bytes read from a file, and
// mostBoundEntries limits the entries read from a folder. Above these limits only size and times
// are compared.
const (
	mostBound        = 1 << 20
	mostBoundEntries = 2000
)

// judgeTrash binds an approval to the item that would be moved to the trash.
func (f *Files) judgeTrash(ctx context.Context, in trashIn) tools.CallAssessment {
	return tools.CallAssessment{Exact: f.boundState(ctx, in.Path)}
}

// judgeMove binds an approval to the item that would be moved and to the item at its destination.
func (f *Files) judgeMove(ctx context.Context, in moveIn) tools.CallAssessment {
	return tools.CallAssessment{Exact: f.boundState(ctx, in.Source) + " to " + f.boundState(ctx, in.Destination)}
}

// boundState describes the state of the item at a path. An inaccessible path has no state; the call
// itself will be rejected.
func (f *Files) boundState(ctx context.Context, path string) string {
	s, err := f.openSpot(path)
	if err != nil {
		return ""
	}
	defer s.Close()
	switch {
	case s.info == nil:
		return s.abs + " (does not exist)"
	case s.info.IsDir():
		return fmt.Sprintf("%s (a folder, %s)", s.abs, s.folderDigest(ctx))
	case !s.info.Mode().IsRegular():
		return s.abs + " (not a file)"
	}
	return fmt.Sprintf("%s (%d bytes, %s)", s.abs, s.info.Size(), s.fileDigest())
}

func shortDigest(sum []byte) string { return "sha256 " + hex.EncodeToString(sum[:12]) }

// fileDigest returns the digest of a file's content, or of its size and time if it is large
// or unreadable.
func (s *openPath) fileDigest() string {
	h := sha256.New()
	if s.info.Size() <= mostBound {
		r, err := s.root.Open(s.rel)
		if err == nil {
			defer func() { _ = r.Close() }()
			if _, err = io.Copy(h, io.LimitReader(r, mostBound+1)); err == nil {
				return shortDigest(h.Sum(nil))
			}
			h.Reset()
		}
	}
	fmt.Fprintf(h, "%d %d", s.info.Size(), s.info.ModTime().UnixNano())
	return shortDigest(h.Sum(nil))
}

// folderDigest returns the digest of the names, sizes and times in a folder.
func (s *openPath) folderDigest(ctx context.Context) string {
	h := sha256.New()
	n := 0
	err := fs.WalkDir(s.root.FS(), strings.ReplaceAll(s.rel, `\`, "/"), func(path string, d fs.DirEntry, err error) error {
		if n++; n > mostBoundEntries || ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil {
			fmt.Fprintf(h, "%q unreadable\n", path)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			fmt.Fprintf(h, "%q gone\n", path)
			return nil //nolint:nilerr // the digest also covers an entry that has just been removed
		}
		size := info.Size()
		if d.IsDir() {
			size = 0 // meaningless for folders
		}
		fmt.Fprintf(h, "%q %d %d %d\n", path, info.Mode(), size, info.ModTime().UnixNano())
		return nil
	})
	if err != nil {
		return "unreadable"
	}
	return shortDigest(h.Sum(nil))
}

// checkProtected rejects protected paths. The links in abs must be resolved.
func (f *Files) checkProtected(abs string, label any) error {
	if why := f.places.ProtectionReason(abs); why != "" {
		return protectedPathError(label, why)
	}
	return nil
}

// guardedRepository rejects changes inside the .git folder of a repository.
func (s *openPath) guardedRepository() error {
	for _, c := range denypaths.Split(s.abs) {
		if strings.EqualFold(c, ".git") {
			return protectedPathError(s.errorLabel(), "it is inside the .git folder of a repository")
		}
	}
	return nil
}

// holdsProtected returns an error if a folder to be moved contains a protected location.
func (s *openPath) holdsProtected() error {
	if place := s.f.places.ProtectedInside(s.abs); place != "" {
		return protectedPathError(s.errorLabel(), "the folder contains "+s.f.displayPath(place))
	}
	return s.guardedRepository()
}

// oneName rejects a file with several hard links. Another link may be in a protected folder, and a
// change would also affect the file there.
func oneName(dir *os.Root, name string, label any, info fs.FileInfo, remedy string) error {
	n, err := linkCount(dir, name, info)
	if err != nil {
		return err
	}
	if n > 1 {
		e := tools.Errorf(tools.Unsupported, "%s has other hard links, which may be in a protected folder", label)
		e.Err, e.Remedy = ErrLinked, remedy
		return e
	}
	return nil
}
