package page

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// live is an expression that is true once the page is loaded and connected to the live feed.
const live = `document.querySelector("#state[data-state=live]")`

// logIn opens the page with a login link.
func (w *window) logIn(h *daemonFixture) {
	w.t.Helper()
	w.runSteps(chromedp.Navigate(h.loginLink()))
	w.waitUntil(live)
}

// visitPage opens a page of the dashboard and waits until it gets live updates.
func (w *window) visitPage(h *daemonFixture, path string) {
	w.t.Helper()
	w.runSteps(chromedp.Navigate(h.url + path))
	w.waitUntil(live)
}

// sendText types a text, sends it with Enter, and waits until Hob has answered or waits for approval.
func (w *window) sendText(text string) {
	w.t.Helper()
	before := getValue[int](w, `document.querySelectorAll(".message.user").length`)
	w.runSteps(chromedp.SendKeys(chromedp.CSS("#input"), text), enterKey())
	w.waitUntil(fmt.Sprintf(`document.querySelectorAll(".message.user").length > %d`, before))
	w.waitUntil(`document.querySelector("#log[aria-busy=false], .approval")`)
}

// listTexts lists the messages of a kind, oldest first; "" means all kinds.
func (w *window) listTexts(kind string) []string {
	w.t.Helper()
	if kind != "" {
		kind = "." + kind
	}
	return getValue[[]string](w, `Array.from(document.querySelectorAll(".message`+kind+` > .text"), e => e.textContent)`)
}

func (w *window) lastMessage(kind string) string {
	w.t.Helper()
	all := w.listTexts(kind)
	if len(all) == 0 {
		w.t.Fatalf("the page has no %s; it shows:\n%s", kind, w.shownText())
	}
	return all[len(all)-1]
}

// awaitMessage waits for a message of a kind that contains a text.
func (w *window) awaitMessage(kind, text string) {
	w.t.Helper()
	w.waitUntil(fmt.Sprintf(`Array.from(document.querySelectorAll(".message.%s > .text"), e => e.textContent).some(t => t.includes(%q))`, kind, text))
}

func TestPage(t *testing.T) {
	b := launchBrowser(t)
	for _, tc := range []struct {
		name string
		test func(*testing.T, *browser)
	}{
		{"a login link works once", testLogin},
		{"an answer streams in and can be stopped", testStream},
		{"a message and its answer survive a reload", testHistory},
		{"an answer explains itself and is undone in the chat", testAnswerActs},
		{"a reminder appears without a reload", testReminder},
		{"a question has buttons that decide", testApproval},
		{"HTML is shown as text", testInjection},
		{"the page Today shows tasks and reminders, and changes them", testToday},
		{"widgets are drawn, pinned and removed, and hostile ones are defused", testWidgets},
		{"a widget reaches nothing even if it is not sanitized", testWidgetIsolation},
		{"the page Channels pairs, tests and unpairs", testChannelsPage},
		{"the page Settings checks, saves and undoes, except what decides what Hob may do", testSettingsPage},
		{"a saved setting applies at once, and no link fills in a form", testSettingsRestart},
		{"quiet hours, template, mail and skill are set up in forms", testSetupForms},
		{"the page Health shows the checks, and fixes", testHealthPage},
		{"problems are shown above the conversation", testProblems},
		{"each page fits, in light and dark, and is accessible", testPages},
		{"hostile texts are shown as text on each page", testHostile},
		{"keys open the palette and the list of keys", testPalette},
		{"approvals are answered on their page", testApprovalsPage},
		{"the timeline filters, explains and undoes", testTimeline},
		{"the memory is searched, drawn, corrected and forgotten", testMemoryPage},
		{"goals are added, paused, changed and removed", testGoalsPage},
		{"watchers show their events, and are tried, paused and removed", testWatchersPage},
		{"watchers and schedules are added with forms, and the next days are drawn", testWatcherForms},
		{"people are merged and separated", testMergePeople},
		{"costs are shown as plots and tables, and limits are saved", testCostsPage},
		{"pages and forms work without JavaScript", testWithoutScripts},
		{"a lost connection is shown, and the input is kept", testLostConnection},
		{"logging out ends only this login", testLogout},
		{"a dropped file is attached", testFiles},
		{"the page Today lists sent and deferred notices", testNotices},
		{"Enter sends and Shift+Enter does not", testKeyboard},
		{"a long paste is separate from typed text", testPaste},
		{"light, dark, wide and narrow", testLooks},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, b) })
	}
}

func testLogin(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w, other := b.openWindow(t), b.openWindow(t)
	unauthorized := func(w *window) {
		t.Helper()
		for _, c := range w.takeComplaints() {
			if !strings.Contains(c, "401") {
				t.Errorf("console message: %s", c)
			}
		}
	}
	w.runSteps(chromedp.Navigate(h.url + "/"))
	w.waitUntil(`document.querySelector("#login").checkVisibility()`)
	if s := w.shownText(); !strings.Contains(s, "hob open") || getValue[bool](w, `!!document.querySelector("#composer, nav")`) {
		t.Errorf("a visitor without a login sees:\n%s", s)
	}
	unauthorized(w)

	link := h.loginLink()
	w.runSteps(chromedp.Navigate(link))
	w.waitUntil(live)
	if at := getValue[string](w, "location.href"); strings.Contains(at, "code") || getValue[string](w, "document.cookie") != "" {
		t.Errorf("the code is still in %s, or a script can read the cookie", at)
	}
	w.sendText("hello")

	other.runSteps(chromedp.Navigate(link))
	other.waitUntil(`document.querySelector("#login").checkVisibility()`)
	if s := other.shownText(); !strings.Contains(s, "already used") || strings.Contains(s, "hello") {
		t.Errorf("page at the second use of the link:\n%s", s)
	}
	unauthorized(other)
	w.runSteps(chromedp.Reload())
	w.awaitMessage("user", "hello")
}

func testAnswerActs(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("hello")
	w.waitUntil(`document.querySelectorAll(".message.assistant .why a").length === 1`)
	if getValue[bool](w, `!!document.querySelector(".message .why button")`) {
		t.Error("an answer that changed nothing has a button to undo it")
	}
	w.sendText("remind me tomorrow at 9 to ring Ada")
	w.waitUntil(`document.querySelector(".message .why button")`)
	w.runSteps(chromedp.Evaluate[chromedp.Void](`Array.from(document.querySelectorAll(".message .why a")).at(-1).click()`))
	w.waitUntil(`document.querySelector("#drawer").open && document.querySelector("#drawer").innerText.includes("Because you wrote")`)
	w.runSteps(chromedp.KeyEvent(kb.Escape), chromedp.SendKeys(chromedp.CSS("#input"), "half a message"))
	w.runSteps(chromedp.Evaluate[chromedp.Void](`document.querySelector(".message .why button").click()`))
	w.waitUntil(`document.querySelector("#flash").innerText.includes("Canceled the reminder")`)
	w.waitUntil(`!document.querySelector(".message .why button")`)
	if v := getValue[string](w, `document.querySelector("#input").value`); v != "half a message" {
		t.Errorf("the undo changed the input to %q", v)
	}
	var reminders []any
	if h.getJSON("/api/v1/reminders", &reminders); len(reminders) > 0 {
		t.Errorf("%d reminders are left after the undo", len(reminders))
	}
}

func testToday(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("add a task to pay <b>the rent</b> due today")
	w.sendText("yes") // it reads the unusual characters back
	w.sendText("remind me today at 23:58 to sleep")
	w.visitPage(h, "/today")
	line := func(text string) string {
		return fmt.Sprintf(`Array.from(document.querySelectorAll("main li")).find(e => e.innerText.includes(%q))`, text)
	}
	w.waitUntil(line("pay <b>the rent"))
	w.waitUntil(line("sleep"))
	if s := getValue[string](w, line("pay <b>the rent")+".innerText"); !strings.Contains(s, "today") {
		t.Errorf("row of the task = %q", s)
	}
	// Live: a change elsewhere arrives without a reload, and keeps what is open and typed.
	getValue[bool](w, `(window.kept = 1, document.querySelector("[name=title]").focus(), true)`)
	w.runSteps(chromedp.KeyEvent("half a ti"))
	var made any
	h.postJSON("/api/v1/tools/create_task", map[string]any{"arguments": map[string]any{"title": "ring the bell", "due": "today"}}, &made)
	w.runSteps(chromedp.Evaluate[chromedp.Void](`new Promise(done => setTimeout(done, 1500))`))
	if v := getValue[string](w, `document.querySelector("[name=title]").value`); v != "half a ti" {
		t.Errorf("an update changed the input to %q", v)
	}
	getValue[bool](w, `(document.querySelector("[name=title]").value = "", document.activeElement.blur(), true)`)
	w.waitUntil(line("ring the bell"))
	// A reminder is postponed and a task completed in place.
	w.runSteps(chromedp.Evaluate[chromedp.Void](line("sleep") + `.querySelector("button").click()`))
	w.waitUntil(line("sleep") + `?.innerText.includes("tomorrow")`)
	w.runSteps(chromedp.Evaluate[chromedp.Void](line("ring the bell") + `.querySelector("button").click()`))
	w.waitUntil("!" + line("ring the bell"))
	if getValue[int](w, `window.kept`) != 1 {
		t.Error("the page was reloaded")
	}
	// A project is a list.
	h.postJSON("/api/v1/tools/create_task", map[string]any{"arguments": map[string]any{"title": "oat milk", "project": "Shopping & more"}}, &made)
	w.waitUntil(`Array.from(document.querySelectorAll(".tabs a")).some(a => a.innerText === "Shopping & more")`)
	w.runSteps(chromedp.Evaluate[chromedp.Void](`Array.from(document.querySelectorAll(".tabs a")).find(a => a.innerText === "Shopping & more").click()`))
	w.waitUntil(`location.pathname === "/today" && document.querySelector(".tabs [aria-current]")?.innerText === "Shopping & more" && document.querySelectorAll(".tick").length === 1`)
	w.waitUntil(live)
	w.runSteps(chromedp.SendKeys(chromedp.CSS("[name=title]"), "rye bread"), chromedp.Click(chromedp.CSS("[name=title] ~ button")))
	w.waitUntil(`document.querySelectorAll(".tick").length === 2 && document.querySelector("[name=title]").value === ""`)
}

func testNotices(t *testing.T, b *browser) {
	// File names are untrusted text, so this one contains HTML.
	h := openDaemon(t, offline+"[notify]\nmorning = \"00:00\"\n[[notify.rules]]\nwords = [\"advert\"]\nurgency = \"low\"\n")
	inbox := filepath.Join(h.home, "inbox")
	failOnError(t, os.Mkdir(inbox, 0o700))
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("watch ~/inbox and tell me")
	failOnError(t, os.WriteFile(filepath.Join(inbox, "advert <b>x.pdf"), []byte("x"), 0o600))
	w.sendText("remind me in 1 second to stretch")
	w.awaitMessage("notice", "stretch")
	held := `Array.from(document.querySelectorAll("#told li[data-state=held]")).find(li => li.querySelector(".text").textContent.includes("advert <b>x.pdf"))`
	w.visitPage(h, "/today")
	w.waitUntil(`(htmx.trigger("#feed", "changed"), ` + held + `)`) // a deferred notice is not a delivery, so the page gets no event
	if why := getValue[string](w, held+`.querySelector(".why").textContent`); !strings.HasPrefix(why, "low, your rule 1 (words advert); deferred until ") {
		t.Errorf("reason = %q", why)
	}
	const told = `Array.from(document.querySelectorAll("#told li[data-state=told]")).find(li => li.querySelector(".text").textContent.includes("stretch"))`
	w.waitUntil(told)
	if why := getValue[string](w, told+`.querySelector(".why").textContent`); !strings.Contains(why, "sent to web") {
		t.Errorf("reason = %q", why)
	}
	w.runSteps(chromedp.Evaluate[chromedp.Void](told + `.querySelector(".later").click()`))
	w.waitUntil(`Array.from(document.querySelectorAll("#told li[data-state=held] .why"), e => e.textContent).some(t => t.includes("you snoozed it"))`)
	w.runSteps(chromedp.Evaluate[chromedp.Void](held + `.querySelector(".now").click()`))
	w.waitUntil("!" + held)
	if n := getValue[int](w, `document.querySelectorAll("#told b").length`); n != 0 {
		t.Errorf("%d elements were created from a text", n)
	}
	w.visitPage(h, "/chat")
	w.awaitMessage("notice", "advert <b>x.pdf")
}

func testHistory(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("spent 12.50 on lunch")
	w.sendText("how much did I spend this month?")
	if a := w.lastMessage("assistant"); !strings.Contains(a, "12.50") {
		t.Errorf("the answer: %q", a)
	}
	before := w.listTexts("")
	if len(before) != 4 {
		t.Errorf("messages and answers = %q, want 4", before)
	}
	w.runSteps(chromedp.Reload())
	w.waitUntil(live)
	if after := w.listTexts(""); !slices.Equal(before, after) {
		t.Errorf("messages before the reload %q, after it %q", before, after)
	}
	w.clickElement("#new")
	w.waitUntil(`document.querySelectorAll(".message").length === 0`)
	w.sendText("hello")
	w.runSteps(chromedp.Evaluate[chromedp.Void](`(s => { s.value = "main"; s.dispatchEvent(new Event("change")); })(document.querySelector("#sessions"))`))
	w.awaitMessage("user", "lunch")
	if again := w.listTexts(""); !slices.Equal(before, again) {
		t.Errorf("messages after another conversation continued = %q", again)
	}
}

func testReminder(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("remind me in 1 second to stretch")
	w.awaitMessage("notice", "stretch")
	if n := len(w.listTexts("notice")); n != 1 {
		t.Errorf("the notice is shown %d times: %q", n, w.listTexts(""))
	}
}

func testApproval(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("remember that the code is 99")
	for _, tc := range []struct {
		button string
		known  bool
	}{{"no", true}, {"yes", false}} {
		w.sendText("forget the code")
		w.waitUntil(`document.querySelectorAll(".approval").length === 1`)
		if s := getValue[string](w, `document.querySelector(".approval").innerText`); !strings.Contains(s, "orget") || !strings.Contains(s, "Approve") || !strings.Contains(s, "Deny") {
			t.Errorf("the question is %q", s)
		}
		w.clickElement(".approval ." + tc.button)
		w.waitUntil(`!document.querySelector(".approval") && document.querySelector("#log[aria-busy=false]")`)
		w.sendText("what is the code?")
		if a := w.lastMessage("assistant"); strings.Contains(a, "99") != tc.known {
			t.Errorf("answer after %s = %q", tc.button, a)
		}
	}
}

func testInjection(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	const evil = `x<img src=x onerror=document.title=1>x`
	w.sendText("note: " + evil)
	w.sendText("remember that the code is " + evil)
	w.sendText("what is the code?")
	w.sendText("forget the code")
	w.waitUntil(`document.querySelector(".approval")`)
	w.clickElement(".approval .no")
	w.waitUntil(`document.querySelector("#log[aria-busy=false]")`)
	if runtime.GOOS != "windows" { // Windows does not allow such file names
		inbox := filepath.Join(h.home, "inbox")
		failOnError(t, os.Mkdir(inbox, 0o700))
		w.sendText("watch ~/inbox and tell me")
		failOnError(t, os.WriteFile(filepath.Join(inbox, evil), []byte("x"), 0o600))
		w.awaitMessage("notice", evil)
	}
	check := func() {
		t.Helper()
		w.awaitMessage("user", "note: "+evil)
		w.awaitMessage("assistant", evil)
		if n := getValue[int](w, `document.querySelectorAll("main img, main [onerror]").length`); n != 0 {
			t.Errorf("%d elements were created from a text", n)
		}
		if title := getValue[string](w, "document.title"); title != "Chat · Hob" {
			t.Errorf("a text ran: the title is %q", title)
		}
	}
	check()
	w.runSteps(chromedp.Reload())
	w.waitUntil(live)
	check()
	// The session name in the URL must not be interpreted as HTML.
	w.runSteps(chromedp.Navigate("about:blank"), chromedp.Navigate(h.url+"/chat?session=%3Cimg%20src%3Dx%20onerror%3Ddocument.title%3D1%3E"))
	w.waitUntil(`document.readyState === "complete" && document.querySelector("#sessions option")`)
	if n := getValue[int](w, `document.querySelectorAll("main img, select img").length`); n != 0 || getValue[string](w, "document.title") != "Chat · Hob" {
		t.Errorf("the address ran: %s", w.shownText())
	}
}

func testKeyboard(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	if at := getValue[string](w, "document.activeElement.id"); at != "input" {
		t.Errorf("focus is on %q", at)
	}
	w.runSteps(enterKey())
	w.runSteps(chromedp.KeyEvent("note: one"), enterKey(kb.ModifierShift), chromedp.KeyEvent("two"))
	if v := getValue[string](w, `document.querySelector("#input").value`); v != "note: one\ntwo" {
		t.Errorf("input = %q", v)
	}
	if all := w.listTexts(""); len(all) != 0 {
		t.Errorf("messages were sent: %q", all)
	}
	w.runSteps(enterKey())
	w.awaitMessage("user", "note: one\ntwo")
	w.waitUntil(`document.querySelector("#log[aria-busy=false]") && document.querySelectorAll(".message.assistant").length === 1`)
	if v := getValue[string](w, `document.querySelector("#input").value`); v != "" {
		t.Errorf("input = %q, want it empty", v)
	}
}

func testLooks(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("note: " + strings.Repeat("averylongword", 30))
	// bright returns the mean of the color's components, from 0 to 255.
	bright := func(selector, property string) float64 {
		t.Helper()
		return getValue[float64](w, fmt.Sprintf(`(p => (p[0]+p[1]+p[2])/3)(getComputedStyle(document.querySelector(%q)).%s.match(/[\d.]+/g).map(Number))`, selector, property))
	}
	for _, name := range []string{"light", "dark"} {
		w.runSteps(setScheme(name))
		for _, s := range []string{"body", ".message.user .text", ".message.assistant .text", "#input"} {
			back, text := bright(s, "backgroundColor"), bright(s, "color")
			if dark := name == "dark"; dark != (back < 100) || dark != (text > 155) {
				t.Errorf("%s: %s has text of brightness %.0f on %.0f", name, s, text, back)
			}
		}
	}
	for _, width := range []int64{1600, 360} {
		w.runSteps(chromedp.EmulateViewport(width, 640))
		if over := getValue[int](w, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%d wide: %d pixels stick out", width, over)
		}
		for _, id := range []string{"input", "send", "new", "sessions"} {
			if !getValue[bool](w, fmt.Sprintf(`(r => r.left >= 0 && r.right <= innerWidth && r.bottom <= innerHeight && r.width > 20)(document.getElementById(%q).getBoundingClientRect())`, id)) {
				t.Errorf("at %d pixels: #%s is not fully visible", width, id)
			}
		}
		// The bar at the bottom scrolls to the current page.
		w.visitPage(h, "/health")
		w.waitUntil(`(r => r.left >= 0 && r.right <= innerWidth && r.bottom <= innerHeight)(document.querySelector("#nav [aria-current]").getBoundingClientRect())`)
		w.visitPage(h, "/chat")
	}
}
