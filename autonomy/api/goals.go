package api

import (
	"context"
	"encoding/json"
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
	Success     string            `json:"success"`  // criteria for success, as text
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
	// Seen is the state that the goal's rule evaluated last, so that the rule acts on each state
	// once.
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

// Learned is what Hob learned: lessons, and entries about the user.
type Learned interface {
	// Lessons lists the lessons in use; with Query.All also retired ones.
	Lessons(ctx context.Context, q Query) ([]Lesson, error)
	ChangeLesson(ctx context.Context, id string, c LearnedChange) (Lesson, error)
	UserEntries(ctx context.Context) ([]UserEntry, error)
	ChangeUserEntry(ctx context.Context, id string, c LearnedChange) (UserEntry, error)
}

// LearnedChange is one change of an entry. Exactly one field is set.
type LearnedChange struct {
	Text   string `json:"text,omitempty"` // the new wording
	Retire bool   `json:"retire,omitempty"`
	Delete bool   `json:"delete,omitempty"`
}

// Lesson is one stored lesson.
type Lesson struct {
	ID         string            `json:"id"`
	Kind       string            `json:"kind"`
	Text       string            `json:"text"`
	State      string            `json:"state"`
	Confidence int               `json:"confidence"` // 1 to 10; used from 3
	Evidence   int               `json:"evidence"`   // number of observations
	Uses       int               `json:"uses"`       // number of requests that contained it
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Event      string            `json:"event"` // event in which it was last observed
	Session    string            `json:"session"`
	CreatedAt  time.Time         `json:"created_at"`
	SeenAt     time.Time         `json:"seen_at"` // when it was last observed or used
	RetiredAt  time.Time         `json:"retired_at,omitzero"`
	RetiredBy  string            `json:"retired_by,omitempty"`
}

// UserEntry is one fact about the owner.
type UserEntry struct {
	ID   string `json:"id"`
	What string `json:"what"` // name, language, like, dislike, channel, hours
	Text string `json:"text"`
	// SaidBy is "owner" for a message, "edit" for an entry edited by hand, and "hob" for a
	// count.
	SaidBy   string    `json:"said_by"`
	At       time.Time `json:"at,omitzero"` // time of the statement or of the last count
	Event    string    `json:"event,omitempty"`
	Session  string    `json:"session,omitempty"`
	Channel  string    `json:"channel,omitempty"`
	Messages int       `json:"messages,omitempty"` // number of messages counted
	// Hours counts messages by weekday (from Sunday) and hour.
	Hours *[7][24]int `json:"hours,omitempty"`
	Zone  string      `json:"zone,omitempty"`
}

// Watchers lists the watchers of sources, the schedules and the reminders. The lists omit finished
// ones, unless Query.All is set.
type Watchers interface {
	Watchers(ctx context.Context, q Query) ([]Watcher, error)
	Schedules(ctx context.Context, q Query) ([]Watcher, error)
	Reminders(ctx context.Context, q Query) ([]Watcher, error)
}

// Watcher is a watcher as lists show it.
type Watcher struct {
	WatcherSpec

	Describe string `json:"description"`
	// When is only the time, for time-based items.
	When string `json:"when,omitempty"`
	// Coming lists the next three times of a time-based item, in the user's zone.
	Coming []time.Time `json:"coming,omitempty"`
	// Path is set for file watchers, Cron or Every for schedules.
	Path  string `json:"path,omitempty"`
	Cron  string `json:"cron,omitempty"`
	Every string `json:"every,omitempty"`
}

// WatcherSpec is a stored watcher.
type WatcherSpec struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"` // file, cron, oneshot, ...
	Title  string          `json:"title"`
	Config json.RawMessage `json:"config"` // defined by the kind, see its package
	Mode   string          `json:"mode"`
	// Action is the task (Do) or the text (Remind) in the user's words.
	Action string `json:"action,omitempty"`
	// Report is the session that receives the notices.
	Report string `json:"report"`
	// Agent is the agent that set it up and runs it, "" for the default one.
	Agent string `json:"agent,omitempty"`
	// Source is the origin of a watcher that the user did not request directly, such as
	// "template:housekeeper".
	Source string `json:"source,omitempty"`
	Missed string `json:"missed,omitempty"`
	// Provenance is Outside if untrusted text influenced its creation.
	Provenance provenance.Source `json:"provenance"`
	State      string            `json:"state"`
	// Every is the poll interval, such as "30m"; for polled kinds.
	Every string `json:"every,omitempty"`
	// Hours are the active hours in the user's zone: "08:00-18:00", "mon-fri 08:00-18:00",
	// "22:00-06:00"; not for timed kinds. Polled kinds find earlier events when the hours
	// begin. Signals of event-driven kinds are deferred until then, or dropped with the policy
	// Skip.
	Hours string `json:"active_hours,omitempty"`
	// PerDay limits the firings per calendar day in the user's zone. Signals above the limit
	// are dropped and the user is notified once a day; not for timed kinds.
	PerDay    int       `json:"per_day,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	FiredAt   time.Time `json:"fired_at,omitzero"` // last time
	Fired     int       `json:"fired"`
	NextAt    time.Time `json:"next_at,omitzero"` // timed kinds only
	// Zone is the user's zone in which NextAt was computed; "" means the current zone.
	Zone      string `json:"zone,omitempty"`
	LastError string `json:"last_error,omitempty"`
}
