package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Goal is a long-term aim that Hob works on.
type Goal = api.Goal

// Statuses that a tool can set.
const (
	goalActive = "active"
	goalPaused = "paused"
	goalDone   = "done"
)

// Goals stores goals. Its errors wrap api.ErrInvalid if the arguments are invalid.
type Goals interface {
	// CreateTx creates a goal for a call. note tells the owner how Hob will work on the goal; it
	// may be empty.
	CreateTx(ctx context.Context, tx *store.Tx, c tools.Call, g Goal) (made Goal, note string, err error)
	// ListIn lists the open goals, or all goals if all is set, starting with the most important.
	ListIn(q store.Querier, all bool) ([]Goal, error)
	ChangeTx(tx *store.Tx, g Goal, now time.Time) (Goal, error)
	// PutTx stores a goal unchanged; DropTx removes it.
	PutTx(tx *store.Tx, g Goal) error
	DropTx(tx *store.Tx, id string) error
}

func (d Deps) goalTools() []tools.Tool {
	if d.Goals == nil {
		return nil
	}
	return []tools.Tool{d.createGoal(), d.listGoals(), d.updateGoal(), d.pauseGoal(), d.completeGoal(), d.deleteGoal()}
}

// pickGoal finds the goal that query names. It prefers open goals.
func (d Deps) pickGoal(q store.Querier, query string) (Goal, error) {
	key := func(g Goal) (string, string) { return g.ID, g.Description }
	list, err := d.Goals.ListIn(q, false)
	if err != nil {
		return Goal{}, err
	}
	g, err := tools.Pick("goal", query, list, key)
	if err = tools.Quoting(err, goalSources(list)...); err == nil || tools.CodeOf(err) != tools.NotFound {
		return g, err
	}
	all, aerr := d.Goals.ListIn(q, true)
	if aerr != nil {
		return Goal{}, aerr
	}
	if g, aerr := tools.Pick("goal", query, all, key); aerr == nil {
		return g, nil
	}
	return Goal{}, err
}

func goalSources(list []Goal) []provenance.Source {
	out := []provenance.Source{provenance.Tool}
	for _, g := range list {
		out = append(out, g.Provenance)
		if g.Reason != "" {
			out = append(out, g.ReasonFrom)
		}
	}
	return out
}

func goalSource(list ...Goal) provenance.Source { return provenance.Worst(goalSources(list)...) }

// goalName formats a goal in one line.
func goalName(g Goal) string {
	return textnorm.Ellipsize(strings.Join(strings.Fields(g.Description), " "), 100)
}

// goalLine formats a goal as one line of a list.
func goalLine(g Goal, now time.Time) string {
	parts := []string{fmt.Sprintf("priority %d", g.Priority)}
	switch g.Status {
	case goalActive:
		parts = append(parts, "next review "+dateparse.Format(g.NextAt.In(now.Location()), now))
	default:
		parts = append(parts, g.Status)
	}
	if g.Success != "" {
		parts = append(parts, "reached when "+textnorm.Ellipsize(g.Success, 100))
	}
	if g.Reason != "" {
		parts = append(parts, "last: "+g.Last+", "+textnorm.Ellipsize(g.Reason, 120))
	}
	return goalName(g) + " (" + strings.Join(parts, "; ") + ")"
}

// everyField parses the interval between reviews of a goal: "6h", "2 days", "every 30 minutes",
// "daily".
func everyField(s string, _ time.Time) (int64, error) {
	words := strings.Fields(strings.ToLower(strings.TrimSpace(s)))
	if len(words) == 0 {
		return 0, nil
	}
	if len(words) > 1 && words[0] == "every" {
		words = words[1:]
	}
	if d, err := time.ParseDuration(strings.Join(words, "")); err == nil {
		return int64(d / time.Second), nil
	}
	n, unit := 1, words[len(words)-1]
	var err error
	if len(words) == 2 && words[0] != "a" && words[0] != "an" && words[0] != "one" {
		n, err = strconv.Atoi(words[0])
	}
	if digits := strings.TrimRight(unit, "dw"); len(words) == 1 && len(digits) == len(unit)-1 && digits != "" {
		n, err = strconv.Atoi(digits)
		unit = unit[len(digits):]
	}
	seconds := map[string]int64{
		"minute": 60, "minutes": 60, "hour": 3600, "hours": 3600, "hourly": 3600, "day": 86400, "days": 86400, "d": 86400, "daily": 86400, "morning": 86400,
		"week": 7 * 86400, "weeks": 7 * 86400, "w": 7 * 86400, "weekly": 7 * 86400, "month": 30 * 86400, "months": 30 * 86400, "monthly": 30 * 86400,
	}[unit]
	if err != nil || seconds == 0 || n < 1 || n > 1000 || len(words) > 2 {
		return 0, tools.Errorf(tools.InvalidArguments, "%q is not an interval; use 30m, 6h or \"2 days\"", tools.Clean(textnorm.Ellipsize(s, 40)))
	}
	return int64(n) * seconds, nil
}

// classifyGoal converts errors of Goals to tool errors.
func classifyGoal(err error) error {
	if errors.Is(err, api.ErrInvalid) {
		return tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	return err
}

// goalUndo is the undo data of a call that changed a goal.
type goalUndo struct {
	Before Goal `json:"before"`
	After  Goal `json:"after"`
}

// ownerFields returns a copy of the goal with only the fields that the owner sets. Notes of reviews
// are not a conflict.
func ownerFields(g Goal) Goal {
	return Goal{Description: g.Description, Success: g.Success, Priority: g.Priority, Every: g.Every, Status: strings.Replace(g.Status, "waiting", goalActive, 1)}
}

// undoGoal restores the previous version of a goal.
func (d Deps) undoGoal(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	u, err := decodeUndo[goalUndo](data)
	if err != nil {
		return "", err
	}
	all, err := d.Goals.ListIn(tx, true)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(g Goal) bool { return g.ID == u.Before.ID })
	switch {
	case i < 0:
		return "", tools.Quoting(tools.Errorf(tools.NotFound, "the goal %q was removed", tools.Clean(goalName(u.Before))), u.Before.Provenance)
	case ownerFields(all[i]) != ownerFields(u.After):
		return "", tools.Quoting(tools.Errorf(tools.Conflict, "the goal %q has changed; undo would overwrite the change", tools.Clean(goalName(all[i]))), all[i].Provenance)
	}
	return fmt.Sprintf("Restored the previous version of the goal %q.", goalName(u.Before)), classifyGoal(d.Goals.PutTx(tx, u.restoredGoal(all[i])))
}

// restoredGoal returns the goal as it was before the change, but with the notes of later reviews.
// Thus no work is repeated and no review is lost.
func (u goalUndo) restoredGoal(now Goal) Goal {
	g := u.Before
	g.Quiet, g.Looked, g.Reviewed, g.Event = now.Quiet, now.Looked, now.Reviewed, now.Event
	g.LastAt, g.Last, g.Reason, g.ReasonFrom = now.LastAt, now.Last, now.Reason, now.ReasonFrom
	if now.Seen != "" {
		g.Seen = now.Seen
	}
	if !now.NextAt.Equal(u.After.NextAt) {
		g.NextAt = now.NextAt
	}
	return g
}
