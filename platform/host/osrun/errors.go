package osrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Kind is the category of a script error.
type Kind string

// The kinds.
const (
	Unsupported   Kind = "unsupported"       // this system or app version does not support it
	NotInstalled  Kind = "not_installed"     // the app is not installed
	NotRunning    Kind = "not_running"       // the app is not running, and the script must not start it
	SetupRequired Kind = "setup_required"    // the user must first change a setting of the app
	Denied        Kind = "permission_denied" // the user denied the request, or has not allowed it yet
	PolicyBlocked Kind = "policy_blocked"    // an administrator has forbidden it
	NotFound      Kind = "not_found"         // the requested item does not exist
	Changed       Kind = "changed"           // the item changed since it was read; nothing was done
	Timeout       Kind = "timeout"           // no answer in time
	Busy          Kind = "busy"              // the app is busy; retry later
	Cancelled     Kind = "cancelled"         // the user canceled the action
	Invalid       Kind = "invalid_input"     // the request is invalid
	Internal      Kind = "internal"          // a bug in Hob, or an unknown error
)

// Error is the error of a script. Its text contains the cause and the remedy.
type Error struct {
	Kind       Kind
	Script     string
	App        string // display name
	Permission string // the missing permission: "automation", "calendars", "accessibility" ...
	Number     int    // error number of an Apple event, or an HRESULT; 0 if there is none
	Cause      string // description of the error
	Remedy     string // the user's next step
	Link       string // URL of the pane in the system settings
	// Said is the system's own message, in the language of the system. It may contain
	// untrusted text. Error includes it only if Kind is Internal.
	Said string
	// Unknown is true if a write may have been performed. The write must not be repeated.
	Unknown bool
	Err     error
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Script)
	if e.App != "" {
		fmt.Fprintf(&b, ": %s", e.App)
	}
	fmt.Fprintf(&b, ": %s", e.causeText())
	if e.Number != 0 {
		fmt.Fprintf(&b, " (%s)", formatErrorNumber(e.Number))
	}
	if e.Unknown {
		b.WriteString("; outcome unknown, check before you try again")
	}
	if e.Remedy != "" {
		fmt.Fprintf(&b, "; %s", e.Remedy)
	}
	if e.Link != "" {
		fmt.Fprintf(&b, " (%s)", e.Link)
	}
	return b.String()
}

const saidMost = 160

func (e *Error) causeText() string {
	switch {
	case e.Cause != "":
		return e.Cause
	case e.Said != "":
		said := []rune(e.Said)
		return fmt.Sprintf("%q", string(said[:min(len(said), saidMost)]))
	case e.Err != nil:
		return e.Err.Error()
	}
	return string(e.Kind)
}

// formatErrorNumber formats an error number in its vendor's style.
func formatErrorNumber(n int) string {
	if n < -1_000_000 || n > 1_000_000 {
		return fmt.Sprintf("0x%08X", uint32(n)) //nolint:gosec // an HRESULT is shown by its bits
	}
	return fmt.Sprint(n)
}

// Unwrap returns the wrapped error: errors.ErrUnsupported for Unsupported, the context's error for a canceled
// run.
func (e *Error) Unwrap() error { return e.Err }

// Is maps kinds to the sentinel errors that callers check with errors.Is.
func (e *Error) Is(target error) bool {
	switch target {
	case errors.ErrUnsupported:
		return e.Kind == Unsupported
	case context.DeadlineExceeded:
		return e.Kind == Timeout
	}
	return false
}

// KindOf returns the kind of an error, "" if it is not an *Error.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// IsUncertain reports whether a write may have been performed despite err.
func IsUncertain(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Unknown
}

// Panes of System Settings that users are sent to. developer.apple.com does not list
// them; apps open these URLs ("x-apple.systempreferences").
const (
	paneAutomation    = "x-apple.systempreferences:com.apple.preference.security?Privacy_Automation"
	paneAccessibility = "x-apple.systempreferences:com.apple.preference.security?Privacy_Accessibility"
	paneCalendars     = "x-apple.systempreferences:com.apple.preference.security?Privacy_Calendars"
	paneReminders     = "x-apple.systempreferences:com.apple.preference.security?Privacy_Reminders"
	paneContacts      = "x-apple.systempreferences:com.apple.preference.security?Privacy_Contacts"
)

// Allow sets Kind to Denied and fills in the missing permission, the remedy and the link to the
// settings.
func (e *Error) Allow(permission string) *Error {
	e.Kind, e.Permission = Denied, permission
	of := e.App
	if of == "" {
		of = "the app"
	}
	switch permission {
	case "accessibility":
		e.Remedy, e.Link = "allow Hob in System Settings, Privacy & Security, Accessibility", paneAccessibility
	case "calendars":
		e.Remedy, e.Link = "give Hob full access in System Settings, Privacy & Security, Calendars", paneCalendars
	case "reminders":
		e.Remedy, e.Link = "allow Hob in System Settings, Privacy & Security, Reminders", paneReminders
	case "contacts":
		e.Remedy, e.Link = "allow Hob in System Settings, Privacy & Security, Contacts", paneContacts
	case "outlook":
		e.Remedy = "check the screen for an Outlook dialog; in Outlook, see File, Options, Trust Center, Programmatic Access"
	default:
		e.Remedy, e.Link = "allow Hob to use "+of+" in System Settings, Privacy & Security, Automation", paneAutomation
	}
	return e
}
