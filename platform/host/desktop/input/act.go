package input

import (
	"context"
	_ "embed" // embeds the script
	"errors"
	"fmt"
	"time"

	"hob/platform/host/desktop/window"
	"hob/platform/host/osrun"
	"hob/platform/retry"
)

// inputBackend controls the keyboard and the pointer of a desktop during one action. windowAction
// decides which checks run in which order, so that they are the same on every system.
type inputBackend interface {
	// listWindows lists the windows, from the front to the back.
	listWindows(ctx context.Context) ([]window.Window, error)
	// checkKeyboardFree returns an error if key presses are not sent to the focused window, because
	// a screen lock, a password prompt or a menu may have grabbed the keyboard.
	checkKeyboardFree(ctx context.Context) error
	// raiseWindow requests that the window comes to the front.
	raiseWindow(ctx context.Context) error
	typeRunes(ctx context.Context, some []rune) error
	pressChord(ctx context.Context, key string, held []string) error
	movePointer(ctx context.Context, x, y int) error
	clickButton(ctx context.Context, x, y int, button string, twice bool) error
	closeBackend()
}

// windowAction is one action in a window.
type windowAction struct {
	inputBackend
	w  window.Window
	ok Check
}

// checkFocus returns an error if the window no longer has the focus.
func (a windowAction) checkFocus(ctx context.Context) error {
	if err := a.checkKeyboardFree(ctx); err != nil {
		return err
	}
	list, err := a.listWindows(ctx)
	if err != nil {
		return err
	}
	v, found := window.Focused(list)
	if !found || v.ID != a.w.ID {
		return ErrMoved
	}
	return a.ok(v)
}

// checkPoint returns an error if another window is visible at a point.
func (a windowAction) checkPoint(ctx context.Context, x, y int) error {
	if err := a.checkKeyboardFree(ctx); err != nil {
		return err
	}
	list, err := a.listWindows(ctx)
	if err != nil {
		return err
	}
	v, found := window.FindAt(list, x, y)
	if !found || v.ID != a.w.ID {
		return ErrMoved
	}
	return a.ok(v)
}

// settle is the maximum time to wait for a window to come to the front.
const settle = 3 * time.Second

// bringToFront brings the window to the front.
func (a windowAction) bringToFront(ctx context.Context) error {
	list, err := a.listWindows(ctx)
	if err != nil {
		return err
	}
	for _, v := range list {
		if v.ID != a.w.ID {
			continue
		}
		if v.Active {
			return a.checkFocus(ctx)
		}
		if err := a.raiseWindow(ctx); err != nil {
			return err
		}
		return a.waitFocus(ctx)
	}
	return ErrGone
}

func (a windowAction) waitFocus(ctx context.Context) error {
	end := time.Now().Add(settle)
	for {
		err := a.checkFocus(ctx)
		if !errors.Is(err, ErrMoved) || time.Now().After(end) {
			return err
		}
		if err := retry.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func (a windowAction) typeText(ctx context.Context, text string) error {
	if err := a.bringToFront(ctx); err != nil {
		return err
	}
	runes := []rune(text)
	for n := 0; len(runes) > 0; n++ {
		if n > 0 {
			if err := a.checkFocus(ctx); err != nil {
				return partialError(err, len(runes), "characters were not typed")
			}
		}
		some := runes[:min(piece, len(runes))]
		if err := a.inputBackend.typeRunes(ctx, some); err != nil {
			return fmt.Errorf("%w: %w", ErrUnsure, err)
		}
		runes = runes[len(some):]
	}
	return nil
}

func (a windowAction) pressChords(ctx context.Context, chord []string) error {
	if err := a.bringToFront(ctx); err != nil {
		return err
	}
	for i, c := range chord {
		key, held, err := Chord(c)
		if err != nil {
			return err
		}
		if err := a.checkFocus(ctx); err != nil {
			return partialKeysError(err, len(chord)-i, i)
		}
		if err := a.pressChord(ctx, key, held); err != nil {
			return fmt.Errorf("%w: %w", ErrUnsure, err)
		}
	}
	return nil
}

func (a windowAction) clickAt(ctx context.Context, x, y int, button string, twice bool) error {
	if a.checkPoint(ctx, x, y) != nil { // another window may cover the point
		if err := a.bringToFront(ctx); err != nil {
			return err
		}
	}
	if err := a.checkPoint(ctx, x, y); err != nil {
		return err
	}
	if err := a.movePointer(ctx, x, y); err != nil {
		return err
	}
	if err := a.checkPoint(ctx, x, y); err != nil { // moving the pointer may open something above the window
		return err
	}
	if err := a.inputBackend.clickButton(ctx, x, y, button, twice); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsure, err)
	}
	return nil
}

//go:embed keystroke.js
var keystrokeText string

// keystrokeScript returns the script that presses a letter with modifiers on macOS.
func keystrokeScript() osrun.Script {
	return osrun.NewScript("desktop/input/keystroke.js", keystrokeText)
}

// keystrokeIn is the input of the script.
type keystrokeIn struct {
	Key  string   `json:"key"`
	Held []string `json:"held"`
}

// systemEvents returns the macOS program that presses keys for other programs.
func systemEvents() osrun.App {
	return osrun.App{ID: "com.apple.systemevents", Name: "System Events"}
}

// pressLetter presses the key of a letter in the Mac's current layout.
func pressLetter(ctx context.Context, r osrun.Runner, key string, held []string) error {
	in := keystrokeIn{Key: key}
	for _, h := range held {
		in.Held = append(in.Held, map[string]string{"ctrl": "control down", "alt": "option down", "shift": "shift down", "cmd": "command down"}[h])
	}
	return r.Run(ctx, osrun.Call{Script: keystrokeScript(), App: systemEvents(), In: in, Write: true, Start: true}, nil)
}
