package service

import (
	"context"
	"time"

	"hob/autonomy/mind/reconcile"
	"hob/templates"
)

// Template implements api.Management.
func (sv *Service) Template(ctx context.Context, w templates.DesiredState) (templates.ApplyResult, error) {
	done, err := reconcile.Apply(ctx, reconcile.Parts{Store: sv.o.Store, Watchers: sv.o.Watchers, Goals: sv.o.Goals}, w, time.Now().In(sv.o.Zone()))
	return done, Classify(err)
}
