package page

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"hob/channels"
	"hob/channels/channelstest"
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

// The page Channels shows how channels are, pairs an account with a code that is shown once, and shows
// the MCP servers and the trust of each skill.
func testChannelsPage(t *testing.T, b *browser) {
	f := &channelstest.Fake{}
	h := openWith(t, offline+"[channels.webhook]\nurl = \"https://hook.example.org\"\nsecret = \"env:NO_SUCH_SECRET\"\n[mcp.servers.notes]\nurl = \"https://mcp.example.org\"\nenabled = false\n",
		map[string]channels.Channel{"pigeon": f, "owl": fails{&channelstest.Fake{}}})
	skill := filepath.Join(h.home, "hob", "skills", "weekly")
	fatal(t, os.MkdirAll(skill, 0o700))
	fatal(t, os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: weekly\ndescription: Write the <b>weekly</b> report.\n---\nList the tasks.\n"), 0o600))
	w := b.window(t)
	w.enter(h)
	w.visit(h, "/channels")
	if s := get[string](w, lineOf("webhook")+`.innerText`); !strings.Contains(s, "NO_SUCH_SECRET") || !strings.Contains(s, "What to do: ") || !strings.Contains(s, "cannot be used") {
		t.Errorf("a channel that cannot be used: %q", s)
	}
	for _, name := range []string{"web", "terminal", "webhook"} {
		if get[bool](w, "!!"+lineOf(name)+`.querySelector("form[action='/channels/pair']")`) {
			t.Errorf("%s can be paired", name)
		}
	}
	all := get[string](w, `document.querySelector("main").textContent`)
	for _, want := range []string{"Not set up", "telegram", "hob channel add", "https://mcp.example.org", "Write the <b>weekly</b> report.", "hob skill trust weekly", "untrusted"} {
		if !strings.Contains(all, want) {
			t.Errorf("the page lacks %q: %q", want, all)
		}
	}
	if get[int](w, `document.querySelectorAll("main b").length`) != 0 {
		t.Error("what a channel or a skill says of itself becomes an element")
	}
	w.do(chromedp.Evaluate[chromedp.Void](lineOf("pigeon") + `.querySelector("form[action='/channels/pair'] button").click()`))
	w.until(`document.querySelector(".flash:not(.error)")`)
	code := regexp.MustCompile(`[0-9A-Z]{5}-[0-9A-Z]{5}`).FindString(get[string](w, `document.querySelector(".flash").textContent`))
	if code == "" || !f.Say(t.Context(), "7", "ada", code, false) {
		t.Fatalf("the code %q is not accepted", code)
	}
	w.visit(h, "/channels")
	w.until(lineOf("pigeon") + `.innerText.includes("Your account: ada")`)
	w.do(chromedp.Evaluate[chromedp.Void](lineOf("webhook") + `.querySelector("form[action='/channels/test'] button").click()`))
	w.until(`document.querySelector(".flash.error")?.textContent.includes("NO_SUCH_SECRET")`)
	w.click(`button[popovertarget^="unpair-"]`)
	w.click(`:popover-open button[type=submit]`)
	w.until(lineOf("pigeon") + ` && !` + lineOf("pigeon") + `.innerText.includes("Your account: ada")`)
}
