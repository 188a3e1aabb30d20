package page

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"hob/autonomy/config"
	"hob/channels"
	"hob/channels/channelstest"
	"hob/cmd/hob/internal/app"
	"hob/platform/host/system"
	"hob/platform/net/nettest"
)

// lineOf finds the row of a list by the name in its data.
func lineOf(name string) string { return `document.querySelector('main li[data-name="` + name + `"]')` }

// The page Health shows each check with its cause and remedy, and applies a fix on request.
func testHealthPage(t *testing.T, b *browser) {
	h := openDaemon(t, offline+"[browser]\nenabled = false\n[channels.webhook]\nurl = \"https://hook.example.org\"\nsecret = \"env:NO_SUCH_SECRET\"\n")
	folder := filepath.Join(h.home, "hob")
	if runtime.GOOS != "windows" {
		failOnError(t, os.Chmod(folder, 0o755))
	}
	w := b.openWindow(t)
	w.logIn(h)
	w.visitPage(h, "/health")
	if s := getValue[string](w, lineOf("channel webhook")+`.innerText`); !strings.Contains(s, "NO_SUCH_SECRET") || !strings.Contains(s, "What to do: ") || !strings.Contains(s, "failed") {
		t.Errorf("a failed check: %q", s)
	}
	if !getValue[bool](w, `Array.from(document.querySelectorAll("main li")).findIndex(e => e.dataset.state === "fail") === 0`) {
		t.Error("a failed check is not the first one")
	}
	if s := getValue[string](w, `document.querySelector("main").textContent`); !strings.Contains(s, "Version") || !strings.Contains(s, "free on the disk") || !strings.Contains(s, "Database") || !strings.Contains(s, "Leftovers") {
		t.Errorf("the page lacks the version, the storage or the leftovers: %q", s)
	}
	if runtime.GOOS == "windows" {
		return
	}
	w.runSteps(chromedp.Evaluate[chromedp.Void](lineOf("home") + `.querySelector("form button").click()`))
	w.waitUntil(`document.querySelector(".flash:not(.error)") && ` + lineOf("home") + `?.dataset.state === "ok"`)
	if fi, err := os.Stat(folder); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("mode after the fix: %v %v", fi.Mode(), err)
	}
}

// failingChannel is a channel that cannot connect to its platform.
type failingChannel struct{ *channelstest.Fake }

func (failingChannel) DescribeStatus() string { return "<b>not</b> connected" }

// The page Channels shows how channels are, pairs an account with a code that is shown once, and shows
// the MCP servers and the trust of each skill.
func testChannelsPage(t *testing.T, b *browser) {
	f := &channelstest.Fake{}
	h := openWith(t, offline+"[channels.webhook]\nurl = \"https://hook.example.org\"\nsecret = \"env:NO_SUCH_SECRET\"\n[mcp.servers.notes]\nurl = \"https://mcp.example.org\"\nenabled = false\n[accounts.home]\nimap = \"127.0.0.1:1\"\naddress = \"ada@example.org\"\npassword = \"env:NO_SUCH_SECRET\"\n",
		map[string]channels.Channel{"pigeon": f, "owl": failingChannel{&channelstest.Fake{}}})
	skill := filepath.Join(h.home, "hob", "skills", "weekly")
	failOnError(t, os.MkdirAll(skill, 0o700))
	failOnError(t, os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: weekly\ndescription: Write the <b>weekly</b> report.\n---\nList the tasks.\n"), 0o600))
	w := b.openWindow(t)
	w.logIn(h)
	w.visitPage(h, "/channels")
	if s := getValue[string](w, lineOf("webhook")+`.innerText`); !strings.Contains(s, "NO_SUCH_SECRET") || !strings.Contains(s, "What to do: ") || !strings.Contains(s, "cannot be used") {
		t.Errorf("row of a channel that cannot be used = %q", s)
	}
	for _, name := range []string{"web", "terminal", "webhook"} {
		if getValue[bool](w, "!!"+lineOf(name)+`.querySelector("form[action='/channels/pair']")`) {
			t.Errorf("%s can be paired", name)
		}
	}
	all := getValue[string](w, `document.querySelector("main").textContent`)
	for _, want := range []string{"ada@example.org home", "127.0.0.1:1", "Not set up", "telegram", "hob channel add", "https://mcp.example.org", "Write the <b>weekly</b> report.", "hob skill trust weekly", "untrusted"} {
		if !strings.Contains(all, want) {
			t.Errorf("the page lacks %q: %q", want, all)
		}
	}
	if getValue[int](w, `document.querySelectorAll("main b").length`) != 0 {
		t.Error("text of a channel or a skill becomes an element")
	}
	w.runSteps(chromedp.Evaluate[chromedp.Void](lineOf("pigeon") + `.querySelector("form[action='/channels/pair'] button").click()`))
	w.waitUntil(`document.querySelector(".flash:not(.error)")`)
	code := regexp.MustCompile(`[0-9A-Z]{5}-[0-9A-Z]{5}`).FindString(getValue[string](w, `document.querySelector(".flash").textContent`))
	if code == "" || !f.Say(t.Context(), "7", "ada", code, false) {
		t.Fatalf("the code %q is not accepted", code)
	}
	w.visitPage(h, "/channels")
	w.waitUntil(lineOf("pigeon") + `.innerText.includes("Your account: ada")`)
	w.runSteps(chromedp.Evaluate[chromedp.Void](lineOf("webhook") + `.querySelector("form[action='/channels/test'] button").click()`))
	w.waitUntil(`document.querySelector(".flash.error")?.textContent.includes("NO_SUCH_SECRET")`)
	w.clickElement(`button[popovertarget^="unpair-"]`)
	w.clickElement(`:popover-open button[type=submit]`)
	w.waitUntil(lineOf("pigeon") + ` && !` + lineOf("pigeon") + `.innerText.includes("Your account: ada")`)
}

// The page Settings shows each key with its value and help, checks a value as hob config set does and
// shows the difference, saves only keys that cannot loosen safety, shows no secret, and undoes the last
// change.
func testSettingsPage(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	file := filepath.Join(h.home, "hob", "config.toml")
	const text = "[agent]\nmodel = \"offline\"\n[web]\npassword = \"horse-battery-staple\"\n"
	failOnError(t, os.WriteFile(file, []byte(text), 0o600))
	w := b.openWindow(t)
	w.logIn(h)
	w.visitPage(h, "/settings")
	if s := getValue[string](w, lineOf("agent.model")+`.innerText`); !strings.Contains(s, "offline") || !strings.Contains(s, "changed") || !strings.Contains(s, "Default: \"auto\"") {
		t.Errorf("row of a key = %q", s)
	}
	w.visitPage(h, "/settings?q=password&section=")
	if s := getValue[string](w, lineOf("web.password")+`.innerText`); !strings.Contains(s, "(hidden)") || strings.Contains(w.shownText(), "horse") {
		t.Errorf("row of a secret = %q", s)
	}
	w.visitPage(h, "/settings/change?key=web.password")
	if getValue[bool](w, `!!document.querySelector("form.change")`) {
		t.Error("a secret can be entered")
	}
	check := func(key, value string) string {
		w.visitPage(h, "/settings/change?key="+key)
		getValue[bool](w, fmt.Sprintf(`(document.querySelector("form.change [name=value]").value = %q, document.querySelector("form.change").requestSubmit(), true)`, value))
		w.waitUntil(`location.search.includes("input=") && ` + live)
		return w.shownText()
	}
	if s := check("agent.max_rounds", "1000"); !strings.Contains(s, "Not accepted") || !strings.Contains(s, "100") {
		t.Errorf("value out of range: %q", s)
	}
	if s := check("notify.channel", "pigeon"); !strings.Contains(s, "Not accepted") || !strings.Contains(s, "[channels.pigeon]") {
		t.Errorf("unknown channel: %q", s)
	}
	if s := check("plan.place", "Ada's <b>"); !strings.Contains(s, `plan.place = "Ada's <b>"`) || !strings.Contains(s, `hob config set plan.place 'Ada'\''s <b>'`) {
		t.Errorf("a value that is saved only in a terminal: %q", s)
	}
	if getValue[bool](w, `!!document.querySelector("form[action='/settings/save']")`) {
		t.Error("the page can save a key that decides what Hob may do")
	}
	if s := check("agent.name", "Ada's <b>"); !strings.Contains(s, `agent.name = "Ada's <b>"`) || strings.Contains(s, "hob config set") {
		t.Errorf("a good value: %q", s)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != text {
		t.Errorf("checking a value changed the file: %v %s", err, now)
	}
	w.clickElement("form[action='/settings/save'] button")
	w.waitUntil(`location.pathname === "/settings" && document.querySelector(".flash:not(.error)") && ` + lineOf("agent.name") + `.innerText.includes("Ada's <b>")`)
	if now, err := os.ReadFile(file); err != nil || !strings.Contains(string(now), `name = "Ada's <b>"`) {
		t.Errorf("after saving: %v %s", err, now)
	}
	w.waitUntil(live)
	w.clickElement("#last-change form button")
	w.waitUntil(`document.querySelector(".flash:not(.error)") && !document.querySelector("#last-change")`)
	if now, err := os.ReadFile(file); err != nil || string(now) != text {
		t.Errorf("after the undo: %v %s", err, now)
	}
	// A value that changed after it was checked is not overwritten.
	check("agent.name", "Ada")
	failOnError(t, os.WriteFile(file, []byte(strings.Replace(text, "[agent]\n", "[agent]\nname = \"Bob\"\n", 1)), 0o600))
	w.clickElement("form[action='/settings/save'] button")
	w.waitUntil(`document.querySelector(".flash.error")?.innerText.includes("meantime")`)
	failOnError(t, os.WriteFile(file, []byte(text), 0o600))
	// A change that was made in a terminal can be undone here.
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	copies := config.Revisions{Path: file, Dir: paths.ConfigUndoDir()}
	before, err := copies.Keep()
	failOnError(t, err)
	_, err = config.Set(file, "agent.name", "Ada")
	failOnError(t, err)
	after, err := copies.Keep()
	failOnError(t, err)
	var made any
	h.postJSON("/api/v1/manage/config", map[string]string{"what": "agent.name", "before": before, "after": after}, &made)
	w.visitPage(h, "/settings")
	w.waitUntil(lineOf("agent.name") + `.innerText.includes("Ada")`)
	w.clickElement("#last-change form button")
	w.waitUntil(`document.querySelector(".flash:not(.error)") && !document.querySelector("#last-change")`)
	if now, err := os.ReadFile(file); err != nil || string(now) != text {
		t.Errorf("configuration after the undo: %v %s", err, now)
	}
}

// A saved value applies at once: Hob restarts, and the page reconnects by itself. A link cannot fill
// in a value.
func testSettingsRestart(t *testing.T, b *browser) {
	address := "127.0.0.1:" + nettest.FreePort(t)
	h := newFixture(t)
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	failOnError(t, paths.Ensure())
	failOnError(t, os.WriteFile(paths.ConfigFile(), []byte("[web]\nlisten = \""+address+"\"\n"+offline), 0o600))
	var running atomic.Value // the name with which Hob has started
	options := func() (app.Options, error) {
		c, err := config.Load(paths.ConfigFile())
		if err == nil {
			running.Store(c.Agent.Name)
		}
		return app.Options{Paths: paths, Config: c, Version: "test"}, err
	}
	o, err := options()
	failOnError(t, err)
	h.runHob(o, options)
	w := b.openWindow(t)
	w.logIn(h)
	for _, link := range []string{"/settings/change?key=agent.name&value=Mallory", "/settings/change?key=agent.name&input=Mallory"} {
		w.visitPage(h, link)
		if s := w.shownText(); strings.Contains(s, "Mallory") || strings.Contains(s, "Difference") {
			t.Errorf("%s fills in a value: %q", link, s)
		}
	}
	w.visitPage(h, "/watchers?kind=file&config-path=/etc/mallory&action=mallory#add")
	if v := getValue[string](w, `Array.from(document.querySelectorAll("#add input"), e => e.value).join()`); strings.Contains(v, "mallory") {
		t.Errorf("a link fills in the form of a watcher: %q", v)
	}
	w.visitPage(h, "/settings/change?key=agent.name")
	getValue[bool](w, `(document.querySelector("form.change [name=value]").value = "Ada", document.querySelector("form.change").requestSubmit(), true)`)
	w.waitUntil(`location.search.includes("input=") && ` + live)
	w.clickElement("form[action='/settings/save'] button")
	w.waitUntil(`location.pathname === "/settings" && document.querySelector("#restarting")`)
	getValue[bool](w, `(window.kept = 1, true)`)
	h.allowRestart()
	w.waitUntil(`!document.querySelector("#restarting") && ` + live)
	if getValue[int](w, "window.kept") != 1 || running.Load() != "Ada" {
		t.Errorf("after the restart the name is %q, or the page was loaded again", running.Load())
	}
	w.clickElement("#last-change form button")
	w.waitUntil(`document.querySelector("#restarting")`)
	h.allowRestart()
	w.waitUntil(`!document.querySelector("#restarting") && ` + live)
	if running.Load() != "Hob" {
		t.Errorf("after the undo the name is %q", running.Load())
	}
	// A value that was saved elsewhere applies on request.
	_, err = config.Set(paths.ConfigFile(), "agent.name", "Bob")
	failOnError(t, err)
	w.visitPage(h, "/settings")
	w.clickElement("form[action='/settings/apply'] button")
	w.waitUntil(`document.querySelector("#restarting")`)
	h.allowRestart()
	w.waitUntil(`!document.querySelector("#unapplied, #restarting") && ` + live)
	if running.Load() != "Bob" {
		t.Errorf("after `Restart now` the name is %q", running.Load())
	}
	for _, c := range w.takeComplaints() {
		if !strings.Contains(c, "ERR_CONNECTION_REFUSED") && !strings.Contains(c, "ERR_INCOMPLETE_CHUNKED_ENCODING") && !strings.Contains(c, "Failed to fetch") {
			t.Errorf("console message: %s", c)
		}
	}
}
