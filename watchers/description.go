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
	// Subject is what the kind watches, for the built-in brain, which has phrases for each subject. The
	// first kind of a subject gets its requests. "" if the built-in brain cannot request the kind.
	Subject Subject
	// Site is the site of a Repository in phrases and addresses: "forge" for forge.example.
	Site string
	// Timed is true if the kind's watchers implement Timed. Tools create them as schedules or
	// reminders.
	Timed bool
	// Polled is true if the kind's watchers implement Polled. Their configuration may have "every".
	Polled bool
	// Source is the form of Argument, the key that names the source: `hob watch add SOURCE`. An
	// empty Argument means that the source is not named.
	Source   SourceForm
	Argument string
	// Example has the arguments of `hob watch add` in an example; "" if there is none.
	Example string
	// Plural names the sources in the help of Flags: "files".
	Plural string
	// Flags lists the optional keys that the command line has as flags.
	Flags []settings.Setting
}

// Subject is what a watcher watches.
type Subject string

// The subjects with phrases in the built-in brain (autonomy/llm/offline).
const (
	Mail       Subject = "mail"       // keys from, words
	Messages   Subject = "messages"   // keys from, words, channel, chat, own
	Meetings   Subject = "meetings"   // keys before, tell, words
	Feed       Subject = "feed"       // keys url, words
	Page       Subject = "page"       // keys url, words
	Repository Subject = "repository" // keys repo, what, words
	Folder     Subject = "folder"     // keys path, pattern, events, recursive
)

// SourceForm is the form in which the user names the source of a watcher.
type SourceForm uint8

// The forms of sources.
const (
	NamedSource SourceForm = iota // a name in the form of the kind
	PathSource                    // a path on this machine
	URLSource                     // an address on the web
)
