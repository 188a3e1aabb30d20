package api

import (
	"context"
	"time"

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

// Status is the status of Hob.
type Status struct {
	Name         string         `json:"name"`
	Version      string         `json:"version"`
	Model        string         `json:"model"`
	ModelReason  string         `json:"model_reason,omitempty"`
	Level        string         `json:"level"`
	Uptime       time.Duration  `json:"uptime_ns"`
	Daemon       bool           `json:"daemon"` // false: a single command without a daemon
	Running      int            `json:"running"`
	Pending      int            `json:"pending"`
	Questions    int            `json:"questions"` // waiting for the owner
	Watchers     int            `json:"watchers"`
	Schedules    int            `json:"schedules"`
	Reminders    int            `json:"reminders"`
	Paused       bool           `json:"paused,omitempty"`
	PausedText   string         `json:"-"`             // until when
	Next         time.Time      `json:"next,omitzero"` // time of the next scheduled work
	Goals        int            `json:"goals"`         // active goals, or goals that wait for the owner
	GoalsWaiting int            `json:"goals_waiting"` // for the owner's answer
	NextReview   time.Time      `json:"next_review,omitzero"`
	Channels     []ChannelState `json:"channels"`
	Home         string         `json:"home"`
	Ticks        int64          `json:"ticks"`            // of the loop since the start
	TicksInput   int64          `json:"ticks_with_input"` // ticks with work
	DatabaseSize int64          `json:"database_bytes"`
	DiskFree     uint64         `json:"disk_free_bytes"`
	Memory       uint64         `json:"memory_bytes"` // heap in use by this process
	Machine      string         `json:"machine"`      // "linux/amd64, 2 cores"
	Facts        int            `json:"facts"`
	Rows         int            `json:"memory_rows"`             // all searchable rows
	Behind       int            `json:"memory_behind,omitempty"` // rows that are not indexed yet
	AuditLines   int64          `json:"audit_lines"`
	AuditHead    string         `json:"audit_head"` // hash of the last line
}

// ChannelState is the health of one channel.
type ChannelState struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Error string `json:"error,omitempty"`
}
