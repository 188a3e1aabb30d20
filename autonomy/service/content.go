package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/guard"
	"hob/knowledge"
	"hob/platform/store"
)

// Files gives access to the user's files.
type Files interface {
	// Vouch records that the user trusts the content of a file, or of all files in a folder. record
	// runs in the same transaction.
	Vouch(ctx context.Context, path string, now time.Time, record func(*store.Tx) error) (api.TrustedFiles, error)
}

// DocumentLister lists the ingested documents, like api.Documents.
type DocumentLister interface {
	Documents(ctx context.Context, q api.Query) ([]api.Document, error)
}

// Tasks implements api.Tasks.
func (sv *Service) Tasks(ctx context.Context, q api.Query) ([]api.Task, error) {
	list, err := sv.o.Tasks.Tasks(ctx, q)
	return list, Classify(err)
}

// Notes implements api.Notes.
func (sv *Service) Notes(ctx context.Context, q api.Query) ([]api.Note, error) {
	list, err := sv.o.Notes.Notes(ctx, q)
	return list, Classify(err)
}

// Spending implements api.Spending.
func (sv *Service) Spending(ctx context.Context) (api.SpendingOverview, error) {
	out, err := sv.o.Spending.Spending(ctx)
	return out, Classify(err)
}

// Widgets implements api.Canvas.
func (sv *Service) Widgets(ctx context.Context, q api.Query) ([]api.Widget, error) {
	list, err := sv.o.Canvas.Widgets(ctx, q)
	return list, Classify(err)
}

// Documents implements api.Documents.
func (sv *Service) Documents(ctx context.Context, q api.Query) ([]api.Document, error) {
	list, err := sv.o.Documents.Documents(ctx, q)
	return list, Classify(err)
}

// TrustFile implements api.Documents.
func (sv *Service) TrustFile(ctx context.Context, path string) (api.TrustedFiles, error) {
	args, err := json.Marshal(path)
	if err != nil {
		return api.TrustedFiles{}, err
	}
	out, err := sv.o.Files.Vouch(ctx, path, time.Now(), func(tx *store.Tx) error {
		return sv.o.Guard.AuditTx(tx, guard.Record{
			Actor: "owner", Action: "trust", Origin: "api", Verdict: "allow", Rule: "owner's command", Outcome: "done", Args: args,
		})
	})
	return out, Classify(err)
}

// PreviewErasure implements api.Forgetting.
func (sv *Service) PreviewErasure(ctx context.Context, q api.Query) ([]api.ErasurePreview, error) {
	g, err := sv.o.Memory.PlanCommitted(ctx, knowledge.ForgetRequest{ID: q.Of, Query: q.Text, Source: q.State, Everything: q.All, EveryRealm: true})
	if err != nil {
		return nil, forgetError(err)
	}
	n, err := sv.o.Erasing.PreviewErasure(ctx, g.Erasure)
	return []api.ErasurePreview{{ErasurePlan: apiErasurePlan(g), Places: n.Rows + n.Scrubbed}}, Classify(err)
}

func forgetError(err error) error {
	for _, bad := range []error{knowledge.ErrTooCommon, knowledge.ErrQueryTooLong, knowledge.ErrOneOf, knowledge.ErrSourceUnknown} {
		if errors.Is(err, bad) {
			return fmt.Errorf("%w: %w", api.ErrInvalid, err)
		}
	}
	if errors.Is(err, knowledge.ErrNotFound) {
		return fmt.Errorf("%w: %w", api.ErrNotFound, err)
	}
	return Classify(err)
}

// erasedWithin is the maximum time that a caller waits for a deletion to complete.
const erasedWithin = 60 * time.Second

// Erasures implements api.Forgetting.
func (sv *Service) Erasures(ctx context.Context, q api.Query) ([]api.Erasure, error) {
	if q.Of == "" {
		list, err := sv.o.Erasing.List(ctx, q.Limit)
		return ConvertEach(list, apiErasure), Classify(err)
	}
	wait, cancel := context.WithTimeout(ctx, erasedWithin)
	defer cancel()
	s, err := sv.o.Erasing.Wait(wait, q.Of)
	switch {
	case errors.Is(err, knowledge.ErrNoErasure):
		return nil, fmt.Errorf("%w: %w", api.ErrNotFound, err)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // the deletion continues in the background
		err = nil
	}
	return []api.Erasure{api.Erasure(s)}, Classify(err)
}
