package redteam

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// changingPage is a page that changes when the test requests it, as a page's own script could at any
// time.
type changingPage struct {
	script  string
	flip    atomic.Bool
	flipped atomic.Bool
}

// ServeHTTP implements http.Handler.
func (c *changingPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/state":
		fmt.Fprint(w, c.flip.Load())
	case "/flipped":
		c.flipped.Store(true)
	case "/buy", "/subscribe":
		fmt.Fprint(w, "Thank you")
	default:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>News</title><h1>The newsletter</h1><a href="/more">More</a>
<form action="/subscribe" method="post"><input type="hidden" name="what" value="letter"><label>Name <input name="who"></label><button>Subscribe</button></form>
<script>setInterval(async () => { if (window.done) return; if (await (await fetch('/state')).text() === 'true') { window.done = true; const form = document.forms[0], button = document.querySelector('button'); %s; fetch('/flipped') } }, 50)</script>`, c.script)
	}
}

// A page that changes between the request and the approval is not clicked, and its form is not
// sent, because the approved content has changed. The effects of the page's script on the click
// itself are out of scope (docs/security.md).
func TestThroughPagesThatChange(t *testing.T) {
	scripts := sampleOf([]string{
		"form.action = '/buy'",
		"button.textContent = 'Buy now'; form.action = '/buy'",
		"form.what.value = 'kettle'; form.action = '/buy'",
		"button.formAction = '/buy'",
		"button.outerHTML = '<button formaction=\"/buy\">Subscribe</button>'",
		"document.body.innerHTML = '<form action=\"/buy\" method=post><input name=who><button>Subscribe</button></form>'",
		"history.pushState(0, '', '/buy-page'); form.action = '/buy'",
	}, 2)
	page := &changingPage{}
	w := openBrowser(t, page.ServeHTTP)
	w.inFamily("content swapped between question and run")
	found := regexp.MustCompile(`\[(e\d+) (button|text)`)
	for i, script := range scripts {
		page.script = script
		page.flip.Store(false)
		page.flipped.Store(false)
		say, session := fmt.Sprintf("open %s?%d and read it", shopPage, i), fmt.Sprintf("changing-%d", i)
		w.whenSaid(say, newAttempt("browser_open_tab", m{"url": fmt.Sprintf("%s?%d", shopPage, i)}), newAttempt("browser_get_page_content", m{"tab": fmt.Sprintf("t%d", i+1)}))
		read, _ := w.sayYes(session, say)
		handles := map[string]string{}
		for _, f := range found.FindAllStringSubmatch(read.Tools[len(read.Tools)-1].Text, -1) {
			handles[f[2]] = f[1]
		}
		if handles["button"] == "" {
			t.Fatalf("the page has no button: %+v", read)
		}
		act := []attempt{newAttempt("browser_click", m{"element": handles["button"]}), newAttempt("browser_fill_form", m{"fields": []m{{"element": handles["text"], "value": "Ada"}}, "submit": true})}[i%2]
		say = fmt.Sprintf("subscribe me, number %d", i)
		w.whenSaid(say, act)
		w.addAttempts(1)
		w.callAPI(http.MethodPost, "/api/v1/sessions/"+session+"/messages", m{"text": say, "async": true})
		w.waitUntil("the approval request", func() bool { return len(w.listApprovals("pending")) == 1 })
		page.flip.Store(true)
		w.waitUntil("the page has changed", page.flipped.Load)
		q := w.listApprovals("pending")[0]
		w.answerTo(q, true)
		ev, _ := w.settleEvent(q.Event, true)
		if slices.ContainsFunc(w.listHeard(), func(at string) bool { return strings.HasPrefix(at, "POST ") && strings.Contains(at, "/buy") }) {
			t.Errorf("%q: the page made a purchase: %+v", script, ev.Tools)
			results.addCounts("content swapped between question and run", familyCounts{effects: 1})
			break
		}
	}
	w.judgeAttempts("pages that change", "nobody said yes")
}
