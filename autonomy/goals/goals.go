// Package goals keeps what the owner wants to come about in time: goals, with a
// priority, success criteria and how often each is looked at again.
//
// A goal that is due becomes an event of kind goal in the inbox, once for each
// time (its dedupe key is the goal and the time), so that it passes the same
// loop, guard and budget as anything else. Its review is answered by a decision
// (act, defer, investigate, complete, abandon) of the model, or, where there is
// none, of the goal's own rule ("when a task is overdue then tell me, until
// Friday"); how sure the decider must be depends on the risk of what is to be
// done. What this package keeps of each review is what `hob why` tells.
//
// It runs no turn, asks no model and delivers nothing: the loop does.
package goals

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/platform/shortid"
)

// Status of a goal.
type Status string

// The statuses.
const (
	Active    Status = "active"
	Paused    Status = "paused"
	Waiting   Status = "waiting" // for the owner's answer to a question
	Done      Status = "done"
	Abandoned Status = "abandoned"
)

// Living reports whether the goal is one that Hob still has.
func (s Status) Living() bool { return s == Active || s == Paused || s == Waiting }

// Bounds and defaults of a goal.
const (
	DefaultEvery = time.Hour
	MinEvery     = time.Minute
	MaxEvery     = 366 * 24 * time.Hour
	maxText      = 4000 // bytes of a description or of criteria
	normal       = 3    // priority
)

// Goal is one thing that is to come about.
type Goal struct {
	ID          string            `json:"id"`
	Description string            `json:"description"`
	Priority    int               `json:"priority"` // 1 (least) to 5
	Success     string            `json:"success"`  // when it is reached, in plain words
	Every       int64             `json:"check_every_seconds"`
	NextAt      time.Time         `json:"next_review,omitzero"`
	Status      string            `json:"status"`
	Source      string            `json:"source"` // chat, tool, cli, api or template:NAME
	Provenance  provenance.Source `json:"provenance"`
	Report      string            `json:"report"` // the session in which the owner is told
	Agent       string            `json:"agent,omitempty"`
	// Quiet counts the reviews in a row after which nothing had changed; the next
	// one comes the later for it. Looked counts investigations in a row.
	Quiet  int `json:"quiet"`
	Looked int `json:"looked"`
	// Seen is what its rule saw last, so that one thing is acted on once.
	Seen     string    `json:"seen,omitempty"`
	Reviewed int       `json:"reviewed"`
	LastAt   time.Time `json:"last_review,omitzero"`
	Last     string    `json:"last_decision,omitempty"`
	Reason   string    `json:"last_reason,omitempty"`
	// ReasonFrom is the source of what Reason says, which may be outside text.
	ReasonFrom provenance.Source `json:"last_reason_source,omitempty"`
	Event      string            `json:"event,omitempty"` // of the review that is under way, or the last one
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
}

// ErrInvalid is wrapped by errors that only other words of the owner mend;
// ErrNotFound by those about a goal that is not there.
var (
	ErrInvalid  = errors.New("this cannot be a goal")
	ErrNotFound = errors.New("there is no such goal")
)

// Options of New; Store and Bus are required.
type Options struct {
	Store *store.Store
	Bus   *bus.Bus
	// Max is how many goals there may be at a time (default 50).
	Max int
	// Backoff is the most by which the time between reviews grows while nothing
	// changes (default 8 times).
	Backoff int
	// Bars are how sure one must be; see Bars.
	Bars Bars
}

// Goals keeps the goals. Its methods may be called concurrently.
type Goals struct {
	o Options

	mu   sync.Mutex
	next time.Time // when the next one is due; zero: none
	read bool      // next has been read
}

// New makes the keeper over a store opened with Migrations. It reads nothing.
func New(o Options) (*Goals, error) {
	if o.Store == nil || o.Bus == nil {
		return nil, errors.New("goals: an option is missing")
	}
	if o.Max <= 0 {
		o.Max = 50
	}
	if o.Backoff <= 0 {
		o.Backoff = 8
	}
	o.Bars = o.Bars.filled()
	return &Goals{o: o}, nil
}

// CreateTx checks a goal and stores it; what is left open is filled in. It is
// looked at for the first time at once, unless NextAt says when. Errors wrap
// ErrInvalid when the owner has to ask for something else.
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
		goal.Priority = normal
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
	if err := check(&goal); err != nil {
		return Goal{}, err
	}
	if err := g.room(tx); err != nil {
		return Goal{}, err
	}
	return goal, g.insert(tx, goal)
}

// check refuses what can be no goal.
func check(g *Goal) error {
	g.Description, g.Success = clean(g.Description), clean(g.Success)
	every := time.Duration(g.Every) * time.Second
	switch {
	case g.Description == "":
		return fmt.Errorf("%w: say what is to come about", ErrInvalid)
	case len(g.Description) > maxText, len(g.Success) > maxText:
		return fmt.Errorf("%w: its description and its success criteria may have %d KB each", ErrInvalid, maxText/1000)
	case g.Priority < 1 || g.Priority > 5:
		return fmt.Errorf("%w: its priority is a number from 1 (least) to 5, not %d", ErrInvalid, g.Priority)
	case every < MinEvery || every > MaxEvery:
		return fmt.Errorf("%w: it can be looked at every minute at most and once a year at least, not every %s", ErrInvalid, every)
	}
	return nil
}

func clean(s string) string {
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD"))
}

// room enforces the most goals that there may be.
func (g *Goals) room(q store.Querier) error {
	var n int
	if err := q.QueryRow(`SELECT count(*) FROM goals WHERE status IN ('active', 'paused', 'waiting')`).Scan(&n); err != nil {
		return fmt.Errorf("goals: count: %w", err)
	}
	if n >= g.o.Max {
		return fmt.Errorf("%w: there are %d goals, which is the limit ([autonomy] max_goals); complete or remove some first: hob goal list", ErrInvalid, n)
	}
	return nil
}

// ChangeTx stores a changed goal in place of the one of its id and returns it. It
// is taken up afresh: the backoff ends, and a goal that has become active again is
// looked at at once.
func (g *Goals) ChangeTx(tx *store.Tx, goal Goal, now time.Time) (Goal, error) {
	old, err := Get(tx, goal.ID)
	if err != nil {
		return Goal{}, err
	}
	if err := check(&goal); err != nil {
		return Goal{}, err
	}
	if Status(goal.Status).Living() && !Status(old.Status).Living() {
		if err := g.room(tx); err != nil {
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
	if !worked(goal.Status) && worked(old.Status) {
		if err := g.o.Bus.ResumeTx(tx, goal.Event); err != nil { // a question that waits waits in vain
			return Goal{}, err
		}
	}
	return goal, g.update(tx, goal)
}

// worked reports whether a goal of this status is worked on.
func worked(status string) bool { return status == string(Active) || status == string(Waiting) }

// PutTx stores a goal as it is given, to take a change back. One that waited for an
// answer goes on by itself when its question is gone.
func (g *Goals) PutTx(tx *store.Tx, goal Goal) error {
	if goal.Status == string(Waiting) && !g.asked(tx, goal) {
		goal.Status = string(Active)
	}
	_, err := Get(tx, goal.ID)
	if errors.Is(err, ErrNotFound) {
		if Status(goal.Status).Living() {
			if err := g.room(tx); err != nil {
				return err
			}
		}
		return g.insert(tx, goal)
	}
	if err != nil {
		return err
	}
	return g.update(tx, goal)
}

// asked reports whether a question about a goal is open.
func (g *Goals) asked(tx *store.Tx, goal Goal) bool {
	ev, err := g.o.Bus.EventTx(tx, goal.Event)
	if err != nil || ev.State != bus.Pending && ev.State != bus.Claimed {
		return false
	}
	o, err := OrderOf(ev)
	return err == nil && o.Phase == Ask
}

// DropTx removes a goal and returns it as it was, for PutTx. A review of it that
// is open comes to nothing.
func (g *Goals) DropTx(tx *store.Tx, id string) (Goal, error) {
	goal, err := Get(tx, id)
	if err != nil {
		return Goal{}, err
	}
	if _, err := tx.Exec(`DELETE FROM goals WHERE id = ?`, id); err != nil {
		return Goal{}, fmt.Errorf("goals: remove: %w", err)
	}
	if err := g.o.Bus.ResumeTx(tx, goal.Event); err != nil {
		return Goal{}, err
	}
	g.changed(tx)
	return goal, nil
}

// Name is a goal in one line.
func (g Goal) Name() string { return phrase.Cut(strings.Join(strings.Fields(g.Description), " "), 80) }

// EveryDuration is the time between reviews.
func (g Goal) EveryDuration() time.Duration { return time.Duration(g.Every) * time.Second }
