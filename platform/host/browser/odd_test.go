package browser

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/platform/net/safehttp/safehttptest"
)

// pdf is a page with the words "Hello there".
const pdf = "%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj 4 0 obj<</Length 44>>stream\nBT /F1 12 Tf 20 100 Td (Hello there) Tj ET\nendstream endobj trailer<</Root 1 0 R>>"

// TestOddPages tests invalid and unfinished pages: no call hangs, and the errors are accurate.
func TestOddPages(t *testing.T) {
	t.Parallel() // the test mostly waits
	slow := make(chan struct{})
	w := newFixture(t, Options{MaxTabs: 12})
	net := safehttptest.New(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/auth":
			rw.Header().Set("WWW-Authenticate", `Basic realm="your Hob's password"`)
			http.Error(rw, "who are you?", http.StatusUnauthorized)
		case "/pdf":
			rw.Header().Set("Content-Type", "application/pdf")
			fmt.Fprint(rw, pdf)
		case "/file":
			rw.Header().Set("Content-Disposition", "attachment; filename=\"../../.bashrc\"")
			fmt.Fprint(rw, "rm -rf ~")
		case "/many":
			fmt.Fprint(rw, "<title>Many</title><h1>First</h1><script>for (let i = 0; i < 20000; i++) { const b = document.createElement('button'); b.textContent = 'b' + i; document.body.append(b); }</script>")
		case "/leave":
			fmt.Fprint(rw, `<title>Leave</title><button onclick="this.textContent='touched'">Touch</button><input type=file name=f aria-label="Your photo"><script>addEventListener("beforeunload", (e) => { e.preventDefault(); e.returnValue = "stay"; });</script>`)
		case "/slow":
			fmt.Fprint(rw, "<title>Slow</title><p>The beginning.</p>"+strings.Repeat(" ", 5000))
			_ = http.NewResponseController(rw).Flush()
			select {
			case <-slow:
			case <-r.Context().Done():
			}
		default:
			fmt.Fprint(rw, "<title>Plain</title><p>Text.</p>")
		}
	}))
	t.Cleanup(func() { close(slow) }) // runs before the server waits for its handlers
	w.opt.Network = net.Client(t)
	ctx := w.deadlineContext(t)
	t.Run("a password of the site", func(t *testing.T) {
		_, err := w.Open(ctx, "http://plain.example/auth")
		if err == nil || !strings.Contains(err.Error(), "HTTP authentication") {
			t.Error(err)
		}
	})
	t.Run("an invalid certificate", func(t *testing.T) {
		if _, err := w.Open(ctx, "https://plain.example/"); kindOf(err) != Unreachable || !strings.Contains(err.Error(), "certificate") {
			t.Error(err)
		}
	})
	t.Run("a file", func(t *testing.T) {
		if _, err := w.Open(ctx, "http://plain.example/file"); kindOf(err) != Refused || !strings.Contains(err.Error(), "download") {
			t.Error(err)
		}
	})
	t.Run("a PDF", func(t *testing.T) {
		_, err := w.Open(ctx, "http://plain.example/pdf")
		var c *Content
		if err == nil {
			c, err = w.Content(ctx, "")
		}
		if err == nil || !strings.Contains(err.Error(), "PDF") {
			t.Errorf("%+v, %v", c, err)
		}
	})
	t.Run("20,000 buttons", func(t *testing.T) {
		defer w.applyLimits(limits{answer: 30 * time.Second})()
		if c := w.openPage(t, "http://plain.example/many"); !c.Cut || !strings.Contains(c.Text, "# First") || len(c.Elements) > maxElements {
			t.Errorf("%d elements, cut %v", len(c.Elements), c.Cut)
		}
	})
	t.Run("a page that is slow", func(t *testing.T) {
		defer w.applyLimits(limits{load: 4 * time.Second})()
		if c := w.openPage(t, "http://plain.example/slow"); !c.Loading || !strings.Contains(c.Text, "The beginning.") {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a page that does not want to be left", func(t *testing.T) {
		c := w.openPage(t, "http://plain.example/leave")
		if _, err := w.Click(ctx, "", c.findElement(t, "Touch").Handle, approveAll); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Fill(ctx, "", []Field{{c.findElement(t, "Your photo").Handle, "/etc/passwd"}}, false, approveAll); err == nil || !strings.Contains(err.Error(), "file") {
			t.Errorf("file was uploaded, or no error was returned: %v", err)
		}
		step, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		if at, err := w.Navigate(step, "", "http://plain.example/"); err != nil || at.Title != "Plain" {
			t.Errorf("Navigate = %+v, %v", at, err)
		}
	})
}
