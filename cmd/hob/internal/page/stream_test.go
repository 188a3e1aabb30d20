package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// slowModel starts a model server that pauses in each answer until the test signals goOn.
func slowModel(t *testing.T, goOn <-chan struct{}) string {
	t.Helper()
	delta := func(w http.ResponseWriter, text, reason string) {
		fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"slow\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":%s}]}\n\n", text, reason)
		w.(http.Flusher).Flush()
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		delta(w, "First half,", "null")
		select {
		case <-goOn:
			delta(w, " second half.", "null")
			delta(w, "", `"stop"`)
			fmt.Fprint(w, "data: [DONE]\n\n")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func testStream(t *testing.T, b *browser) {
	goOn := make(chan struct{})
	url := slowModel(t, goOn)
	h := openDaemon(t, fmt.Sprintf("[agent]\nmodel = \"slow/slow\"\n[providers.slow]\nkind = \"openai\"\nbase_url = %q\n", url+"/v1"))
	w := b.openWindow(t)
	w.logIn(h)
	send := func() {
		w.runSteps(chromedp.SendKeys(chromedp.CSS("#input"), "tell me"), enterKey())
		w.waitUntil(`Array.from(document.querySelectorAll(".message.assistant.busy > .text")).some(e => e.textContent === "First half,")`)
	}
	send()
	if !getValue[bool](w, `document.querySelector("#log[aria-busy=true]") && document.querySelector("#stop").checkVisibility()`) {
		t.Error("the page does not show a running answer with a stop button")
	}
	select {
	case goOn <- struct{}{}:
	case <-t.Context().Done():
	}
	w.waitUntil(`document.querySelector("#log[aria-busy=false]")`)
	if a := w.lastMessage("assistant"); a != "First half, second half." {
		t.Errorf("the answer is %q", a)
	}

	send()
	w.runSteps(chromedp.KeyEvent(kb.Escape))
	w.waitUntil(`document.querySelector("#log[aria-busy=false]") && !document.querySelector("#stop").checkVisibility()`)
	w.awaitMessage("assistant", "First half,")
	if n := len(w.listTexts("user")); n != 2 {
		t.Errorf("%q", w.listTexts(""))
	}
}
