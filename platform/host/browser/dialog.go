package browser

import (
	"context"
	"encoding/json"
	"time"
)

// dialog is a JavaScript dialog that blocks the page.
type dialog struct {
	kind string
	text string
}

// patience is how long a dialog stays open so that a user at the window can answer it.
const patience = time.Minute

// handleEvent handles an event of the tab. It must not block.
func (t *tab) handleEvent(e cdpEvent) {
	var q struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		FrameID string `json:"frameId"`
		Loader  string `json:"loaderId"`
		Name    string `json:"name"`
		Frame   struct {
			ID     string `json:"id"`
			Parent string `json:"parentId"`
			Loader string `json:"loaderId"`
			URL    string `json:"url"`
		} `json:"frame"`
	}
	switch e.Method {
	case "Fetch.requestPaused", "Fetch.authRequired":
		t.b.answerGreeting(t.p, t, e)
		return
	case "Inspector.targetCrashed":
		t.markCrashed()
		return
	}
	if json.Unmarshal(e.Params, &q) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Method {
	case "Page.javascriptDialogOpening":
		d := &dialog{kind: q.Type, text: sanitizeLine(q.Message, 300)}
		t.dialog = d
		if t.working > 0 || t.p.headless {
			t.answerDialog(d, 0)
			return
		}
		t.answerDialog(d, patience)
	case "Page.javascriptDialogClosed":
		t.dialog = nil
	case "Page.frameNavigated":
		if q.Frame.Parent == "" {
			t.url, t.world = q.Frame.URL, 0
			t.recordDocument(q.Frame.Loader)
			if q.Type == "BackForwardCacheRestore" { // the document had already been loaded
				closeOnce(t.loaded)
				closeOnce(t.quiet)
			}
		}
	case "Page.lifecycleEvent":
		if q.FrameID == t.target {
			t.recordLifecycle(q.Loader, q.Name)
		}
	}
}

// recordDocument records a new document. The caller holds t.mu.
func (t *tab) recordDocument(loader string) {
	if loader == t.loader {
		return
	}
	t.before = append(t.before[max(0, len(t.before)-7):], t.loader)
	t.loader, t.world = loader, 0
	t.loaded, t.quiet = make(chan struct{}), make(chan struct{})
}

// recordLifecycle records the loading state of the document. The caller holds t.mu. Events of the
// previous document may still arrive from another process of the browser.
func (t *tab) recordLifecycle(loader, name string) {
	if name == "commit" {
		t.recordDocument(loader)
	}
	if loader != t.loader {
		return
	}
	switch name {
	case "load":
		closeOnce(t.loaded)
	case "networkAlmostIdle", "networkIdle":
		closeOnce(t.quiet)
	}
}

// closeOnce closes a channel that may already be closed.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// answerDialog answers a dialog. It records alerts, and answers questions with no, except the
// question whether to leave the page, which it answers with yes. The caller holds t.mu.
func (t *tab) answerDialog(d *dialog, after time.Duration) {
	yes := d.kind == "alert" || d.kind == "beforeunload"
	t.p.runBackground(func() {
		ctx, cancel := context.WithTimeout(context.Background(), after+10*time.Second)
		defer cancel()
		if after > 0 {
			select {
			case <-time.After(after):
			case <-t.gone:
				return
			case <-t.p.conn.lost:
				return
			}
		}
		t.mu.Lock()
		open := t.dialog == d
		if open {
			t.dialog = nil
			word := "no"
			if yes {
				word = "OK"
			}
			t.dialogs = append(t.dialogs, d.kind+": "+d.text+" (answered: "+word+")")
			t.dialogs = t.dialogs[max(0, len(t.dialogs)-5):]
		}
		t.mu.Unlock()
		if open {
			_ = t.callCommand(ctx, "Page.handleJavaScriptDialog", jsonObject{"accept": yes}, nil) // the dialog may be closed already
		}
	})
}

// Dialogs returns and clears the texts of a tab's dialogs since the last call.
func (b *Browser) Dialogs(id string) []string {
	t, err := b.findTab(id)
	if err != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.dialogs
	t.dialogs = nil
	return d
}
