// Package settings describes the settings of drivers, so that setup, the command line and the
// documentation can name them and ask for them without code for each driver.
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

// Setting is one key in the configuration section of a driver.
type Setting struct {
	Key    string
	Kind   Kind
	List   bool // a list of strings; the user separates them by commas
	Number bool // a string that is written as a number
	// Title is the question that setup asks the user. Help explains it in one line.
	Title, Help string
	Default     string // the driver's default
	Optional    bool
	// Unasked is true if setup accepts a value for the setting but does not ask for it.
	Unasked bool
	// Check validates a non-empty value. For a secret, value is the plain text. If Check is nil,
	// all values are valid.
	Check func(value string) error
	// Shown reports whether the setting applies. answer returns the earlier answer for the setting
	// with the given key. If Shown is nil, the setting always applies.
	Shown func(e Env, answer func(key string) string) bool
	// Options returns the values of a Choice.
	Options func(e Env) []Option
	// Sample is a valid value for simulations. If it is "", any text is valid.
	Sample string
}

// Env is the part of the user's configuration that affects settings.
type Env struct {
	// Accounts lists the configured accounts. Value is the name and Title is the address.
	Accounts []Option
}

// Option is a value of a Choice and its title.
type Option struct{ Value, Title string }
