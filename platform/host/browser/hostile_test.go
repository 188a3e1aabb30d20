package browser

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestHostilePages tests pages that try to deceive Hob.
func TestHostilePages(t *testing.T) {
	t.Parallel() // the test mostly waits
	w := newFixture(t, Options{MaxTabs: 12})
	w.putPage("plain.example/next", `<title>Next</title><p>The next page.</p>`)
	for _, tc := range []struct {
		name string
		test func(t *testing.T, w *browserFixture)
	}{
		{"a blank tab opened by a page", testHeldTab},
		{"a page that loses a picture after a click", testLostPicture},
		{"a form that is replaced while it is filled in", testRemade},
		{"frames over the clicked element", testFrames},
		{"links that start programs", testPrograms},
		{"a picture of secrets", testVeil},
		{"boxes of a page's own making", testOwnBoxes},
		{"two tabs that are read concurrently", testReadAtOnce},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.test(t, w)
			for _, tab := range w.Tabs(t.Context()) {
				_, _ = w.CloseTab(t.Context(), tab.ID)
			}
		})
	}
}

func testHeldTab(t *testing.T, w *browserFixture) {
	w.putPage("evil.example/", `<title>Evil</title><button onclick="window.w = window.open('about:blank')">Go on</button>`)
	w.net.Name("evil.example", "93.184.216.34")
	c := w.openPage(t, "http://evil.example/")
	if _, err := w.Click(w.deadlineContext(t), "", c.findElement(t, "Go on").Handle, approveAll); err != nil {
		t.Fatal(err)
	}
	tab, err := w.Open(w.deadlineContext(t), "http://plain.example/next")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Execute(w.deadlineContext(t), c.Tab, "window.w.location = 'http://evil.example/look-alike'", approveAll); err != nil {
		t.Fatal(err)
	}
	if tab, err = w.Get(tab.ID); err != nil || tab.Title != "Next" {
		t.Errorf("the page navigated the tab: %+v, %v", tab, err)
	}
}

func testLostPicture(t *testing.T, w *browserFixture) {
	w.putPage("plain.example/buy", `<title>Buy</title><button onclick="location = '/bought'">Buy now</button>`)
	w.putPage("plain.example/bought", `<title>Bought</title><p>Thank you.</p><img src="/lost.png"><img src="http://127.0.0.1:1/refused.png">`)
	w.putPage("plain.example/lost.png", "cut")
	c := w.openPage(t, "http://plain.example/buy")
	done, err := w.Click(w.deadlineContext(t), "", c.findElement(t, "Buy now").Handle, approveAll)
	if err != nil || done.Tab.Title != "Bought" {
		t.Errorf("Click = %+v, %v", done, err)
	}
	if c, err = w.Content(w.deadlineContext(t), ""); err != nil || !strings.Contains(c.Text, "Thank you.") {
		t.Errorf("Content = %+v, %v", c, err)
	}
}

func testRemade(t *testing.T, w *browserFixture) {
	w.putPage("plain.example/remade", `<title>Remade</title><form onsubmit="document.title='sent'; return false"><div id=a></div></form>
<script>const make = () => { a.innerHTML = "<input name=first><input name=second>"; a.firstChild.onchange = make; }; make();</script>`)
	c := w.openPage(t, "http://plain.example/remade")
	done, err := w.Fill(w.deadlineContext(t), "", []Field{{c.findElement(t, "first").Handle, "x"}, {c.findElement(t, "second").Handle, "y"}}, true, approveAll)
	if kindOf(err) != NotFound || !strings.Contains(err.Error(), "nothing was sent") {
		t.Errorf("Fill = %+v, %v", done, err)
	}
	if tab, err := w.Get(""); err != nil || tab.Title != "Remade" {
		t.Errorf("%+v, %v", tab, err)
	}
}

func testFrames(t *testing.T, w *browserFixture) {
	w.net.Name("bank.example", "93.184.216.34")
	w.putPage("bank.example/ok", `<title>Bank</title><body onclick="fetch('/paid')">`)
	const bank = `<iframe src="http://bank.example/ok" style="opacity:0.01;position:absolute;inset:0;width:100%;height:100%;border:0"></iframe>`
	w.putPage("plain.example/within", `<title>x</title><div role=button aria-label="Go on" style="position:relative;width:200px;height:50px">`+bank+`</div>`)
	w.putPage("plain.example/over", `<title>x</title><div style="position:relative;width:300px;height:200px"><iframe srcdoc="<button>Go on</button>" style="position:absolute;inset:0;width:100%;height:100%"></iframe>`+bank+`</div>`)
	w.putPage("plain.example/late", `<title>x</title><div id=d style="position:relative;width:200px;height:50px"><button>Go on</button></div><script>d.onmousemove = () => { d.onmousemove = null; d.insertAdjacentHTML("beforeend", '`+bank+`'); };</script>`)
	for _, path := range []string{"within", "over", "late"} {
		c := w.openPage(t, "http://plain.example/"+path)
		if done, err := w.Click(w.deadlineContext(t), "", c.findElement(t, "Go on").Handle, approveAll); kindOf(err) != NotFound || !strings.Contains(err.Error(), "over it") {
			t.Errorf("%s: Click = %+v, %v", path, done, err)
		}
	}
	for _, h := range w.net.Heard() {
		if strings.Contains(fmt.Sprint(h), "/paid") {
			t.Error("the frame was clicked")
		}
	}
}

func testPrograms(t *testing.T, w *browserFixture) {
	w.putPage("plain.example/programs", `<title>x</title><a href="zoommtg:join">Next</a> <a href="mailto:boss@plain.example">Write</a>`)
	c := w.openPage(t, "http://plain.example/programs")
	for _, name := range []string{"Next", "Write"} {
		if done, err := w.Click(w.deadlineContext(t), "", c.findElement(t, name).Handle, approveAll); kindOf(err) != NotFound || !strings.Contains(err.Error(), "another program") {
			t.Errorf("Click = %+v, %v", done, err)
		}
	}
	env := browserEnviron([]string{"PATH=/usr/bin", "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/bus", "HOB_TOKEN=x"}, "/profile/nothing")
	if s := strings.Join(env, "\n"); strings.Contains(s, "/run/bus") || strings.Contains(s, "HOB_TOKEN=") || !strings.Contains(s, "PATH=/profile/nothing"+string(os.PathListSeparator)+"/usr/bin") {
		t.Error(s)
	}
}

// TestClearData checks that Forget removes the data of sites and keeps the user signed in.
func TestClearData(t *testing.T) {
	t.Parallel() // the test mostly waits
	w := newFixture(t, Options{})
	w.putPage("plain.example/", `<title>Plain</title><p>Text.</p>`)
	w.openPage(t, "http://plain.example/")
	if _, err := w.Execute(w.deadlineContext(t), "", "localStorage.setItem('a', 'to be forgotten'); document.cookie = 'login=yes; max-age=100000'; 1", approveAll); err != nil {
		t.Fatal(err)
	}
	if err := w.Forget(false); err != nil || w.Running() {
		t.Fatal(err)
	}
	err := filepath.WalkDir(w.opt.Profile, func(path string, f fs.DirEntry, err error) error {
		if err != nil || !f.Type().IsRegular() || strings.HasPrefix(f.Name(), "Cookies") {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("plain.example")) || bytes.Contains(b, []byte("to be forgotten")) {
			t.Errorf("%s names the page", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	w.openPage(t, "http://plain.example/")
	if got, err := w.Execute(w.deadlineContext(t), "", "localStorage.getItem('a') + document.cookie", approveAll); err != nil || got != "nulllogin=yes" {
		t.Errorf("Execute = %q, %v", got, err)
	}
	if err := w.Forget(true); err != nil || w.Running() {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(w.opt.Profile); !errors.Is(err, fs.ErrNotExist) {
		t.Error(left, err)
	}
	w.openPage(t, "http://plain.example/")
	if got, err := w.Execute(w.deadlineContext(t), "", "document.cookie", approveAll); err != nil || got != "" {
		t.Errorf("the cookie still exists: %q, %v", got, err)
	}
}

// testVeil checks that screenshots of two different card numbers are identical.
func testVeil(t *testing.T, w *browserFixture) {
	w.putPage("plain.example/card", `<title>x</title><style>input { caret-color: transparent; outline: none }</style><input autocomplete=cc-number value=4111> <input id=p value=open>`)
	w.openPage(t, "http://plain.example/card")
	shot := func(script string) string {
		t.Helper()
		if _, err := w.Execute(w.deadlineContext(t), "", script, approveAll); err != nil {
			t.Fatal(err)
		}
		data, _, err := w.Screenshot(w.deadlineContext(t), "")
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	first := shot("1")
	if second := shot("document.querySelector('input').value = '9876'; 1"); first != second {
		t.Error("the picture shows the card number")
	}
	if third := shot("p.value = 'else'; 1"); first == third {
		t.Error("the picture hides other fields")
	}
	if got, err := w.Execute(w.deadlineContext(t), "", "document.querySelector('input').getAttribute('style') || ''", approveAll); err != nil || got != "" {
		t.Errorf("the style of the field is not restored: %q, %v", got, err)
	}
}

func testOwnBoxes(t *testing.T, w *browserFixture) {
	w.putPage("plain.example/boxes", `<title>Boxes</title>
<div role=switch tabindex=0 aria-checked=true aria-label=Share onclick="queueMicrotask(() => this.setAttribute('aria-checked', this.getAttribute('aria-checked') !== 'true'))"></div>
<div role=checkbox aria-checked=false aria-label=Stuck></div>`)
	c := w.openPage(t, "http://plain.example/boxes")
	share, stuck := c.findElement(t, "Share"), c.findElement(t, "Stuck")
	if share.Value != "on" || stuck.Value != "off" {
		t.Errorf("%+v, %+v", share, stuck)
	}
	for _, want := range []string{"on", "off", "off", "on"} {
		if _, err := w.Fill(w.deadlineContext(t), "", []Field{{share.Handle, want}}, false, approveAll); err != nil {
			t.Fatal(err)
		}
		if d, err := w.Describe(w.deadlineContext(t), "", share.Handle); err != nil || d.Element.Value != want {
			t.Errorf("%+v, %v; want %s", d, err, want)
		}
	}
	if _, err := w.Fill(w.deadlineContext(t), "", []Field{{stuck.Handle, "on"}}, false, approveAll); kindOf(err) != Refused {
		t.Errorf("Fill of a box that does not change = %v", err)
	}
}

func testReadAtOnce(t *testing.T, w *browserFixture) {
	w.putPage("plain.example/many", "<title>Many</title>"+strings.Repeat("<button>x</button>", 300))
	var ids []string
	for range 3 {
		tab, err := w.Open(w.deadlineContext(t), "http://plain.example/many")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, tab.ID)
	}
	var work sync.WaitGroup
	read := make([]*Content, len(ids))
	for i, id := range ids {
		work.Go(func() { read[i], _ = w.Content(w.deadlineContext(t), id) })
	}
	work.Wait()
	given := map[string]string{}
	for _, c := range read {
		if c == nil {
			t.Fatal("a page has no content")
		}
		for _, e := range c.Elements {
			if other := given[e.Handle]; other != "" {
				t.Fatalf("%s is in both %s and %s", e.Handle, other, c.Tab)
			}
			given[e.Handle] = c.Tab
		}
	}
}
