package browser

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/platform/net/safehttp/safehttptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// browserFixture is a browser with a separate simulated internet.
type browserFixture struct {
	*Browser
	net   *safehttptest.Internet
	pages sync.Map // "host/path" -> HTML
}

// putPage sets the response of an address "host/path": a page, or "-> " and the target of a redirect.
func (w *browserFixture) putPage(address, page string) { w.pages.Store(address, page) }

func newFixture(t *testing.T, opt Options) *browserFixture {
	t.Helper()
	w := &browserFixture{}
	w.net = safehttptest.New(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ":")
		kept, ok := w.pages.Load(host + r.URL.Path)
		page, _ := kept.(string)
		if to, ok := strings.CutPrefix(page, "-> "); ok {
			http.Redirect(rw, r, to, http.StatusFound)
			return
		}
		if page == "cut" { // the connection ends without an answer
			panic(http.ErrAbortHandler)
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		if !ok {
			rw.WriteHeader(http.StatusNotFound)
		}
		if page == "huge" {
			line := strings.Repeat("<p>All work and no play makes Jack a dull boy.</p>\n", 2000)
			for range 20 { // 2 MB
				if _, err := rw.Write([]byte(line)); err != nil {
					return
				}
			}
			return
		}
		fmt.Fprint(rw, page)
	}))
	opt.Profile, opt.Network, opt.Headless = filepath.Join(t.TempDir(), "profile"), w.net.Client(t), true
	b, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	w.Browser = b
	w.limits.quiet = 200 * time.Millisecond // test pages are idle once they are loaded
	if _, err := b.Find(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no browser is installed: ", err)
	}
	t.Cleanup(b.Close)
	return w
}

// applyLimits applies the limits until the returned function is called.
func (w *browserFixture) applyLimits(l limits) func() {
	was := w.limits
	w.limits.load, w.limits.answer = cmp.Or(l.load, was.load), cmp.Or(l.answer, was.answer)
	w.limits.script, w.limits.calm = cmp.Or(l.script, was.script), cmp.Or(l.calm, was.calm)
	return func() { w.limits = was }
}

func (w *browserFixture) deadlineContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestBrowser(t *testing.T) {
	t.Parallel() // the test mostly waits
	w := newFixture(t, Options{})
	w.putPage("plain.example/", `<title>Plain</title><h1>Hello</h1><p>A <b>plain</b> page. <a href="/next?a=1">Next</a></p>`)
	ctx := w.deadlineContext(t)
	if got := w.Tabs(ctx); got != nil || w.Running() {
		t.Fatalf("the browser runs before its first use: %v", got)
	}
	begin := time.Now()
	tab, err := w.Open(ctx, "http://plain.example/")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("first page in %v", time.Since(begin))
	if tab.Title != "Plain" || tab.URL != "http://plain.example/" || !tab.Active || !tab.Own {
		t.Errorf("%+v", tab)
	}
	c, err := w.Content(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", c)
}
