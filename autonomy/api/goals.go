package api

import (
	"context"
	"encoding/json"
	"time"

	"hob/platform/provenance"
)

// Goals gives access to the user's goals and the daily plan.
type Goals interface {
	// Goals lists the open goals, and with Query.All or Query.State also others. Query.Of selects
	// one goal and adds its reviews.
	Goals(ctx context.Context, q Query) ([]GoalDetails, error)
	// Plan returns today's plan, whether or not it was sent.
	Plan(ctx context.Context) (Plan, error)
}

// Goal is an outcome that the user wants to achieve.
type Goal struct {
	ID          string            `json:"id"`
	Description string            `json:"description"`
	Priority    int               `json:"priority"` // 1 (lowest) to 5
	Success     string            `json:"success"`  // success criteria, as text
	Every       int64             `json:"check_every_seconds"`
	NextAt      time.Time         `json:"next_review,omitzero"`
	Status      string            `json:"status"`
	Source      string            `json:"source"` // chat, tool, cli, api or template:NAME
	Provenance  provenance.Source `json:"provenance"`
	Report      string            `json:"report"` // session that receives the goal's notices
	Agent       string            `json:"agent,omitempty"`
	// Quiet is the number of consecutive reviews without a change, which delays the next review.
	// Looked is the number of consecutive investigations.
	Quiet  int `json:"quiet"`
	Looked int `json:"looked"`
	// Seen is the state that the goal's rule last evaluated, so that the rule acts only once on
	// each state.
	Seen     string    `json:"seen,omitempty"`
	Reviewed int       `json:"reviewed"`
	LastAt   time.Time `json:"last_review,omitzero"`
	Last     string    `json:"last_decision,omitempty"`
	Reason   string    `json:"last_reason,omitempty"`
	// ReasonFrom is the provenance of Reason, which may be untrusted.
	ReasonFrom provenance.Source `json:"last_reason_source,omitempty"`
	Event      string            `json:"event,omitempty"` // event of the review in progress, or else of the last one
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
	Then       string    `json:"then,omitempty"` // kind of the event that follows
}

// GoalDetails describes a goal in a list.
type GoalDetails struct {
	Goal

	CheckEvery string   `json:"check_every"`
	Reviews    []Review `json:"reviews,omitempty"`
}

// Plan is the current daily plan.
type Plan struct {
	Date     string        `json:"date" schema:"format=date"`
	Sections []PlanSection `json:"sections"` // the sections that are not empty
}

// PlanSection holds the items that one source contributes to the plan.
type PlanSection struct {
	Title string     `json:"title"`
	Items []PlanItem `json:"items"` // items with a time of day first, in chronological order
	// Error describes why the source, or part of it, could not be read.
	Error string `json:"error,omitempty"`
}

// PlanItem is one line of the plan.
type PlanItem struct {
	At   time.Time `json:"at"` // zero if there is no time of day
	Text string    `json:"text"`
	// Source is Outside if Text contains words that are not the owner's. An empty value is treated
	// as Outside.
	Source provenance.Source `json:"source"`
	// Beside marks an item that does not justify a notification on its own.
	Beside bool `json:"beside,omitempty"`
}

// Learned gives access to what Hob has learned: lessons, and entries about the user.
type Learned interface {
	// Lessons lists the active lessons, and with Query.All also retired ones.
	Lessons(ctx context.Context, q Query) ([]Lesson, error)
	ChangeLesson(ctx context.Context, id string, c LearnedChange) (Lesson, error)
	UserEntries(ctx context.Context) ([]UserEntry, error)
	ChangeUserEntry(ctx context.Context, id string, c LearnedChange) (UserEntry, error)
}

// LearnedChange is one change to an entry. Exactly one field is set.
type LearnedChange struct {
	Text   string `json:"text,omitempty"` // new wording of the entry
	Retire bool   `json:"retire,omitempty"`
	Delete bool   `json:"delete,omitempty"`
}

// Lesson is one stored lesson.
type Lesson struct {
	ID         string            `json:"id"`
	Kind       string            `json:"kind"`
	Text       string            `json:"text"`
	State      string            `json:"state"`
	Confidence int               `json:"confidence"` // 1 to 10; lessons are used from 3 on
	Evidence   int               `json:"evidence"`   // number of observations
	Uses       int               `json:"uses"`       // number of requests that contained the lesson
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Event      string            `json:"event"` // event in which the lesson was last observed
	Session    string            `json:"session"`
	CreatedAt  time.Time         `json:"created_at"`
	SeenAt     time.Time         `json:"seen_at"` // when the lesson was last observed or used
	RetiredAt  time.Time         `json:"retired_at,omitzero"`
	RetiredBy  string            `json:"retired_by,omitempty"`
}

// UserEntry is one fact about the owner.
type UserEntry struct {
	ID   string `json:"id"`
	What string `json:"what"` // name, language, like, dislike, channel or hours
	Text string `json:"text"`
	// SaidBy is "owner" for a message, "edit" for an entry edited by hand, and "hob" for a count by
	// Hob.
	SaidBy   string    `json:"said_by"`
	At       time.Time `json:"at,omitzero"` // time of the statement, or of the last count
	Event    string    `json:"event,omitempty"`
	Session  string    `json:"session,omitempty"`
	Channel  string    `json:"channel,omitempty"`
	Messages int       `json:"messages,omitempty"` // number of messages that were counted
	// Hours holds the number of messages by weekday (starting with Sunday) and hour.
	Hours *[7][24]int `json:"hours,omitempty"`
	Zone  string      `json:"zone,omitempty"`
}

// Watchers lists the watchers of sources, the schedules and the reminders. The lists omit finished
// items unless Query.All is set.
type Watchers interface {
	Watchers(ctx context.Context, q Query) ([]Watcher, error)
	Schedules(ctx context.Context, q Query) ([]Watcher, error)
	Reminders(ctx context.Context, q Query) ([]Watcher, error)
}

// WatcherPlanning helps the user to add watchers and to see when they run.
type WatcherPlanning interface {
	// WatcherKinds lists the kinds of watchers other than schedules and reminders.
	WatcherKinds(ctx context.Context) ([]WatcherKind, error)
	// Forecast simulates the schedules, reminders and quiet hours in [from, to). Of a watcher that
	// runs very often it contains at most the first 100 runs.
	Forecast(ctx context.Context, from, to time.Time) (Forecast, error)
}

// WatcherKind describes a kind of watcher for a form.
type WatcherKind struct {
	Kind   string
	Title  string
	Polled bool // whether the watcher has a check interval
	Fields []WatcherField
}

// WatcherField is a key in the configuration of a watcher.
type WatcherField struct {
	Key, Title, Help string
	List             bool // a list of strings
	YesNo            bool // true or false
	Optional         bool
}

// Forecast is what will run in a period, in order.
type Forecast struct {
	Runs  []PlannedRun
	Quiet []Period // quiet hours, in which notifications that are not critical are deferred
}

// PlannedRun is one time at which a schedule or reminder will run.
type PlannedRun struct {
	ID       string
	Text     string
	Reminder bool
	At       time.Time
}

// Period is the time from From to To.
type Period struct{ From, To time.Time }

// Watcher describes a watcher in a list.
type Watcher struct {
	WatcherSpec

	Describe string `json:"description"`
	// When describes the time of a time-based item without its action.
	When string `json:"when,omitempty"`
	// Coming lists the next three times of a time-based item, in the user's time zone.
	Coming []time.Time `json:"coming,omitempty"`
	// Path is set for file watchers, and Cron or Every for schedules.
	Path  string `json:"path,omitempty"`
	Cron  string `json:"cron,omitempty"`
	Every string `json:"every,omitempty"`
}

// WatcherSpec is a stored watcher.
type WatcherSpec struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"` // file, cron, oneshot, ...
	Title  string          `json:"title"`
	Config json.RawMessage `json:"config"` // defined by the kind; see the kind's package
	Mode   string          `json:"mode"`
	// Action is the task (Do) or the text (Remind) in the user's words.
	Action string `json:"action,omitempty"`
	// Report is the session that receives the notices.
	Report string `json:"report"`
	// Agent is the agent that created the watcher and runs it, or "" for the default agent.
	Agent string `json:"agent,omitempty"`
	// Source is the origin of a watcher that the user did not request directly, such as
	// "template:housekeeper".
	Source string `json:"source,omitempty"`
	Missed string `json:"missed,omitempty"`
	// Priority of a reminder: low, medium, high, critical, or "" for the default.
	Priority string `json:"priority,omitempty"`
	// Provenance is Outside if untrusted text influenced the creation of the watcher.
	Provenance provenance.Source `json:"provenance"`
	State      string            `json:"state"`
	// Every is the poll interval, such as "30m", for polled kinds.
	Every string `json:"every,omitempty"`
	// Hours are the active hours in the user's time zone, for example "08:00-18:00", "mon-fri
	// 08:00-18:00" or "22:00-06:00". They do not apply to timed kinds. When the active hours begin,
	// polled kinds also find the events that occurred before. Signals of event-driven kinds are
	// deferred until then, or dropped with the policy Skip.
	Hours string `json:"active_hours,omitempty"`
	// PerDay is the maximum number of firings per calendar day in the user's time zone. Signals
	// above the limit are dropped, and the user is notified once a day. It does not apply to timed
	// kinds.
	PerDay    int       `json:"per_day,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	FiredAt   time.Time `json:"fired_at,omitzero"` // time of the last firing
	Fired     int       `json:"fired"`
	NextAt    time.Time `json:"next_at,omitzero"` // set only for time-based kinds
	// Zone is the user's time zone in which NextAt was computed; "" means the current zone.
	Zone      string `json:"zone,omitempty"`
	LastError string `json:"last_error,omitempty"`
}

// DecisionText returns the decision of a review in words.
func DecisionText(decision string) string {
	switch decision {
	case "act":
		return "act"
	case "defer":
		return "wait"
	case "investigate":
		return "look closer"
	case "complete":
		return "reached"
	case "abandon":
		return "give up"
	}
	return decision
}
