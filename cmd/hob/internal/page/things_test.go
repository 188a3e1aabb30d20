package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func testThings(t *testing.T, b *browser) {
	h := open(t, offline)
	w := b.window(t)
	w.enter(h)
	var made any
	h.post("/api/v1/tools/create_schedule", map[string]any{"arguments": map[string]any{"every": "day at 8:00", "action": "tell me <b>the weather</b>"}}, &made)
	h.post("/api/v1/tools/create_watcher", map[string]any{"arguments": map[string]any{"kind": "file", "config": map[string]any{"path": "~/Downloads", "pattern": "*.pdf"}}}, &made)
	w.visit(h, "/old")
	w.click("#things summary")
	w.until(`document.querySelector("#things[data-state=loaded]")`)
	const first = `document.querySelectorAll(".thing")[0]`
	text := get[string](w, first+".innerText")
	if !strings.Contains(text, "<b>the weather</b>") || strings.Count(text, "·") != 2 || !strings.Contains(text, "8") {
		t.Errorf("a schedule with its next three times: %q", text)
	}
	if got := get[[]string](w, `Array.from(document.querySelectorAll("#things h3"), e => e.textContent)`); strings.Join(got, " ") != "Schedules Watchers" {
		t.Errorf("%q", got)
	}
	w.click(".thing .pause")
	w.until(first + `?.dataset.state === "paused"`)
	w.click(".thing .resume")
	w.until(first + `?.dataset.state === "active"`)
	w.click(".thing .delete")
	if n := get[int](w, `document.querySelectorAll(".thing").length`); n != 2 {
		t.Errorf("one click deletes: %d are left", n)
	}
	w.click(".thing .delete")
	w.until(`document.querySelectorAll(".thing").length === 1`)
	w.do(chromedp.Reload())
	w.until(live)
	if get[bool](w, `document.querySelector("#things").open || !!document.querySelector(".thing")`) {
		t.Error("a closed card asks for what runs")
	}
}
