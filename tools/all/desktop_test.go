package all

import (
	"context"
	"errors"
	"image"
	"os"
	"path/filepath"
	"testing"

	"hob/platform/host/desktop/a11y"
	"hob/platform/host/desktop/apps"
	"hob/platform/host/desktop/clipboard"
	"hob/platform/host/desktop/input"
	"hob/platform/host/desktop/window"
	"hob/tools/desktop"
	"hob/tools/toolstest"
)

// desk is a fake desktop. Its clipboard is a file, and an editor is installed.
type desk struct{ clip string }

func (d *desk) Read(ctx context.Context) (clipboard.Content, error) {
	b, err := os.ReadFile(d.clip)
	return clipboard.Content{Text: string(b)}, errors.Join(err, ctx.Err())
}

func (d *desk) Write(ctx context.Context, text string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return os.WriteFile(d.clip, []byte(text), 0o600)
}

func (d *desk) Find(_ context.Context, name string) (apps.App, error) {
	if name != "editor" {
		return apps.App{}, apps.ErrNone
	}
	return apps.App{ID: "editor", Name: "Editor", Command: []string{"/usr/bin/editor"}, Shared: true}, nil
}

func (d *desk) List(ctx context.Context) ([]apps.App, error) {
	a, err := d.Find(ctx, "editor")
	return []apps.App{a}, err
}

func (*desk) Start(context.Context, apps.App, string) error { return nil }

func desktopDeps(t *testing.T, dir string) desktop.Deps {
	t.Helper()
	d := &desk{filepath.Join(dir, "clipboard")}
	if err := d.Write(t.Context(), "what was copied"); err != nil {
		t.Fatal(err)
	}
	return desktop.Deps{
		Clipboard: d, Apps: d, Windows: shownWindows{}, Hands: idleHands{}, Tree: shownTree{}, Capturer: d, Key: []byte("key"),
		Keep:   func(name string, _ []byte) (string, error) { return "/pictures/" + name, nil },
		Asking: func(context.Context) (bool, error) { return false, nil },
	}
}

func (*desk) Capture(context.Context, image.Rectangle) (image.Image, error) {
	return image.NewRGBA(image.Rect(0, 0, 8, 6)), nil
}

type shownWindows struct{}

func (shownWindows) List(context.Context) ([]window.Window, error) {
	return []window.Window{{ID: 7, Title: "letter.txt", App: "gedit", PID: 1, W: 100, H: 50, Active: true}}, nil
}

type shownTree struct{}

func (shownTree) Read(context.Context, string) ([]a11y.Node, bool, error) {
	return []a11y.Node{{Ref: ":1.1 /a", App: "gedit", PID: 1, Window: "letter.txt", Role: "push button", Name: "Save", Does: "click"}, {Ref: ":1.1 /b", App: "gedit", PID: 1, Window: "letter.txt", Role: "text", Name: "Body", Takes: true}}, false, nil
}

func (shownTree) Do(context.Context, a11y.Node) error { return nil }

func (shownTree) Fill(context.Context, a11y.Node, string) error { return nil }

type idleHands struct{}

func (idleHands) Type(_ context.Context, w window.Window, _ string, ok input.Check) error {
	return ok(w)
}

func (idleHands) Press(_ context.Context, w window.Window, _ []string, ok input.Check) error {
	return ok(w)
}

func (idleHands) Click(_ context.Context, w window.Window, _, _ int, _ string, _ bool, ok input.Check) error {
	return ok(w)
}

func (idleHands) Focus(_ context.Context, w window.Window, ok input.Check) error { return ok(w) }

func desktopCases() []toolstest.Case {
	return []toolstest.Case{
		{Step: newStep("get_clipboard", `{}`), Want: "what was copied", Outside: true},
		{Step: newStep("set_clipboard", `{"text":"new"}`), Want: "Copied to the clipboard", Undone: "Restored the previous"},
		{Step: newStep("get_clipboard", `{}`), Before: []toolstest.Step{newStep("set_clipboard", `{"text":"Tr0ub4dor&3"}`)}, Want: "Tr0ub4dor&3", Outside: true},
		{Step: newStep("open_app", `{"name":"editor"}`), Want: "Opened Editor."},
		{Step: newStep("list_apps", `{"query":"edit"}`), Want: "- Editor"},
		{Step: newStep("list_windows", `{}`), Want: `- "letter.txt" (gedit)`, Outside: true},
		{Step: newStep("type_text", `{"window":"letter","text":"hello"}`), Want: "Done."},
		{Step: newStep("press_keys", `{"window":"7","keys":["ctrl+s"]}`), Want: "Done."},
		{Step: newStep("click", `{"window":"gedit","x":5,"y":5}`), Want: "Done."},
		{Step: newStep("read_screen", `{}`), Want: `- push button "Save" [click]`, Outside: true},
		{Step: newStep("click_element", `{"window":"letter","name":"save"}`), Want: "Pressed."},
		{Step: newStep("fill_element", `{"window":"letter","name":"body","text":"hello"}`), Want: "Filled in the text."},
		{Step: newStep("focus_window", `{"window":"letter"}`), Want: "Done."},
		{Step: newStep("screen_capture", `{}`), Want: "The screenshot is saved in /pictures/screen-20940310-143000-call.png (8x6). No model has described it ([knowledge] pictures is off): do not claim to know its content."},
		{Step: newStep("list_apps", `{"query":"x"}`), Want: "No match among the 1 applications"},
	}
}
