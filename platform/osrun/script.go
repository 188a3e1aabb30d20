package osrun

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"
)

// Engine is what runs a script.
type Engine uint8

// The engines. The zero value is none.
const (
	JavaScript  Engine = iota + 1 // osascript -l JavaScript (JXA)
	AppleScript                   // osascript
	PowerShell                    // Windows PowerShell 5.1
)

// String names the engine for errors.
func (e Engine) String() string {
	switch e {
	case JavaScript, AppleScript:
		return "osascript"
	case PowerShell:
		return "PowerShell"
	}
	return fmt.Sprintf("engine %d", e)
}

// What each script stands in: it reads the request, calls the script's main, and
// writes the answer. See the heads of these files for what they give to scripts.
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

// Script is a constant program: nothing is ever put into its text. It defines
// main (Main in PowerShell), which is given the request and answers with what
// Runner.Run decodes.
type Script struct {
	Name   string // for errors and tests, "calendar/list.js"
	Engine Engine
	// Text is ASCII. Parts that several scripts share stand before the rest: they
	// are joined by NewScript.
	Text string
}

// NewScript joins the parts of a script. The engine follows from the name's end:
// .js, .applescript or .ps1.
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

// Whole is the text that the engine runs.
func (s Script) Whole() string {
	switch s.Engine {
	case JavaScript:
		return frameJS + "\n" + s.Text
	case AppleScript:
		return frameAS + "\n" + s.Text
	case PowerShell:
		return bare(framePS + "\n" + s.Text + "\n" + endPS)
	}
	return s.Text
}

// App is a program that scripts speak to. The zero value is none: nothing is
// held back then.
type App struct {
	ID   string // bundle id ("com.apple.mail") or ProgID ("Outlook.Application")
	Name string // as the owner knows it
}

// Call is one run of a script.
type Call struct {
	Script Script
	App    App
	In     any // the request, as JSON; never secret from other processes of this user
	// Write: it changes something. Its app is started if need be, it is never
	// repeated once it has begun, and an outcome that nobody knows is said to be so.
	Write bool
	// Start: the app may be started for a read as well.
	Start bool
	// Wait bounds the run (default 15 s, 25 s for PowerShell; 60 s suits bulk).
	Wait time.Duration
}

// Runner runs scripts. Its implementations are Scripts and, in tests, osruntest.
// It may be called concurrently. Errors that come from the script, its engine or
// its app are *Error; a request that cannot be written is another one.
type Runner interface {
	// Run decodes what the script's main answered into out (nil: it is dropped).
	Run(ctx context.Context, c Call, out any) error
}
