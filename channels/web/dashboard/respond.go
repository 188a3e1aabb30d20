package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	g "maragu.dev/gomponents"

	"hob/autonomy/api"
	"hob/platform/text/textnorm"
)

const (
	// pageRows is the number of rows in a list.
	pageRows = 50

	readTime  = time.Minute // time limit for sending a form
	writeTime = time.Minute // time limit for reading a response
	smallBody = 1 << 10     // responses below this size are not compressed
)

// request is a request of the authenticated user for a page.
type request struct {
	*http.Request

	by    string // how the user was authenticated, for the audit log
	page  page
	zone  *time.Location
	now   time.Time
	nonce string // marks the elements whose attributes htmx may use
	flash flash
	chat  string // address of the shown conversation, on the page Chat
	// back is where an action leads: the page, or the address in the form field back.
	back string
	// keep is the input that a form shows again after its action.
	keep url.Values
	// live means that the page requests its content again after each live event. restarting means that
	// Hob restarts soon.
	live, restarting bool
	// framed means that the response is shown in a sandboxed frame on the page.
	framed bool
}

// newRequest prepares a request. The nonce is part of the response's policy.
func (d *Dashboard) newRequest(r *http.Request, by string, p page) *request {
	zone := d.o.Zone()
	return &request{Request: r, by: by, page: p, zone: zone, now: time.Now().In(zone), nonce: newNonce(), back: p.path, live: p.live}
}

func newNonce() string {
	b := make([]byte, 18)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// queryValue returns a parameter of the address.
func (r *request) queryValue(name string) string { return r.URL.Query().Get(name) }

// pageHandler returns the handler of a page or of a view below it.
func (d *Dashboard) pageHandler(p page, show func(*request) (g.Node, error)) func(http.ResponseWriter, *http.Request, string) error {
	return func(w http.ResponseWriter, hr *http.Request, by string) error {
		r := d.newRequest(hr, by, p)
		r.flash = d.flashes.takeFlash(r.queryValue("flash"))
		content, err := show(r)
		if err != nil {
			return err
		}
		policy := contentPolicy(r.nonce)
		if p.frames {
			policy += "; frame-src 'self'"
		}
		return d.writeHTML(w, hr, http.StatusOK, policy, d.renderShell(r, content))
	}
}

// fragmentHandler returns the handler of a part of a page.
func (d *Dashboard) fragmentHandler(p page, show func(*request) (g.Node, error)) func(http.ResponseWriter, *http.Request, string) error {
	return func(w http.ResponseWriter, hr *http.Request, by string) error {
		r := d.newRequest(hr, by, p)
		content, err := show(r)
		if err != nil {
			return err
		}
		if content == nil {
			content = g.Group{}
		}
		policy := contentPolicy(r.nonce)
		if r.framed {
			policy = framePolicy(r.nonce)
			w.Header().Set("X-Frame-Options", "SAMEORIGIN")
		}
		return d.writeHTML(w, hr, http.StatusOK, policy, content)
	}
}

// actionHandler returns the handler of a form. It redirects to the page, so that a reload does not
// repeat the action.
func (d *Dashboard) actionHandler(p page, act action) func(http.ResponseWriter, *http.Request, string) error {
	return func(w http.ResponseWriter, hr *http.Request, by string) error {
		r := d.newRequest(hr, by, p)
		if err := parseForm(w, hr); err != nil {
			return err
		}
		if back := hr.PostForm.Get("back"); isLocalPath(back) {
			r.back = back
		}
		notice, err := act(r)
		f := flash{text: notice}
		if err != nil {
			if hr.Context().Err() != nil {
				return err
			}
			d.o.Log.Debug("action failed", "path", hr.URL.Path, "error", err)
			f = flash{text: describeError(err), failed: true}
		}
		to, err := url.Parse(r.back)
		if err != nil {
			return fmt.Errorf("%w: back is not an address of a page", api.ErrInvalid)
		}
		q := to.Query()
		if f.text != "" {
			q.Set("flash", d.flashes.addFlash(f))
		}
		if len(r.keep) > 0 {
			q.Set("input", d.flashes.addFlash(flash{input: r.keep}))
		}
		to.RawQuery = q.Encode()
		http.Redirect(w, hr, to.String(), http.StatusSeeOther)
		return nil
	}
}

// maxForm is the maximum size of a form.
const maxForm = 16 << 20

// parseForm reads the fields of a form.
func parseForm(w http.ResponseWriter, r *http.Request) error {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(readTime)) // in-process requests have no deadline
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return fmt.Errorf("%w: the form is larger than 16 MB; send less", api.ErrInvalid)
		}
		return fmt.Errorf("%w: the form cannot be read; reload the page and try again", api.ErrInvalid)
	}
	return nil
}

// isLocalPath reports whether an address is a path on this server. Browsers treat // and /\ as the
// start of another host.
func isLocalPath(s string) bool {
	return strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//") && !strings.HasPrefix(s, `/\`) && !strings.ContainsAny(s, "\r\n\t")
}

// describeError returns an error as a sentence with its remedy.
func describeError(err error) string {
	text := err.Error()
	for _, class := range []error{api.ErrNotFound, api.ErrConflict, api.ErrDenied, api.ErrInvalid, api.ErrFull} {
		text = strings.TrimPrefix(text, class.Error()+": ")
	}
	message, remedy := textnorm.SplitRemedy(text)
	if remedy != "" {
		return asSentence(message) + " " + asSentence(remedy)
	}
	return asSentence(message)
}

// asSentence returns text with a capital letter and a full stop.
func asSentence(s string) string {
	s = capitalizeFirst(strings.TrimSpace(s))
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?:") {
		s += "."
	}
	return s
}

// contentPolicy returns the Content-Security-Policy of a page. hx-csp reads the nonce from it.
func contentPolicy(nonce string) string {
	return "default-src 'none'; script-src 'self' 'nonce-" + nonce + "'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// framePolicy returns the Content-Security-Policy of a widget. The directive sandbox gives it an
// opaque origin even if someone opens its address outside of a frame.
func framePolicy(nonce string) string {
	return "sandbox; default-src 'none'; style-src 'nonce-" + nonce + "'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
}

// writeHTML sends a page, compressed if the browser supports it.
func (d *Dashboard) writeHTML(w http.ResponseWriter, r *http.Request, status int, policy string, n g.Node) error {
	var b bytes.Buffer
	if err := n.Render(&b); err != nil {
		return fmt.Errorf("dashboard: render %s: %w", r.URL.Path, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Add("Vary", "Accept-Encoding")
	body := b.Bytes()
	if len(body) > smallBody && acceptsGzip(r) {
		body = compressBytes(body)
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // in-process writers have no deadline
	w.WriteHeader(status)
	_, _ = w.Write(body) // a disconnected browser needs no error
	return nil
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") && strings.ReplaceAll(quality, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

// compressBytes returns b in gzip format.
func compressBytes(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // a buffer accepts everything
	_ = z.Close()
	return out.Bytes()
}

// flash is a message about the last action, or the input of a form.
type flash struct {
	text   string
	failed bool
	input  url.Values
}

// maxFlashes is the number of messages and inputs that wait for their page.
const maxFlashes = 64

// flashStore keeps a message and an input between an action and the page to which it redirects. A
// cookie or values in the address would not be safe: a page on another port of this machine could
// set them.
type flashStore struct {
	mu    sync.Mutex
	ids   []string // oldest first
	texts map[string]flash
}

// addFlash stores a message and returns its id.
func (s *flashStore) addFlash(f flash) string {
	id := newNonce()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]flash{}
	}
	if len(s.ids) >= maxFlashes {
		delete(s.texts, s.ids[0])
		s.ids = s.ids[1:]
	}
	s.ids, s.texts[id] = append(s.ids, id), f
	return id
}

// takeFlash returns a message once.
func (s *flashStore) takeFlash(id string) flash {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.texts[id]
	delete(s.texts, id)
	return f
}

// readInput returns an input. It stays for the updates of its page.
func (s *flashStore) readInput(id string) url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts[id].input
}
