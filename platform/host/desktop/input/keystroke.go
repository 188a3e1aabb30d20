package input

import (
	"context"
	_ "embed" // the script

	"hob/platform/host/osrun"
)

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
