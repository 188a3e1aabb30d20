package watchers

import "hob/platform/text/settings"

// Description describes a kind of watcher. Tools, the command line and the documentation use no
// other information about a kind.
type Description struct {
	Kind string
	// Title is the noun for the source in a list of choices, such as "Web page". Kinds with Timed
	// have none.
	Title string
	// Form lists the configuration keys that a form asks for, in order. Those that are not optional
	// are required. If it is empty, the form asks for Argument.
	Form []settings.Setting
	// Options lists the configuration keys for the model in a short form, with a question mark
	// after optional keys: "url, words?".
	Options string
	// Keywords are words for the source and its events. With them, the tool search finds the tool
	// that creates watchers.
	Keywords string
	// Subject is what the kind watches, for the built-in brain, which has phrases for each subject.
	// Requests about a subject create a watcher of the first kind with this subject. Subject is ""
	// if the built-in brain cannot request the kind.
	Subject Subject
	// Site is the site of a Repository in phrases and addresses: "forge" for forge.example.
	Site string
	// Timed is true if watchers of the kind implement Timed. Tools create such watchers as
	// schedules or reminders.
	Timed bool
	// Intent is true if create_intent creates watchers of the kind, and create_watcher does not.
	Intent bool
	// Tool is the tool that creates watchers of the kind. If it is set, create_watcher accepts the
	// kind but does not describe it to models, because its description is in every prompt.
	Tool string
	// Polled is true if watchers of the kind implement Polled. Their configuration may contain
	// "every".
	Polled bool
	// Source is the form of the source in `hob watch add SOURCE`, and Argument is the configuration
	// key that contains the source. If Argument is empty, the command has no source argument.
	Source   SourceForm
	Argument string
	// Example has the arguments of `hob watch add` in an example; "" if there is none.
	Example string
	// Plural is the plural noun for the sources in help texts, such as "files".
	Plural string
	// Flags lists the optional keys that are flags on the command line.
	Flags []settings.Setting
}

// FormFields returns the keys that a form asks for.
func (d Description) FormFields() []settings.Setting {
	if len(d.Form) == 0 && d.Argument != "" {
		return []settings.Setting{{Key: d.Argument, Kind: settings.Text, Title: "Source"}}
	}
	return d.Form
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

// SourceForm is the form of the argument that names the source of a watcher.
type SourceForm uint8

// The forms of sources.
const (
	NamedSource SourceForm = iota // a name whose form the kind defines
	PathSource                    // a path on this machine
	URLSource                     // an address on the web
)
