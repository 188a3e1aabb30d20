package tools

import (
	"context"
	"time"

	"hob/platform/provenance"
)

// BriefItem is one line of a daily briefing.
type BriefItem struct {
	At   time.Time `json:"at"` // zero when it has no time of day
	Text string    `json:"text"`
	// Source is Outside when Text holds words that are not the owner's; left
	// empty it counts as that.
	Source provenance.Source `json:"source"`
}

// BriefSource contributes a section to the daily briefing: tasks, reminders,
// habits, spending, later calendars and mail. A source that could not look
// returns an error, which the briefing names; "nothing" is an empty list.
type BriefSource interface {
	BriefTitle() string
	// Brief returns what concerns the day [from, to) in the owner's zone.
	Brief(ctx context.Context, from, to time.Time) ([]BriefItem, error)
}
