package simulate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// playedPages serves the simulated web. It responds with "not modified" for a host that is not in
// the script, and with 404 for any other missing page.
type playedPages struct {
	known map[string]bool // hosts in the script
	plain map[uint16]bool // ports of unencrypted addresses

	mu   sync.Mutex
	list map[string]page // keyed by address
}

type page struct {
	status int
	body   []byte
	at     time.Time
}

func newPages(s *Script) *playedPages {
	w := &playedPages{known: map[string]bool{}, plain: map[uint16]bool{}, list: map[string]page{}}
	for _, in := range s.Inputs {
		if in.Kind != Web {
			continue
		}
		_, at, err := in.parsePage()
		if err != nil {
			continue
		}
		w.known[at.Host] = true
		if port, err := strconv.ParseUint(at.Port(), 10, 16); err == nil && at.Scheme == "http" {
			w.plain[uint16(port)] = true
		}
	}
	return w
}

func (w *playedPages) putPage(in Input) error {
	status, at, err := in.parsePage()
	if err != nil {
		return err
	}
	if at.Path == "" {
		at.Path = "/"
	}
	at.Fragment = ""
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list[at.String()] = page{status: status, body: []byte(in.Body), at: time.Now()}
	return nil
}

// ServeHTTP implements http.Handler.
func (w *playedPages) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if !w.known[r.Host] {
		out.WriteHeader(http.StatusNotModified)
		return
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	w.mu.Lock()
	p, ok := w.list[scheme+r.Host+r.URL.RequestURI()]
	if !ok { // retry without the parameters that programs add, such as a page size
		p, ok = w.list[scheme+r.Host+r.URL.EscapedPath()]
		ok = ok && !isLaterPage(r)
	}
	w.mu.Unlock()
	if !ok {
		http.NotFound(out, r)
		return
	}
	if p.status != http.StatusOK {
		out.WriteHeader(p.status)
		_, _ = out.Write(p.body) // the client may have disconnected
		return
	}
	sum := sha256.Sum256(p.body)
	out.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	out.Header().Set("Content-Type", kindOf(r.URL.Path, p.body))
	http.ServeContent(out, r, "", p.at, bytes.NewReader(p.body))
}

// isLaterPage reports whether a request is for a later page of a list. A simulated list has only
// one page.
func isLaterPage(r *http.Request) bool {
	n := r.URL.Query().Get("page")
	return n != "" && n != "1"
}

func kindOf(path string, body []byte) string {
	body = bytes.TrimSpace(body)
	switch {
	case bytes.HasPrefix(body, []byte("<?xml")), bytes.HasPrefix(body, []byte("<rss")), bytes.HasPrefix(body, []byte("<feed")):
		return "application/xml"
	case bytes.HasPrefix(body, []byte("{")), bytes.HasPrefix(body, []byte("[")):
		return "application/json"
	case strings.HasSuffix(path, ".txt"):
		return "text/plain; charset=utf-8"
	}
	return "text/html; charset=utf-8"
}
