package browser

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestNavigate_WaitsForItsPage checks that events of the previous page are not attributed to the new page:
// the browser reports a page before the page's own process does, and events of the previous page
// may arrive last.
func TestNavigate_WaitsForItsPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := &tab{b: &Browser{limits: defaultLimits()}, target: "T", gone: make(chan struct{})}
		say := func(method, params string, loader any) {
			tab.handleEvent(cdpEvent{Method: method, Params: json.RawMessage(fmt.Sprintf(params, loader))})
		}
		now := func(loader, name string) {
			say("Page.lifecycleEvent", `{"frameId":"T","loaderId":%q,"name":"`+name+`"}`, loader)
		}
		navigated := func(loader string) { say("Page.frameNavigated", `{"frame":{"id":"T","loaderId":%q}}`, loader) }
		waits := func(loader string) (over func() bool) {
			done := make(chan struct{})
			go func() { tab.waitLoaded(t.Context(), loader); close(done) }()
			return func() bool {
				time.Sleep(time.Second)
				synctest.Wait()
				select {
				case <-done:
					return true
				default:
					return false
				}
			}
		}
		navigated("old")
		now("old", "load")
		now("old", "networkIdle")
		over := waits("new")
		if over() {
			t.Fatal("the previous page counts as the new one")
		}
		navigated("new")
		now("new", "load")
		now("old", "networkIdle")
		now("new", "networkIdle")
		if !over() {
			t.Fatal("the new page has loaded, but the wait continues")
		}
		navigated("next")
		now("next", "load")
		now("next", "networkIdle")
		if !waits("new")() {
			t.Fatal("the wait continues for a page that navigated away")
		}
	})
}
