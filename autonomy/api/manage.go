package api

import (
	"context"
	"time"

	"hob/platform/host/permission"
	"hob/templates"
)

// Management administers the daemon.
type Management interface {
	// Backup copies the database immediately.
	Backup(ctx context.Context) (Backup, error)
	// Hold returns the work that has been on hold for the owner since a backup was restored.
	Hold(ctx context.Context) (RestoreHold, error)
	// DecideHold releases or drops one held item. The id "all" decides every item and ends the
	// hold. It returns ErrNotFound if no held item has this id.
	DecideHold(ctx context.Context, id string, release bool) (HoldDecision, error)
	// RotateToken replaces the API token. The old token becomes invalid immediately.
	RotateToken(ctx context.Context) (RotatedToken, error)
	// Shutdown asks the daemon to stop.
	Shutdown() Shutdown
	// ConfigChanged journals a configuration change, so that the change can be undone.
	ConfigChanged(ctx context.Context, ch ConfigChange) error
	// Template applies a template: it creates the template's schedules, watchers and goals.
	Template(ctx context.Context, w templates.DesiredState) (templates.ApplyResult, error)
	// Status describes what Hob is doing, with its version and storage.
	Status(ctx context.Context) (Status, error)
	// Ready returns nil while the daemon accepts messages, and otherwise an error with the reason.
	Ready() error
	// Problems lists the faults that Hob works around at the moment.
	Problems(ctx context.Context) []Problem
	// Metrics returns metrics as Prometheus text (exposition format 0.0.4).
	Metrics() []byte
	Version() string
}

// Backup is the result of a backup.
type Backup struct {
	Path string `json:"path"`
}

// RestoreHold is the work that has been on hold since a backup was restored.
type RestoreHold struct {
	Active     bool       `json:"active"` // while true, background work and messages to channels are also held
	Snapshot   string     `json:"snapshot,omitempty"`
	RestoredAt time.Time  `json:"restored_at,omitzero"`
	Items      []HeldItem `json:"items"`
}

// HeldItem is a message or an event on hold.
type HeldItem struct {
	ID            string    `json:"id"`
	Type          string    `json:"type" schema:"enum=text|send|event"`
	Kind          string    `json:"kind"` // kind of the delivery or event
	Channel       string    `json:"channel,omitempty"`
	Target        string    `json:"target,omitempty"` // chat of a message, source of an event
	Text          string    `json:"text"`
	At            time.Time `json:"created_at"`
	MaybeRepeated bool      `json:"maybe_repeated,omitempty"` // the message may have been sent before
}

// HoldDecision is the result of DecideHold.
type HoldDecision struct {
	Decided int `json:"decided"` // number of items
}

// RotatedToken is the result of RotateToken. The token itself is in the token file.
type RotatedToken struct {
	Replaced bool `json:"replaced"`
}

// Shutdown is the result of a shutdown request.
type Shutdown struct {
	Stopping bool `json:"stopping"`
}

// ConfigChange describes a configuration change by the names of the stored revisions.
type ConfigChange struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Apply restarts Hob with the new configuration when no turn is running.
	Apply bool `json:"apply,omitempty"`
}

// Status is Hob's status.
type Status struct {
	Name         string         `json:"name"`
	Version      string         `json:"version"`
	Model        string         `json:"model"`
	ModelReason  string         `json:"model_reason,omitempty"`
	Problems     []Problem      `json:"problems,omitempty"`
	Level        string         `json:"level"`
	Uptime       time.Duration  `json:"uptime_ns"`
	Daemon       bool           `json:"daemon"` // false if this is the status of a single command that runs without a daemon
	Running      int            `json:"running"`
	Pending      int            `json:"pending"`
	Questions    int            `json:"questions"`              // approval requests waiting for the owner's answer
	HeldSources  []HeldSource   `json:"held_sources,omitempty"` // sessions with later events that are waiting
	Watchers     int            `json:"watchers"`
	Schedules    int            `json:"schedules"`
	Reminders    int            `json:"reminders"`
	Paused       bool           `json:"paused,omitempty"`
	PausedText   string         `json:"-"`                  // when the pause ends, as text
	Restored     string         `json:"restored,omitempty"` // name of the snapshot whose restore put work on hold
	Held         int            `json:"held,omitempty"`     // number of items on hold since the restore
	Next         time.Time      `json:"next,omitzero"`      // time of the next scheduled work
	Goals        int            `json:"goals"`              // number of active goals, including goals that are waiting for the owner
	GoalsWaiting int            `json:"goals_waiting"`      // number of goals that are waiting for the owner's answer
	NextReview   time.Time      `json:"next_review,omitzero"`
	Channels     []ChannelState `json:"channels"`
	Home         string         `json:"home"`
	Ticks        int64          `json:"ticks"`            // iterations of the loop since the start
	TicksInput   int64          `json:"ticks_with_input"` // number of ticks with an input
	DatabaseSize int64          `json:"database_bytes"`
	DiskFree     uint64         `json:"disk_free_bytes"`
	Memory       uint64         `json:"memory_bytes"` // heap in use by this process
	Machine      string         `json:"machine"`      // for example "linux/amd64, 2 cores"
	Facts        int            `json:"facts"`
	Rows         int            `json:"memory_rows"`             // number of searchable rows
	Behind       int            `json:"memory_behind,omitempty"` // number of rows that are not indexed yet
	AuditLines   int64          `json:"audit_lines"`
	AuditHead    string         `json:"audit_head"` // hash of the audit log's last line
}

// HeldSource is a session with events that are waiting because of unanswered approval requests.
type HeldSource struct {
	Session  string `json:"session"`  // watcher:ID, schedule:ID, trigger:NAME, or a conversation
	Requests int    `json:"requests"` // number of turns waiting for an answer
	Waiting  int    `json:"waiting"`  // later events
}

// Problem is a fault that Hob works around. It ends by itself when the cause ends.
type Problem struct {
	Name string `json:"name" schema:"enum=model|port|config|trigger|upgrade"`
	// Text describes the cause and how Hob works around it, Remedy what the user can do.
	Text   string    `json:"text"`
	Remedy string    `json:"remedy"`
	Since  time.Time `json:"since,omitzero"`
	Next   time.Time `json:"next,omitzero"` // earliest time of Hob's next attempt
}

// ChannelState is the health of one channel.
type ChannelState struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Error string `json:"error,omitempty"`
}

// Doctor checks the installation.
type Doctor interface {
	// Examine runs the named checks, or all checks if names is empty. If fix is set, it repairs
	// problems. It calls step with each finding. It returns ErrInvalid if a name is unknown.
	Examine(ctx context.Context, names []string, fix bool, step func(Finding)) error
	// Permissions lists the daemon's system permissions.
	Permissions(ctx context.Context) ([]permission.Permission, error)
}

// Finding is the result of one check.
type Finding struct {
	Name   string `json:"name"`
	State  string `json:"state" schema:"enum=ok|warn|fail|skipped"`
	Cause  string `json:"cause"`  // what the check found
	Remedy string `json:"remedy"` // "" if no action is needed
	// Link opens the system settings page for the fix, or is "" if there is none.
	Link string `json:"link,omitempty"`
	// Fixable reports whether Examine with fix can fix the problem. Fixed is the result of that
	// fix.
	Fixable bool   `json:"fixable,omitempty"`
	Fixed   string `json:"fixed,omitempty"`
	// In is the process that ran the check: "daemon" or "command".
	In string `json:"in,omitempty"`
}

// Usage reports what the models cost.
type Usage interface {
	// Usage sums the model calls by day and model.
	Usage(ctx context.Context, q Query) ([]UsageRow, error)
	// Budget returns the cost of today and of this month, with the limits.
	Budget(ctx context.Context) ([]BudgetRow, error)
}

// UsageRow is the usage of one model on one day.
type UsageRow struct {
	Day        string   `json:"day"`
	Model      string   `json:"model"`
	Turns      int      `json:"turns"`
	ModelCalls int      `json:"model_calls"`
	Input      int      `json:"input"`
	Output     int      `json:"output"`
	CacheRead  int      `json:"cache_read"`
	CacheWrite int      `json:"cache_write"`
	CostUSD    *float64 `json:"cost_usd"` // null means that no price is known
	Unpriced   int      `json:"unpriced_calls"`
	Estimated  int      `json:"estimated_calls"`
	Local      bool     `json:"local"`
	// Purposes divides the calls by purpose.
	Purposes []PurposeUsage `json:"purposes,omitempty"`
}

// PurposeUsage is the part of a UsageRow that was for one purpose.
type PurposeUsage struct {
	// Purpose is "turn" for answers, "summary", "lesson", "sub-agent", "guardian", "check",
	// "vectors", "urgency" or "memory".
	Purpose    string   `json:"purpose"`
	ModelCalls int      `json:"model_calls"`
	Tokens     int      `json:"tokens"`   // sum of input and output
	CostUSD    *float64 `json:"cost_usd"` // null means that no price is known
}

// BudgetRow is the cost in one period, with the limits.
type BudgetRow struct {
	Period     string    `json:"period"` // "day" or "month"
	Which      string    `json:"which"`  // for example 2026-03-29 or 2026-03
	From       time.Time `json:"from"`
	CostUSD    float64   `json:"cost_usd"`    // cost of the calls with a known price
	CountedUSD float64   `json:"counted_usd"` // costs that count toward the cap
	CapUSD     *float64  `json:"cap_usd"`     // null means that there is no cap
	Tokens     int       `json:"tokens"`
	CapTokens  *int      `json:"cap_tokens"`
	Calls      int       `json:"model_calls"`
	Unpriced   int       `json:"unpriced_calls"`
	PricesAsOf string    `json:"prices_as_of"`
}

// TokenUsage holds token counts. Known is false if the provider sent no counts.
type TokenUsage struct {
	Input      int  `json:"input"` // all input tokens, including cached ones
	Output     int  `json:"output"`
	CacheRead  int  `json:"cache_read"`
	CacheWrite int  `json:"cache_write"`
	Known      bool `json:"known"`
}

// Triggers start work when a program calls them.
type Triggers interface {
	Triggers(ctx context.Context) ([]Trigger, error)
	// Fire accepts a trigger's payload as untrusted text. key is used to drop repeated calls.
	Fire(ctx context.Context, trigger, key string, payload []byte) (Fired, error)
	// TriggerSecret returns the HMAC secret of a trigger, or ErrNotFound if the trigger does not
	// exist.
	TriggerSecret(trigger string) ([]byte, error)
}

// Trigger is a configured trigger.
type Trigger struct {
	ID      string `json:"id"`
	Action  string `json:"action"`
	Session string `json:"session"`
	Signed  bool   `json:"signed"` // whether the trigger has a secret
}

// Fired is the result of Fire.
type Fired struct {
	Event    string `json:"event"`
	Repeated bool   `json:"repeated"` // whether the key was accepted before
}
