package dashboard

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// file is one static file of the dashboard. It is compressed when it is first requested.
type file struct {
	name string
	read func() (fileContent, error)
}

type fileContent struct {
	plain, gzip []byte
	etag        string
}

// listFiles returns the static files by name.
func listFiles(files fs.FS) (map[string]*file, error) {
	out := map[string]*file{}
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || mediaType(name) == "" {
			return err
		}
		out[name] = &file{name: name, read: sync.OnceValues(func() (fileContent, error) { return readContent(files, name) })}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("dashboard: list the files: %w", err)
	}
	return out, nil
}

func readContent(files fs.FS, name string) (fileContent, error) {
	b, err := fs.ReadFile(files, name)
	if err != nil {
		return fileContent{}, fmt.Errorf("dashboard: read %s: %w", name, err)
	}
	sum := sha256.Sum256(b)
	return fileContent{plain: b, gzip: compressBytes(b), etag: `"` + hex.EncodeToString(sum[:8]) + `"`}, nil
}

// mediaType returns the media type of a file, or "" for a file that is not served.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".webmanifest":
		return "application/manifest+json"
	}
	return ""
}

// filePath returns the address of a file. Browsers expect the icon at the top.
func filePath(name string) string {
	if name == "icon.svg" {
		return "/" + name
	}
	return "/assets/" + name
}

func (f *file) mediaName() string {
	m, _, _ := strings.Cut(mediaType(f.name), ";")
	return m
}

// serveFile serves the file. Browsers ask each time whether it has changed, so that an update of
// Hob takes effect at once.
func (f *file) serveFile(w http.ResponseWriter, r *http.Request, _ string) error {
	c, err := f.read()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", mediaType(f.name))
	h.Set("ETag", c.etag)
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "Accept-Encoding")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // in-process writers have no deadline
	if slices.Contains(strings.Split(r.Header.Get("If-None-Match"), ", "), c.etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	body := c.plain
	if acceptsGzip(r) {
		body = c.gzip
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a disconnected browser needs no error
	return nil
}

func sortedNames[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
