package page

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// pressEdit presses a key that triggers an editing command of the browser, such as "paste".
func pressEdit(command string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
			p := input.DispatchKeyEventParams{Type: kind, Key: "v", Code: "KeyV", Modifiers: 2, WindowsVirtualKeyCode: 86}
			if kind == input.DispatchKeyEventTypeRawKeyDown {
				p.Commands = []string{command}
			}
			if _, err := cdp.Call(ctx, tab, input.DispatchKeyEvent, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// pasteText puts a text into the clipboard and pastes it into the message box.
func (w *window) pasteText(text string) {
	w.t.Helper()
	getValue[bool](w, fmt.Sprintf(`(document.querySelector("#input").value = %q, document.querySelector("#input").focus(), true)`, text))
	w.runSteps(pressEdit("selectAll"), pressEdit("cut"))
	w.waitUntil(`document.querySelector("#input").value === ""`)
	w.runSteps(pressEdit("paste"))
}

func testPaste(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	const chips = `document.querySelectorAll("#pastes .paste").length`
	short := "add a task: " + strings.Repeat("x", 380)
	long := "add a task: buy milk\n" + strings.Repeat("and more ", 45) // 426 characters

	w.pasteText(short)
	w.waitUntil(`document.querySelector("#input").value.length === 392`)
	if n := getValue[int](w, chips); n != 0 {
		t.Errorf("a short paste is folded %d times", n)
	}
	getValue[bool](w, `(document.querySelector("#input").value = "", true)`)

	w.pasteText(long)
	w.waitUntil(chips + ` === 1`)
	if s := getValue[string](w, `document.querySelector("#pastes summary").textContent + document.querySelector("#input").value`); s != "[pasted text, 426 characters]" {
		t.Errorf("a long paste is shown as %q", s)
	}
	w.sendText("summarise this")
	if s := w.lastMessage("user"); s != "summarise this\n[pasted text, 426 characters]" || getValue[int](w, chips) != 0 {
		t.Errorf("sent text = %q", s)
	}
	if s := w.lastMessage("assistant"); !strings.Contains(s, "This text is from another source") {
		t.Errorf("the answer is %q", s)
	}

	w.pasteText(long)
	w.waitUntil(chips + ` === 1`)
	w.runSteps(chromedp.Focus(chromedp.CSS("#input")), enterKey()) // without a message
	w.waitUntil(`document.querySelectorAll(".message.user").length === 2`)
	w.waitUntil(`document.querySelector("#log[aria-busy=false]")`)
	w.awaitMessage("assistant", "This text is from another source")

	w.pasteText(long)
	w.waitUntil(chips + ` === 1`)
	w.clickElement("#pastes .remove")
	w.waitUntil(chips + ` === 0`)
	w.pasteText(strings.ReplaceAll(long, "\n", " "))
	w.waitUntil(chips + ` === 1`)
	w.clickElement("#pastes .mine input")
	w.waitUntil(`document.querySelector(".paste[data-origin=typed]")`)
	w.runSteps(chromedp.Focus(chromedp.CSS("#input")), enterKey())
	w.waitUntil(`document.querySelectorAll(".message.user").length === 3`)
	w.waitUntil(`document.querySelector("#log[aria-busy=false]")`)
	if s := w.lastMessage("assistant"); strings.Contains(s, "outside") || !strings.Contains(s, "buy milk") {
		t.Errorf("answer about a vouched paste = %q", s)
	}

	w.runSteps(chromedp.Reload())
	w.waitUntil(live)
	w.awaitMessage("user", "summarise this\n[pasted text, 426 characters]")
	getValue[bool](w, `(fetch("/api/v1/sessions/main/messages").then(r => r.json()).then(rows => { window.rows = rows; }), true)`)
	w.waitUntil(`window.rows`)
	attached := getValue[[]string](w, `rows.filter(r => r.attached).map(r => r.text + "+" + r.attached)`)
	if got := strings.Join(attached, "; "); got != "+pasted text, 426 characters; summarise this+pasted text, 426 characters" {
		t.Errorf("stored pastes = %q", got)
	}
}
