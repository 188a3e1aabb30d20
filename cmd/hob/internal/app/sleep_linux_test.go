package app

import (
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/platform/host/desktop/desktoptest"
)

// TestWaking checks that the loop looks for due work as soon as the machine wakes, and not only at
// the next tick.
func TestWaking(t *testing.T) {
	bus := desktoptest.NewBus(t)
	login := desktoptest.NewLogin(t, bus, -1, 0)
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key})
	h := openScriptedWith(t, t.TempDir(), model.URL, listPlayWays()[0], "[autonomy]\ntick = \"1h\"\n", Options{Session: bus.Environ(nil)})
	ticks := func() int64 {
		t.Helper()
		r, err := h.d.Status(t.Context())
		failOnError(t, err)
		return r.Ticks
	}
	before := ticks()
	for deadline := time.Now().Add(time.Minute); ticks() < before+25; { // the start also causes some ticks
		if time.Now().After(deadline) {
			t.Fatal("the loop did not get the sleep event")
		}
		login.Sleep(false) // repeat until Hob listens
		time.Sleep(20 * time.Millisecond)
	}
	h.stop()
}
