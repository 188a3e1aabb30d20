package browser

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/platform/retry"
)

// inside contains servers on this machine that the browser must not reach.
type inside struct {
	web *httptest.Server
	udp net.PacketConn

	mu    sync.Mutex
	heard []string
}

func newInside(t *testing.T) *inside {
	t.Helper()
	in := &inside{}
	in.web = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in.recordRequest(r.Method + " " + r.Host + r.URL.String())
		w.Header().Set("Access-Control-Allow-Origin", "*")
		_, _ = io.WriteString(w, "the secret of the house")
	}))
	in.web.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			in.recordRequest("connection from " + c.RemoteAddr().String())
		}
	}
	in.web.Start()
	t.Cleanup(in.web.Close)
	var err error
	if in.udp, err = (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		b := make([]byte, 1500)
		for {
			n, from, err := in.udp.ReadFrom(b)
			if err != nil {
				return
			}
			in.recordRequest(fmt.Sprintf("%d bytes by UDP from %s", n, from))
		}
	})
	t.Cleanup(work.Wait)
	t.Cleanup(func() { _ = in.udp.Close() })
	return in
}

func (in *inside) recordRequest(s string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.heard = append(in.heard, s)
}

func (in *inside) checkUnreached(t *testing.T) {
	t.Helper()
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.heard) > 0 {
		t.Errorf("the inside was reached: %s", strings.Join(in.heard, "; "))
	}
}

// hostile is a page that tries to reach the local network in every way that a page can.
const hostile = `<!doctype html><title>Friendly</title>
<link rel="dns-prefetch" href="http://localhost:WEB/"><link rel="preconnect" href="http://127.0.0.1:WEB/"><link rel="prefetch" href="http://127.0.0.1:WEB/prefetch">
<link rel="stylesheet" href="http://127.0.0.1:WEB/style.css"><img src="http://localhost:WEB/img"><iframe src="http://127.0.0.1:WEB/frame"></iframe>
<iframe src="file:///etc/passwd"></iframe><script src="http://[::1]:WEB/script.js"></script><video src="http://2130706433:WEB/video"></video>
<object data="http://0.0.0.0:WEB/object"></object><form id=f action="http://127.0.0.1:WEB/form" method=post target=g><input name=a value=b></form><iframe name=g></iframe>
<p id=out>working</p>
<script>
const tried = [];
const attempt = (name, p) => tried.push(Promise.race([p.then((v) => name + " GOT " + v, () => name + " refused"), new Promise((r) => setTimeout(() => r(name + " silent"), 4000))]));
const u = "http://127.0.0.1:WEB/";
attempt("fetch", fetch(u).then((r) => r.ok ? r.text() : Promise.reject()));
attempt("no-cors", fetch(u + "opaque", { mode: "no-cors", method: "POST", body: "x" }).then((r) => r.type));
attempt("rebound", fetch("http://rebind.example:WEB/").then((r) => r.ok ? r.text() : Promise.reject()));
attempt("metadata", fetch("http://169.254.169.254/latest/meta-data/").then((r) => r.ok ? r.text() : Promise.reject()));
attempt("router", fetch("http://192.168.1.1/").then((r) => r.ok ? r.text() : Promise.reject()));
attempt("redirected", fetch("http://plain.example/inward").then((r) => r.ok ? r.text() : Promise.reject()));
attempt("socket", new Promise((r, x) => { const s = new WebSocket("ws://127.0.0.1:WEB/ws"); s.onopen = () => r("open"); s.onerror = x; }));
attempt("safe socket", new Promise((r, x) => { const s = new WebSocket("wss://localhost:WEB/ws"); s.onopen = () => r("open"); s.onerror = x; }));
attempt("events", new Promise((r, x) => { const s = new EventSource(u + "events"); s.onopen = () => r("open"); s.onerror = x; }));
attempt("beacon", new Promise((r, x) => { navigator.sendBeacon(u + "beacon", "x"); x(); }));
attempt("ping", new Promise((r, x) => { const a = document.createElement("a"); a.href = "#"; a.ping = u + "ping"; document.body.append(a); a.click(); x(); }));
attempt("worker", new Promise((r, x) => { const w = new Worker(URL.createObjectURL(new Blob(["fetch('" + u + "worker').then((r)=>r.text()).then(postMessage,()=>postMessage(''))"]))); w.onmessage = (e) => e.data && !/refused/.test(e.data) ? r(e.data) : x(); w.onerror = x; }));
attempt("transport", (async () => { const t = new WebTransport("https://127.0.0.1:UDP/"); await t.ready; return "open"; })());
attempt("rtc", new Promise((r, x) => {
  const c = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:UDP" }, { urls: "turn:127.0.0.1:UDP", username: "a", credential: "b" }, { urls: "turn:127.0.0.1:WEB?transport=tcp", username: "a", credential: "b" }] });
  let found = "";
  c.onicecandidate = (e) => { if (e.candidate) found += e.candidate.candidate + ";"; else found ? r(found) : x(); };
  c.createDataChannel("a"); c.createOffer().then((o) => c.setLocalDescription(o));
}));
document.getElementById("f").submit();
window.open(u + "popup");
const top1 = document.createElement("script"); top1.src = u + "late.js"; document.body.append(top1);
Promise.all(tried).then((all) => { document.getElementById("out").textContent = "done: " + all.join(", "); });
</script>`

func TestNetwork_ReachesNoInternalAddress(t *testing.T) {
	t.Parallel() // the test mostly waits
	w := newFixture(t, Options{})
	defer w.applyLimits(limits{load: 2 * time.Second})()
	in := newInside(t)
	port := in.web.Listener.Addr().(*net.TCPAddr).Port
	fill := strings.NewReplacer("WEB", fmt.Sprint(port), "UDP", fmt.Sprint(in.udp.LocalAddr().(*net.UDPAddr).Port))
	w.net.Name("rebind.example", "93.184.216.34", "127.0.0.1")
	w.putPage("plain.example/hostile", fill.Replace(hostile))
	w.putPage("plain.example/inward", fill.Replace("-> http://127.0.0.1:WEB/redirected"))
	w.putPage("plain.example/inward2", fill.Replace("-> https://127.0.0.1:WEB/redirected"))
	w.putPage("plain.example/file", "-> file:///etc/passwd")
	w.putPage("plain.example/jump", fill.Replace(`<title>Jump</title><p>wait<script>location.href = "http://127.0.0.1:WEB/jumped"</script>`))
	ctx := w.deadlineContext(t)

	if _, err := w.Open(ctx, "http://plain.example/hostile"); err != nil {
		t.Fatal(err)
	}
	var text string
	for range 160 {
		c, err := w.Content(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		if text = c.Text; strings.Contains(text, "done:") {
			break
		}
		if err := retry.Sleep(ctx, 250*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(text)
	if !strings.Contains(text, "done:") || strings.Contains(text, "secret of the house") || strings.Contains(text, "rebound GOT") || strings.Contains(text, "root:") {
		t.Errorf("the page reports: %s", text)
	}
	for _, name := range []string{"fetch", "metadata", "router", "redirected", "socket", "safe socket", "events", "transport"} {
		if strings.Contains(text, " "+name+" GOT") {
			t.Errorf("%s got through: %s", name, text)
		}
	}
	if strings.Contains(text, "typ host") || strings.Contains(text, "typ srflx") {
		t.Errorf("WebRTC shows addresses: %s", text)
	}
	for _, address := range []string{"http://plain.example/inward", "http://plain.example/inward2", "http://plain.example/jump", "http://plain.example/file", fmt.Sprintf("http://127.0.0.1:%d/", port), fmt.Sprintf("http://localhost:%d/", port)} {
		tab, err := w.Open(ctx, address)
		if err == nil {
			c, cerr := w.Content(ctx, tab.ID)
			t.Errorf("%s was opened: %+v %+v %v", address, tab, c, cerr)
			continue
		}
		t.Logf("%s: %v", address, err)
	}
	in.checkUnreached(t)
}

func TestProxy_ServesOnlyTheBrowser(t *testing.T) {
	w := newFixture(t, Options{})
	p, err := openProxy(w.net.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for _, request := range []string{
		"GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n",
		"CONNECT plain.example:443 HTTP/1.1\r\nHost: plain.example:443\r\n\r\n",
		"GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\nProxy-Authorization: Basic aG9iOg==\r\n\r\n",
	} {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.listenAddress())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, request)
		b := make([]byte, 100)
		n, _ := c.Read(b)
		_ = c.Close()
		if !strings.HasPrefix(string(b[:n]), "HTTP/1.1 407 ") {
			t.Errorf("%q was answered %q", request, b[:n])
		}
	}
	if len(w.net.Heard()) > 0 {
		t.Error("the proxy forwarded a request")
	}
}
