package api

import (
	"context"
	"time"

	"hob/platform/provenance"
)

// Goals are the user's goals, and the plan of the day.
type Goals interface {
	// Goals lists the open goals; with Query.All or Query.State also others. Query.Of selects
	// one goal and adds its reviews.
	Goals(ctx context.Context, q Query) ([]GoalDetails, error)
	// Plan returns the plan of today, whether or not it was sent.
	Plan(ctx context.Context) (Plan, error)
}

// Goal is a result that the user wants.
type Goal struct {
	ID          string            `json:"id"`
	Description string            `json:"description"`
	Priority    int               `json:"priority"` // 1 (least) to 5
	Success     string            `json:"success"`  // when it is reached, as text
	Every       int64             `json:"check_every_seconds"`
	NextAt      time.Time         `json:"next_review,omitzero"`
	Status      string            `json:"status"`
	Source      string            `json:"source"` // chat, tool, cli, api or template:NAME
	Provenance  provenance.Source `json:"provenance"`
	Report      string            `json:"report"` // session that receives its notices
	Agent       string            `json:"agent,omitempty"`
	// Quiet counts consecutive reviews without a change; it delays the next review. Looked
	// counts consecutive investigations.
	Quiet  int `json:"quiet"`
	Looked int `json:"looked"`
	// Seen is the state that its rule saw last, so that it acts on each state once.
	Seen     string    `json:"seen,omitempty"`
	Reviewed int       `json:"reviewed"`
	LastAt   time.Time `json:"last_review,omitzero"`
	Last     string    `json:"last_decision,omitempty"`
	Reason   string    `json:"last_reason,omitempty"`
	// ReasonFrom is the provenance of Reason, which may be untrusted.
	ReasonFrom provenance.Source `json:"last_reason_source,omitempty"`
	Event      string            `json:"event,omitempty"` // the review in progress, or the last one
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
}

// Review is the stored record of one event of a goal.
type Review struct {
	Event      string    `json:"event"`
	Goal       string    `json:"goal"`
	Phase      string    `json:"phase"`
	DueAt      time.Time `json:"due_at,omitzero"`
	At         time.Time `json:"at"`
	By         string    `json:"by"`
	Decision   string    `json:"decision"`
	Confidence float64   `json:"confidence"`
	Bar        float64   `json:"bar"`
	Risk       string    `json:"risk,omitempty"`
	Reason     string    `json:"reason"`
	Action     string    `json:"action,omitempty"`
	NextAt     time.Time `json:"next_review,omitzero"`
	Error      string    `json:"error,omitempty"`
	Then       string    `json:"then,omitempty"` // the following event
}

// GoalDetails is a goal as lists show it.
type GoalDetails struct {
	Goal

	CheckEvery string   `json:"check_every"`
	Reviews    []Review `json:"reviews,omitempty"`
}

// Plan is the current daily plan.
type Plan struct {
	Date     string        `json:"date" schema:"format=date"`
	Sections []PlanSection `json:"sections"` // without the empty ones
}

// PlanSection is the section of one source.
type PlanSection struct {
	Title string     `json:"title"`
	Items []PlanItem `json:"items"` // items with a time first, in order
	// Error describes why the source, or part of it, could not be read.
	Error string `json:"error,omitempty"`
}

// PlanItem is one line of a daily briefing.
type PlanItem struct {
	At   time.Time `json:"at"` // zero without a time of day
	Text string    `json:"text"`
	// Source is Outside if Text contains words that are not the owner's; empty is treated as
	// Outside.
	Source provenance.Source `json:"source"`
	// Beside marks an item that is not worth a notification on its own.
	Beside bool `json:"beside,omitempty"`
}
