package page

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// listPages lists the addresses in the sidebar.
func (w *window) listPages() []string {
	w.t.Helper()
	return getValue[[]string](w, `Array.from(document.querySelectorAll("#nav a"), a => a.getAttribute("href"))`)
}

// axeSource returns the source of axe-core, or "" where npm cannot install it.
func axeSource(t *testing.T) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@4.14.1")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("accessibility is not checked: %v: %.200s", err, out)
		return ""
	}
	js, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	failOnError(t, err)
	return string(js)
}

// fillPages makes something for each page to show.
func (h *daemonFixture) fillPages() {
	h.t.Helper()
	var made any
	call := func(tool string, args map[string]any) {
		h.postJSON("/api/v1/tools/"+tool, map[string]any{"arguments": args}, &made)
	}
	for i := range 3 {
		call("create_task", map[string]any{"title": fmt.Sprintf("water plant %d", i), "due": "today", "priority": "high", "project": "home"})
	}
	call("create_task", map[string]any{"title": "unbroken" + strings.Repeat("x", 300)})
	call("create_reminder", map[string]any{"text": "call Ada", "at": "tomorrow at 9"})
	call("create_note", map[string]any{"title": "Boiler", "text": "The valve is behind the shelf."})
	call("create_schedule", map[string]any{"every": "day at 8:00", "action": "tell me the weather"})
	call("create_goal", map[string]any{"description": "learn Lithuanian"})
	call("log_expense", map[string]any{"amount": 12.5, "category": "lunch"})
	call("log_expense", map[string]any{"amount": 700, "category": "unbroken" + strings.Repeat("x", 50), "currency": "JPY", "date": time.Now().UTC().AddDate(0, 0, -40).Format(time.DateOnly)})
	call("budget_check", map[string]any{"action": "set", "category": "lunch", "limit": 10})
	call("remember", map[string]any{"text": "Ada Lovelace works at Vinted"})
	call("canvas_push", map[string]any{"title": "Trips", "content_type": "line", "content": "month,km\nJanuary,10\nFebruary,30", "pin": true})
	call("canvas_push", map[string]any{"title": "unbroken" + strings.Repeat("x", 60), "content": "# Plan\n\n" + strings.Repeat("x", 300)})
}

func testPages(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	h.fillPages()
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("remember that the code is 99")
	w.sendText("forget the code")
	w.waitUntil(`document.querySelector(".approval")`)
	source := axeSource(t)
	for _, page := range w.listPages() {
		for _, name := range []string{"light", "dark"} {
			w.runSteps(setScheme(name), chromedp.EmulateViewport(1280, 800))
			w.visitPage(h, page)
			for _, width := range []int64{1280, 780, 360} {
				w.runSteps(chromedp.EmulateViewport(width, 800))
				if over := getValue[int](w, `Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - document.documentElement.clientWidth`); over > 0 {
					t.Errorf("%s is %d pixels too wide at %d", page, over, width)
				}
				w.savePicture(fmt.Sprintf("%s-%s-%d", strings.TrimPrefix(page, "/"), name, width))
			}
			// On a phone, pictures are drawn for its width instead of scrolling sideways.
			if over := getValue[[]string](w, `[...document.querySelectorAll("figure .scroll, figure svg, figure pre")].filter(e => e.scrollWidth > e.clientWidth || e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 80))`); len(over) > 0 {
				t.Errorf("%s has pictures that are too wide at 360: %q", page, over)
			}
			if source == "" {
				continue
			}
			w.runSteps(chromedp.EmulateViewport(1280, 800), chromedp.Evaluate[chromedp.Void](source+";void 0"))
			getValue[bool](w, `(axe.run(document, { runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }, resultTypes: ["violations"] })
				.then(r => { window.found = r.violations.map(v => v.id + ": " + v.nodes[0].target.join(" ") + " " + (v.nodes[0].any[0] || {}).message); }), true)`)
			w.waitUntil(`window.found`)
			if found := getValue[[]string](w, `window.found`); len(found) > 0 {
				t.Errorf("%s in %s: %s", page, name, strings.Join(found, "\n"))
			}
		}
	}
	w.visitPage(h, "/costs") // the built-in brain uses no tokens
	if getValue[bool](w, `!!document.querySelector("figure[data-plot*=tokens]")`) || !strings.Contains(w.shownText(), "used no tokens") {
		t.Errorf("costs of calls without tokens: %q", w.shownText())
	}
	w.visitPage(h, "/watchers")
	if getValue[bool](w, `!!document.querySelector("#add a[href*=intent]")`) {
		t.Error("the page offers a kind of watcher that its form cannot create")
	}
	w.runSteps(setScheme("light"), chromedp.EmulateViewport(780, 437))
	for page, selectors := range map[string][]string{"/chat": {"#input", "#send"}, "/approvals": {".approval .yes", ".approval .no"}} {
		w.visitPage(h, page)
		for _, s := range selectors {
			w.waitUntil(fmt.Sprintf(`document.querySelector(%q)`, s))
			if !getValue[bool](w, fmt.Sprintf(`(r => r.top >= 0 && r.bottom <= innerHeight && r.left >= 0 && r.right <= innerWidth)(document.querySelector(%q).getBoundingClientRect())`, s)) {
				t.Errorf("%s: %s is out of view at 780 x 437", page, s)
			}
		}
	}
}

func testHostile(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	hostile := []string{
		"<script>window.ran=1</script> buy milk", `<img src=x onerror="window.ran=2"> feed the cat`, "[press me](javascript:window.ran=3) pay rent",
		"photo \u202egpj.exe\u202c of the garden", `"><svg onload=window.ran=4> water`,
	}
	var made any
	for _, text := range hostile {
		for tool, args := range map[string]map[string]any{
			"create_task": {"title": text, "due": "today"}, "create_note": {"text": text}, "create_reminder": {"text": text, "at": "tomorrow at 9"},
			"remember": {"text": text}, "create_goal": {"description": text}, "log_expense": {"amount": 3, "category": text},
			"canvas_push": {"title": text, "content": text}, "create_schedule": {"every": "day at 9:00", "action": text},
		} {
			h.postJSON("/api/v1/tools/"+tool, map[string]any{"arguments": args}, &made)
		}
	}
	for _, page := range w.listPages() {
		w.visitPage(h, page)
		found := getValue[string](w, `(() => {
			const bad = [];
			if (window.ran) bad.push("a text ran: " + window.ran);
			for (const e of document.querySelectorAll("*")) for (const a of e.attributes) {
				if (/^on/i.test(a.name)) bad.push(e.tagName + " " + a.name);
				if (/^\s*(javascript|data|vbscript):/i.test(a.value) && ["href", "src", "action"].includes(a.name)) bad.push(a.value);
			}
			for (const i of document.images) if (!i.src.startsWith(location.origin)) bad.push(i.src);
			const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
			while (texts.nextNode()) if (/[\u202a-\u202e\u2066-\u2069]/.test(texts.currentNode.data)) bad.push("bidi: " + texts.currentNode.data);
			return bad.join("; ");
		})()`)
		if found != "" {
			t.Errorf("%s: %s", page, found)
		}
		if page == "/today" && !strings.Contains(w.shownText(), "<script>window.ran=1</script> buy milk") {
			t.Error("the task's text is not shown")
		}
	}
}

// ctrlK presses Ctrl-K.
func ctrlK() chromedp.Action[chromedp.Void] {
	return chromedp.KeyEvent("k", chromedp.KeyModifiers(kb.ModifierCtrl))
}

func testPalette(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	w.visitPage(h, "/today")
	w.runSteps(ctrlK())
	w.waitUntil(`document.querySelector("#palette[open]") && document.activeElement.closest("#palette")`)
	w.runSteps(chromedp.KeyEvent("timel"))
	w.waitUntil(`document.querySelectorAll("#palette li:not([hidden])").length === 1`)
	w.runSteps(chromedp.KeyEvent(kb.Escape))
	w.waitUntil(`!document.querySelector("#palette[open]")`)
	w.runSteps(ctrlK(), chromedp.KeyEvent("timel"), enterKey())
	w.waitUntil(`location.pathname === "/timeline"`)
	w.waitUntil(live)
	w.runSteps(chromedp.KeyEvent("?"))
	w.waitUntil(`document.querySelector("#help[open]")`)
	getValue[bool](w, `(document.querySelector("#single-keys").click(), true)`) // off
	w.runSteps(chromedp.KeyEvent(kb.Escape))
	w.waitUntil(`!document.querySelector("#help[open]")`)
	w.runSteps(chromedp.KeyEvent("?"))
	if getValue[bool](w, `!!document.querySelector("#help[open]")`) {
		t.Error("a single key works although it is off")
	}
}

func testApprovalsPage(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("remember that the code is 99")
	w.sendText("forget the code")
	w.waitUntil(`document.querySelector(".approval")`)
	w.visitPage(h, "/approvals")
	w.waitUntil(`document.querySelector("main .approval")`)
	if first := getValue[string](w, `document.querySelector(".approval").innerText.trim().split("\n")[0]`); strings.ContainsAny(first, "{}") || len(strings.Fields(first)) < 3 {
		t.Errorf("the request begins with %q", first)
	}
	if !getValue[bool](w, `document.querySelector(".approval").innerText.includes("It deletes data that cannot be restored.")`) {
		t.Error("the request does not show its consequence")
	}
	if getValue[bool](w, `document.querySelector(".approval").innerText.includes("cannot be undone")`) {
		t.Error("the request shows its consequence twice")
	}
	if getValue[bool](w, `document.querySelector(".approval").innerText.includes("Arguments")`) {
		t.Error("the arguments are shown before the details are opened")
	}
	if n := getValue[string](w, `document.querySelector("#nav .count").firstChild.textContent`); n != "1" {
		t.Errorf("the sidebar counts %q", n)
	}
	w.clickElement(".approval summary")
	w.waitUntil(`document.querySelector(".approval").innerText.includes("Arguments")`)
	w.clickElement(".approval .yes")
	w.waitUntil(`!document.querySelector(".approval") && document.querySelector("main .badge.good")?.innerText === "approved" && !document.querySelector("#nav .count")`)
	w.visitPage(h, "/chat")
	w.sendText("what is the code?")
	if a := w.lastMessage("assistant"); strings.Contains(a, "99") {
		t.Errorf("answer after the approval = %q", a)
	}
}

func testTimeline(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	h.fillPages()
	w := b.openWindow(t)
	w.logIn(h)
	w.visitPage(h, "/timeline")
	const row = `Array.from(document.querySelectorAll("main li")).find(e => e.innerText.includes("water plant 1"))`
	w.waitUntil(row)
	for address, want := range map[string]bool{
		"?kind=action": true, "?kind=message": false, "?day=2001-01-01": false, "?day=" + time.Now().UTC().Format(time.DateOnly): true,
	} {
		w.visitPage(h, "/timeline"+address)
		if got := getValue[bool](w, "!!"+row); got != want {
			t.Errorf("%s shows the task: %v", address, got)
		}
	}
	w.visitPage(h, "/timeline")
	w.runSteps(chromedp.Evaluate[chromedp.Void](row + `.querySelector("a[href*=why]").click()`))
	w.waitUntil(`document.querySelector("#drawer[open] details pre")?.textContent.includes("create_task") && document.querySelector("#drawer[open]").innerText.includes("Because you")`)
	w.visitPage(h, "/timeline")
	w.runSteps(chromedp.Evaluate[chromedp.Void](row + `.querySelector("form button").click()`))
	w.waitUntil(`Array.from(document.querySelectorAll("main li")).some(e => e.innerText.includes("water plant 1") && e.innerText.includes("undone"))`)
	w.waitUntil(`Array.from(document.querySelectorAll("main li")).some(e => e.innerText.includes("Undo: ") && e.innerText.includes("water plant 1"))`)
	var tasks []struct{ Title string }
	h.getJSON("/api/v1/tasks", &tasks)
	if len(tasks) != 3 || slices.ContainsFunc(tasks, func(x struct{ Title string }) bool { return x.Title == "water plant 1" }) {
		t.Errorf("tasks after the undo = %v", tasks)
	}
}

// noScripts turns JavaScript of the page off.
func noScripts() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
}

func testWithoutScripts(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.runSteps(noScripts(), chromedp.Navigate(h.loginLink()))
	w.runSteps(chromedp.SendKeys(chromedp.CSS("#input"), "add a task to water the ficus"), chromedp.Click(chromedp.CSS("#send")))
	w.waitUntil(`document.querySelectorAll(".message.assistant").length === 1`)
	w.runSteps(chromedp.Navigate(h.url + "/today"))
	w.waitUntil(`document.querySelector("main").innerText.includes("water the ficus")`)
	w.runSteps(chromedp.SendKeys(chromedp.CSS("[name=title]"), "pay <b>rent"), chromedp.Click(chromedp.CSS("[name=title] ~ button")))
	w.waitUntil(`document.querySelector(".flash") && document.querySelector("main").innerText.includes("pay <b>rent")`)
	w.runSteps(chromedp.Click(chromedp.CSS(".tick button")))
	w.waitUntil(`document.querySelectorAll(".tick").length === 1`)
}

func testLostConnection(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	w.runSteps(chromedp.SendKeys(chromedp.CSS("#input"), "half a sentence"))
	getValue[bool](w, `(state.feed.dispatchEvent(new Event("error")), true)`)
	w.waitUntil(`document.querySelector("#lost").checkVisibility() && document.querySelector("#state[data-state=away]")`)
	w.runSteps(chromedp.Reload())
	w.waitUntil(live)
	if v := getValue[string](w, `document.querySelector("#input").value`); v != "half a sentence" {
		t.Errorf("input after a reload = %q", v)
	}
	if getValue[bool](w, `document.querySelector("#lost").checkVisibility()`) {
		t.Error("the banner is shown although the page is connected")
	}
	// What was sent in the meantime arrives once: without a connection, and while Hob restarts.
	const stopping = `Promise.resolve(new Response(JSON.stringify({error: {code: "stopping", message: "Hob is stopping", remedy: "ask GET /api/v1/inbox/x"}}), {status: 503}))`
	for n, failure := range []string{`Promise.reject(new TypeError("offline"))`, stopping} {
		getValue[bool](w, `(window.reached = window.fetch, window.fetch = () => `+failure+`, showConnection(false), true)`)
		w.runSteps(chromedp.Focus(chromedp.CSS("#input")), enterKey())
		w.waitUntil(`document.querySelector(".message.error .retry")`)
		if s := w.shownText(); strings.Contains(s, "/api/") || n == 1 && !strings.Contains(s, "the answer will appear here") {
			t.Errorf("the page says %q", s)
		}
		getValue[bool](w, `(window.fetch = window.reached, state.feed.onopen(), true)`)
		w.waitUntil(`document.querySelector(".message.assistant:not(.busy) > .text") && !document.querySelector(".message.error")`)
		if got := w.listTexts("user"); !slices.Equal(got, []string{"half a sentence", "hello"}[:n+1]) {
			t.Errorf("the messages are %q", got)
		}
		w.runSteps(chromedp.SendKeys(chromedp.CSS("#input"), "hello"))
	}
}

// Two pages may show one request. The second answer is refused, and says so.
func TestApprovals_SecondAnswerIsRefused(t *testing.T) {
	h := openDaemon(t, offline)
	var out struct{ Approvals []struct{ ID string } }
	h.postJSON("/api/v1/sessions/main/messages", map[string]any{"text": "remember that the code is 99"}, &out)
	h.postJSON("/api/v1/sessions/main/messages", map[string]any{"text": "forget the code"}, &out)
	if len(out.Approvals) != 1 {
		t.Fatalf("the request is %+v", out)
	}
	answer := func(approved string) string {
		t.Helper()
		form := url.Values{"id": {out.Approvals[0].ID}, "approved": {approved}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/approvals/answer", strings.NewReader(form.Encode()))
		failOnError(t, err)
		req.Header.Set("Authorization", "Bearer "+h.token)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := http.DefaultClient.Do(req) // follows the redirect with the same headers
		failOnError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		failOnError(t, err)
		return string(body)
	}
	if page := answer("false"); !strings.Contains(page, `<p class="flash">Denied.</p>`) {
		t.Errorf("page after the first answer:\n%.3000s", page)
	}
	if page := answer("true"); !strings.Contains(page, `<p class="flash error">`) || strings.Contains(page, "Approved.") {
		t.Errorf("page after the second answer:\n%.3000s", page)
	}
}

func testLogout(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w, other := b.openWindow(t), b.openWindow(t)
	w.logIn(h)
	other.logIn(h)
	w.visitPage(h, "/today")
	w.clickElement("#log-out button")
	w.waitUntil(`document.querySelector("#login")`)
	w.runSteps(chromedp.Navigate(h.url + "/today"))
	w.waitUntil(`document.querySelector("#login")`)
	w.takeComplaints() // status 401
	other.visitPage(h, "/today")
	// A page whose login ends in another tab says so, and keeps the input.
	other.visitPage(h, "/chat")
	other.runSteps(chromedp.SendKeys(chromedp.CSS("#input"), "half a sentence"))
	getValue[bool](other, `(fetch("/logout", { method: "POST" }).then(() => { window.out = true; }), true)`)
	other.waitUntil(`window.out`)
	getValue[bool](other, `(state.feed.close(), listen(), true)`)
	other.waitUntil(`document.querySelector("#lost").innerText.includes("Your login has ended")`)
	if v := getValue[string](other, `document.querySelector("#input").value`); v != "half a sentence" {
		t.Errorf("input = %q", v)
	}
	other.takeComplaints() // status 401
	other.runSteps(chromedp.Navigate("about:blank"))
}

func testFiles(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	getValue[bool](w, `(() => {
		const d = new DataTransfer();
		d.items.add(new File(["buy milk\nand more"], "list.txt", { type: "text/plain" }));
		d.items.add(new File([new Uint8Array([0, 1, 2, 255])], "x.bin", { type: "application/octet-stream" }));
		document.querySelector("#log").dispatchEvent(new DragEvent("drop", { dataTransfer: d, bubbles: true, cancelable: true }));
		return true;
	})()`)
	w.waitUntil(`document.querySelectorAll("#pastes .paste").length === 1`)
	w.awaitMessage("status", "x.bin is not a text file or a picture.")
	w.sendText("summarise this")
	if s := w.lastMessage("user"); s != "summarise this\n[list.txt]" {
		t.Errorf("sent text = %q", s)
	}
	if s := w.lastMessage("assistant"); !strings.Contains(s, "This text is from another source") {
		t.Errorf("the answer is %q", s)
	}
}

// The first page costs at most 100 KB on the wire, and nothing in it comes from another host.
func TestPage_FirstVisitIsSmall(t *testing.T) {
	h := openDaemon(t, offline)
	total := 0
	fetch := func(path string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, nil)
		failOnError(t, err)
		req.Header.Set("Authorization", "Bearer "+h.token)
		req.Header.Set("Accept-Encoding", "gzip")
		res, err := http.DefaultTransport.RoundTrip(req)
		failOnError(t, err)
		defer res.Body.Close()
		n, err := io.Copy(io.Discard, res.Body)
		failOnError(t, err)
		if res.StatusCode != http.StatusOK || n > 1<<10 && res.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %s, encoding %q", path, res.Status, res.Header.Get("Content-Encoding"))
		}
		total += int(n)
		return res.Header.Get("Content-Security-Policy")
	}
	policy := fetch("/chat")
	for _, bad := range []string{"unsafe", "http:", "https:", "*"} {
		if strings.Contains(policy, bad) {
			t.Errorf("the policy allows %s: %s", bad, policy)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/chat", nil)
	failOnError(t, err)
	req.Header.Set("Authorization", "Bearer "+h.token)
	res, err := http.DefaultClient.Do(req)
	failOnError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	failOnError(t, err)
	for part := range strings.SplitSeq(string(body), `"`) {
		u, err := url.Parse(part)
		switch {
		case err != nil || strings.ContainsAny(part, " \n"):
		case u.Host != "":
			t.Errorf("the page refers to another host: %s", part)
		case strings.HasPrefix(part, "/assets/"), part == "/icon.svg":
			fetch(part)
		}
	}
	if total > 100<<10 {
		t.Errorf("the first visit transfers %d bytes, want at most %d", total, 100<<10)
	}
	t.Logf("the first visit transfers %d bytes", total)
}
