package api

import (
	"context"

	"hob/platform/host/permission"
)

// Doctor checks the installation.
type Doctor interface {
	// Examine runs the named checks, or all of them, and with fix repairs problems. It calls
	// step with each finding. ErrInvalid: a name is unknown.
	Examine(ctx context.Context, names []string, fix bool, step func(Finding)) error
	// Permissions lists the system permissions of the daemon.
	Permissions(ctx context.Context) ([]permission.Permission, error)
}

// Finding is the result of one check.
type Finding struct {
	Name   string `json:"name"`
	State  string `json:"state" schema:"enum=ok|warn|fail|skipped"`
	Cause  string `json:"cause"`  // the finding
	Remedy string `json:"remedy"` // "" when there is nothing to do
	// Link opens the system settings for the fix; "" if there is none.
	Link string `json:"link,omitempty"`
	// Fixable: Examine with fix can fix it. Fixed is the result of that fix.
	Fixable bool   `json:"fixable,omitempty"`
	Fixed   string `json:"fixed,omitempty"`
	// In is who checked: "daemon" or "command".
	In string `json:"in,omitempty"`
}
