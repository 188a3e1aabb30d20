package page

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// lineOf finds the row of a list by the name in its data.
func lineOf(name string) string { return `document.querySelector('main li[data-name="` + name + `"]')` }

// The page Health shows each check with its cause and remedy, and applies a fix on request.
func testHealthPage(t *testing.T, b *browser) {
	h := open(t, offline+"[browser]\nenabled = false\n[channels.webhook]\nurl = \"https://hook.example.org\"\nsecret = \"env:NO_SUCH_SECRET\"\n")
	folder := filepath.Join(h.home, "hob")
	if runtime.GOOS != "windows" {
		fatal(t, os.Chmod(folder, 0o755))
	}
	w := b.window(t)
	w.enter(h)
	w.visit(h, "/health")
	if s := get[string](w, lineOf("channel webhook")+`.innerText`); !strings.Contains(s, "NO_SUCH_SECRET") || !strings.Contains(s, "What to do: ") || !strings.Contains(s, "failed") {
		t.Errorf("a failed check: %q", s)
	}
	if !get[bool](w, `Array.from(document.querySelectorAll("main li")).findIndex(e => e.dataset.state === "fail") === 0`) {
		t.Error("a failed check is not the first one")
	}
	if s := get[string](w, `document.querySelector("main").textContent`); !strings.Contains(s, "Version") || !strings.Contains(s, "free on the disk") || !strings.Contains(s, "Database") || !strings.Contains(s, "Leftovers") {
		t.Errorf("the page lacks the version, the storage or the leftovers: %q", s)
	}
	if runtime.GOOS == "windows" {
		return
	}
	w.do(chromedp.Evaluate[chromedp.Void](lineOf("home") + `.querySelector("form button").click()`))
	w.until(`document.querySelector(".flash:not(.error)") && ` + lineOf("home") + `?.dataset.state === "ok"`)
	if fi, err := os.Stat(folder); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("after the fix: %v %v", fi.Mode(), err)
	}
}
