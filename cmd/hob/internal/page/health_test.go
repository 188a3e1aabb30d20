package page

import (
	"slices"
	"strings"
	"testing"
)

// The health card shows the doctor's findings, worst first.
func testHealth(t *testing.T, b *browser) {
	h := open(t, offline+"[browser]\nenabled = false\n[channels.webhook]\nurl = \"https://hook.example.org\"\nsecret = \"env:NO_SUCH_SECRET\"\n")
	w := b.window(t)
	w.enter(h)
	w.visit(h, "/old")
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

// The page shows problems above the conversation, such as a model that cannot be reached.
func testProblems(t *testing.T, b *browser) {
	h := open(t, "[agent]\nmodel = \"local/m\"\n[providers.local]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n[browser]\nenabled = false\n")
	w := b.window(t)
	w.enter(h)
	if !get[bool](w, `document.querySelector("#problems").hidden`) {
		t.Error("problems are shown although there are none")
	}
	w.say("hello")
	w.arrives("assistant", "My built-in brain answered, because local cannot be reached")
	w.until(`document.querySelector("#problems > [data-name=model]")`)
	text := get[string](w, `document.querySelector("#problems").innerText`)
	if !strings.HasPrefix(text, "The model local/m is unreachable: cannot connect to 127.0.0.1:9") || !strings.Contains(text, "Hob tries again with the first message after ") || !strings.HasSuffix(text, "Check it with: hob provider test") {
		t.Errorf("it says %q", text)
	}
}
