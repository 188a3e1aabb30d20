package page

import (
	"slices"
	"strings"
	"testing"
)

// The card shows the doctor's findings, worst first.
func testHealth(t *testing.T, b *browser) {
	h := open(t, offline+"[browser]\nenabled = false\n[channels.webhook]\nurl = \"https://hook.example.org\"\nsecret = \"env:NO_SUCH_SECRET\"\n")
	w := b.window(t)
	w.enter(h)
	w.click("#health summary")
	w.until(`document.querySelector("#health[data-state=loaded]")`)
	shown := get[[]string](w, `Array.from(document.querySelectorAll("#checks .thing"), e => e.dataset.state + " " + e.dataset.name)`)
	if !slices.Contains(shown, "fail channel webhook") || !strings.HasPrefix(shown[0], "fail ") {
		t.Errorf("it shows %q", shown)
	}
	text := get[string](w, `document.querySelector("#checks").innerText`)
	if !strings.Contains(text, "NO_SUCH_SECRET") || !strings.Contains(text, "what to do: ") || !strings.Contains(text, "OK: ") || !strings.Contains(text, "database") {
		t.Errorf("it says %q", text)
	}
}
