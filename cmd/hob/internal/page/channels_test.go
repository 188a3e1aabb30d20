package page

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"hob/channels"
	"hob/channels/channelstest"
)

// fails is a channel that cannot connect to its platform.
type fails struct{ *channelstest.Fake }

func (fails) DescribeStatus() string { return "<b>not</b> connected" }

// The channels card shows the status of each channel, and pairs an account with a code that is
// shown once.
func testChannels(t *testing.T, b *browser) {
	f := &channelstest.Fake{}
	h := openWith(t, offline+"[channels.webhook]\nurl = \"https://hook.example.org\"\nsecret = \"env:NO_SUCH_SECRET\"\n", map[string]channels.Channel{"pigeon": f, "owl": fails{&channelstest.Fake{}}})
	w := b.window(t)
	w.do(chromedp.EmulateViewport(1000, 900))
	w.enter(h)
	w.visit(h, "/old")
	w.click("#channels summary")
	const loaded = `document.querySelector("#channels[data-state=loaded]")`
	w.until(loaded)
	at := func(name string) string { return `#places .thing[data-name="` + name + `"]` }
	shown := func(name string) string {
		return get[string](w, `document.querySelector('`+at(name)+`')?.innerText || ""`)
	}
	if s := shown("webhook"); !strings.Contains(s, "NO_SUCH_SECRET") || !strings.Contains(s, "what to do: ") {
		t.Errorf("a channel that cannot be used: %q", s)
	}
	for _, name := range []string{"web", "terminal", "webhook"} {
		if get[bool](w, `!!document.querySelector('`+at(name)+` .pair')`) {
			t.Errorf("%s can be paired", name)
		}
	}
	if s := get[string](w, `document.querySelector("#places").innerText`); !strings.Contains(s, "Not set up: ") || !strings.Contains(s, "hob channel add") || !strings.Contains(s, "terminal works") {
		t.Errorf("the card says %q", s)
	}
	if get[int](w, `document.querySelectorAll("#places b").length`) != 0 {
		t.Error("what a channel says of itself becomes an element")
	}

	w.click(at("pigeon") + " .pair")
	w.until(`document.querySelector('` + at("pigeon") + ` .code')`)
	code := get[string](w, `document.querySelector('`+at("pigeon")+` .code').textContent`)
	if !regexp.MustCompile(`^[0-9A-Z]{5}-[0-9A-Z]{5}$`).MatchString(code) {
		t.Errorf("the code is %q", code)
	}
	w.picture("channels")
	w.do(scheme("dark"), chromedp.EmulateViewport(390, 844))
	w.picture("channels-dark")
	w.do(scheme("light"), chromedp.EmulateViewport(1000, 900))
	if !f.Say(t.Context(), "7", "ada", code, false) {
		t.Fatal("the code is not taken")
	}
	w.visit(h, "/old")
	w.click("#channels summary")
	w.until(`document.querySelector('` + at("pigeon") + ` .unpair')`)
	if s := shown("pigeon"); !strings.Contains(s, "you: ada") {
		t.Errorf("a paired account: %q", s)
	}
	w.click(at("webhook") + " .test")
	w.until(`document.querySelector('` + at("webhook") + ` .said .failed')`)
	w.click(at("pigeon") + " .unpair")
	w.until(`document.querySelector('` + at("pigeon") + ` .unpair')?.textContent === "Really unpair?"`)
	w.click(at("pigeon") + " .unpair")
	w.until(`document.querySelector('` + at("pigeon") + `') && !document.querySelector('` + at("pigeon") + ` .unpair')`)
	for _, width := range []int64{1600, 360} {
		w.do(chromedp.EmulateViewport(width, 640))
		if over := get[int](w, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%d wide: %d pixels stick out", width, over)
		}
	}
}

// picture stores a screenshot of the window in the folder PICTURES, for manual review.
func (w *window) picture(name string) {
	w.t.Helper()
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	fatal(w.t, err)
	fatal(w.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
}
