package all

import (
	"os"
	"strings"
	"testing"

	"hob/tools"
)

// notUndone lists the tools that change something and have no undo, with the reason.
// docs/undo.md explains them to users.
var notUndone = map[string]string{
	"undo":              "what was undone is done again with redo, or by asking for it",
	"send_email":        "the engine cancels it while it waits; a mail that was handed over cannot be called back",
	"email_unsubscribe": "the sender has the request; subscribing again is up to the user",
	"forget":            "forgetting leaves no trace of a text, so nothing to bring back; it always asks",
	"browser_click":     "what a page does with a click is the page's; it asks first, showing what is clicked",
	"browser_fill_form": "what was typed is the page's from then on; it asks first, showing what is typed where",
	"browser_close_tab": "its page is opened again with browser_open_tab; what was typed into it is gone, so that closing a tab of the owner's asks where it matters",
	"send_notification": "what was seen was seen; the owner closes it",
	"reveal_file":       "it opens a window, which is closed as any other",
	"connect_service":   "it only asks and shows steps; hob mcp remove reverts them",
	"start_facetime":    "a call that rang has rung; it always asks, and FaceTime asks once more",
	"run_shortcut":      "Hob cannot tell what a shortcut does; it always asks",
	"speak":             "what was heard was heard; /stop ends it while it reads",
	"type_text":         "what a program made of it is its own affair; it always asks", "press_keys": "as type_text", "click": "as type_text", "click_element": "as type_text", "fill_element": "as type_text",
}

// TestUndo_ExistsForEveryAction checks that every tool that changes something has an undo, or
// a reason in the list and in docs/undo.md.
func TestUndo_ExistsForEveryAction(t *testing.T) {
	raw, err := os.ReadFile("../../docs/undo.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, x := range openEnv(t).Tools {
		s := x.Spec()
		if s.Effects&(tools.Write|tools.Send|tools.Destroy) == 0 {
			continue
		}
		u, ok := x.(tools.Undoer)
		can := ok && u.CanUndo()
		reason := notUndone[s.Name]
		switch {
		case can && reason != "":
			t.Errorf("%s can be undone, but is in the list of tools that cannot", s.Name)
		case !can && reason == "":
			t.Errorf("%s (%s) has no undo and no reason for it", s.Name, s.Effects)
		}
		if !strings.Contains(page, "`"+s.Name+"`") {
			t.Errorf("docs/undo.md does not mention %s", s.Name)
		}
	}
}
