package api

import (
	"context"

	"hob/templates"
)

// Management is the administration of the daemon.
type Management interface {
	// Backup copies the database now.
	Backup(ctx context.Context) (Backup, error)
	// RotateToken replaces the token of the API. The old one is invalid immediately.
	RotateToken(ctx context.Context) (RotatedToken, error)
	// Shutdown begins to stop the daemon.
	Shutdown() Shutdown
	// ConfigChanged journals a change of the configuration, so that it can be undone.
	ConfigChanged(ctx context.Context, ch ConfigChange) error
	// Template applies templates: it creates their schedules, watchers and goals.
	Template(ctx context.Context, w templates.DesiredState) (templates.ApplyResult, error)
	// Ready returns nil while the daemon accepts messages, else the reason.
	Ready() error
	// Metrics returns Prometheus text (exposition format 0.0.4).
	Metrics() []byte
	Version() string
}

// Backup is the result of a backup.
type Backup struct {
	Path string `json:"path"`
}

// RotatedToken is the result of RotateToken. The token itself is in its file.
type RotatedToken struct {
	Replaced bool `json:"replaced"`
}

// Shutdown is the result of a request to stop.
type Shutdown struct {
	Stopping bool `json:"stopping"`
}

// ConfigChange is a change of the configuration, by the names of the stored revisions.
type ConfigChange struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}
