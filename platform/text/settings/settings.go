// Package settings describes the settings of a driver, so that setup, the command line and the
// documentation can ask for them and name them without code for that driver.
package settings

// Kind is the form of a setting's value.
type Kind string

// The kinds of settings.
const (
	Text   Kind = "text"
	Secret Kind = "secret" // never shown, and stored only in the secret store
	Choice Kind = "choice"
	YesNo  Kind = "yesno" // "true" or "false"
)

// Setting is one key of a driver's section.
type Setting struct {
	Key    string
	Kind   Kind
	List   bool // a list of texts, which the user separates with commas
	Number bool // a text that is written as a number
	// Title is the question, Help explains it in a line.
	Title, Help string
	Default     string // the driver's default
	Optional    bool
	// Unasked: setup accepts the setting, but does not ask for it.
	Unasked bool
	// Check validates a value that is not empty; for a secret, its plain text. nil: all are valid.
	Check func(value string) error
	// Shown reports whether the setting applies, given the answers by their keys; nil: always.
	Shown func(e Env, answer func(key string) string) bool
	// Options returns the values of a Choice.
	Options func(e Env) []Option
	// Sample is a value in the right form for simulations; "": any text.
	Sample string
}

// Env is the part of the user's configuration that affects settings.
type Env struct {
	// Accounts lists the configured accounts: Value is the name, Title the address.
	Accounts []Option
}

// Option is a value of a Choice and its title.
type Option struct{ Value, Title string }
