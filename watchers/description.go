package watchers

import "hob/platform/text/settings"

// Description describes a driver's kind without a watcher. It is the only information about a kind
// for the tools, the command line and the documentation.
type Description struct {
	Kind string
	// Options lists the keys of the configuration for the model in short form, with a question
	// mark after optional ones: "url, words?".
	Options string
	// Keywords find the tool that creates watchers: words for the source and its events.
	Keywords string
	// Timed is true if the kind's watchers implement Timed. Tools create them as schedules or
	// reminders.
	Timed bool
	// Polled is true if the kind's watchers implement Polled. Their configuration may have "every".
	Polled bool
	// Source is the form of Argument, the key that names the source: `hob watch add SOURCE`. An
	// empty Argument means that the source is not named.
	Source   SourceForm
	Argument string
	// Plural names the sources in the help of Flags: "files".
	Plural string
	// Flags lists the optional keys that the command line has as flags.
	Flags []settings.Setting
}

// SourceForm is the form in which the user names the source of a watcher.
type SourceForm uint8

// The forms of sources.
const (
	NamedSource SourceForm = iota // a name in the form of the kind
	PathSource                    // a path on this machine
	URLSource                     // an address on the web
)
