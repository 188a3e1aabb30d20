package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/guard"
)

// Audit implements api.Audit.
func (sv *Service) Audit(ctx context.Context, q api.AuditQuery) ([]api.AuditRecord, error) {
	list, err := sv.o.Guard.AuditLines(ctx, guard.AuditQuery(q))
	return ConvertEach(list, apiAuditRecord), err
}

// AuditLine implements api.Audit.
func (sv *Service) AuditLine(ctx context.Context, seq int64) (api.AuditLine, error) {
	l, err := sv.o.Explain.AuditLine(ctx, seq)
	return apiAuditLine(l), Classify(err)
}

// AuditVerify implements api.Audit.
func (sv *Service) AuditVerify(ctx context.Context) (api.AuditHead, error) {
	h, err := sv.o.Guard.VerifyAll(ctx)
	if _, altered := errors.AsType[*guard.TamperError](err); altered {
		return api.AuditHead{}, fmt.Errorf("%w: %w", api.ErrConflict, err)
	}
	return api.AuditHead(h), Classify(err)
}

// AuditExport implements api.Audit.
func (sv *Service) AuditExport(ctx context.Context, w io.Writer, format string, since, until time.Time) error {
	_, err := sv.o.Guard.Export(ctx, w, format, since, until)
	if errors.Is(err, guard.ErrNoFormat) {
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return Classify(err)
}
