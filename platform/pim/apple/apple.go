// Package apple implements platform/pim for macOS apps: Calendar and Reminders through EventKit;
// Notes, Contacts and Mail through Apple events. It runs the constant scripts in the folder scripts
// through a Runner. It compiles on every system; on other systems the Runner reports that osascript
// is missing.
//
// A read never starts an app. If a permission is missing, the error names the system setting. The
// daemon creates the drivers on macOS.
package apple

import (
	"embed"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim/scriptapp"
)

//go:embed scripts
var scripts embed.FS

// name is the name that users give to these drivers.
const name = "apple"

// newApp returns an app by its bundle id, because names are localized.
func newApp(r osrun.Runner, id, title string, load func(file string) osrun.Script) scriptapp.App {
	return scriptapp.App{Runner: r, Driver: name, App: osrun.App{ID: id, Name: title}, Wait: 60 * time.Second, Load: load}
}

// dialogLimit is a part of the input of all EventKit scripts: the maximum time for which a macOS
// permission dialog may be open, in seconds.
type dialogLimit struct {
	Patience int `json:"patience"`
}

func newDialogLimit() dialogLimit { return dialogLimit{30} }

// loadScript joins a script of the folder with the shared scripts it needs.
func loadScript(file string, shared ...string) osrun.Script {
	var parts []string
	for _, f := range append(shared, file) {
		b, err := scripts.ReadFile("scripts/" + f)
		if err != nil {
			b = []byte("missing " + f) // the tests read every script
		}
		parts = append(parts, string(b))
	}
	return osrun.NewScript("apple/"+file, parts...)
}

func eventScript(file string) osrun.Script { return loadScript(file, "eventkit.js", "events.js") }

func remindScript(file string) osrun.Script { return loadScript(file, "eventkit.js", "reminders.js") }

func noteScript(file string) osrun.Script { return loadScript(file, "notes.js") }
