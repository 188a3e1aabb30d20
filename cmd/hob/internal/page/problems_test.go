package page

import (
	"strings"
	"testing"
)

// The page shows problems above the conversation, such as a model that cannot be reached.
func testProblems(t *testing.T, b *browser) {
	h := openDaemon(t, "[agent]\nmodel = \"local/m\"\n[providers.local]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n[browser]\nenabled = false\n")
	w := b.openWindow(t)
	w.logIn(h)
	if !getValue[bool](w, `document.querySelector("#problems").hidden`) {
		t.Error("problems are shown although there are none")
	}
	w.sendText("hello")
	w.awaitMessage("assistant", "My built-in brain answered, because local cannot be reached")
	w.waitUntil(`document.querySelector("#problems > [data-name=model]")`)
	text := getValue[string](w, `document.querySelector("#problems").innerText`)
	if !strings.HasPrefix(text, "The model local/m is unreachable: cannot connect to 127.0.0.1:9") || !strings.Contains(text, "Hob tries again with the first message after ") || !strings.HasSuffix(text, "Check it with: hob provider test") {
		t.Errorf("text = %q", text)
	}
}
