package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"hob/platform/provenance"
	"hob/tools"
)

// Guide is the AGENTS.md file that applies to a path: instructions for people and agents
// who work in a project (https://agents.md).
type Guide struct {
	Path   string // shortened for display
	Text   string
	Source provenance.Source
}

// Limits of Guide: parent folders that are searched, bytes that are read, and files that are cached
// in memory.
const (
	guideLevels = 20
	guideBytes  = 32 << 10
	guidesKept  = 64
	guideName   = "AGENTS.md"
)

// readGuide is a cached guide.
type readGuide struct {
	size int64
	at   time.Time
	text string
	sum  string // digest of the complete file
}

// Guide returns the AGENTS.md file nearest to a path: in the path's folder or in a folder above, up
// to the root of the repository, the allowed folder or 20 levels. ok is false if there is none or
// if the tools may not read the path. An error means that the file exists but cannot be read.
func (f *Files) Guide(path string) (g Guide, ok bool, err error) {
	s, err := f.openSpot(path)
	if err != nil {
		return Guide{}, false, notThere(err)
	}
	defer s.Close()
	dir := s.rel
	if s.info == nil || !s.info.IsDir() {
		dir = filepath.Dir(dir)
	}
	for range guideLevels {
		g, ok, err = f.guideIn(filepath.Join(s.root.Name(), dir))
		if ok || err != nil {
			return g, ok, err
		}
		if _, err := s.root.Lstat(filepath.Join(dir, ".git")); err == nil || dir == "." {
			return Guide{}, false, nil
		}
		dir = filepath.Dir(dir)
	}
	return Guide{}, false, nil
}

// notThere returns nil for errors that mean that there is no readable item at a path. It returns
// other errors unchanged.
func notThere(err error) error {
	if e, ok := errors.AsType[*tools.Error](err); ok {
		switch e.Code {
		case tools.PolicyDenied, tools.NotFound, tools.InvalidArguments:
			return nil
		}
	}
	if errors.Is(err, syscall.ENAMETOOLONG) { // a string that only looks like a path
		return nil
	}
	return err
}

// guideIn reads the guide in one folder, with the same checks as for other files.
func (f *Files) guideIn(dir string) (Guide, bool, error) {
	s, err := f.openSpot(filepath.Join(dir, guideName))
	if err != nil {
		return Guide{}, false, notThere(err)
	}
	defer s.Close()
	if s.info == nil || !s.info.Mode().IsRegular() || s.info.Size() == 0 {
		return Guide{}, false, nil
	}
	text, sum, err := f.readGuide(s)
	if err != nil || strings.TrimSpace(text) == "" {
		return Guide{}, false, err
	}
	src, _ := f.contentProvenance(context.Background(), s, sum)
	return Guide{Path: f.displayPath(s.abs), Text: text, Source: src}, true, nil
}

func (f *Files) readGuide(s *openPath) (text, sum string, err error) {
	f.guidesMu.Lock()
	known, ok := f.guides[s.abs]
	f.guidesMu.Unlock()
	if ok && known.size == s.info.Size() && known.at.Equal(s.info.ModTime()) {
		return known.text, known.sum, nil
	}
	b, err := s.readContent(f.opt.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil // removed in the meantime
	}
	if err != nil {
		return "", "", f.describeFileError("read", s, err)
	}
	sum = contentDigest(b)
	head, err := readAtMost(bytes.NewReader(b), guideBytes)
	if err != nil {
		return "", "", f.describeFileError("read", s, err)
	}
	text, _, isText := decodeText(head)
	if !isText {
		text = ""
	}
	f.guidesMu.Lock()
	defer f.guidesMu.Unlock()
	if f.guides == nil || len(f.guides) >= guidesKept {
		f.guides = map[string]readGuide{}
	}
	f.guides[s.abs] = readGuide{size: s.info.Size(), at: s.info.ModTime(), text: text, sum: sum}
	return text, sum, nil
}

// readAtMost reads at most n bytes. It truncates a longer file at the end of a line.
func readAtMost(r io.Reader, n int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, n+1))
	if err != nil || int64(len(b)) <= n {
		return b, err
	}
	b = b[:n]
	if i := bytes.LastIndexByte(b, '\n'); i > 0 {
		b = b[:i+1]
	}
	return append(b, "[the file goes on; read_file shows the rest]\n"...), nil
}
