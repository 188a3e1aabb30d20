package osrun

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"
)

// Engine is the program that runs a script.
type Engine uint8

// The engines. The zero value means none.
const (
	JavaScript  Engine = iota + 1 // osascript -l JavaScript (JXA)
	AppleScript                   // osascript
	PowerShell                    // Windows PowerShell 5.1
)

// String returns the engine's name for errors.
func (e Engine) String() string {
	switch e {
	case JavaScript, AppleScript:
		return "osascript"
	case PowerShell:
		return "PowerShell"
	}
	return fmt.Sprintf("engine %d", e)
}

// Wrappers of the scripts. A wrapper reads the request, calls the script's main, and writes the
// answer. The comments at the top of these files describe the functions that scripts can use.
var (
	//go:embed frame.js
	frameJS string
	//go:embed frame.applescript
	frameAS string
	//go:embed frame.ps1
	framePS string
	//go:embed end.ps1
	endPS string
)

// Script is a constant program: no text is ever inserted into it. It defines main (Main in
// PowerShell), which receives the request and returns the value that Runner.Run decodes.
type Script struct {
	Name   string // for errors and tests, such as "calendar/list.js"
	Engine Engine
	// Text is the ASCII text of the script. NewScript joins it from its parts, shared parts first.
	Text string
}

// NewScript joins the parts of a script. The suffix of the name determines the engine: .js,
// .applescript or .ps1.
func NewScript(name string, parts ...string) Script {
	s := Script{Name: name, Text: strings.Join(parts, "\n")}
	switch {
	case strings.HasSuffix(name, ".js"):
		s.Engine = JavaScript
	case strings.HasSuffix(name, ".applescript"):
		s.Engine = AppleScript
	case strings.HasSuffix(name, ".ps1"):
		s.Engine = PowerShell
	}
	return s
}

// FullText returns the text that the engine runs.
func (s Script) FullText() string {
	switch s.Engine {
	case JavaScript:
		return frameJS + "\n" + s.Text
	case AppleScript:
		return frameAS + "\n" + s.Text
	case PowerShell:
		return stripComments(framePS + "\n" + s.Text + "\n" + endPS)
	}
	return s.Text
}

// App is an app that scripts control. The zero value means no app; calls are then not queued.
type App struct {
	ID   string // bundle id ("com.apple.mail") or ProgID ("Outlook.Application")
	Name string // display name
}

// Call is one run of a script.
type Call struct {
	Script Script
	App    App
	In     any // the request, as JSON; other processes of this user may be able to read it
	// Write marks a call that makes changes. Run starts the app if necessary, never repeats the
	// call after the changes have begun, and reports if the outcome is unknown.
	Write bool
	// Start is true if the app may also be started for a read.
	Start bool
	// Wait is the timeout (default 15 s, 25 s for PowerShell; use 60 s for bulk work).
	Wait time.Duration
}

// Runner runs scripts. Scripts implements it, and osruntest implements it for tests. It may be
// called concurrently. Errors of the script, its engine or its app are *Error. If the request
// cannot be encoded, the error has another type.
type Runner interface {
	// Run decodes the result of the script's main into out (nil discards it).
	Run(ctx context.Context, c Call, out any) error
}
