// Package reconcile brings the watchers, schedules, reminders and goals from templates into the
// desired state. Their ids are derived from their contents, so that applying a state twice changes
// nothing and changes by the user are detected. Items that the user has changed stay and no longer
// belong to the template. The same applies to items that the user has paused and that the template
// no longer contains. The API calls this package.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/mind/goals"
	"hob/platform/store"
	"hob/templates"
	"hob/watchers"
)

// Parts holds the stores that a reconciliation changes. All are required.
type Parts struct {
	Store    *store.Store
	Watchers *watchers.Manager
	Goals    *goals.Goals
}

// errDry is the error that rolls back a dry run.
var errDry = errors.New("dry run")

// Apply replaces the items from all templates with the desired items, in one transaction. A dry run
// only reports what would change. now is in the user's time zone, which applies to the times of
// schedules. Apply returns an error that wraps api.ErrInvalid if a source is invalid.
func Apply(ctx context.Context, parts Parts, w templates.DesiredState, now time.Time) (templates.ApplyResult, error) {
	if name, ok := strings.CutPrefix(w.Source, templates.SourceOf("")); w.Source != "" && (!ok || templates.CheckName(name) != nil) {
		return templates.ApplyResult{}, fmt.Errorf("%w: %q is not a template source", api.ErrInvalid, w.Source)
	}
	a := run{o: parts, w: w, now: now, done: templates.ApplyResult{
		Made: []templates.Resource{}, Removed: []templates.Resource{}, Kept: []templates.Resource{}, Failed: []templates.Resource{},
	}}
	err := parts.Store.Write(ctx, func(tx *store.Tx) error {
		if err := a.reconcileTx(tx); err != nil || !w.Dry {
			return err
		}
		return errDry
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return a.done, err
}

// run holds the state of one call to Apply.
type run struct {
	o    Parts
	w    templates.DesiredState
	now  time.Time
	done templates.ApplyResult
}
