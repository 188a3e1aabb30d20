// Package goals stores the user's goals, with a priority, success criteria and a review interval.
//
// A due goal becomes an event of kind goal in the inbox, once per due time (its dedupe key consists
// of the goal and the time). It therefore passes through the same loop, guard and budget as other
// events. The model answers the review with a decision (act, defer, investigate, complete or
// abandon). Without a model the goal's rule decides, for example "when a task is overdue then tell
// me, until Friday". The required confidence depends on the risk of the action. `hob why` shows the
// stored reviews.
//
// The package runs no turns, calls no model and sends nothing. The loop does this.
package goals

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
)

// Status is the status of a goal.
type Status string

// Values of Status.
const (
	Active    Status = "active"
	Paused    Status = "paused"
	Waiting   Status = "waiting" // waiting for the user's answer to a question
	Done      Status = "done"
	Abandoned Status = "abandoned"
)

// IsPursued reports whether Hob still pursues the goal.
func (s Status) IsPursued() bool { return s == Active || s == Paused || s == Waiting }

// Limits and defaults for goals.
const (
	DefaultEvery = time.Hour
	MinEvery     = time.Minute
	MaxEvery     = 366 * 24 * time.Hour
	maxText      = 4000 // maximum bytes of a description or of success criteria
	// NormalPriority is the default priority of a goal.
	NormalPriority = 3
)

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
	Event      string            `json:"event,omitempty"` // the review in progress, or else the last one
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
}

// ErrInvalid means that the user has to change the request. ErrNotFound means that a goal does not
// exist.
var (
	ErrInvalid  = errors.New("invalid goal")
	ErrNotFound = errors.New("goal not found")
)

// Options holds the settings of Goals. Store and Bus are required.
type Options struct {
	Store *store.Store
	Bus   *bus.Bus
	// Max is the maximum number of goals (default 50).
	Max int
	// Backoff is the maximum factor for the review interval, which grows if nothing changes
	// (default 8).
	Backoff int
	// Bars holds the confidence thresholds.
	Bars Thresholds
}

// Goals manages the stored goals. Its methods may be called concurrently.
type Goals struct {
	o   Options
	due bus.DueSource // when reviews are due
}

// New returns Goals that uses a store opened with Migrations. It does no I/O.
func New(o Options) (*Goals, error) {
	if o.Store == nil || o.Bus == nil {
		return nil, errors.New("goals: Options needs Store and Bus")
	}
	if o.Max <= 0 {
		o.Max = 50
	}
	if o.Backoff <= 0 {
		o.Backoff = 8
	}
	o.Bars = o.Bars.withDefaults()
	g := &Goals{o: o}
	g.due.FollowOthers(o.Bus.Lease, o.Bus.Inbox, "goals")
	return g, nil
}

// CreateTx checks a goal, fills in defaults and stores it. The first review is immediate, unless
// NextAt is set. An error wraps ErrInvalid if the user has to change the request.
func (g *Goals) CreateTx(tx *store.Tx, goal Goal) (Goal, error) {
	if goal.CreatedAt.IsZero() {
		goal.CreatedAt = time.Now()
	}
	goal.CreatedAt = store.Time(store.Millis(goal.CreatedAt))
	goal.Status, goal.UpdatedAt = string(Active), goal.CreatedAt
	if goal.ID == "" {
		goal.ID = shortid.New("g")
	}
	if goal.NextAt.IsZero() {
		goal.NextAt = goal.CreatedAt
	}
	if goal.Priority == 0 {
		goal.Priority = NormalPriority
	}
	if goal.Every == 0 {
		goal.Every = int64(DefaultEvery / time.Second)
	}
	if goal.Source == "" {
		goal.Source = "tool"
	}
	if goal.Provenance == "" {
		goal.Provenance = provenance.Outside
	}
	if err := checkGoal(&goal); err != nil {
		return Goal{}, err
	}
	if err := g.checkCapacity(tx); err != nil {
		return Goal{}, err
	}
	return goal, g.insertGoal(tx, goal)
}

// checkGoal returns an error if a goal is invalid.
func checkGoal(g *Goal) error {
	g.Description, g.Success = cleanText(g.Description), cleanText(g.Success)
	every := time.Duration(g.Every) * time.Second
	switch {
	case g.Description == "":
		return fmt.Errorf("%w: description is empty; describe the goal", ErrInvalid)
	case len(g.Description) > maxText, len(g.Success) > maxText:
		return fmt.Errorf("%w: description and success criteria may be at most %d KB each", ErrInvalid, maxText/1000)
	case g.Priority < 1 || g.Priority > 5:
		return fmt.Errorf("%w: priority must be a number from 1 (least) to 5, not %d", ErrInvalid, g.Priority)
	case every < MinEvery || every > MaxEvery:
		return fmt.Errorf("%w: the review interval must be between one minute and one year, not %s", ErrInvalid, every)
	}
	return nil
}

func cleanText(s string) string {
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD"))
}

// checkCapacity returns an error if there are too many goals.
func (g *Goals) checkCapacity(q store.Querier) error {
	var n int
	if err := q.QueryRow(`SELECT count(*) FROM goals WHERE status IN ('active', 'paused', 'waiting')`).Scan(&n); err != nil {
		return fmt.Errorf("goals: count goals: %w", err)
	}
	if n >= g.o.Max {
		return fmt.Errorf("%w: the limit of %d goals is reached ([autonomy] max_goals); complete or remove some first: hob goal list", ErrInvalid, n)
	}
	return nil
}

// ChangeTx replaces a stored goal and returns the new one. The change resets the backoff. A goal
// that became active again is reviewed immediately.
func (g *Goals) ChangeTx(tx *store.Tx, goal Goal, now time.Time) (Goal, error) {
	old, err := Get(tx, goal.ID)
	if err != nil {
		return Goal{}, err
	}
	if err := checkGoal(&goal); err != nil {
		return Goal{}, err
	}
	if Status(goal.Status).IsPursued() && !Status(old.Status).IsPursued() {
		if err := g.checkCapacity(tx); err != nil {
			return Goal{}, err
		}
	}
	goal.UpdatedAt = store.Time(store.Millis(now))
	goal.Quiet, goal.Looked = 0, 0
	switch {
	case goal.Status == string(Active) && old.Status != string(Active) && goal.NextAt.Equal(old.NextAt):
		goal.NextAt = now
	case goal.Status == string(Active) && goal.NextAt.Equal(old.NextAt) && (goal.Every != old.Every || goal.Description != old.Description || goal.Success != old.Success):
		goal.NextAt = now
	}
	if goal.Description != old.Description {
		goal.Seen = ""
	}
	if !isWorkedOn(goal.Status) && isWorkedOn(old.Status) {
		if err := g.o.Bus.Inbox.ResumeTx(tx, goal.Event); err != nil { // close an open question, because its answer is no longer needed
			return Goal{}, err
		}
	}
	return goal, g.updateGoal(tx, goal)
}

// isWorkedOn reports whether Hob works on goals with this status.
func isWorkedOn(status string) bool { return status == string(Active) || status == string(Waiting) }

// PutTx stores a goal unchanged, in order to undo a change. If the goal waits for an answer but its
// question no longer exists, the goal becomes active.
func (g *Goals) PutTx(tx *store.Tx, goal Goal) error {
	if goal.Status == string(Waiting) && !g.hasOpenQuestion(tx, goal) {
		goal.Status = string(Active)
	}
	_, err := Get(tx, goal.ID)
	if errors.Is(err, ErrNotFound) {
		if Status(goal.Status).IsPursued() {
			if err := g.checkCapacity(tx); err != nil {
				return err
			}
		}
		return g.insertGoal(tx, goal)
	}
	if err != nil {
		return err
	}
	return g.updateGoal(tx, goal)
}

// hasOpenQuestion reports whether a question about a goal is open.
func (g *Goals) hasOpenQuestion(tx *store.Tx, goal Goal) bool {
	ev, err := g.o.Bus.Inbox.EventTx(tx, goal.Event)
	if err != nil || ev.State != bus.Pending && ev.State != bus.Claimed {
		return false
	}
	o, err := OrderOf(ev)
	return err == nil && o.Phase == Ask
}

// DropTx deletes a goal and returns it for PutTx. A review of the goal that is in progress then has
// no effect.
func (g *Goals) DropTx(tx *store.Tx, id string) (Goal, error) {
	goal, err := Get(tx, id)
	if err != nil {
		return Goal{}, err
	}
	if _, err := tx.Exec(`DELETE FROM goals WHERE id = ?`, id); err != nil {
		return Goal{}, fmt.Errorf("goals: remove goal: %w", err)
	}
	if err := g.o.Bus.Inbox.ResumeTx(tx, goal.Event); err != nil {
		return Goal{}, err
	}
	g.due.InvalidateTx(tx, g.o.Bus.Inbox)
	return goal, nil
}

// Name returns the description on one line.
func (g Goal) Name() string {
	return textnorm.Ellipsize(strings.Join(strings.Fields(g.Description), " "), 80)
}

// EveryDuration returns the time between reviews.
func (g Goal) EveryDuration() time.Duration { return time.Duration(g.Every) * time.Second }
