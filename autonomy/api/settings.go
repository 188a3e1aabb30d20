package api

import "context"

// Settings reads the configuration, and changes the keys that cannot loosen safety. No operation
// changes another key, because no request may change what Hob is allowed to do or which programs it
// runs. The user changes those in a terminal: hob config set.
type Settings interface {
	// Settings lists every key in the order of the documentation, with its value in the file.
	Settings(ctx context.Context) ([]Setting, error)
	// PreviewSetting checks a new value of a key as `hob config set` does, and returns the
	// difference. It writes nothing. It returns ErrInvalid if the value would not be accepted.
	PreviewSetting(ctx context.Context, key, value string) (SettingChange, error)
	// SaveSetting writes a new value of a key, and journals the change for undo. old is the value
	// that PreviewSetting returned as Old. It returns ErrDenied if the key may be changed only in a
	// terminal, ErrConflict if the file contains another value than old, and ErrInvalid if the value
	// would not be accepted. Hob restarts to apply the value when no turn is running. Only a browser in
	// which the user is logged in may use it.
	SaveSetting(ctx context.Context, key, old, value string) (SettingChange, error)
	// ApplySettings restarts Hob with the values in the file when no turn is running. It returns
	// ErrConflict if this process cannot restart itself. It has the same limit as SaveSetting.
	ApplySettings(ctx context.Context) error
	// MailAccounts lists the mail and calendar accounts in the file, without their passwords.
	MailAccounts(ctx context.Context) ([]MailAccount, error)
}

// MailAccount is an account for mail, calendars or contacts.
type MailAccount struct {
	Name    string   `json:"name"`
	Address string   `json:"address"`
	Servers []string `json:"servers"`           // for example "mail: imap.example.org:993"
	Missing string   `json:"missing,omitempty"` // what the account needs before Hob can use it
	// Pending is set if Hob does not use the account yet: PendingRestart or PendingStart.
	Pending string `json:"pending,omitempty"`
}

// Values of Setting.Pending.
const (
	PendingRestart = "restart" // Hob restarts by itself within a minute to apply the value
	PendingStart   = "start"   // the value applies at the next start
)

// Setting is one key of the configuration.
type Setting struct {
	Key     string `json:"key"` // NAME stands for a name that the user chooses
	About   string `json:"about"`
	Accepts string `json:"accepts"` // for example "text in quotes", "true or false"
	Default string `json:"default"` // as written in the file
	// Value is the effective value. It is empty for secrets, and for keys whose section may occur
	// several times.
	Value  string `json:"value"`
	Secret bool   `json:"secret,omitempty"`
	Set    bool   `json:"set,omitempty"`  // whether the value differs from the default
	Many   bool   `json:"many,omitempty"` // whether its section may occur several times
	// OnPage is true if SaveSetting can change the key.
	OnPage bool `json:"on_page,omitempty"`
	// Pending is set if Hob still runs with another value: PendingRestart or PendingStart.
	Pending string `json:"pending,omitempty"`
}

// SettingChange is the difference that a new value makes. Old and New are written as in the file; Old
// is empty if the file does not contain the key.
type SettingChange struct {
	Key     string `json:"key"`
	Old     string `json:"old"`
	New     string `json:"new"`
	Warning string `json:"warning,omitempty"` // set if the value is valid but risky
}
