// Package reconcile brings the watchers, schedules, reminders and goals of templates into the desired
// state. Their ids are derived from their contents, so that applying a state twice changes nothing
// and edits of the user are detected. What the user has changed or paused stays, and no longer
// belongs to the template. The API calls the package; packages templates and watchers do the rest.
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

// Parts are the stores that a reconciliation changes; all are required.
type Parts struct {
	Store    *store.Store
	Watchers *watchers.Manager
	Goals    *goals.Goals
}

// errDry rolls back a dry run.
var errDry = errors.New("dry run")

// Apply replaces the resources of all templates with the desired ones, in one transaction. A dry run
// only reports what it would do. now is in the user's zone, in which the times of schedules are
// read. Apply returns an api.ErrInvalid for an invalid source.
func Apply(ctx context.Context, parts Parts, w templates.DesiredState, now time.Time) (templates.ApplyResult, error) {
	if w.Source != "" && templates.CheckName(strings.TrimPrefix(w.Source, templates.SourceOf(""))) != nil {
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

// run is one call of Apply.
type run struct {
	o    Parts
	w    templates.DesiredState
	now  time.Time
	done templates.ApplyResult
}
