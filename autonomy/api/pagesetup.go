package api

import "context"

// PageSetup sets up in forms of the page what new users look for first. Its operations that change
// something have the same limit as SaveSetting: only a browser in which the user is logged in may use
// them. Where the configuration changes, Hob journals the change for undo and restarts to apply it.
type PageSetup interface {
	// IsRestarting reports whether Hob restarts within a minute to apply a change.
	IsRestarting() bool
	// QuietHours returns the quiet hours in the file.
	QuietHours(ctx context.Context) (QuietHours, error)
	// SetQuietHours replaces the quiet hours. Two empty times end them. It returns ErrConflict if there
	// are several quiet hours, and ErrInvalid if a time is not valid.
	SetQuietHours(ctx context.Context, start, end string) error
	// Templates lists the templates, sorted by name.
	Templates(ctx context.Context) ([]Template, error)
	// PreviewTemplate describes in lines what applying a built-in template changes. The name "" means
	// the reset of the active template.
	PreviewTemplate(ctx context.Context, name string) ([]string, error)
	// UseTemplate applies a template, or resets the active one. It returns ErrConflict if its preview
	// is no longer preview.
	UseTemplate(ctx context.Context, name string, preview []string) error
	// AddMailAccount signs in to an account, and stores it if that works. If only the certificates of
	// its servers are unknown, it stores nothing and returns them in Unknown.
	AddMailAccount(ctx context.Context, in NewMailAccount) (AddedMailAccount, error)
	// AddSkill adds a skill. It is trusted if the scan finds nothing suspicious.
	AddSkill(ctx context.Context, in NewSkill) (AddedSkill, error)
}

// QuietHours is a weekly window without notifications. Start and End are empty if there is none.
type QuietHours struct {
	Start, End string
	// Several is true if the file contains more than one window; Start and End are then empty.
	Several bool
}

// Template is a template in a list.
type Template struct {
	Name, Description string
	InUse             bool
	// Builtin is false for templates that the user has to read before they are applied, in a terminal.
	Builtin bool
}

// NewMailAccount is an account to add. Servers are keyed by their kind, such as "imap"; without any,
// Hob looks for the servers of the address.
type NewMailAccount struct {
	Address, User, Password string
	Servers                 map[string]string
	// Trust lists the fingerprints of the certificates that the user accepts.
	Trust []string
}

// AddedMailAccount is the result of AddMailAccount.
type AddedMailAccount struct {
	Name string
	Said []string // the result for each server
	// Unknown lists the certificates that the user has to accept first.
	Unknown []Certificate
}

// Certificate is the certificate of a server. Its texts are untrusted.
type Certificate struct {
	Server                        string // which of the servers showed it
	Subject, Fingerprint, Expires string
}

// NewSkill is a skill to add. If Text begins with front matter, Name and Description are not used.
type NewSkill struct{ Name, Description, Text string }

// AddedSkill is the result of AddSkill.
type AddedSkill struct {
	Name     string
	Trusted  bool
	Findings []string // what is suspicious
}
